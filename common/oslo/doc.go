// SPDX-License-Identifier: Apache-2.0

// Package oslo writes the configuration of an OpenStack service: the INI files that oslo.config, PasteDeploy and Python's
// logging read, policy files and database URLs. It also checks what users put into them (option catalogues, owned options,
// names that would smuggle in something else) and names content by its hash.
//
// Everything here computes values from values. What a writer puts down is what the reader of the format gets back, or the
// check in front of it has refused the input.
package oslo
