// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

// TargetRetry is how long a pass waits for a cluster that does not resolve.
const TargetRetry = 15 * time.Second

// Recorder raises events; record.EventRecorder is one.
type Recorder interface {
	Event(object runtime.Object, eventType, reason, message string)
}

// Controller is the life cycle around a pipeline: get the object, finish its deletion or resolve the cluster of its
// children, hold it by finalizers, run the table, write the status once if it changed.
type Controller[T Object, V any] struct {
	New      func() T
	Client   client.Client // of the management cluster, where the object lives; reads come from a cache
	Recorder Recorder
	Pipeline *Pipeline[T, V]

	Targets target.Resolver
	// Place names the cluster of the object's children; empty is the management cluster. An outcome that is not Done
	// becomes the gate condition and ends the pass.
	Place func(context.Context, T) (string, Outcome)
	// Gate is the condition that reports a cluster that does not resolve.
	Gate string

	// Finalizer holds every object whose children's cluster resolves; empty if nothing but a sweep needs one.
	Finalizer string
	// Cleanup runs while the object is terminating; once its outcome is Done the finalizers go. Its waits, errors and
	// announced events count, its condition does not. May be nil.
	Cleanup func(context.Context, *Pass[T, V]) Outcome
	// Swept are the kinds that are looked through for children on another cluster.
	Swept []schema.GroupVersionKind
	// Gone is called when the object is released or no longer there; then its UID is empty. May be nil.
	Gone func(types.NamespacedName, types.UID)

	patience target.Patience
	written  writes[T]
}

var _ reconcile.Reconciler = (*Controller[Object, struct{}])(nil)

// CaughtUp lets everything pass. It belongs to the watches of the objects and of their children, ahead of what drops the echoes
// of our own writes: seeing those, the controller lets go of what it wrote. No pass may come for a long time that would do so.
func (c *Controller[T, V]) CaughtUp() predicate.Predicate {
	seen := func(shown client.Object) bool {
		if object, ok := shown.(T); ok {
			c.written.shown(object)
		} else if local, err := c.Targets.Resolve(context.Background(), ""); err == nil {
			local.Writer.Shown(shown)
		}
		return true
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return seen(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool { return seen(e.ObjectNew) },
	}
}

// Reconcile implements reconcile.Reconciler.
func (c *Controller[T, V]) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	own, kept := c.written.of(req.NamespacedName)
	stored := c.New()
	if err := c.Client.Get(ctx, req.NamespacedName, stored, client.UnsafeDisableDeepCopy); err != nil {
		if apierrors.IsNotFound(err) {
			c.gone(ctx, req.NamespacedName, "")
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("reading %s: %w", req, err)
	}
	c.written.shown(stored)
	if kept && newer(own, stored) {
		stored = own
	}
	object := stored.DeepCopyObject().(T)
	if !object.GetDeletionTimestamp().IsZero() {
		return c.release(ctx, stored, object)
	}
	children, gate, _ := c.resolve(ctx, object)
	if !gate.Done() {
		return c.finish(ctx, stored, object, c.gateLedger(gate))
	}
	if err := c.hold(ctx, object, children); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if object.GetResourceVersion() != stored.GetResourceVersion() { // Place or hold has written it
		stored = object.DeepCopyObject().(T)
	}
	pass := &Pass[T, V]{Object: object, Children: children}
	ledger := c.Pipeline.run(ctx, pass)
	ledger.after = sooner(ledger.after, children.Writer.Doubt(object.GetUID()))
	return c.finish(ctx, stored, object, ledger)
}

// resolve finds the cluster of the object's children, or names what is missing: the cluster, or what the object waits
// for to know its cluster.
func (c *Controller[T, V]) resolve(ctx context.Context, object T) (children target.Cluster, gate Outcome, missing string) {
	name := ""
	if c.Place != nil {
		name, gate = c.Place(ctx, object)
	}
	if !gate.Done() {
		return target.Cluster{}, gate, client.ObjectKeyFromObject(object).String()
	}
	children, err := c.Targets.Resolve(ctx, name)
	if err != nil {
		return target.Cluster{}, Wait(TargetRetry, api.ReasonTargetClusterUnavailable, StableText(err)), name
	}
	c.patience.Found(name)
	return children, Outcome{}, ""
}

// gateLedger holds one outcome for the gate condition and leaves the other conditions as they are.
func (c *Controller[T, V]) gateLedger(gate Outcome) *ledger {
	conditions := c.Pipeline.conditions
	i := slices.Index(conditions, c.Gate)
	if i < 0 {
		i, conditions = len(conditions), append(slices.Clip(conditions), c.Gate)
	}
	l := newLedger(conditions, nil)
	l.book(i, gate)
	return l
}

// hold adds the finalizers that are missing, all in one patch.
func (c *Controller[T, V]) hold(ctx context.Context, object T, children target.Cluster) error {
	var missing []string
	if c.Finalizer != "" && !controllerutil.ContainsFinalizer(object, c.Finalizer) {
		missing = append(missing, c.Finalizer)
	}
	if children.Remote() && !controllerutil.ContainsFinalizer(object, api.FinalizerRemoteChildren) {
		missing = append(missing, api.FinalizerRemoteChildren)
	}
	if len(missing) == 0 {
		return nil
	}
	before := object.DeepCopyObject().(T)
	object.SetFinalizers(append(object.GetFinalizers(), missing...))
	return c.patchFinalizers(ctx, before, object)
}

// patchFinalizers fails on a conflict, to keep a finalizer that somebody adds at the same time.
func (c *Controller[T, V]) patchFinalizers(ctx context.Context, before, object T) error {
	err := c.Client.Patch(ctx, object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return fmt.Errorf("writing the finalizers: %w", err)
	}
	c.keep(ctx, object.DeepCopyObject().(T)) // steps go on to change object
	return nil
}

// finish writes the conditions that the ledger holds, and what steps set in the status, once if anything changed.
func (c *Controller[T, V]) finish(ctx context.Context, stored, object T, l *ledger) (ctrl.Result, error) {
	events := l.write(object)
	err := c.writeStatus(ctx, stored, object)
	l.persisted(err)
	if err == nil {
		c.raise(object, events)
	}
	// An object that has gone meanwhile takes its status with it.
	if err = errors.Join(l.err(), client.IgnoreNotFound(err)); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: l.after}, nil
}

func (c *Controller[T, V]) writeStatus(ctx context.Context, stored, object T) error {
	if reflect.DeepEqual(stored, object) {
		return nil // the usual end, found without the cost of a patch
	}
	patch, err := client.MergeFrom(stored).Data(object)
	if err != nil {
		return fmt.Errorf("comparing the status: %w", err)
	}
	if string(patch) == "{}" {
		return nil
	}
	if err := c.Client.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	c.keep(ctx, object)
	return nil
}

// keep remembers what we wrote unless the cache was quicker than the answer.
func (c *Controller[T, V]) keep(ctx context.Context, object T) {
	c.written.keep(object)
	cached := c.New()
	if c.Client.Get(ctx, client.ObjectKeyFromObject(object), cached, client.UnsafeDisableDeepCopy) == nil {
		c.written.shown(cached)
	}
}

// release finishes a deletion: named clean-up, sweep of another cluster, finalizers.
func (c *Controller[T, V]) release(ctx context.Context, stored, object T) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(object, c.Finalizer) && !controllerutil.ContainsFinalizer(object, api.FinalizerRemoteChildren) {
		c.gone(ctx, client.ObjectKeyFromObject(object), object.GetUID())
		return ctrl.Result{}, nil
	}
	children, gate, missing := c.resolve(ctx, object)
	if !gate.Done() {
		return c.releaseLost(ctx, stored, object, gate, missing)
	}
	outcome := c.cleanUp(ctx, object, children)
	if outcome.Done() {
		first, err := c.letGo(ctx, object)
		if !first {
			return ctrl.Result{}, err
		}
		children.Writer.Forget(client.ObjectKeyFromObject(object))
	}
	if outcome.extra != nil {
		c.raise(object, outcome.extra.events)
	}
	if outcome.err != nil {
		return ctrl.Result{}, outcome.err
	}
	return ctrl.Result{RequeueAfter: sooner(outcome.after, children.Writer.Doubt(object.GetUID()))}, nil
}

func (c *Controller[T, V]) cleanUp(ctx context.Context, object T, children target.Cluster) Outcome {
	outcome := Outcome{}
	if c.Cleanup != nil {
		outcome = c.Cleanup(ctx, &Pass[T, V]{Object: object, Children: children})
	}
	if outcome.Done() && children.Remote() {
		if err := target.Sweep(ctx, children, object, c.Swept); err != nil {
			return Error(err)
		}
	}
	return outcome
}

// releaseLost waits for a cluster that does not resolve and gives its children up in the end, with an event. An error is
// no sign of a lost cluster.
func (c *Controller[T, V]) releaseLost(ctx context.Context, stored, object T, gate Outcome, missing string) (ctrl.Result, error) {
	if gate.err != nil || !c.patience.Lost(missing, object.GetDeletionTimestamp().Time) {
		return c.finish(ctx, stored, object, c.gateLedger(gate))
	}
	if first, err := c.letGo(ctx, object); !first {
		return ctrl.Result{}, err
	}
	c.raise(object, []announcement{{corev1.EventTypeWarning, api.EventRemoteChildrenAbandoned, fmt.Sprintf(
		"Released without clean-up: %s. Children of %s remain there; remove them by hand",
		gate.message, client.ObjectKeyFromObject(object))}})
	return ctrl.Result{}, nil
}

// letGo removes our finalizers. It is not the first to do so when the object has gone and the cache does not know yet; its
// end is told of once.
func (c *Controller[T, V]) letGo(ctx context.Context, object T) (first bool, err error) {
	before := object.DeepCopyObject().(T)
	removed := controllerutil.RemoveFinalizer(object, c.Finalizer)
	if controllerutil.RemoveFinalizer(object, api.FinalizerRemoteChildren) || removed {
		err = c.patchFinalizers(ctx, before, object)
	}
	if client.IgnoreNotFound(err) != nil {
		return false, err
	}
	c.gone(ctx, client.ObjectKeyFromObject(object), object.GetUID())
	return err == nil, nil // gone already
}

// gone forgets an object that is released or no longer there.
func (c *Controller[T, V]) gone(ctx context.Context, key types.NamespacedName, uid types.UID) {
	c.written.forget(key)
	c.patience.Found(key.String())
	if local, err := c.Targets.Resolve(ctx, ""); err == nil {
		local.Writer.Forget(key)
	}
	if c.Gone != nil {
		c.Gone(key, uid)
	}
}

func (c *Controller[T, V]) raise(object T, events []announcement) {
	for _, e := range events {
		c.Recorder.Event(object, e.eventType, e.reason, e.message)
	}
}
