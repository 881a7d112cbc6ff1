// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Main is the body of a TestMain: it starts one control plane for the package into env, runs the tests, stops it and exits.
// Logs of controller-runtime are dropped; a package that wants them sets its own logger first.
func Main(m *testing.M, env **Environment, options Options) {
	log.SetLogger(logr.Discard())
	os.Exit(run(m, env, options))
}

func run(m *testing.M, env **Environment, options Options) (code int) {
	started, err := Start(options)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := started.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}()
	*env = started
	return m.Run()
}
