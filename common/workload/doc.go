// SPDX-License-Identifier: Apache-2.0

// Package workload runs a service's API: its Deployment, and what stands before and beside it. Every pod that it
// describes passes the restricted Pod Security level.
package workload
