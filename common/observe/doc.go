// SPDX-License-Identifier: Apache-2.0

// Package observe holds the Prometheus metrics that every service operator has: how long each step takes, how often it
// fails, and how its Jobs end. One Metrics holds all of a binary's and is registered once, as a whole or not at all.
package observe
