// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	live := fake.NewClientBuilder().WithScheme(s).WithObjects(objects...).WithReturnManagedFields().Build()
	cached := interceptor.NewClient(live, hooks)
	return target.Cluster{Client: cached, Reader: live, Writer: apply.NewWriter(cached, live), Secrets: reader{live}}
}

type reader struct{ client.Reader }

func (r reader) Get(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	return secret, r.Reader.Get(ctx, key, secret)
}

func credentials(data map[string]string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "db-credentials", UID: "uid-of-credentials"}, Data: map[string][]byte{}}
	for k, v := range data {
		s.Data[k] = []byte(v)
	}
	return s
}

var isReady = Status{Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Created"}}}

func server(status Status) *MariaDB {
	return &MariaDB{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "db"}, Status: status}
}

// makeReady does mariadb-operator's part for an object that must exist.
func makeReady(t *testing.T, c target.Cluster, obj client.Object) {
	t.Helper()
	if err := c.Client.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "svc"}, obj); err != nil {
		t.Fatal(err)
	}
	switch o := obj.(type) {
	case *Database:
		o.Status = isReady
	case *User:
		o.Status = isReady
	case *Grant:
		o.Status = isReady
	}
	if err := c.Client.Update(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
}

func exists(t *testing.T, c target.Cluster, obj client.Object) bool {
	t.Helper()
	err := c.Reader.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "svc"}, obj)
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

// expect compares what an outcome says; an empty reason is no opinion.
func expect(t *testing.T, got reconcile.Outcome, reason string, fails bool) {
	t.Helper()
	if got.Reason() != reason || (got.Err() != nil) != fails {
		t.Errorf("outcome = %q %q, err %v; want reason %q, error %v", got.Reason(), got.Message(), got.Err(), reason, fails)
	}
}
