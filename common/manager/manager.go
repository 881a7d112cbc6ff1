// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/clusters"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
	"github.com/c5c3/cobaltcore/common/secrets"
)

// passTimeout bounds every call of one pass that has no shorter limit of its own, the API server's answers above all.
const passTimeout = time.Minute

// shutdownTimeout is how long passes may go on after the process was told to end.
const shutdownTimeout = 20 * time.Second

// Options of a Manager.
type Options struct {
	Flags

	// Name of the operator, for example "barbican-operator": the value of the managed-by label of its children and the
	// start of its user agent.
	Name string
	// Version of the operator, for the user agent. May be empty.
	Version string
	// LeaderElectionID is the name of the lease.
	LeaderElectionID string
	// Scheme with every kind that is read or written.
	Scheme *runtime.Scheme
	// Kinds are cached from the start.
	Kinds []Kind
	// Children are the kinds that the operator creates, except Secret. Of those of others only the metadata is cached.
	Children []client.Object

	// Provider of target clusters; nil knows none.
	Provider multicluster.Provider
	// HTTP and Dial reach the Services of the management cluster; nil stands for the default transport and dialer.
	HTTP http.RoundTripper
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Manager runs an operator.
type Manager struct {
	ctrl.Manager
	// Targets finds the clusters that children live on.
	Targets target.Resolver
	// Secrets reads those of the management cluster.
	Secrets *secrets.Source
	// Options are those it was made of.
	Options Options

	process mcmanager.Manager
	views   *views
	caches  []informer
}

// NewScheme returns a scheme with Kubernetes' own kinds and those that the functions add.
func NewScheme(add ...func(*runtime.Scheme) error) (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, f := range append([]func(*runtime.Scheme) error{clientgoscheme.AddToScheme}, add...) {
		if err := f(scheme); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	return scheme, nil
}

// New returns a Manager for the management cluster. It asks the cluster which of the kinds it serves and fails with a
// message for the user if one is missing.
func New(ctx context.Context, config *rest.Config, o Options) (*Manager, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = -1, 0 // the API server sheds load itself, by priority and fairness
	if config.UserAgent == "" {
		config.UserAgent = o.userAgent()
	}
	v := &views{scheme: o.Scheme, refused: map[schema.GroupVersionKind]error{}}
	local, err := ctrl.NewManager(config, o.manager(v))
	if err != nil {
		return nil, fmt.Errorf("reaching the cluster: %w", err)
	}
	process, err := mcmanager.WithMultiCluster(local, o.Provider)
	if err != nil {
		return nil, err
	}
	m := &Manager{Manager: local, Options: o, process: process, views: v}
	m.Secrets = secretsOf(local)
	m.Targets = clusters.NewResolver(m.target(), clusters.Options{
		Namespace: o.ClustersNamespace, Provider: o.Provider,
		Secrets: func(c cluster.Cluster) target.SecretReader { return secretsOf(c) },
	})
	return m, errors.Join(m.cacheKinds(ctx), m.addChecks())
}

func secretsOf(c cluster.Cluster) *secrets.Source {
	return secrets.NewSource(c.GetClient(), c.GetCache(), c.GetAPIReader())
}

// target is the management cluster.
func (m *Manager) target() target.Cluster {
	c, live := m.GetClient(), m.GetAPIReader()
	return target.Cluster{
		Client: c, Reader: live, Writer: apply.NewWriter(c, live), Secrets: m.Secrets, HTTP: m.Options.HTTP, Dial: m.Options.Dial,
	}
}

func (o *Options) userAgent() string {
	if o.Version == "" {
		return o.Name
	}
	return o.Name + "/" + o.Version
}

func (o *Options) manager(v *views) ctrl.Options {
	timeout, warm := shutdownTimeout, true
	options := ctrl.Options{
		Scheme:                        o.Scheme,
		MapperProvider:                newMapper,
		NewCache:                      v.newCache(*o),
		Metrics:                       o.metrics(),
		HealthProbeBindAddress:        o.ProbeAddress,
		PprofBindAddress:              o.PprofAddress,
		LeaderElection:                o.LeaderElect,
		LeaderElectionID:              o.LeaderElectionID,
		LeaderElectionNamespace:       OperatorNamespace(),
		LeaderElectionReleaseOnCancel: true, // the process ends with Start
		GracefulShutdownTimeout:       &timeout,
		Controller:                    config.Controller{ReconciliationTimeout: passTimeout, EnableWarmup: &warm},
	}
	if o.Webhooks {
		options.WebhookServer = webhook.NewServer(webhook.Options{Port: o.WebhookPort, CertDir: o.WebhookCertDir})
	}
	return options
}

func (o *Options) metrics() metricsserver.Options {
	options := metricsserver.Options{BindAddress: o.MetricsAddress}
	if o.MetricsSecure {
		options.SecureServing, options.CertDir = true, o.MetricsCertDir
		options.FilterProvider = onlyAllowed
	}
	return options
}
