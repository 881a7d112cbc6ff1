// SPDX-License-Identifier: Apache-2.0

// Package release decides whether a service may go from the release it has to the one it is asked for. It knows the
// half-yearly releases of OpenStack, which a schema follows one step at a time and never back. Everything here is a
// function of values.
package release
