// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const assetsVariable = "KUBEBUILDER_ASSETS"

// binaries is the folder of the control plane's programs. A test without them fails: a silent skip would look like a pass.
func binaries(programs ...string) (string, error) {
	dir := os.Getenv(assetsVariable)
	if dir == "" {
		return "", errors.New("no test control plane: run `make test`, which builds it, or export " + assetsVariable + "=$(hack/control-plane)")
	}
	for _, program := range programs {
		if _, err := os.Stat(filepath.Join(dir, program)); err != nil {
			return "", fmt.Errorf("no test control plane: %s=%s has no %s; unset it and run `make test`", assetsVariable, dir, program)
		}
	}
	return filepath.Abs(dir)
}
