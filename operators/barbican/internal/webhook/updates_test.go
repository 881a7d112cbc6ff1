// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

const testFinalizer = "test.c5c3.io/hold"

func valid(namespace string) *v1alpha1.Barbican {
	return &v1alpha1.Barbican{
		ObjectMeta: metav1.ObjectMeta{Name: "barbican", Namespace: namespace, Finalizers: []string{testFinalizer}},
		Spec: v1alpha1.BarbicanSpec{
			OpenStackRelease: "2026.1",
			Image:            api.ImageSpec{Repository: "ghcr.io/c5c3/barbican", Tag: "2026.1"},
			Database: api.DatabaseSpec{
				ClusterRef: &corev1.LocalObjectReference{Name: "mariadb"}, Database: "barbican", SecretRef: api.SecretRef{Name: "db"},
			},
			Cache:            api.CacheSpec{ClusterRef: &corev1.LocalObjectReference{Name: "memcached"}, Backend: "dogpile.cache.pymemcache"},
			KeystoneEndpoint: "http://keystone:5000/v3",
			ServiceUser:      api.ServiceUserSpec{SecretRef: api.SecretRef{Name: "service-user"}},
		},
	}
}

// skipped creates an object that no webhook saw, and turns the webhooks on for it.
func skipped(t *testing.T, c client.Client, spoil func(*v1alpha1.Barbican)) *v1alpha1.Barbican {
	t.Helper()
	namespace := newNamespace(t, c, "off")
	object := valid(namespace)
	spoil(object)
	if err := c.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	on := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := c.Patch(t.Context(), on, client.RawPatch("application/merge-patch+json",
		[]byte(`{"metadata":{"labels":{"`+switchLabel+`":"on"}}}`))); err != nil {
		t.Fatal(err)
	}
	probe := valid(namespace)
	probe.Name, probe.Spec.DBClean = "probe", &v1alpha1.DBCleanSpec{Schedule: "nonsense"}
	until(t, func() bool { return c.Create(t.Context(), probe.DeepCopy(), client.DryRunAll) != nil })
	return object
}

func TestObjectThatBecameInvalid(t *testing.T) {
	t.Parallel()
	spoils := map[string]func(*v1alpha1.Barbican){
		"schedule":       func(b *v1alpha1.Barbican) { b.Spec.DBClean = &v1alpha1.DBCleanSpec{Schedule: "nonsense"} },
		"priority class": func(b *v1alpha1.Barbican) { b.Spec.Deployment.PriorityClassName = new("gone") },
		"extraConfig":    func(b *v1alpha1.Barbican) { b.Spec.ExtraConfig = sections{"DEFAULT": {"unknown": "x\ny"}} },
		"plugin": func(b *v1alpha1.Barbican) {
			b.Spec.Plugins = []api.Plugin{{Name: "x", ConfigSection: "keystone_authtoken", Config: map[string]string{"password": "x"}}}
		},
	}
	for name, spoil := range spoils {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := newClient(t)
			object := skipped(t, c, spoil)
			generation := object.Generation
			change := func(what string, f func()) {
				t.Helper()
				f()
				if err := c.Update(t.Context(), object); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
			}
			change("label", func() { object.Labels = map[string]string{"team": "keys"} })
			if object.Generation != generation {
				t.Error("a label made the webhook write defaults into the spec")
			}
			object.Status.Endpoint = "http://barbican"
			if err := c.Status().Update(t.Context(), object); err != nil {
				t.Fatalf("status: %v", err)
			}
			change("spec, another field", func() { object.Spec.Region = "east" })
			if err := c.Delete(t.Context(), object); err != nil {
				t.Fatalf("delete: %v", err)
			}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
				t.Fatal(err)
			}
			change("spec of a terminating object", func() { object.Spec.DBClean = &v1alpha1.DBCleanSpec{Schedule: "other nonsense"} })
			change("finalizer", func() { controllerutil.RemoveFinalizer(object, testFinalizer) })
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
				t.Fatalf("object is still there: %v", err)
			}
		})
	}
}

func TestInvalidInputIsJudgedAgainWhenItChanges(t *testing.T) {
	t.Parallel()
	c, _ := newClient(t)
	object := skipped(t, c, func(b *v1alpha1.Barbican) { b.Spec.DBClean = &v1alpha1.DBCleanSpec{Schedule: "nonsense"} })
	object.Spec.DBClean.Schedule = "more nonsense"
	if err := c.Update(t.Context(), object); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "cron schedule") {
		t.Fatalf("want a refusal of the schedule, got %v", err)
	}
}

func TestPriorityClassThatExists(t *testing.T) {
	t.Parallel()
	c, _ := newClient(t)
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{GenerateName: "keys-"}, Value: 7}
	if err := c.Create(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	object := valid(newNamespace(t, c, "on"))
	object.Spec.Deployment.PriorityClassName = &class.Name
	if err := c.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	object.Spec.Region = "east"
	if err := c.Update(t.Context(), object); err != nil {
		t.Fatalf("a class that went away must not block other changes: %v", err)
	}
}

func TestDefaultStoreMayMoveOnceTheOldOneGoes(t *testing.T) {
	t.Parallel()
	c, _ := newClient(t)
	namespace := newNamespace(t, c, "on")
	first := managedStore(namespace, "first")
	first.Finalizers = []string{testFinalizer}
	if err := c.Create(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), managedStore(namespace, "second")); !apierrors.IsInvalid(err) {
		t.Fatalf("want a refusal beside a live default, got %v", err)
	}
	if err := c.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), managedStore(namespace, "second")); err != nil {
		t.Fatalf("a terminating store is no sibling: %v", err)
	}
}

func managedStore(namespace, name string) *v1alpha1.BarbicanSecretStore {
	return &v1alpha1.BarbicanSecretStore{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: v1alpha1.BarbicanSecretStoreSpec{
			BarbicanRef: v1alpha1.BarbicanRef{Name: "barbican"}, Type: v1alpha1.OpenBaoStore, IsDefault: true,
			OpenBao: &v1alpha1.OpenBaoSpec{InstanceRef: &v1alpha1.OpenBaoInstanceRef{Name: "openbao"}},
		},
	}
}

// TestHugeMaps fills an object up to about what the API server takes: it must be answered in time, and with a refusal that can be
// read.
func TestHugeMaps(t *testing.T) {
	t.Parallel()
	c, _ := newClient(t)
	namespace := newNamespace(t, c, "on")
	huge := valid(namespace)
	huge.Spec.ExtraConfig = sections{"secretstore:x": many(20000), "DEFAULT": {"admin_role": strings.Repeat("x", 200_000)}}
	if err := c.Create(t.Context(), huge); err != nil {
		t.Errorf("a huge map of accepted options: %v", err)
	}
	unknown := valid(namespace)
	unknown.Name = "unknown"
	unknown.Spec.ExtraConfig = sections{"DEFAULT": many(20000)}
	err := c.Create(t.Context(), unknown)
	if !apierrors.IsInvalid(err) {
		t.Fatalf("want an Invalid status, got %.300v", err)
	}
	if size := len(err.Error()); size > 100_000 {
		t.Errorf("the refusal has %d bytes", size)
	}
}

func many(n int) map[string]string {
	options := make(map[string]string, n)
	for i := range n {
		options[fmt.Sprintf("option_%d", i)] = "value"
	}
	return options
}

// TestDefaultsOnTheServer writes a Barbican with no member that has a default, and looks at what is stored with the webhooks and
// without.
func TestDefaultsOnTheServer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		admission, path string
		want            any
	}{
		{"on", "spec.deployment.replicas", int64(3)},
		{"on", "spec.deployment.resources.limits.memory", "512Mi"},
		{"on", "spec.cache.backend", "dogpile.cache.pymemcache"},
		{"on", "spec.cache.replicas", int64(3)},
		{"on", "spec.logging.level", "INFO"},
		{"on", "spec.logging.debug", false},
		{"on", "spec.serviceUser.username", "barbican"},
		{"on", "spec.serviceUser.secretRef.key", "password"},
		{"on", "spec.apiServer", nil},
		{"on", "spec.dbClean", nil},
		{"on", "spec.secretStoreRef", nil},
		{"on", "spec.database.tls.mode", "require"},
		{"on", "spec.database.port", nil},
		{"off", "spec.database.tls.mode", "require"},
		{"off", "spec.database.deletionPolicy", "Retain"},
		{"off", "spec.database.storageSize", "100Gi"},
		{"off", "spec.database.replicas", int64(3)},
		{"off", "spec.deployment", nil},
		{"off", "spec.logging", nil},
	} {
		t.Run(test.admission+"/"+test.path, func(t *testing.T) {
			t.Parallel()
			c, _ := newClient(t)
			object := read(t, fixtures+"/valid/barbican-minimal.yaml").objects[0]
			if test.admission == "on" {
				unstructured.RemoveNestedField(object.Object, "spec", "cache", "backend")
			}
			tls := map[string]any{"caBundleSecretRef": map[string]any{"name": "ca"}, "clientCertSecretRef": map[string]any{"name": "client"}}
			if err := unstructured.SetNestedMap(object.Object, tls, "spec", "database", "tls"); err != nil {
				t.Fatal(err)
			}
			object.SetNamespace(newNamespace(t, c, test.admission))
			if err := c.Create(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			if got, _, _ := unstructured.NestedFieldNoCopy(object.Object, strings.Split(test.path, ".")...); got != test.want {
				t.Errorf("want %v, got %v", test.want, got)
			}
		})
	}
}
