// SPDX-License-Identifier: Apache-2.0

package network

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/naming"
	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

var instance = naming.Instance{App: "svc", Name: "one"}

// service stands for a custom resource that owns children.
func service() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "one", UID: "uid-one"}}
}

func ownedBy[T client.Object](owner *corev1.ConfigMap, obj T) T {
	obj.SetNamespace("ns")
	obj.SetName("one")
	obj.SetOwnerReferences([]metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, Controller: new(true), BlockOwnerDeletion: new(true)},
	})
	return obj
}

func stranger() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "stranger", UID: "uid-stranger"}}
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
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(schema.GroupVersionKind{Group: gatewayv1.GroupName, Version: "v1", Kind: "HTTPRoute"}, meta.RESTScopeNamespace)
	live := fake.NewClientBuilder().WithScheme(s).WithRESTMapper(mapper).WithObjects(objects...).
		WithStatusSubresource(&gatewayv1.HTTPRoute{}).WithTypeConverters(managedfields.NewDeducedTypeConverter()).Build()
	cached := interceptor.NewClient(live, hooks)
	return target.Cluster{Client: cached, Reader: live, Writer: apply.NewWriter(cached, live)}
}

// mapped is a client that knows other kinds than its scheme.
type mapped struct {
	client.Client
	mapper meta.RESTMapper
}

func (m mapped) RESTMapper() meta.RESTMapper { return m.mapper }

// expect compares what an outcome says; an empty reason is no opinion.
func expect(t *testing.T, got reconcile.Outcome, reason string, fails bool) {
	t.Helper()
	if got.Reason() != reason || (got.Err() != nil) != fails {
		t.Errorf("outcome = %q %q, err %v; want reason %q, error %v", got.Reason(), got.Message(), got.Err(), reason, fails)
	}
}
