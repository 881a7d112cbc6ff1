// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// controllerManager is a running kube-controller-manager. It serves nothing, so it needs no port.
type controllerManager struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

func startControllerManager(e *Environment, bin string, controllers []string) (*controllerManager, error) {
	program, err := e.watchdog.wrap(bin, controllerManagerProgram)
	if err != nil {
		return nil, err
	}
	log, err := os.Create(e.path(controllerManagerProgram + ".log"))
	if err != nil {
		return nil, err
	}
	m := &controllerManager{done: make(chan struct{}), cmd: exec.Command(program,
		"--kubeconfig="+e.KubeConfig,
		"--controllers="+strings.Join(controllers, ","),
		"--secure-port=0",
		"--leader-elect=false",
		"--kube-api-qps=1000", "--kube-api-burst=2000",
		"--service-account-private-key-file="+e.path("certificates/sa-signer.key"),
		"--profiling=false",
	)}
	m.cmd.Stdout, m.cmd.Stderr = log, log
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := m.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(m.done)
		_ = m.cmd.Wait() // an early end is told below, a later one by the tests that miss it
		_ = log.Close()
	}()
	// A wrong flag ends it at once; there is no other sign of life to wait for.
	select {
	case <-m.done:
		return nil, fmt.Errorf("kube-controller-manager ended:\n%s", logTail(log.Name()))
	case <-time.After(500 * time.Millisecond):
		return m, nil
	}
}
