// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"os"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

func TestDBCleanDefaults(t *testing.T) {
	t.Parallel()
	want := v1alpha1.DBCleanSpec{
		RetentionDays: new(int32(90)), Schedule: "1 0 * * *", SoftDeleteExpiredSecrets: new(true),
		CleanUnassociatedProjects: new(false), ActiveDeadlineSeconds: new(int64(3600)),
	}
	if diff := cmp.Diff(want, (*v1alpha1.DBCleanSpec)(nil).WithDefaults()); diff != "" {
		t.Error(diff)
	}
	set := v1alpha1.DBCleanSpec{
		RetentionDays: new(int32(1)), Schedule: "@daily", TimeZone: new("UTC"), SoftDeleteExpiredSecrets: new(false),
		CleanUnassociatedProjects: new(true), ActiveDeadlineSeconds: new(int64(60)), Suspend: true,
	}
	if diff := cmp.Diff(set, set.WithDefaults()); diff != "" {
		t.Error(diff)
	}
}

func TestSpecDefaults(t *testing.T) {
	t.Parallel()
	spec := v1alpha1.BarbicanSpec{KeystoneEndpoint: "http://keystone", Deployment: api.DeploymentSpec{Replicas: 2}}
	for _, test := range []struct {
		name      string
		got, want any
	}{
		{"user", spec.EffectiveServiceUser().Username, "barbican"},
		{"uWSGI", spec.EffectiveUWSGI().Processes, int32(2)},
		{"public Keystone", spec.EffectiveKeystonePublicEndpoint(), "http://keystone"},
		{"pods at least", spec.MinPods(), int32(2)},
		{"pods at most", spec.MaxPods(), int32(2)},
	} {
		if test.got != test.want {
			t.Errorf("%s: want %v, got %v", test.name, test.want, test.got)
		}
	}
	spec.APIServer = &v1alpha1.APIServerSpec{UWSGI: &api.UWSGISpec{Processes: 7}}
	if got := spec.EffectiveUWSGI().Processes; got != 7 {
		t.Errorf("uWSGI: want 7 processes, got %d", got)
	}
}

func TestSecretStore(t *testing.T) {
	t.Parallel()
	managed := &v1alpha1.OpenBaoSpec{InstanceRef: &v1alpha1.OpenBaoInstanceRef{Name: "openbao"}}
	server := v1alpha1.OpenBaoServer{URL: "https://bao", CredentialsSecretRef: v1alpha1.SecretNameRef{Name: "pair"}}
	trusted := server
	trusted.CABundleSecretRef = &v1alpha1.SecretNameRef{Name: "ca"}
	for _, test := range []struct {
		name                        string
		block                       *v1alpha1.OpenBaoSpec
		managed                     bool
		url, credentials, ca, mount string
	}{
		{"no block", nil, false, "", "keys-approle", "", "barbican"},
		{"empty block", &v1alpha1.OpenBaoSpec{}, false, "", "keys-approle", "", "barbican"},
		{"managed", managed, true, "https://openbao.team.svc:8200", "keys-approle", "openbao-tls-ca", "barbican"},
		{"brownfield", &v1alpha1.OpenBaoSpec{Server: &server, KVMountpoint: "kv"}, false, "https://bao", "pair", "", "kv"},
		{"brownfield with a CA", &v1alpha1.OpenBaoSpec{Server: &trusted}, false, "https://bao", "pair", "ca", "barbican"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			store := &v1alpha1.BarbicanSecretStore{ObjectMeta: metav1.ObjectMeta{Name: "keys"}, Spec: v1alpha1.BarbicanSecretStoreSpec{OpenBao: test.block}}
			got := []any{store.Spec.Managed(), store.Spec.ServerURL("team"), store.CredentialsSecretName(), store.CASecretName(), store.Spec.KVMountpoint()}
			if want := []any{test.managed, test.url, test.credentials, test.ca, test.mount}; !reflect.DeepEqual(got, want) {
				t.Errorf("want %v, got %v", want, got)
			}
		})
	}
}

func TestStatusAccess(t *testing.T) {
	t.Parallel()
	barbican, store := &v1alpha1.Barbican{}, &v1alpha1.BarbicanSecretStore{}
	barbican.SetObservedGeneration(7)
	store.SetObservedGeneration(8)
	*barbican.StatusConditions() = []metav1.Condition{{Type: "Ready"}}
	*store.StatusConditions() = []metav1.Condition{{Type: "Ready"}}
	if barbican.Status.ObservedGeneration != 7 || store.Status.ObservedGeneration != 8 || len(barbican.Status.Conditions)+len(store.Status.Conditions) != 2 {
		t.Errorf("got %+v and %+v", barbican.Status, store.Status)
	}
}

// TestDefinitions pins what users see of the definitions beside their schema.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	const ready = ".status.conditions[?(@.type=='Ready')].status"
	for plural, want := range map[string]map[string]string{
		"barbicans": {
			"Ready": ready, "Release": ".status.installedRelease", "Endpoint": ".status.endpoint", "Age": ".metadata.creationTimestamp",
		},
		"barbicansecretstores": {
			"Ready": ready, "Type": ".spec.type", "Default": ".spec.isDefault", "Barbican": ".spec.barbicanRef.name", "Age": ".metadata.creationTimestamp",
		},
	} {
		text, err := os.ReadFile("../../config/crd/bases/barbican.openstack.c5c3.io_" + plural + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &crd); err != nil {
			t.Fatal(err)
		}
		version := crd.Spec.Versions[0]
		columns := map[string]string{}
		for _, column := range version.AdditionalPrinterColumns {
			columns[column.Name] = column.JSONPath
		}
		if diff := cmp.Diff(want, columns); diff != "" {
			t.Errorf("%s: columns: %s", plural, diff)
		}
		if len(crd.Spec.Names.ShortNames) > 0 || len(crd.Spec.Names.Categories) > 0 || crd.Spec.Scope != apiextensionsv1.NamespaceScoped {
			t.Errorf("%s: names %+v, scope %s", plural, crd.Spec.Names, crd.Spec.Scope)
		}
		if version.Subresources == nil || version.Subresources.Status == nil || version.Subresources.Scale != nil {
			t.Errorf("%s: subresources %+v", plural, version.Subresources)
		}
		if required := version.Schema.OpenAPIV3Schema.Required; len(required) > 0 {
			t.Errorf("%s: required at the root: %v", plural, required)
		}
		undocumented(t, plural, version.Schema.OpenAPIV3Schema.Properties["spec"])
		undocumented(t, plural, version.Schema.OpenAPIV3Schema.Properties["status"])
	}
}

// undocumented reports every field that kubectl explain would show without a word.
func undocumented(t *testing.T, path string, schema apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	for name, property := range schema.Properties {
		if property.Description == "" {
			t.Errorf("%s.%s has no description", path, name)
		}
		undocumented(t, path+"."+name, property)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		undocumented(t, path+"[]", *schema.Items.Schema)
	}
}
