// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"strings"
	"testing"

	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/c5c3/cobaltcore/common/admission"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// TestRulesWithoutSchema judges the fixtures by the webhook alone, as it would stand behind CRDs that are older than the operator.
// What the contract lists as a rule of the webhook (B and S) must be refused here too, although the schema usually comes first.
func TestRulesWithoutSchema(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"invalid", "valid"} {
		for _, f := range load(t, kind) {
			t.Run(kind+"/"+f.name, func(t *testing.T) {
				t.Parallel()
				err := judge(t, f)
				rule := f.note("rule")
				switch {
				case kind == "valid" && err != nil:
					t.Errorf("refused: %v", err)
				case kind == "invalid" && (rule[0] == 'B' || rule[0] == 'S' || f.note("by") == "webhook") && err == nil:
					t.Errorf("rule %s accepts it", rule)
				}
			})
		}
	}
}

func judge(t *testing.T, f fixture) error {
	t.Helper()
	var before *unstructured.Unstructured
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "system-cluster-critical"}}
	world := fake.NewClientBuilder().WithScheme(scheme()).WithObjects(class)
	now := f.objects[len(f.objects)-1]
	for _, earlier := range f.objects[:len(f.objects)-1] {
		if earlier.GetName() == now.GetName() {
			before = earlier
		} else {
			world = world.WithObjects(earlier)
		}
	}
	reader := world.Build()
	if now.GetKind() == "Barbican" {
		return judgeAs(t, before, now, barbicanDefaults(), barbicanRules(reader), &v1alpha1.Barbican{}, &v1alpha1.Barbican{})
	}
	return judgeAs(t, before, now, secretStoreDefaults(), secretStoreRules(reader), &v1alpha1.BarbicanSecretStore{}, &v1alpha1.BarbicanSecretStore{})
}

func judgeAs[T client.Object](
	t *testing.T, before, now *unstructured.Unstructured, defaults admission.Defaulter[T], rules admission.Validator[T], typedBefore, typedNow T,
) error {
	t.Helper()
	into := func(from *unstructured.Unstructured, to T) {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from.Object, to); err != nil {
			t.Fatal(err)
		}
		if err := defaults.Default(t.Context(), to); err != nil {
			t.Fatal(err)
		}
	}
	into(now, typedNow)
	if before == nil {
		_, err := rules.ValidateCreate(t.Context(), typedNow)
		return err
	}
	into(before, typedBefore)
	_, err := rules.ValidateUpdate(t.Context(), typedBefore, typedNow)
	return err
}

func TestSiblingsThatCannotBeLookedUp(t *testing.T) {
	t.Parallel()
	broken := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme()).Build(), interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("no connection")
		},
	})
	_, err := admission.Validator[secretStore](secretStoreRules(broken)).ValidateCreate(t.Context(), managedStore("team", "first"))
	for _, want := range []string{"spec.isDefault: Internal error", "spec.type: Internal error", "no connection"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want a refusal with %q, got %v", want, err)
		}
	}
}

// TestReservedStoreNames has the names that the schema need not list, because no object can have them.
func TestReservedStoreNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"keystone_authtoken", "vault_plugin", "oslo_policy", "oslo_middleware", "DEFAULT"} {
		if notReserved(nameAt, name) == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	empty := &v1alpha1.Barbican{}
	if err := admission.Defaulter[barbican](barbicanDefaults()).Default(t.Context(), empty); err != nil {
		t.Fatal(err)
	}
	spec := empty.Spec
	resources := spec.Deployment.Resources
	for _, test := range []struct{ field, got, want string }{
		{"requests.cpu", resources.Requests.Cpu().String(), "100m"},
		{"requests.memory", resources.Requests.Memory().String(), "256Mi"},
		{"limits.cpu", resources.Limits.Cpu().String(), "500m"},
		{"limits.memory", resources.Limits.Memory().String(), "512Mi"},
		{"cache.backend", spec.Cache.Backend, "dogpile.cache.pymemcache"},
		{"logging.format", string(spec.Logging.Format), "text"},
		{"logging.level", string(spec.Logging.Level), "INFO"},
		{"serviceUser.username", spec.ServiceUser.Username, "barbican"},
		{"serviceUser.projectName", spec.ServiceUser.ProjectName, "service"},
		{"serviceUser.userDomainName", spec.ServiceUser.UserDomainName, "Default"},
		{"serviceUser.projectDomainName", spec.ServiceUser.ProjectDomainName, "Default"},
		{"serviceUser.secretRef.key", spec.ServiceUser.SecretRef.Key, "password"},
	} {
		if test.got != test.want {
			t.Errorf("%s: want %q, got %q", test.field, test.want, test.got)
		}
	}
	if spec.Deployment.Replicas != 3 || *spec.Logging.Debug {
		t.Errorf("replicas %d, debug %v", spec.Deployment.Replicas, *spec.Logging.Debug)
	}
	if spec.APIServer != nil || spec.DBClean != nil || spec.SecretStoreRef != nil || spec.Gateway != nil || spec.Autoscaling != nil || spec.NetworkPolicy != nil {
		t.Error("a block was created that must stay absent")
	}
}
