// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/managedfields"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/naming"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

var instance = naming.Instance{App: "svc", Name: "one"}

// service stands for a custom resource that owns children.
func service() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "one", UID: "uid-one"}}
}

func stranger() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "stranger", UID: "uid-stranger"}}
}

// childOf makes obj a child that bears the service's name.
func childOf[T client.Object](owner *corev1.ConfigMap, obj T) T {
	obj.SetNamespace("ns")
	obj.SetName("one")
	obj.SetOwnerReferences([]metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, Controller: new(true), BlockOwnerDeletion: new(true)},
	})
	return obj
}

// world is a cluster whose cache is always up to date. The hooks see what goes through the cached client.
func world(t *testing.T, hooks interceptor.Funcs, objects ...client.Object) target.Cluster {
	t.Helper()
	live := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(objects...).
		WithStatusSubresource(&appsv1.Deployment{}).WithTypeConverters(managedfields.NewDeducedTypeConverter()).Build()
	cached := interceptor.NewClient(live, hooks)
	return target.Cluster{Client: cached, Reader: live, Writer: apply.NewWriter(cached, live)}
}

func get[T client.Object](t *testing.T, c target.Cluster, obj T) T {
	t.Helper()
	if err := c.Reader.Get(t.Context(), client.ObjectKeyFromObject(service()), obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func deployment(spec api.DeploymentSpec, scaling *api.AutoscalingSpec) Deployment {
	return Deployment{
		Instance: instance, Component: naming.ComponentAPI, Spec: spec, Autoscaling: scaling,
		Template: Pod{Labels: instance.Component(naming.ComponentAPI), Container: corev1.Container{Name: "api", Image: "image"}}.Template(),
	}
}
