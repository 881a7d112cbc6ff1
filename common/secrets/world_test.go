// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// service stands for a custom resource that owns children.
func service() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "svc", UID: "uid-svc"}}
}

func stranger() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "stranger", UID: "uid-stranger"}}
}

func ownedBy[T client.Object](owner *corev1.ConfigMap, obj T) T {
	obj.SetOwnerReferences([]metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, Controller: new(true), BlockOwnerDeletion: new(true)},
	})
	return obj
}

// world is a cluster whose cache is always up to date. The hooks see what goes through the cached client.
func world(t *testing.T, hooks interceptor.Funcs, objects ...client.Object) target.Cluster {
	t.Helper()
	live := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).WithReturnManagedFields().Build()
	cached := interceptor.NewClient(live, hooks)
	return target.Cluster{Client: cached, Reader: live, Writer: apply.NewWriter(cached, live), Secrets: reader{live}}
}

type reader struct{ client.Reader }

func (r reader) Get(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	return secret, r.Reader.Get(ctx, key, secret)
}

func secret(name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Data: data}
}

// expect compares what an outcome says; an empty reason is the zero Outcome.
func expect(t *testing.T, got reconcile.Outcome, reason string, fails bool) {
	t.Helper()
	if got.Reason() != reason || (got.Err() != nil) != fails || got.Done() != (reason == "" && !fails) {
		t.Errorf("outcome = %q %q, err %v; want reason %q, error %v", got.Reason(), got.Message(), got.Err(), reason, fails)
	}
}
