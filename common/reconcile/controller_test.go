// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

var notFound = apierrors.NewNotFound(schema.GroupResource{Resource: "things"}, key.Name)

// variable is a step whose finding the test sets.
type variable struct{ outcome Outcome }

func (v *variable) step() step {
	return step{Name: "First", Condition: "FirstReady", Run: func(context.Context, *pass) Outcome { return v.outcome }}
}

func TestAFirstPassWritesTwiceAndASecondNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newThing())
	if result := w.pass(t); result != (ctrl.Result{}) {
		t.Errorf("comes back: %+v", result)
	}
	w.sent(t, "patch", "status")
	w.expect(t, "FirstReady", "True/Found")
	w.expect(t, "Ready", "True/AllReady")
	live := w.live(t)
	if !slices.Equal(live.Finalizers, []string{"example.com/thing"}) || live.Status.ObservedGeneration != 1 {
		t.Errorf("finalizers %q, observed generation %d", live.Finalizers, live.Status.ObservedGeneration)
	}
	w.pass(t)
	w.sent(t)
}

func TestNoFinalizerIsAddedWithoutNeed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newThing())
	w.Finalizer, w.Place = "", nil
	w.pass(t)
	w.sent(t, "status")
	w.edit(t, func(o *thing) { o.Finalizers = []string{"example.com/foreign"} })
	if err := w.api.Delete(t.Context(), newThing()); err != nil {
		t.Fatal(err)
	}
	w.pass(t)
	w.sent(t)
	if !slices.Equal(w.gone, []string{"default/one/uid-1"}) {
		t.Errorf("gone: %q", w.gone)
	}
}

// Events tell transitions (R19), and their time stays while nothing changes (R1).
func TestTransitionsOnly(t *testing.T) {
	t.Parallel()
	v := &variable{Ready("Found", "first").Note()}
	w := newWorld(t, newThing(), v.step())
	w.pass(t)
	w.raised(t, "Normal Found: first")
	w.requests = nil
	w.edit(t, func(o *thing) {
		for i := range o.Status.Conditions {
			o.Status.Conditions[i].LastTransitionTime = metav1.Unix(1, 0)
		}
		o.Generation = 2
	})
	if err := w.api.Status().Update(t.Context(), func() *thing {
		o := w.live(t)
		for i := range o.Status.Conditions {
			o.Status.Conditions[i].LastTransitionTime = metav1.Unix(1, 0)
		}
		return o
	}()); err != nil {
		t.Fatal(err)
	}
	v.outcome = Ready("Found", "second").Note()
	w.pass(t)
	w.sent(t, "status") // the message is new
	w.raised(t)
	for _, c := range w.live(t).Status.Conditions {
		if c.LastTransitionTime.Unix() != 1 {
			t.Errorf("the transition time of %s moved to %s", c.Type, c.LastTransitionTime)
		}
	}
	v.outcome = NotReady("Lost", "third").Warn()
	w.pass(t)
	w.pass(t)
	w.sent(t, "status")
	w.raised(t, "Warning Lost: third")
	v.outcome = NotReady("Missing", "fourth").Warn()
	w.pass(t)
	w.raised(t, "Warning Missing: fourth")
}

func TestEventsAndCallbacksFollowTheWrite(t *testing.T) {
	t.Parallel()
	var told []error
	v := &variable{}
	w := newWorld(t, newThing(), v.step())
	v.outcome = Ready("Found", "x").Note().Announce(warning, "Seen", "once").Persisted(func(err error) {
		told = append(told, err)
		if len(w.events) > 0 {
			t.Errorf("raised %q before the callback", w.events)
		}
	})
	w.fail["status"] = errBroken
	if _, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); !errors.Is(err, errBroken) {
		t.Errorf("the failed write is told as %v", err)
	}
	w.raised(t)
	delete(w.fail, "status")
	w.pass(t)
	w.raised(t, "Normal Found: x", "Warning Seen: once")
	if len(told) != 2 || !errors.Is(told[0], errBroken) || told[1] != nil {
		t.Errorf("told %v", told)
	}
}

func TestAFailedWriteJoinsTheErrorOfThePass(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	w := newWorld(t, newThing(), says("First", "FirstReady", Fail("Broken", failed).After(time.Minute)))
	w.fail["status"] = errBroken
	result, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	if !errors.Is(err, failed) || !errors.Is(err, errBroken) || result != (ctrl.Result{}) {
		t.Errorf("Reconcile() = %+v, %v", result, err)
	}
	delete(w.fail, "status")
	result, err = w.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	if !errors.Is(err, failed) || result != (ctrl.Result{}) {
		t.Errorf("an error wins over waits: %+v, %v", result, err)
	}
	w.expect(t, "FirstReady", "False/Broken")
}

func TestWhatAStepSetsIsWrittenOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newThing(), step{Name: "First", Condition: "FirstReady", Run: func(_ context.Context, p *pass) Outcome {
		p.Object.Status.Note = "seen"
		return Ready("Found", "")
	}})
	w.pass(t)
	w.pass(t)
	w.sent(t, "patch", "status")
	if note := w.live(t).Status.Note; note != "seen" {
		t.Errorf("note = %q", note)
	}
}

// A list without entries is stored like none, so it must not be written again by each pass.
func TestAnEmptyListIsNoChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newThing(), step{Name: "First", Condition: "FirstReady", Run: func(_ context.Context, p *pass) Outcome {
		p.Object.Status.Notes = []string{}
		return Ready("Found", "")
	}})
	w.pass(t)
	w.sent(t, "patch", "status")
	w.pass(t)
	w.sent(t)
}

// Somebody edits the object while a pass runs: his edit stays, and no conflict costs a second pass.
func TestAStatusWriteConflictsWithNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newThing(func(o *thing) { o.Spec.Size = 3 }))
	w.past = w.live(t) // else the cache has what we wrote at once
	w.before["status"] = func() {
		w.edit(t, func(o *thing) { o.Spec.Size, o.Generation = 0, 2 })
		delete(w.before, "status")
	}
	w.pass(t)
	w.expect(t, "Ready", "True/AllReady")
	if size := w.live(t).Spec.Size; size != 0 {
		t.Errorf("the edit is lost: %d", size)
	}
	// What we remember of our write holds the edit, too: a removed field must not come back from our copy.
	if own := w.written.newest[key]; own.Spec.Size != 0 || own.Generation != 2 {
		t.Errorf("the remembered object has size %d at generation %d", own.Spec.Size, own.Generation)
	}
}

func TestAStaleCacheRepeatsNothing(t *testing.T) {
	t.Parallel()
	v := &variable{Ready("Found", "x").Note()}
	w := newWorld(t, newThing(), v.step())
	w.past = w.live(t)
	w.pass(t)
	w.sent(t, "patch", "status")
	w.raised(t, "Normal Found: x")
	w.pass(t) // the cache still shows the object without finalizer and status
	w.sent(t)
	w.raised(t)
	w.past = nil
	w.pass(t)
	w.sent(t)
	if len(w.written.newest) > 0 {
		t.Error("the written object is still kept beside the cache")
	}
}

func TestAnotherObjectOfTheSameNameStartsAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newThing())
	w.pass(t)
	w.edit(t, func(o *thing) { o.Finalizers = nil })
	if err := w.api.Delete(t.Context(), newThing()); err != nil {
		t.Fatal(err)
	}
	if err := w.api.Create(t.Context(), newThing(func(o *thing) { o.UID = "uid-2" })); err != nil {
		t.Fatal(err)
	}
	w.requests = nil
	w.pass(t)
	w.sent(t, "patch", "status")
	if live := w.live(t); live.UID != "uid-2" || len(live.Status.Conditions) == 0 {
		t.Errorf("the new object is left alone: %+v", live)
	}
}

func TestVersionsThatAreNoNumbers(t *testing.T) {
	t.Parallel()
	var w writes[*thing]
	at := func(version string) *thing { return newThing(func(o *thing) { o.ResourceVersion = version }) }
	w.keep(at("b"))
	if w.shown(at("a")); len(w.newest) > 0 {
		t.Error("an order of words is trusted")
	}
}

// No pass comes after the last write: the watch alone tells that the cache has it.
func TestWhatWasWrittenIsKeptUntilTheCacheHasIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newThing())
	before := w.live(t)
	w.past = before
	w.pass(t)
	seen := w.CaughtUp()
	for _, tt := range []struct {
		shown *thing
		kept  int
	}{{before, 1}, {w.live(t), 0}} {
		if !seen.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: tt.shown}) || !seen.Create(event.CreateEvent{Object: tt.shown}) {
			t.Error("an event was dropped")
		}
		if got := len(w.written.newest); got != tt.kept {
			t.Errorf("%d objects are kept while the cache shows version %s", got, tt.shown.ResourceVersion)
		}
	}
}

// A child that the cache has shown, and shows no more, was deleted: only one that it has not shown yet is in doubt.
func TestTheWatchOfChildrenTellsTheWriter(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newThing())
	owner, writer := w.live(t), w.clusters[""].Writer
	child := func() *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "child"}}
	}
	w.fail["read"] = notFound // by the cache
	seen := w.CaughtUp()
	for _, tt := range []struct {
		tell    func(*corev1.ConfigMap) bool
		doubted bool
	}{
		{func(*corev1.ConfigMap) bool { return true }, true},
		{func(c *corev1.ConfigMap) bool { return seen.Create(event.CreateEvent{Object: c}) }, false},
		{func(c *corev1.ConfigMap) bool { return seen.Update(event.UpdateEvent{ObjectOld: c, ObjectNew: c}) }, false},
	} {
		writer.Forget(key)
		written := child()
		if err := writer.Apply(t.Context(), owner, written); err != nil {
			t.Fatal(err)
		}
		if !tt.tell(written) {
			t.Error("an event was dropped")
		}
		if err := writer.Apply(t.Context(), owner, child()); err != nil {
			t.Fatal(err)
		}
		if got := writer.Doubt(owner.UID) > 0; got != tt.doubted {
			t.Errorf("doubted: %v, want %v", got, tt.doubted)
		}
		if err := w.api.Delete(t.Context(), child()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhatTheCacheHasAtOnceIsNotKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newThing())
	w.pass(t)
	w.sent(t, "patch", "status")
	if n := len(w.written.newest); n > 0 {
		t.Errorf("%d objects are kept beside the cache", n)
	}
}

func TestAnObjectThatVanishes(t *testing.T) {
	t.Parallel()
	t.Run("before the pass", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, nil)
		w.pass(t)
		w.sent(t)
		if !slices.Equal(w.gone, []string{"default/one/"}) {
			t.Errorf("gone: %q", w.gone)
		}
	})
	t.Run("before its finalizer", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, newThing())
		w.Pipeline = mustPipeline(t, step{Name: "First", Condition: "FirstReady", Run: func(context.Context, *pass) Outcome {
			t.Error("children are made for an object that is gone")
			return Outcome{}
		}})
		w.fail["patch"] = notFound
		w.pass(t)
		w.sent(t, "patch")
	})
	t.Run("before its status", func(t *testing.T) {
		t.Parallel()
		var told error
		w := newWorld(t, newThing(), says("First", "FirstReady", Ready("Found", "").Note().Persisted(func(err error) { told = err })))
		w.fail["status"] = notFound
		w.pass(t)
		w.raised(t)
		if !apierrors.IsNotFound(told) {
			t.Errorf("the callback is told %v", told)
		}
	})
	t.Run("or cannot be read", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, newThing())
		w.fail["read"] = errBroken
		_, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
		if !errors.Is(err, errBroken) || len(w.gone) > 0 {
			t.Errorf("Reconcile() = %v, gone: %q", err, w.gone)
		}
	})
}

func TestFinalizersAreWrittenUnderALock(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newThing())
	w.before["patch"] = func() {
		w.edit(t, func(o *thing) { o.Finalizers = append(o.Finalizers, "example.com/foreign") })
		delete(w.before, "patch")
	}
	if _, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); !apierrors.IsConflict(err) {
		t.Fatalf("Reconcile() = %v, want a conflict", err)
	}
	w.pass(t)
	if got := w.live(t).Finalizers; !slices.Equal(got, []string{"example.com/foreign", "example.com/thing"}) {
		t.Errorf("finalizers = %q", got)
	}
}

func TestTheGate(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		place    Outcome
		cluster  string
		gate     string
		want     string
		after    time.Duration
		failing  bool
		requests []string
	}{
		"cluster that does not resolve": {
			cluster: "far", gate: "FirstReady", want: "False/TargetClusterUnavailable", after: TargetRetry, requests: []string{"status"},
		},
		"place that waits": {
			place: Wait(3*time.Second, "WaitingForParent", ""), gate: "FirstReady", want: "False/WaitingForParent", after: 3 * time.Second, requests: []string{"status"},
		},
		"place that fails": {place: Error(errBroken), gate: "FirstReady", failing: true, requests: []string{"status"}},
		"gate outside of the table": {
			cluster: "far", gate: "PlacedReady", want: "False/TargetClusterUnavailable", after: TargetRetry, requests: []string{"status"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, newThing(), step{Name: "First", Condition: "FirstReady", Run: func(context.Context, *pass) Outcome {
				t.Error("a step runs without a cluster")
				return Outcome{}
			}}, says("Second", "SecondReady", Ready("Found", "")))
			w.Gate = tt.gate
			w.Place = func(context.Context, *thing) (string, Outcome) { return tt.cluster, tt.place }
			result, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
			if (err != nil) != tt.failing || result.RequeueAfter != tt.after {
				t.Errorf("Reconcile() = %+v, %v", result, err)
			}
			w.sent(t, tt.requests...)
			w.expect(t, tt.gate, tt.want)
			w.expect(t, "SecondReady", "")
			w.expect(t, "Ready", "False/NotAllReady")
			if f := w.live(t).Finalizers; len(f) > 0 {
				t.Errorf("finalizers: %q", f)
			}
			if _, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); (err != nil) != tt.failing {
				t.Errorf("Reconcile() = %v", err)
			}
			w.sent(t)
		})
	}
}

func TestDeletion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newThing(), says("First", "FirstReady", Ready("Found", "")))
	cleanup := Wait(2*time.Second, "Draining", "").Announce(warning, "Finalizing", "begun")
	w.Cleanup = func(_ context.Context, p *pass) Outcome {
		if p.Object.Name != key.Name || p.Children.Client == nil {
			t.Errorf("the clean-up sees %+v", p)
		}
		return cleanup
	}
	w.pass(t)
	w.edit(t, func(o *thing) { o.Finalizers = append(o.Finalizers, "example.com/foreign") })
	if err := w.api.Delete(t.Context(), newThing()); err != nil {
		t.Fatal(err)
	}
	w.requests = nil
	if result := w.pass(t); result.RequeueAfter != 2*time.Second {
		t.Errorf("comes back: %+v", result)
	}
	w.raised(t, "Warning Finalizing: begun")
	cleanup = Error(errBroken)
	if _, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); !errors.Is(err, errBroken) {
		t.Errorf("Reconcile() = %v", err)
	}
	w.sent(t)
	cleanup = Outcome{}.Announce(warning, "Finalized", "done")
	w.pass(t)
	w.sent(t, "patch")
	w.raised(t, "Warning Finalized: done")
	if got := w.live(t).Finalizers; !slices.Equal(got, []string{"example.com/foreign"}) || !slices.Equal(w.gone, []string{"default/one/uid-1"}) {
		t.Errorf("finalizers %q, gone %q", got, w.gone)
	}
	w.pass(t) // others may hold it for long
	w.sent(t)
	w.edit(t, func(o *thing) { o.Finalizers = nil })
	w.pass(t)
	if w.live(t) != nil {
		t.Error("still there")
	}
}

func TestARemoteObjectIsSweptBeforeItGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newThing(func(o *thing) { o.Spec.Cluster = "far" }))
	w.addCluster("far")
	w.Swept = []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Secret")}
	w.pass(t)
	w.sent(t, "patch", "status")
	if got := w.live(t).Finalizers; !slices.Equal(got, []string{"example.com/thing", "openstack.c5c3.io/remote-children"}) {
		t.Errorf("finalizers = %q", got)
	}
	secret := func(name string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: name}}
	}
	if err := w.clusters["far"].Writer.Create(t.Context(), w.live(t), secret("ours")); err != nil {
		t.Fatal(err)
	}
	if err := w.api.Create(t.Context(), secret("theirs")); err != nil {
		t.Fatal(err)
	}
	if err := w.api.Delete(t.Context(), newThing()); err != nil {
		t.Fatal(err)
	}
	w.Cleanup = func(context.Context, *pass) Outcome { return Wait(time.Second, "Draining", "") }
	w.requests = nil
	w.pass(t)
	w.sent(t) // the clean-up still needs what the sweep would delete
	w.Cleanup = nil
	w.fail["delete"] = errBroken
	if _, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); !errors.Is(err, errBroken) || w.live(t) == nil {
		t.Errorf("released in spite of %v", err)
	}
	delete(w.fail, "delete")
	w.pass(t)
	if w.live(t) != nil {
		t.Error("still there")
	}
	var left corev1.SecretList
	if err := w.api.List(t.Context(), &left); err != nil {
		t.Fatal(err)
	}
	if len(left.Items) != 1 || left.Items[0].Name != "theirs" {
		t.Errorf("left are %v", left.Items)
	}
}

func TestALostClusterIsGivenUpInTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	if err := w.api.Create(t.Context(), newThing(func(o *thing) {
		o.Spec.Cluster, o.Finalizers = "far", []string{"example.com/thing", "openstack.c5c3.io/remote-children"}
	})); err != nil {
		t.Fatal(err)
	}
	w.Cleanup = func(context.Context, *pass) Outcome {
		t.Error("the clean-up runs without a cluster")
		return Outcome{}
	}
	w.deleteNow(t)
	if result := w.pass(t); result.RequeueAfter != TargetRetry {
		t.Errorf("comes back: %+v", result)
	}
	w.expect(t, "FirstReady", "False/TargetClusterUnavailable")
	w.clock.SetTime(w.clock.Now().Add(5*time.Minute - time.Second))
	w.pass(t)
	w.raised(t)
	w.clock.SetTime(w.clock.Now().Add(time.Second))
	w.pass(t)
	if w.live(t) != nil || len(w.events) != 1 || !strings.HasPrefix(w.events[0], "Warning RemoteChildrenAbandoned: Released without clean-up: ") ||
		!strings.Contains(w.events[0], `"far"`) || !slices.Equal(w.gone, []string{"default/one/uid-1"}) {
		t.Errorf("events %q, gone %q", w.events, w.gone)
	}
}

// A cluster that comes back in between gets its full time again.
func TestALostClusterThatComesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newThing(func(o *thing) {
		o.Spec.Cluster, o.Finalizers = "far", []string{"example.com/thing", "openstack.c5c3.io/remote-children"}
	}))
	w.Cleanup = func(context.Context, *pass) Outcome { return Wait(time.Second, "Draining", "") }
	w.deleteNow(t)
	w.pass(t)
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.addCluster("far")
	w.pass(t)
	delete(w.clusters, "far")
	w.pass(t)
	if w.live(t) == nil {
		t.Error("given up at once")
	}
}

// deleteNow deletes the object at the time of the test's clock.
func (w *world) deleteNow(t *testing.T) {
	t.Helper()
	if err := w.api.Delete(t.Context(), newThing()); err != nil {
		t.Fatal(err)
	}
	w.clock.SetTime(w.live(t).DeletionTimestamp.Time)
}

// Other objects find their cluster all the time; the one that waits for its parent is released all the same, but not for an
// error, which says nothing about what is there.
func TestAPlaceThatIsNeverKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newThing(func(o *thing) { o.Finalizers = []string{"example.com/thing"} }))
	if err := w.api.Create(t.Context(), newThing(func(o *thing) { o.Name = "other" })); err != nil {
		t.Fatal(err)
	}
	place := Error(errBroken)
	w.Place = func(_ context.Context, o *thing) (string, Outcome) {
		if o.Name == "other" {
			return "", Outcome{}
		}
		return "", place
	}
	others := func() {
		if _, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: "other"}}); err != nil {
			t.Fatal(err)
		}
		w.clock.SetTime(w.clock.Now().Add(5 * time.Minute))
	}
	w.deleteNow(t)
	for range 3 {
		if _, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); !errors.Is(err, errBroken) || w.live(t) == nil {
			t.Fatalf("given up for an error: %v", err)
		}
		others()
	}
	place = Wait(time.Second, "WaitingForParent", "No parent")
	w.pass(t)
	others()
	w.pass(t)
	if w.live(t) != nil || len(w.events) != 1 {
		t.Errorf("still held; events %q", w.events)
	}
}

func TestAStaleCacheReleasesOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newThing(func(o *thing) { o.Finalizers = []string{"example.com/thing", "example.com/foreign"} }))
	w.Cleanup = func(context.Context, *pass) Outcome { return Outcome{}.Announce(warning, "Finalized", "") }
	w.deleteNow(t)
	w.past = w.live(t)
	w.pass(t)
	w.raised(t, "Warning Finalized: ")
	if _, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil && !apierrors.IsConflict(err) {
		t.Errorf("Reconcile() = %v", err)
	}
	w.raised(t)
}

// The last finalizer takes the object with it, and with that the version that would conflict.
func TestAStaleCacheOfWhatHasGoneReleasesOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newThing(func(o *thing) { o.Finalizers = []string{"example.com/thing"} }))
	w.Cleanup = func(context.Context, *pass) Outcome { return Outcome{}.Announce(warning, "Finalized", "") }
	w.deleteNow(t)
	w.past = w.live(t)
	w.pass(t)
	w.raised(t, "Warning Finalized: ")
	w.pass(t)
	w.raised(t)
}

func TestAPassThatTrustsItsOwnWriteComesBack(t *testing.T) {
	t.Parallel()
	secret := func() *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "child"}}
	}
	w := newWorld(t, newThing(), step{Name: "First", Condition: "FirstReady", Run: func(ctx context.Context, p *pass) Outcome {
		return Error(p.Children.Writer.Replace(ctx, p.Object, secret()))
	}})
	w.past, w.fail["read"] = w.live(t), notFound // the cache lags
	if result := w.pass(t); result.RequeueAfter != 0 {
		t.Errorf("comes back: %+v", result)
	}
	if err := w.api.Delete(t.Context(), secret()); err != nil {
		t.Fatal(err)
	}
	if result := w.pass(t); result.RequeueAfter == 0 {
		t.Error("nobody looks again for the child that was deleted")
	}
}

// A place that writes the object, as one that notes the cluster on it, costs no write of the status.
func TestAPlaceThatWrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newThing())
	w.pass(t)
	w.requests = nil
	w.Place = func(ctx context.Context, o *thing) (string, Outcome) {
		before := o.DeepCopyObject().(*thing)
		o.Annotations = map[string]string{"cluster": "noted"}
		return "", Error(w.Client.Patch(ctx, o, client.MergeFrom(before)))
	}
	w.pass(t)
	w.sent(t, "patch")
	if diff := cmp.Diff(map[string]string{"cluster": "noted"}, w.live(t).Annotations); diff != "" {
		t.Error(diff)
	}
}
