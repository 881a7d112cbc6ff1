// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestRestore(t *testing.T) {
	t.Parallel()
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "owner", UID: "uid-owner"}}
	wanted := map[string]string{"app": "svc"}
	for _, tt := range []struct {
		name    string
		loses   func(*corev1.Secret)
		writes  int
		foreign bool
	}{
		{"nothing is missing", func(*corev1.Secret) {}, 0, false},
		{"a label", func(s *corev1.Secret) { s.Labels = map[string]string{"theirs": "1"} }, 1, false},
		{"the value of a label", func(s *corev1.Secret) { s.Labels["app"] = "x" }, 1, false},
		{"the controller reference", func(s *corev1.Secret) { s.OwnerReferences = nil }, 1, false},
		{"the owner's UID", func(s *corev1.Secret) { s.Annotations = nil }, 1, false},
		{"all of the mark", func(s *corev1.Secret) { s.OwnerReferences, s.Annotations = nil, nil }, 0, true},
		{"another owner", func(s *corev1.Secret) { s.OwnerReferences[0].UID = "uid-other" }, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			writes := 0
			c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build(), interceptor.Funcs{
				Patch: func(ctx context.Context, next client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
					writes++
					return next.Patch(ctx, obj, patch, opts...)
				},
			})
			w := NewWriter(c, c)
			child := &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "child", Labels: map[string]string{"app": "svc", "theirs": "1"}},
				Data:       map[string][]byte{"k": []byte("v")},
			}
			if err := w.Create(t.Context(), owner, child); err != nil {
				t.Fatal(err)
			}
			tt.loses(child)
			if err := c.Update(t.Context(), child); err != nil {
				t.Fatal(err)
			}
			husk := &corev1.Secret{ObjectMeta: *child.ObjectMeta.DeepCopy()} // as a cache shows what has lost its label
			err := w.Restore(t.Context(), owner, husk, wanted)
			if IsForeign(err) != tt.foreign || (err != nil) != tt.foreign || writes != tt.writes {
				t.Fatalf("Restore() = %v after %d writes", err, writes)
			}
			live := &corev1.Secret{}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(child), live); err != nil {
				t.Fatal(err)
			}
			if string(live.Data["k"]) != "v" {
				t.Errorf("the data became %v", live.Data)
			}
			if tt.foreign {
				return
			}
			if !w.owners.marked(owner, live) || !maps.Equal(live.Labels, map[string]string{"app": "svc", "theirs": "1"}) {
				t.Errorf("restored: %+v", live.ObjectMeta)
			}
			if tt.writes > 0 && string(husk.Data["k"]) != "v" {
				t.Error("the caller does not get the whole object")
			}
		})
	}
}
