// SPDX-License-Identifier: Apache-2.0

// Package secrets reads Secrets without holding those that nobody uses, waits for the ones that External Secrets
// delivers, and keeps content-hashed Secrets. A Secret that a Source returns is shared: read it, do not change it.
package secrets
