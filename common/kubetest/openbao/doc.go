// SPDX-License-Identifier: Apache-2.0

// Package openbao is a stand-in for an OpenBao server, for tests, the demo and
// the benchmark. It serves the HTTP API over TLS on loopback with a CA of its
// own and answers status codes and bodies as a real server was seen to; every
// failure a real server can show is one method call away. Nothing it stores is
// encrypted or survives it.
package openbao
