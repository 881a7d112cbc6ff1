// SPDX-License-Identifier: Apache-2.0

// Package operator puts the Barbican operator together: its kinds, controllers, webhooks and metrics on one manager. The
// binary, the demo and the tests run the same one.
package operator

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	ctrlreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/c5c3/cobaltcore/common/manager"
	"github.com/c5c3/cobaltcore/common/network"
	"github.com/c5c3/cobaltcore/common/reconcile/probe"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/barbican"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/metrics"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/secretstore"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/webhook"
)

// Name of the operator: its user agent, and the managed-by label of its children.
const Name = "barbican-operator"

const leaderElectionID = "barbican.openstack.c5c3.io"

type key = types.NamespacedName

// Options are what the binary's flags say, and what a process with several operators needs besides.
type Options struct {
	manager.Flags
	Version string

	// Registry of the metrics; nil stands for controller-runtime's, which --metrics-bind-address serves.
	Registry prometheus.Registerer
	// HTTP and Dial reach the Services of the cluster; nil stands for the default transport and dialer.
	HTTP http.RoundTripper
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// OneOfMany lets another operator in this process use the same names in metrics and logs.
	OneOfMany bool
}

// Run runs the operator until ctx is done.
func Run(ctx context.Context, config *rest.Config, o Options) error {
	m, err := New(ctx, config, o)
	if err != nil {
		return err
	}
	return m.Start(ctx)
}

// New puts an operator together that is ready to start.
func New(ctx context.Context, config *rest.Config, o Options) (*manager.Manager, error) {
	m, _, err := build(ctx, config, o)
	return m, err
}

// controllers are both, for those who run passes themselves.
type controllers struct{ barbicans, stores ctrlreconcile.Reconciler }

func build(ctx context.Context, config *rest.Config, o Options) (m *manager.Manager, c controllers, err error) {
	if m, err = newManager(ctx, config, o); err != nil {
		return nil, c, err
	}
	if o.Registry == nil {
		o.Registry = ctrlmetrics.Registry
	}
	measured, err := metrics.New(o.Registry)
	if err != nil {
		return nil, c, err
	}
	if err := barbican.AddIndexes(ctx, m.GetFieldIndexer()); err != nil {
		return nil, c, err
	}
	if c.barbicans, err = addBarbicans(m, measured, o); err != nil {
		return nil, c, fmt.Errorf("setting up the controller of Barbicans: %w", err)
	}
	if c.stores, err = addStores(m, measured, o); err != nil {
		return nil, c, fmt.Errorf("setting up the controller of secret stores: %w", err)
	}
	if o.Webhooks {
		err = webhook.SetupWithManager(m)
	}
	return m, c, err
}

func newManager(ctx context.Context, config *rest.Config, o Options) (*manager.Manager, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	return manager.New(ctx, config, manager.Options{
		Flags: o.Flags, Name: Name, Version: o.Version, LeaderElectionID: leaderElectionID,
		Scheme: scheme, Kinds: kinds(), Children: manager.ServiceChildren(), HTTP: o.HTTP, Dial: o.Dial,
	})
}

// workers are the options of both controllers.
func (o *Options) workers() controller.Options {
	options := manager.ControllerOptions[ctrlreconcile.Request](o.Flags)
	options.SkipNameValidation = &o.OneOfMany
	return options
}

func addBarbicans(m *manager.Manager, measured *metrics.Metrics, o Options) (ctrlreconcile.Reconciler, error) {
	routes, err := network.ServesRoutes(m.GetRESTMapper())
	if err != nil {
		return nil, fmt.Errorf("asking whether the cluster serves HTTPRoutes: %w", err)
	}
	answers := make(chan event.GenericEvent)
	c, err := barbican.NewController(barbican.Dependencies{
		Client:            m.GetClient(),
		Recorder:          m.GetEventRecorderFor("barbican-controller"), //nolint:staticcheck // events of the core API are what our Role allows
		Targets:           m.Targets,
		Health:            &probe.HTTP{Reasons: barbican.HealthReasons, Cache: probe.NewCache[key, probe.Verdict](waker(answers), probe.Options{})},
		Metrics:           measured,
		OperatorNamespace: manager.OperatorNamespace(),
		NoRoutes:          !routes,
	})
	if err != nil {
		return nil, err
	}
	return c, barbican.Watches{
		Manager: m, Options: o.workers(), Secrets: m.Secrets, Answers: answers, Routes: routes,
		ClusterStores: true, // where they cannot be watched, the manager stands in a watch that stays silent
	}.Start(c)
}

// waker wakes a Barbican whose health check was answered after its pass had gone on.
func waker(answers chan<- event.GenericEvent) func(key) {
	return func(k key) {
		woken := &v1alpha1.Barbican{}
		woken.Namespace, woken.Name = k.Namespace, k.Name
		answers <- event.GenericEvent{Object: woken}
	}
}

// conversations may go on at the same time; some servers take their full time-out, and the others' stores must not queue.
const conversations = 256

func addStores(m *manager.Manager, measured *metrics.Metrics, o Options) (ctrlreconcile.Reconciler, error) {
	c, err := secretstore.New(secretstore.Options{
		Client:   m.GetClient(),
		Recorder: m.GetEventRecorderFor("barbicansecretstore-controller"), //nolint:staticcheck // as above
		Targets:  m.Targets,
		Observer: measured,
		Remints:  measured,
		Timeout:  o.CallTimeout,
		Verdicts: probe.Options{Concurrent: conversations},
	})
	if err != nil {
		return nil, err
	}
	return c, secretstore.Watches{
		Manager: m, Options: o.workers(), Secrets: m.Secrets,
		Indexes: secretstore.Indexes{
			Barbican: barbican.IndexBarbicanRef, Instance: barbican.IndexInstanceRef, Secrets: barbican.IndexStoreSecrets,
		},
	}.Start(c)
}
