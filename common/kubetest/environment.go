// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const (
	etcdProgram              = "etcd"
	apiServerProgram         = "kube-apiserver"
	controllerManagerProgram = "kube-controller-manager"

	// Generous, since several packages start a control plane at once on a small machine.
	startTimeout = 2 * time.Minute
	stopTimeout  = 30 * time.Second
)

// Options of an Environment. The zero value is an etcd and an API server that know the CRD stubs.
type Options struct {
	CRDs          []string          // files or folders of further CRDs
	WithoutGroups []string          // API groups whose stubs are left out, to test a cluster that lacks them
	Webhooks      []string          // files or folders of webhook configurations; they are pointed at Webhook
	Controllers   []string          // controllers that kube-controller-manager runs; none: it does not run; "*": its usual ones
	Audit         bool              // write the audit log that Requests reads
	APIServer     map[string]string // further flags of kube-apiserver, without the dashes
}

// Webhook is where the API server expects the operator's webhook server, and the certificate it accepts there.
type Webhook struct {
	Host    string
	Port    int
	CertDir string
}

// Environment is a running control plane on loopback. Its processes and files end with Stop, and with the process that started it,
// however that one ends.
type Environment struct {
	Config     *rest.Config // a cluster administrator
	KubeConfig string       // path of a kubeconfig file of that administrator
	Webhook    Webhook

	dir      string
	plane    *envtest.Environment
	manager  *controllerManager
	watchdog *watchdog
	audit    *auditLog
}

// Start starts a control plane, or leaves nothing behind.
func Start(options Options) (*Environment, error) {
	programs := []string{etcdProgram, apiServerProgram}
	if len(options.Controllers) > 0 {
		programs = append(programs, controllerManagerProgram)
	}
	bin, err := binaries(programs...)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "kubetest-")
	if err != nil {
		return nil, err
	}
	e := &Environment{dir: dir}
	if err := e.start(bin, options); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the test control plane: %w", err), e.Stop())
	}
	return e, nil
}

func (e *Environment) start(bin string, options Options) error {
	var err error
	if e.watchdog, err = startWatchdog(e.dir); err != nil {
		return err
	}
	if e.plane, err = e.newPlane(bin, options); err != nil {
		return err
	}
	if e.Config, err = e.plane.Start(); err != nil {
		return fmt.Errorf("%w\n%s", err, logTail(e.path(apiServerProgram+".log")))
	}
	hooks := e.plane.WebhookInstallOptions
	e.Webhook = Webhook{Host: hooks.LocalServingHost, Port: hooks.LocalServingPort, CertDir: hooks.LocalServingCertDir}
	e.watchdog.remove(hooks.LocalServingCertDir)
	e.KubeConfig = e.path("kubeconfig")
	if err := os.WriteFile(e.KubeConfig, e.plane.KubeConfig, 0o600); err != nil {
		return err
	}
	if len(options.Controllers) > 0 {
		e.manager, err = startControllerManager(e, bin, options.Controllers)
	}
	return err
}

func (e *Environment) newPlane(bin string, options Options) (*envtest.Environment, error) {
	crds, err := CRDs(options.WithoutGroups...)
	if err != nil {
		return nil, err
	}
	plane := &envtest.Environment{
		CRDs:                     crds,
		CRDDirectoryPaths:        options.CRDs,
		ErrorIfCRDPathMissing:    true,
		CRDInstallOptions:        envtest.CRDInstallOptions{MaxTime: startTimeout},
		WebhookInstallOptions:    envtest.WebhookInstallOptions{Paths: options.Webhooks, LocalServingHost: "127.0.0.1", MaxTime: startTimeout},
		ControlPlaneStartTimeout: startTimeout,
		ControlPlaneStopTimeout:  stopTimeout,
	}
	log, err := os.Create(e.path(apiServerProgram + ".log"))
	if err != nil {
		return nil, err
	}
	server := plane.ControlPlane.GetAPIServer()
	server.Out, server.Err = log, log
	server.CertDir = e.path("certificates")
	plane.ControlPlane.Etcd = &envtest.Etcd{DataDir: e.path("data")}
	if err := errors.Join(os.Mkdir(server.CertDir, 0o700), os.Mkdir(plane.ControlPlane.Etcd.DataDir, 0o700)); err != nil {
		return nil, err
	}
	if server.Path, err = e.watchdog.wrap(bin, apiServerProgram); err != nil {
		return nil, err
	}
	if plane.ControlPlane.Etcd.Path, err = e.watchdog.wrap(bin, etcdProgram); err != nil {
		return nil, err
	}
	return plane, e.configure(server, options)
}

func (e *Environment) configure(server *envtest.APIServer, options Options) error {
	// Without priority and fairness and with room for all, the server never makes a test wait its turn.
	flags := server.Configure().
		Set("enable-priority-and-fairness", "false").
		Set("max-requests-inflight", "0").
		Set("max-mutating-requests-inflight", "0").
		Set("profiling", "false")
	for flag, value := range options.APIServer {
		flags.Set(flag, value)
	}
	if !options.Audit {
		return nil
	}
	var err error
	e.audit, err = newAuditLog(e.dir, flags)
	return err
}

// Stop ends the control plane and removes its files.
func (e *Environment) Stop() error {
	var errs []error
	if e.watchdog != nil {
		errs = append(errs, e.watchdog.kill())
	}
	if e.plane != nil {
		errs = append(errs, ignoreEnded(e.plane.Stop()))
	}
	if e.manager != nil {
		<-e.manager.done
	}
	errs = append(errs, os.RemoveAll(e.dir))
	if e.watchdog != nil {
		errs = append(errs, e.watchdog.stop())
	}
	return errors.Join(errs...)
}

// Agent is the administrator under a user agent of its own and without client-side rate limit, so that its requests can be told
// from others in Requests.
func (e *Environment) Agent(userAgent string) *rest.Config {
	return agent(e.Config, userAgent)
}

func agent(config *rest.Config, userAgent string) *rest.Config {
	config = rest.CopyConfig(config)
	config.UserAgent = userAgent
	config.QPS = -1
	return config
}

func (e *Environment) path(name string) string { return filepath.Join(e.dir, name) }
