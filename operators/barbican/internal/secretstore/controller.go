// SPDX-License-Identifier: Apache-2.0

// Package secretstore reconciles BarbicanSecretStores: it mints and renews the
// AppRole credentials of managed stores, validates those of all, and observes
// whether the Barbican runs with them. No key store holds a worker: what it
// answers is found in the background and wakes the store.
package secretstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/common/reconcile/probe"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/metrics"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/openbao"
)

// parentRetry is how long a store waits for its Barbican.
const parentRetry = 15 * time.Second

// Remints counts secret IDs that were minted anew.
type Remints interface {
	Reminted(store types.NamespacedName, why metrics.Trigger)
	ForgetStore(store types.NamespacedName)
}

// Options are what the controller works with.
type Options struct {
	Client   client.Client // of the management cluster
	Recorder reconcile.Recorder
	Targets  target.Resolver
	Observer reconcile.Observer
	Remints  Remints

	Connect  Connect            // default OpenBao
	Timeout  time.Duration      // of one call, default openbao.DefaultTimeout
	Clock    clock.PassiveClock // default the wall clock
	Verdicts probe.Options      // how conversations run in the background
}

// Controller reconciles BarbicanSecretStores, each by the table of its mode.
type Controller struct {
	managed, brownfield *lifeCycle

	steps *steps
	woken chan event.GenericEvent
}

type lifeCycle = reconcile.Controller[*v1alpha1.BarbicanSecretStore, handoff]

// steps are the rows of both tables.
type steps struct {
	Options
	verdicts *probe.Cache[types.NamespacedName, verdict]
	memory   memory
	patience target.Patience // with noted clusters
}

// New checks the tables.
func New(o Options) (*Controller, error) {
	if o.Connect == nil {
		o.Connect = OpenBao
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	o.Timeout = cmp.Or(o.Timeout, openbao.DefaultTimeout)
	c := &Controller{woken: make(chan event.GenericEvent, 100)}
	s := &steps{Options: o, verdicts: probe.NewCache[types.NamespacedName, verdict](c.wake, o.Verdicts), patience: target.Patience{Clock: o.Clock}}
	c.steps = s
	var managedErr, brownfieldErr error
	c.managed, managedErr = s.lifeCycle(s.managed())
	c.brownfield, brownfieldErr = s.lifeCycle(s.brownfield())
	return c, errors.Join(managedErr, brownfieldErr)
}

func (s *steps) lifeCycle(table []step) (*lifeCycle, error) {
	pipeline, err := reconcile.NewPipeline(s.Observer, table...)
	return &lifeCycle{
		New:    func() *v1alpha1.BarbicanSecretStore { return &v1alpha1.BarbicanSecretStore{} },
		Client: s.Client, Recorder: s.Recorder, Pipeline: pipeline, Targets: s.Targets,
		Place: s.place, Gate: api.ConditionCredentialsReady,
		Cleanup: s.cleanUp, Swept: sweptKinds, Gone: s.gone,
	}, err
}

// Reconcile implements reconcile.Reconciler.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var store v1alpha1.BarbicanSecretStore
	err := c.steps.Client.Get(ctx, req.NamespacedName, &store, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("reading %s: %w", req, err)
	}
	switch {
	case err != nil: // either table may remember a store that is no more
		_, managedErr := c.managed.Reconcile(ctx, req)
		_, brownfieldErr := c.brownfield.Reconcile(ctx, req)
		return ctrl.Result{}, errors.Join(managedErr, brownfieldErr)
	case store.Spec.Managed():
		return c.managed.Reconcile(ctx, req)
	}
	return c.brownfield.Reconcile(ctx, req)
}

// wake is called when a conversation ends that nobody waited for.
func (c *Controller) wake(store types.NamespacedName) {
	woken := &v1alpha1.BarbicanSecretStore{}
	woken.Namespace, woken.Name = store.Namespace, store.Name
	c.woken <- event.GenericEvent{Object: woken}
}

// gone forgets a store, also one that vanished unseen.
func (s *steps) gone(store types.NamespacedName, _ types.UID) {
	s.verdicts.Forget(store)
	s.memory.forget(store)
	s.Remints.ForgetStore(store)
}

func (s *steps) parent(ctx context.Context, store *v1alpha1.BarbicanSecretStore) (*v1alpha1.Barbican, error) {
	parent := &v1alpha1.Barbican{}
	key := types.NamespacedName{Namespace: store.Namespace, Name: store.Spec.BarbicanRef.Name}
	return parent, s.Client.Get(ctx, key, parent, client.UnsafeDisableDeepCopy)
}

// place is the cluster of the store's Barbican. It is noted on the store before
// anything is written there, so that the clean-up finds it without the Barbican.
func (s *steps) place(ctx context.Context, store *v1alpha1.BarbicanSecretStore) (string, reconcile.Outcome) {
	distrust(store)
	terminating, noted := !store.DeletionTimestamp.IsZero(), store.Annotations[v1alpha1.AnnotationChildrenCluster]
	parent, err := s.parent(ctx, store)
	switch {
	case apierrors.IsNotFound(err) && terminating && noted != "":
		return noted, reconcile.Outcome{}
	case apierrors.IsNotFound(err):
		return "", reconcile.Wait(parentRetry, api.ReasonWaitingForParent, fmt.Sprintf(
			"Waiting for Barbican %s, which spec.barbicanRef names", store.Spec.BarbicanRef.Name))
	case err != nil:
		return "", reconcile.Error(fmt.Errorf("reading the parent: %w", err))
	}
	cluster := parent.Spec.TargetClusterRef.ClusterName()
	if cluster == "" || cluster == noted || terminating {
		return cluster, reconcile.Outcome{}
	}
	if _, err := s.Targets.Resolve(ctx, cluster); err != nil {
		return cluster, reconcile.Outcome{} // the engine reports it; nothing is written before it resolves
	}
	before := store.DeepCopy()
	metav1.SetMetaDataAnnotation(&store.ObjectMeta, v1alpha1.AnnotationChildrenCluster, cluster)
	if err := s.Client.Patch(ctx, store, client.MergeFrom(before)); err != nil {
		return "", reconcile.Error(fmt.Errorf("noting the target cluster: %w", err))
	}
	return cluster, reconcile.Outcome{}
}

// distrust takes back what was validated before the spec changed: it may have
// been another server, and an outage of this one is no reason to configure the
// Barbican with it. A pass that validates it again leaves no trace of this.
func distrust(store *v1alpha1.BarbicanSecretStore) {
	c := meta.FindStatusCondition(store.Status.Conditions, api.ConditionCredentialsReady)
	if c != nil && c.ObservedGeneration != store.Generation {
		store.Status.CredentialsHash = ""
	}
}

var sweptKinds = []schema.GroupVersionKind{{Version: "v1", Kind: "Secret"}}

// cleanUp sweeps the noted cluster if the Barbican meanwhile names another one;
// the engine sweeps that. A noted cluster that stays away is given up in the end.
func (s *steps) cleanUp(ctx context.Context, p *pass) reconcile.Outcome {
	noted := p.Object.Annotations[v1alpha1.AnnotationChildrenCluster]
	if noted == "" || noted == p.Children.Name {
		return reconcile.Outcome{}
	}
	cluster, err := s.Targets.Resolve(ctx, noted)
	switch {
	case err == nil:
		s.patience.Found(noted)
	case s.patience.Lost(noted, p.Object.DeletionTimestamp.Time):
		return reconcile.Outcome{}.Announce(corev1.EventTypeWarning, api.EventRemoteChildrenAbandoned, fmt.Sprintf(
			"Released without clean-up: %v. Secret %s remains there; remove it by hand", err, p.Object.CredentialsSecretName()))
	default:
		return reconcile.Wait(parentRetry, api.ReasonTargetClusterUnavailable, err.Error())
	}
	return reconcile.Error(target.Sweep(ctx, cluster, p.Object, sweptKinds))
}

// server says how to reach the store's server.
func (s *steps) server(p *pass, ca []byte) openbao.Options {
	return openbao.Options{
		URL: p.Object.Spec.ServerURL(p.Object.Namespace), Namespace: p.Object.Spec.OpenBao.Namespace,
		CA: ca, Dial: p.Children.Dial, Timeout: s.Timeout,
	}
}

func (s *steps) conversation(p *pass, server openbao.Options) conversation {
	return conversation{
		store: client.ObjectKeyFromObject(p.Object), uid: p.Object.UID, server: server,
		mount: p.Object.Spec.KVMountpoint(), stored: p.Values.stored, connect: s.Connect, now: s.Clock.Now,
	}
}

// converse returns the verdict of this conversation or, when it takes longer
// than a worker may wait, known false; the end of it wakes the store.
func (s *steps) converse(ctx context.Context, c conversation) (v verdict, known bool) {
	return s.verdicts.Get(ctx, c.store, probe.Question[verdict]{About: c.about(), Ask: c.run})
}
