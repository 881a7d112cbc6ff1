// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/c5c3/cobaltcore/common/apply"
)

var (
	secrets    = corev1.SchemeGroupVersion.WithKind("Secret")
	configMaps = corev1.SchemeGroupVersion.WithKind("ConfigMap")
	errBroken  = errors.New("broken")
)

// world is a cluster whose API server answers in pages of two, and whose answers a test can replace.
type world struct {
	Cluster
	owner   *corev1.ConfigMap
	lists   []string
	deletes []string
	list    func(n int) error // answer to the n-th list
	delete  func(name string) error
}

func newWorld(t *testing.T, children ...client.Object) *world {
	t.Helper()
	api := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(children...).Build()
	w := &world{
		owner: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "keys", Name: "owner", UID: "uid"}},
		list:  func(int) error { return nil }, delete: func(string) error { return nil },
	}
	c := interceptor.NewClient(api, interceptor.Funcs{
		List: func(ctx context.Context, api client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			o := (&client.ListOptions{}).ApplyOptions(opts)
			w.lists = append(w.lists, fmt.Sprintf("%s %s from %q", o.Namespace, list.GetObjectKind().GroupVersionKind().Kind, o.Continue))
			if err := w.list(len(w.lists)); err != nil {
				return err
			}
			if err := api.List(ctx, list, opts...); err != nil {
				return err
			}
			turnPage(list.(*metav1.PartialObjectMetadataList), o.Continue)
			return nil
		},
		Delete: func(ctx context.Context, api client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			o := (&client.DeleteOptions{}).ApplyOptions(opts)
			if *o.PropagationPolicy != metav1.DeletePropagationBackground || *o.Preconditions.UID != obj.GetUID() {
				t.Errorf("%s is deleted with %+v", obj.GetName(), o)
			}
			w.deletes = append(w.deletes, obj.GetName())
			if err := w.delete(obj.GetName()); err != nil {
				return err
			}
			return api.Delete(ctx, obj, opts...)
		},
	})
	w.Cluster = Cluster{Name: "far", Client: c, Reader: c, Writer: apply.NewRemoteWriter(c, c)}
	return w
}

// turnPage keeps two items from the name in token on.
func turnPage(list *metav1.PartialObjectMetadataList, token string) {
	list.Items = slices.DeleteFunc(list.Items, func(o metav1.PartialObjectMetadata) bool { return o.Name < token })
	list.Continue = ""
	if len(list.Items) > 2 {
		list.Continue, list.Items = list.Items[2].Name, list.Items[:2]
	}
}

func child(name string, change ...func(*corev1.Secret)) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: "keys", Name: name, UID: "uid-of-child",
		Labels:      map[string]string{apply.LabelOwnerKind: "ConfigMap", apply.LabelOwnerName: "owner", apply.LabelOwnerNamespace: "keys"},
		Annotations: map[string]string{apply.AnnotationOwnerUID: "uid"},
	}}
	for _, c := range change {
		c(s)
	}
	return s
}

func TestSweepDeletesWhatTheOwnerControls(t *testing.T) {
	t.Parallel()
	w := newWorld(t,
		child("a"), child("b"), child("c"), child("d"), child("e"),
		child("other-kind", func(s *corev1.Secret) { s.Labels[apply.LabelOwnerKind] = "Secret" }),
		child("other-name", func(s *corev1.Secret) { s.Labels[apply.LabelOwnerName] = "other" }),
		child("other-management-cluster", func(s *corev1.Secret) { s.Annotations[apply.AnnotationOwnerUID] = "other" }),
		child("other-namespace", func(s *corev1.Secret) { s.Namespace = "elsewhere" }),
		child("unmarked", func(s *corev1.Secret) { s.Labels = nil }),
		child("terminating", func(s *corev1.Secret) {
			s.DeletionTimestamp, s.Finalizers = &metav1.Time{Time: metav1.Now().Time}, []string{"example.com/hold"}
		}),
	)
	if err := Sweep(t.Context(), w.Cluster, w.owner, []schema.GroupVersionKind{secrets, configMaps}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "b", "c", "d", "e"}; !slices.Equal(w.deletes, want) {
		t.Errorf("deleted %q, want %q", w.deletes, want)
	}
	if first, last := w.lists[0], w.lists[len(w.lists)-1]; first != `keys SecretList from ""` || last != `keys ConfigMapList from ""` || len(w.lists) != 6 {
		t.Errorf("listed %q", w.lists)
	}
}

func TestSweepStartsAgainOnceWhenItsTokenExpires(t *testing.T) {
	t.Parallel()
	children := []client.Object{child("a"), child("b"), child("c")}
	expired := apierrors.NewResourceExpired("too old")
	w := newWorld(t, children...)
	w.list = func(n int) error { return map[int]error{2: expired}[n] }
	if err := Sweep(t.Context(), w.Cluster, w.owner, []schema.GroupVersionKind{secrets}); err != nil {
		t.Fatal(err)
	}
	if want := []string{`keys SecretList from ""`, `keys SecretList from "c"`, `keys SecretList from ""`}; !slices.Equal(w.lists, want) || len(w.deletes) != 3 {
		t.Errorf("listed %q, deleted %q", w.lists, w.deletes)
	}

	w = newWorld(t, children...)
	w.list = func(n int) error { return map[bool]error{true: expired}[n > 1] }
	if err := Sweep(t.Context(), w.Cluster, w.owner, []schema.GroupVersionKind{secrets}); !apierrors.IsResourceExpired(err) {
		t.Errorf("Sweep() = %v", err)
	}
}

func TestSweepFailures(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		list, erase error
		want        string
	}{
		{"kind that is not served", &meta.NoKindMatchError{GroupKind: secrets.GroupKind()}, nil, ""},
		{"path that is not served", apierrors.NewNotFound(schema.GroupResource{}, ""), nil, ""},
		{"list", errBroken, nil, "sweeping Secret: broken"},
		{"forbidden list", apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errBroken), nil, "sweeping Secret: secrets is forbidden: broken"},
		{"delete", nil, errBroken, "sweeping Secret: deleting keys/a: broken"},
		{"gone meanwhile", nil, apierrors.NewNotFound(schema.GroupResource{}, "a"), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, child("a"))
			w.list = func(n int) error { return map[int]error{1: tt.list}[n] }
			w.delete = func(string) error { return tt.erase }
			got := ""
			if err := Sweep(t.Context(), w.Cluster, w.owner, []schema.GroupVersionKind{secrets, configMaps}); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("Sweep() = %q, want %q", got, tt.want)
			}
			if last := w.lists[len(w.lists)-1]; last != `keys ConfigMapList from ""` {
				t.Errorf("the other kind is not swept: %q", w.lists)
			}
		})
	}
}
