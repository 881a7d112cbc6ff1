// SPDX-License-Identifier: Apache-2.0

// Package suite proves the whole operator on a real API server: both controllers, their caches and watches, as the binary
// runs them. Every spec has a namespace and an operator of its own, so that it can count requests, inject faults and kill.
package suite
