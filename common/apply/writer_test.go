// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestASettledChildCostsNoRequest(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for server, start := range apiServers {
				t.Run(server, func(t *testing.T) {
					t.Parallel()
					c := start(t)
					if kind == "NetworkPolicy" && server == "fake" {
						t.Skip("the fake API server cannot merge it")
					}
					w := c.writer()
					mustApply(t, w, c.owner, c.child(kind))
					c.sent(t, "apply")
					mustApply(t, w, c.owner, c.child(kind))
					settled := c.child(kind)
					mustApply(t, c.writer(), c.owner, settled) // after a restart
					c.sent(t)
					live := c.get(t, settled)
					if settled.GetResourceVersion() != live.GetResourceVersion() || settled.GetUID() != live.GetUID() {
						t.Errorf("the caller sees version %s of %s, live is %s of %s",
							settled.GetResourceVersion(), settled.GetUID(), live.GetResourceVersion(), live.GetUID())
					}
				})
			}
		})
	}
}

// Every edit of what we said, and of the ownership mark, is undone by one apply: by the process that has seen the child before,
// and by one that has not.
func TestEveryEditIsRepaired(t *testing.T) {
	t.Parallel()
	for kind, build := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c := newRealCluster(t)
			w, tried := c.writer(), 0
			for _, e := range append(edits(build()), markEdits...) {
				for name, process := range map[string]*Writer{"the same": w, "a restarted": c.writer()} {
					settled := c.child(kind)
					mustApply(t, w, c.owner, settled)
					settled = settled.DeepCopyObject().(client.Object)
					if !c.tryEdit(t, settled, e) {
						continue
					}
					tried++
					mustApply(t, process, c.owner, c.child(kind))
					if c.count() != 1 && !slices.Equal(c.requests, rewritten) {
						t.Errorf("%s process repaired the edit of %s by %q", name, e.path, c.requests)
					}
					live := c.get(t, settled)
					if contentSum(live) == contentSum(settled) && sameMeta(live, settled) {
						continue
					}
					if !mergeKey.MatchString(e.path) {
						t.Errorf("%s process left the edit of %s:\n%s", name, e.path, cmp.Diff(settled, live))
					}
					if err := c.WithWatch.Delete(t.Context(), live, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
						t.Fatal(err)
					}
					w.Forget(client.ObjectKeyFromObject(c.owner))
				}
			}
			if least := map[string]int{"Deployment": 60, "CronJob": 30, "Job": 4}[kind]; tried < 2*max(least, 4) {
				t.Errorf("only %d edits were possible", tried)
			}
		})
	}
}

// An entry under another key is somebody else's: it stays beside ours, which comes back.
var mergeKey = regexp.MustCompile(`(Containers|Env|Volumes)\[\d]\.Name=|VolumeMounts\[\d]\.MountPath=|Ports\[\d]\.(ContainerPort|Protocol)=|` +
	`Tolerations|TopologySpreadConstraints\[\d]\.(TopologyKey|WhenUnsatisfiable)=`)

// rewritten is what it takes to repair an edit that an apply cannot merge.
var rewritten = []string{"apply", "patch", "patch", "apply"}

// tryEdit reports false if the API server refuses the edit, or sets defaults that make it none.
func (c *cluster) tryEdit(t *testing.T, settled client.Object, e edit) bool {
	t.Helper()
	live := c.get(t, settled)
	e.apply(live)
	err := c.Update(t.Context(), live, client.FieldOwner("somebody"))
	c.requests = nil
	return err == nil && (contentSum(live) != contentSum(settled) || !sameMeta(live, settled))
}

var markEdits = []edit{
	{"controller reference", func(o client.Object) { o.SetOwnerReferences(nil) }},
	{"owner UID", func(o client.Object) { dropAnnotation(o, AnnotationOwnerUID) }},
	{"applied hash", func(o client.Object) { dropAnnotation(o, AnnotationApplied) }},
	{"applied hash of something else", func(o client.Object) { o.GetAnnotations()[AnnotationApplied] = "00" }},
	{"own annotation", func(o client.Object) { dropAnnotation(o, "example.com/ours") }},
	{"own label", func(o client.Object) { o.GetLabels()["app.kubernetes.io/name"] = "other" }},
	{"all labels", func(o client.Object) { o.SetLabels(nil) }},
}

func dropAnnotation(o client.Object, key string) {
	annotations := o.GetAnnotations()
	delete(annotations, key)
	o.SetAnnotations(annotations)
}

func sameMeta(a, b client.Object) bool {
	return coversMeta(a, b) && cmp.Equal(a.GetOwnerReferences(), b.GetOwnerReferences())
}

func TestADeletedChildIsMadeAgain(t *testing.T) {
	t.Parallel()
	for server, start := range apiServers {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			c := start(t)
			w, first := c.writer(), c.child("Service")
			mustApply(t, w, c.owner, first)
			mustApply(t, w, c.owner, c.child("Service")) // the cache has caught up
			if err := c.WithWatch.Delete(t.Context(), first.DeepCopyObject().(client.Object)); err != nil {
				t.Fatal(err)
			}
			c.requests = nil
			mustApply(t, w, c.owner, c.child("Service"))
			c.sent(t, "apply")
			c.get(t, first)
		})
	}
}

func TestAFieldThatIsNoLongerDesiredGoes(t *testing.T) {
	t.Parallel()
	for server, start := range apiServers {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			c := start(t)
			w := c.writer()
			for name, process := range map[string]func() *Writer{"same process": func() *Writer { return w }, "restarted": c.writer} {
				full := c.child("Deployment").(*appsv1.Deployment)
				full.Spec.MinReadySeconds = 7
				mustApply(t, w, c.owner, full)
				less := c.child("Deployment").(*appsv1.Deployment)
				less.Spec.Template.Spec.NodeSelector, less.Labels = nil, nil
				less.Spec.Template.Spec.Containers[0].Env = nil
				c.requests = nil
				mustApply(t, process(), c.owner, less)
				c.sent(t, "apply")
				spec := c.get(t, full).(*appsv1.Deployment).Spec
				if len(less.Labels) > 0 || spec.MinReadySeconds != 0 || spec.Template.Spec.NodeSelector != nil || len(spec.Template.Spec.Containers[0].Env) > 0 {
					t.Errorf("%s: what is no longer desired stands: %+v", name, less)
				}
			}
		})
	}
}

func TestFieldsOfOthersAreKept(t *testing.T) {
	t.Parallel()
	for server, start := range apiServers {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			c := start(t)
			w := c.writer()
			child := c.child("Deployment")
			mustApply(t, w, c.owner, child)
			c.edit(t, child, func(o client.Object) {
				d := o.(*appsv1.Deployment)
				d.Labels["theirs"], d.Annotations["theirs"], d.Spec.Template.Annotations["theirs"] = "a", "b", "c"
				d.Spec.RevisionHistoryLimit = new(int32(3))
			})
			c.requests = nil
			mustApply(t, w, c.owner, c.child("Deployment"))
			if len(c.requests) > 1 {
				t.Errorf("one edit cost %q", c.requests)
			}
			c.requests = nil
			mustApply(t, w, c.owner, c.child("Deployment"))
			mustApply(t, c.writer(), c.owner, c.child("Deployment"))
			c.sent(t)
			d := c.get(t, child).(*appsv1.Deployment)
			if d.Labels["theirs"] != "a" || d.Annotations["theirs"] != "b" || d.Spec.Template.Annotations["theirs"] != "c" || *d.Spec.RevisionHistoryLimit != 3 {
				t.Errorf("a foreign field is lost: %+v", d)
			}
		})
	}
}

func TestAStatusChangeCostsNoRequest(t *testing.T) {
	t.Parallel()
	c := newRealCluster(t)
	w, child := c.writer(), c.child("Deployment").(*appsv1.Deployment)
	mustApply(t, w, c.owner, child)
	for i := range int32(3) {
		live := c.get(t, child).(*appsv1.Deployment)
		live.Status.Replicas = i
		if err := c.Status().Update(t.Context(), live); err != nil {
			t.Fatal(err)
		}
		c.requests = nil
		mustApply(t, w, c.owner, c.child("Deployment"))
		mustApply(t, c.writer(), c.owner, c.child("Deployment"))
		c.sent(t)
	}
}

func TestALaggingCacheCostsNoRequest(t *testing.T) {
	t.Parallel()
	for server, start := range apiServers {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			c := start(t)
			w, first := c.writer(), c.child("Deployment")
			c.show(first, nil)
			mustApply(t, w, c.owner, first)
			old := first.DeepCopyObject().(client.Object)
			c.sent(t, "apply")
			mustApply(t, w, c.owner, c.child("Deployment")) // not shown yet
			c.sent(t)

			c.show(first, old)
			changed := func() client.Object {
				d := c.child("Deployment").(*appsv1.Deployment)
				d.Spec.Replicas = new(int32(7))
				return d
			}
			mustApply(t, w, c.owner, changed())
			c.sent(t, "apply")
			again := changed()
			mustApply(t, w, c.owner, again) // the cache shows the version before
			c.sent(t)
			if got := *again.(*appsv1.Deployment).Spec.Replicas; got != 7 {
				t.Errorf("the caller sees %d replicas", got)
			}
			c.catchUp()
			mustApply(t, w, c.owner, changed())
			c.sent(t)
			if r := w.memory.recall(client.ObjectKeyFromObject(c.owner), childOf(t, w, changed()).key); r.answer != nil {
				t.Error("what was written is still kept beside the cache")
			}
		})
	}
}

// No pass may come for long after the last write: what was written is kept until the cache shows it.
func TestWhatTheCacheShowsIsNotKept(t *testing.T) {
	t.Parallel()
	c := apiServers["fake"](t)
	w, deployment, secret := c.writer(), c.child("Deployment"), c.secret()
	c.show(deployment, nil) // nor the Secret of that name
	mustApply(t, w, c.owner, deployment)
	mustReplace(t, w, c.owner, secret)
	c.sent(t, "apply", "create")
	w.holds(t, "both are written", 2, 2)

	another, orphan := c.get(t, deployment), c.get(t, secret)
	another.SetUID("another")
	orphan.SetOwnerReferences(nil)
	w.Shown(another)
	w.Shown(orphan)
	w.holds(t, "the cache shows an object of that name and one of nobody", 2, 2)
	w.Shown(c.get(t, deployment))
	w.Shown(c.get(t, secret))
	w.holds(t, "the cache shows both", 1, 0)

	c.catchUp()
	seen := c.get(t, deployment)
	mustApply(t, w, c.owner, c.child("Deployment"))
	mustReplace(t, w, c.owner, c.secret())
	c.sent(t)
	changed := c.child("Deployment").(*appsv1.Deployment)
	changed.Spec.Replicas = new(int32(7))
	c.show(changed, seen)
	mustApply(t, w, c.owner, changed)
	w.Shown(seen)
	w.holds(t, "the cache shows the version before", 1, 1)
	c.catchUp()
	again := c.child("Deployment").(*appsv1.Deployment)
	again.Spec.Replicas = new(int32(8))
	mustApply(t, w, c.owner, again)
	w.holds(t, "the cache is quicker than the answer", 1, 0)
	c.sent(t, "apply", "apply")
}

// holds fails the test unless that many children are remembered, and what was written of so many.
func (w *Writer) holds(t *testing.T, when string, children, answers int) {
	t.Helper()
	records, kept := 0, 0
	for _, of := range w.memory.owners {
		for _, r := range of {
			if records++; r.answer != nil {
				kept++
			}
		}
	}
	if records != children || kept != answers {
		t.Errorf("%s: %d children are remembered and %d writes kept, want %d and %d", when, records, kept, children, answers)
	}
}

func childOf(t *testing.T, w *Writer, o client.Object) child {
	t.Helper()
	c, err := w.child(&corev1.ConfigMap{}, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What the cache never shows is either filtered or lost: neither overwrites anything, nor ends in an error.
func TestACacheThatShowsNothing(t *testing.T) {
	t.Parallel()
	for server, start := range apiServers {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			c := start(t)
			w, child := c.writer(), c.child("Deployment")
			c.show(child, nil)
			mustApply(t, w, c.owner, child)
			c.sent(t, "apply")
			c.clock.SetTime(c.clock.Now().Add(cacheLag))
			mustApply(t, w, c.owner, c.child("Deployment"))
			c.sent(t, "apply", "get") // it is there and settled
			mustApply(t, c.writer(), c.owner, c.child("Deployment"))
			c.sent(t, "apply", "get")
		})
	}
}

// A child that is missing right after our write may be one that somebody deleted: nothing else would look again.
func TestAWriteThatTheCacheDoesNotShowIsDoubted(t *testing.T) {
	t.Parallel()
	c := newRealCluster(t)
	w, child := c.writer(), c.child("ConfigMap")
	c.show(child, nil)
	mustApply(t, w, c.owner, child)
	if d := w.Doubt(c.owner.UID); d != 0 {
		t.Errorf("a write is doubted for %s", d)
	}
	mustApply(t, w, c.owner, c.child("ConfigMap"))
	c.sent(t, "apply")
	if first, second := w.Doubt(c.owner.UID), w.Doubt(c.owner.UID); first != cacheLag || second != 0 {
		t.Errorf("doubted for %s, then for %s", first, second)
	}
}

func TestAChildThatWasReplacedUnseenIsNotTouched(t *testing.T) {
	t.Parallel()
	c := newRealCluster(t)
	w, child := c.writer(), c.child("ConfigMap")
	mustApply(t, w, c.owner, child)
	seen := c.get(t, child)
	if err := c.WithWatch.Delete(t.Context(), c.get(t, child)); err != nil {
		t.Fatal(err)
	}
	theirs := c.child("ConfigMap").(*corev1.ConfigMap)
	theirs.Data = map[string]string{"theirs": "precious"}
	if err := c.WithWatch.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	c.show(child, seen)
	desired := c.child("ConfigMap").(*corev1.ConfigMap)
	desired.Data["more"] = "of ours"
	if err := w.Apply(t.Context(), c.owner, desired); err == nil {
		t.Error("applied to an object that took the place of ours")
	}
	if _, err := w.Delete(t.Context(), c.owner, c.child("ConfigMap")); !apierrors.IsConflict(err) {
		t.Errorf("Delete() = %v, want a conflict", err)
	}
	if live := c.get(t, theirs); !cmp.Equal(live.(*corev1.ConfigMap).Data, theirs.Data) {
		t.Errorf("foreign data changed: %v", live)
	}
}

// A child that is deleted and wanted again at once is made, although the cache may still not show the first one.
func TestApplyAfterDelete(t *testing.T) {
	t.Parallel()
	for server, start := range apiServers {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			c := start(t)
			w, child := c.writer(), c.child("ConfigMap")
			c.show(child, nil)
			mustApply(t, w, c.owner, child)
			c.sent(t, "apply")
			if gone, err := w.Delete(t.Context(), c.owner, c.child("ConfigMap")); gone || err != nil {
				t.Fatalf("Delete() = %v, %v, want false while we wait for the cache", gone, err)
			}
			c.sent(t, "delete")
			mustApply(t, w, c.owner, c.child("ConfigMap"))
			c.sent(t, "apply")
			c.get(t, child)
		})
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	for server, start := range apiServers {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			c := start(t)
			w, child := c.writer(), c.child("ConfigMap")
			gone, err := w.Delete(t.Context(), c.owner, child)
			if !gone || err != nil {
				t.Errorf("Delete(none) = %v, %v", gone, err)
			}
			c.sent(t)
			held := c.child("ConfigMap")
			mustApply(t, w, c.owner, held)
			c.edit(t, child, func(o client.Object) { o.SetFinalizers([]string{"example.com/hold"}) })
			c.requests = nil
			for range 2 { // the second time it is terminating
				if gone, err := w.Delete(t.Context(), c.owner, child); gone || err != nil {
					t.Errorf("Delete(held) = %v, %v", gone, err)
				}
			}
			c.sent(t, "delete")
			c.edit(t, child, func(o client.Object) { o.SetFinalizers(nil) })
			if gone, err := w.Delete(t.Context(), c.owner, child); !gone || err != nil {
				t.Errorf("Delete(deleted) = %v, %v", gone, err)
			}
			if len(w.memory.owners[client.ObjectKeyFromObject(c.owner)]) > 0 {
				t.Error("a deleted child is still remembered")
			}
		})
	}
}

func TestErrorsNameTheChild(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, tt := range []struct {
		verb string
		call func(context.Context, *cluster, *Writer) error
	}{
		{"read", func(ctx context.Context, c *cluster, w *Writer) error {
			return w.Apply(ctx, c.owner, c.child("Secret"))
		}},
		{"apply", func(ctx context.Context, c *cluster, w *Writer) error {
			return w.Apply(ctx, c.owner, c.child("Secret"))
		}},
		{"create", func(ctx context.Context, c *cluster, w *Writer) error {
			return w.Create(ctx, c.owner, c.child("Secret"))
		}},
		{"create", func(ctx context.Context, c *cluster, w *Writer) error {
			return w.Replace(ctx, c.owner, c.child("Secret").(*corev1.Secret))
		}},
		{"read", func(ctx context.Context, c *cluster, w *Writer) error {
			return w.Replace(ctx, c.owner, c.child("Secret").(*corev1.Secret))
		}},
		{"read", func(ctx context.Context, c *cluster, w *Writer) error {
			_, err := w.Delete(ctx, c.owner, c.child("Secret"))
			return err
		}},
	} {
		c := newRealCluster(t)
		c.fail[tt.verb] = broken
		err := tt.call(t.Context(), c, c.writer())
		if !errors.Is(err, broken) || !strings.Contains(fmt.Sprint(err), "Secret "+c.namespace+"/child") {
			t.Errorf("a failed %s is told as %q", tt.verb, err)
		}
	}
}

func TestAKindThatIsNotServed(t *testing.T) {
	t.Parallel()
	c := newRealCluster(t)
	c.fail["read"] = &meta.NoKindMatchError{}
	w := c.writer()
	if err := w.Apply(t.Context(), c.owner, c.child("HTTPRoute")); !meta.IsNoMatchError(err) {
		t.Errorf("Apply() = %v", err)
	}
	if gone, err := w.Delete(t.Context(), c.owner, c.child("HTTPRoute")); !gone || err != nil {
		t.Errorf("Delete() = %v, %v, want gone", gone, err)
	}
}

// A failed apply is tried again, whatever was remembered.
func TestAFailedApplyIsRepeated(t *testing.T) {
	t.Parallel()
	for server, start := range apiServers {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			c := start(t)
			w := c.writer()
			mustApply(t, w, c.owner, c.child("ConfigMap"))
			changed := func() client.Object {
				m := c.child("ConfigMap").(*corev1.ConfigMap)
				m.Data["more"] = "x"
				return m
			}
			c.fail["apply"] = errors.New("broken")
			if err := w.Apply(t.Context(), c.owner, changed()); err == nil {
				t.Fatal("the failure is swallowed")
			}
			delete(c.fail, "apply")
			c.requests = nil
			mustApply(t, w, c.owner, changed())
			c.sent(t, "apply")
		})
	}
}

func TestForgetDropsAllOfAnOwner(t *testing.T) {
	t.Parallel()
	c := newRealCluster(t)
	w := c.writer()
	mustApply(t, w, c.owner, c.child("ConfigMap"))
	mustApply(t, w, c.owner, c.child("Service"))
	w.Forget(client.ObjectKeyFromObject(c.owner))
	if len(w.memory.owners) > 0 {
		t.Errorf("remembered: %v", w.memory.owners)
	}
}

// Many reconciles share one Writer.
func TestConcurrentOwners(t *testing.T) {
	t.Parallel()
	for server, start := range apiServers {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			c := start(t)
			w := c.writer()
			var owners sync.WaitGroup
			for i := range 4 {
				owner := c.newOwner(t, fmt.Sprint("owner-", i))
				build := func() *corev1.ConfigMap {
					m := c.child("ConfigMap").(*corev1.ConfigMap)
					m.Name = owner.Name + "-child"
					return m
				}
				owners.Go(func() {
					for n := range 10 {
						m := build()
						m.Data["n"] = fmt.Sprint(n)
						if err := w.Apply(t.Context(), owner, m); err != nil {
							t.Error(err)
						}
						if n%4 == 3 {
							w.Forget(client.ObjectKeyFromObject(owner))
						}
					}
					if _, err := w.Delete(t.Context(), owner, build()); err != nil {
						t.Error(err)
					}
				})
			}
			owners.Wait()
		})
	}
}

func TestOlder(t *testing.T) {
	t.Parallel()
	at := func(version string) client.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}}
	}
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"9", "10", true}, {"10", "9", false}, {"10", "10", false},
		{"", "10", false}, {"10", "", false}, {"abc", "abd", false}, {"9", "x", false},
		{"99999999999999999999998", "99999999999999999999999", true},
	} {
		if got := Older(at(tt.a), at(tt.b)); got != tt.want {
			t.Errorf("Older(%q, %q) = %v", tt.a, tt.b, got)
		}
	}
}

// A clock that steps back keeps our own write trusted for longer, never anybody else's.
func TestAClockThatSteps(t *testing.T) {
	t.Parallel()
	for server, start := range apiServers {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			c := start(t)
			w, child := c.writer(), c.child("ConfigMap")
			c.show(child, nil)
			mustApply(t, w, c.owner, child)
			c.clock.SetTime(c.clock.Now().Add(-time.Hour))
			mustApply(t, w, c.owner, c.child("ConfigMap"))
			c.sent(t, "apply")
		})
	}
}
