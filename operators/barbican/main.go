// SPDX-License-Identifier: Apache-2.0

// The Barbican operator runs OpenStack Barbican on Kubernetes. --help lists its flags.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/c5c3/cobaltcore/common/manager"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/operator"
)

func main() {
	var flags manager.Flags
	flags.Bind(flag.CommandLine)
	flag.Parse()
	log := zap.New(zap.UseFlagOptions(&flags.Log))
	ctrl.SetLogger(log)
	klog.SetLogger(log.WithName("kubernetes"))
	if err := run(flags); err != nil {
		log.Error(err, "The operator ended")
		os.Exit(1)
	}
}

func run(flags manager.Flags) error {
	if unknown := flag.Args(); len(unknown) > 0 {
		return fmt.Errorf("unknown arguments %q: flags start with --", unknown)
	}
	manager.LimitMemory(ctrl.Log)
	config, err := ctrl.GetConfig()
	if err != nil {
		return errors.Join(errors.New("no cluster to work for"), err)
	}
	return operator.Run(ctrl.SetupSignalHandler(), config, operator.Options{Flags: flags, Version: version()})
}

// version is that of the main module, as go build stamped it.
func version() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return build.Main.Version
}
