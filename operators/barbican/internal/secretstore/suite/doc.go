// SPDX-License-Identifier: Apache-2.0

// Package suite tests the store controller on a real API server, where watches,
// caches, tokens and indexes are those of production.
package suite
