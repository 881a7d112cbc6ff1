// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"os"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// TestStricterSchemaLetsOldObjectsGo stores objects that violate rules of every level of the schema, brings the schema, and
// goes through what must still be possible. It works on a copy of the definitions, under another group.
func TestStricterSchemaLetsOldObjectsGo(t *testing.T) {
	t.Parallel()
	const long = "a-name-that-is-far-too-long-for-any-child-of-a-barbican-or-of-a-store"
	for _, test := range []struct {
		plural, kind, group string
		spec                map[string]any
	}{
		{"barbicans", "Barbican", "one.upgrade.test.c5c3.io", map[string]any{
			"image":       map[string]any{"tag": "1", "digest": "1"},
			"deployment":  map[string]any{"replicas": int64(9), "preStopSleepSeconds": int64(40), "topologySpreadConstraints": []any{map[string]any{}}},
			"autoscaling": map[string]any{"maxReplicas": int64(1)},
			"apiServer":   map[string]any{"uwsgi": map[string]any{"harakiri": int64(900)}},
			"extraConfig": map[string]any{"keystone_authtoken": map[string]any{"password": "x"}},
		}},
		{"barbicansecretstores", "BarbicanSecretStore", "two.upgrade.test.c5c3.io", map[string]any{
			"type":         "Other",
			"openBao":      map[string]any{"instanceRef": map[string]any{"name": "a"}, "server": map[string]any{"url": "http://"}, "namespace": "x"},
			"extraOptions": map[string]any{"": "x", "vault_url": "y"},
		}},
	} {
		t.Run(test.plural, func(t *testing.T) {
			t.Parallel()
			c, _ := newClient(t)
			strict := definition(t, test.plural, test.group)
			lax := strict.DeepCopy()
			lax.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"] = apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
			lax.Spec.Versions[0].Schema.OpenAPIV3Schema.XValidations = nil
			define(t, c, lax)

			object := &unstructured.Unstructured{Object: map[string]any{"spec": test.spec}}
			object.SetGroupVersionKind(schema.GroupVersionKind{Group: test.group, Version: "v1alpha1", Kind: test.kind})
			object.SetNamespace(newNamespace(t, c, "on"))
			object.SetName(long)
			object.SetFinalizers([]string{testFinalizer})
			until(t, func() bool { return c.Create(t.Context(), object) == nil })

			lax.Spec = strict.Spec
			if err := c.Update(t.Context(), lax); err != nil {
				t.Fatal(err)
			}
			probe := object.DeepCopy()
			probe.SetName("probe-" + long)
			probe.SetResourceVersion("")
			until(t, func() bool { return apierrors.IsInvalid(c.Create(t.Context(), probe.DeepCopy(), client.DryRunAll)) })

			object.SetLabels(map[string]string{"team": "keys"})
			must(t, "label", c.Update(t.Context(), object))
			must(t, "status", unstructured.SetNestedField(object.Object, int64(1), "status", "observedGeneration"))
			must(t, "status", c.Status().Update(t.Context(), object))
			must(t, "delete", c.Delete(t.Context(), object))
			must(t, "terminating", c.Get(t.Context(), client.ObjectKeyFromObject(object), object))
			object.SetFinalizers(nil)
			must(t, "finalizer", c.Update(t.Context(), object))
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
				t.Errorf("object is still there: %v", err)
			}
		})
	}
}

func definition(t *testing.T, plural, group string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	text, err := os.ReadFile("../../config/crd/bases/barbican.openstack.c5c3.io_" + plural + ".yaml")
	must(t, "definition", err)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	must(t, "definition", yaml.UnmarshalStrict(text, crd))
	crd.Name, crd.Spec.Group = plural+"."+group, group
	return crd
}

func define(t *testing.T, c client.Client, crd *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	must(t, "definition", c.Create(t.Context(), crd))
	until(t, func() bool {
		must(t, "definition", c.Get(t.Context(), client.ObjectKeyFromObject(crd), crd))
		for _, condition := range crd.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return true
			}
		}
		return false
	})
}

func must(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// until asks until the API server has learned what it was told; it does so through watches of its own.
func until(t *testing.T, done func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return done(), nil })
	must(t, "waiting for the API server to know", err)
}
