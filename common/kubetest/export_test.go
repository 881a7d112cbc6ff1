// SPDX-License-Identifier: Apache-2.0

package kubetest

// Dir is the folder that must be gone when the environment is.
func (e *Environment) Dir() string { return e.dir }
