// SPDX-License-Identifier: Apache-2.0

// Package suite proves the building blocks on a real API server: that what they write is accepted, settles after one pass,
// and keeps what others own. It holds tests only.
package suite
