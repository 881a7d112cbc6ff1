// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// strangers are objects that bear a child's name and are not the owner's; one belongs to another management cluster (R25).
func strangers(c *cluster, other client.Object) map[string]*corev1.Secret {
	stranger := func(change func(*corev1.Secret)) *corev1.Secret {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "child", Namespace: c.namespace}, Data: map[string][]byte{"theirs": []byte("precious")}}
		change(s)
		return s
	}
	labels := func(uid types.UID) func(*corev1.Secret) {
		return func(s *corev1.Secret) {
			s.Labels = map[string]string{LabelOwnerKind: "ConfigMap", LabelOwnerName: c.owner.Name, LabelOwnerNamespace: c.namespace}
			s.Annotations = map[string]string{AnnotationOwnerUID: string(uid)}
		}
	}
	return map[string]*corev1.Secret{
		"unmarked":                     stranger(func(*corev1.Secret) {}),
		"of another management world":  stranger(labels("another-uid")),
		"of another controller":        stranger(func(s *corev1.Secret) { s.OwnerReferences = reference(other) }),
		"of an earlier owner":          stranger(func(s *corev1.Secret) { s.Annotations = map[string]string{AnnotationOwnerUID: "earlier"} }),
		"taken over from us":           stranger(func(s *corev1.Secret) { labels(c.owner.UID)(s); s.Labels = nil; s.OwnerReferences = reference(other) }),
		"with a copy of our hash only": stranger(func(s *corev1.Secret) { s.Annotations = map[string]string{AnnotationApplied: Digest(s)} }),
	}
}

func reference(owner client.Object) []metav1.OwnerReference {
	return []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}
}

// No verb touches what is not ours (R36), whether the cache shows it or not.
func TestForeignObjectsAreRefused(t *testing.T) {
	t.Parallel()
	for _, process := range []struct {
		name   string
		writer func(*cluster) *Writer
	}{{"local", (*cluster).writer}, {"remote", (*cluster).remoteWriter}} {
		for _, hidden := range []bool{false, true} {
			t.Run(process.name+map[bool]string{true: " and hidden"}[hidden], func(t *testing.T) {
				t.Parallel()
				c := newRealCluster(t)
				for name, stranger := range strangers(c, c.newOwner(t, "other")) {
					c.refuses(t, name, process.writer(c), stranger, hidden)
				}
			})
		}
	}
}

func (c *cluster) refuses(t *testing.T, name string, w *Writer, stranger *corev1.Secret, hidden bool) {
	t.Helper()
	if err := c.WithWatch.Create(t.Context(), stranger); err != nil {
		t.Fatal(err)
	}
	if hidden {
		c.show(stranger, nil)
	}
	secret := func() *corev1.Secret { return c.child("Secret").(*corev1.Secret) }
	if err := w.Apply(t.Context(), c.owner, secret()); !IsForeign(err) || !strings.Contains(err.Error(), "Secret "+c.namespace+"/child exists") {
		t.Errorf("%s: Apply() = %v", name, err)
	}
	if err := w.Replace(t.Context(), c.owner, secret()); !IsForeign(err) {
		t.Errorf("%s: Replace() = %v", name, err)
	}
	if err := w.Create(t.Context(), c.owner, secret()); !apierrors.IsAlreadyExists(err) {
		t.Errorf("%s: Create() = %v", name, err)
	}
	if gone, err := w.Delete(t.Context(), c.owner, secret()); !gone || err != nil {
		t.Errorf("%s: Delete() = %v, %v", name, gone, err)
	}
	if w.Controls(c.owner, stranger) {
		t.Errorf("%s counts as controlled", name)
	}
	c.catchUp()
	if live := c.get(t, stranger); !cmp.Equal(live, client.Object(stranger)) {
		t.Errorf("%s is changed:\n%s", name, cmp.Diff(stranger, live))
	}
	if err := c.WithWatch.Delete(t.Context(), stranger); err != nil {
		t.Fatal(err)
	}
}

// Half a mark is enough to repair a child, never to delete it: who took it off may want to keep the object.
func TestAHalfMarkedChildIsRepairedAndNotDeleted(t *testing.T) {
	t.Parallel()
	for name, writer := range map[string]func(*cluster) *Writer{"local": (*cluster).writer, "remote": (*cluster).remoteWriter} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for server, start := range apiServers {
				t.Run(server, func(t *testing.T) {
					t.Parallel()
					c := start(t)
					w := writer(c)
					mustApply(t, w, c.owner, c.child("ConfigMap"))
					child := c.get(t, c.child("ConfigMap"))
					orphan := func(o client.Object) { o.SetOwnerReferences(nil); o.SetLabels(nil) }
					c.edit(t, child, orphan)
					if gone, err := w.Delete(t.Context(), c.owner, c.child("ConfigMap")); !gone || err != nil {
						t.Errorf("Delete() = %v, %v", gone, err)
					}
					mustApply(t, w, c.owner, c.child("ConfigMap"))
					live := c.get(t, child)
					if !w.Controls(c.owner, live) || live.GetUID() != child.GetUID() {
						t.Errorf("the mark is not restored: %+v", live)
					}
				})
			}
		})
	}
}

func TestRemoteChildrenCarryLabelsAndNoReference(t *testing.T) {
	t.Parallel()
	for server, start := range apiServers {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			c := start(t)
			w, child := c.remoteWriter(), c.child("Deployment")
			mustApply(t, w, c.owner, child)
			mustApply(t, w, c.owner, c.child("Deployment"))
			mustApply(t, c.remoteWriter(), c.owner, c.child("Deployment"))
			c.sent(t, "apply") // no read before it either
			live := c.get(t, child)
			want := map[string]string{LabelOwnerKind: "ConfigMap", LabelOwnerName: "owner", LabelOwnerNamespace: c.namespace}
			if len(live.GetOwnerReferences()) > 0 || !includes(live.GetLabels(), want) || live.GetAnnotations()[AnnotationOwnerUID] != string(c.owner.UID) {
				t.Errorf("the mark is %v, %v, %v", live.GetOwnerReferences(), live.GetLabels(), live.GetAnnotations())
			}
			c.edit(t, child, func(o client.Object) { dropAnnotation(o, AnnotationOwnerUID) })
			mustApply(t, w, c.owner, c.child("Deployment"))
			c.sent(t, "apply")
		})
	}
}

func TestControlsByKindNameAndUID(t *testing.T) {
	t.Parallel()
	c := newRealCluster(t)
	w := c.remoteWriter()
	ours := &corev1.Secret{}
	if err := w.owners.mark(c.owner, ours); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*corev1.Secret){
		"kind":      func(s *corev1.Secret) { s.Labels[LabelOwnerKind] = "Secret" },
		"name":      func(s *corev1.Secret) { s.Labels[LabelOwnerName] = "other" },
		"namespace": func(s *corev1.Secret) { s.Labels[LabelOwnerNamespace] = "other" },
		"UID":       func(s *corev1.Secret) { s.Annotations[AnnotationOwnerUID] = "other" },
	} {
		theirs := ours.DeepCopy()
		change(theirs)
		if w.Controls(c.owner, theirs) {
			t.Errorf("an object of another %s counts as ours", name)
		}
	}
	if !w.Controls(c.owner, ours) {
		t.Error("ours does not")
	}
}

func TestAnOwnerWhoseNameIsNoLabelValue(t *testing.T) {
	t.Parallel()
	c := newRealCluster(t)
	owner := c.newOwner(t, strings.Repeat("long", 16))
	err := c.remoteWriter().Apply(t.Context(), owner, c.child("ConfigMap"))
	if err == nil || !strings.Contains(err.Error(), "cannot own children on another cluster") {
		t.Errorf("Apply() = %v", err)
	}
	c.sent(t)
	mustApply(t, c.writer(), owner, c.child("ConfigMap"))
}

// Marks and hashes go into copies: builders share maps between objects.
func TestSharedMapsAreNotChanged(t *testing.T) {
	t.Parallel()
	c := newRealCluster(t)
	shared, more := labels(), map[string]string{"example.com/shared": "yes"}
	for _, w := range []*Writer{c.writer(), c.remoteWriter()} {
		m := c.child("ConfigMap")
		m.SetName("of-" + map[bool]string{true: "remote", false: "local"}[w.owners.remote])
		m.SetLabels(shared)
		m.SetAnnotations(more)
		mustApply(t, w, c.owner, m)
	}
	if !cmp.Equal(shared, labels()) || len(more) != 1 {
		t.Errorf("shared maps changed to %v, %v", shared, more)
	}
}

// A mark goes onto the object that was looked at, never onto one that has taken its place.
func TestRestoreMarksNoStranger(t *testing.T) {
	t.Parallel()
	c := newRealCluster(t)
	w := c.writer()
	if err := w.Create(t.Context(), c.owner, c.secret()); err != nil {
		t.Fatal(err)
	}
	seen := c.get(t, c.secret())
	seen.SetOwnerReferences(nil)
	if err := c.WithWatch.Delete(t.Context(), c.secret()); err != nil {
		t.Fatal(err)
	}
	if err := c.WithWatch.Create(t.Context(), c.secret()); err != nil {
		t.Fatal(err)
	}
	if err := w.Restore(t.Context(), c.owner, seen, nil); !apierrors.IsConflict(err) {
		t.Errorf("Restore() = %v, want a conflict", err)
	}
	if w.Reclaims(c.owner, c.get(t, c.secret())) {
		t.Error("a stranger is marked as ours")
	}
}
