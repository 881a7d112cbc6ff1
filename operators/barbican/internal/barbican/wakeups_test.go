// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/watch"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// indexes remembers what an indexer is given.
type indexes map[string]client.IndexerFunc

func (i indexes) IndexField(_ context.Context, o client.Object, field string, get client.IndexerFunc) error {
	i[kindOf(known(), o)+" "+field] = get
	return nil
}

// TestIndexes checks that everything an object refers to finds it.
func TestIndexes(t *testing.T) {
	t.Parallel()
	all := indexes{}
	if err := AddIndexes(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	withPolicy := minimal()
	withPolicy.Spec.PolicyOverrides = &api.PolicyOverrides{ConfigMapRef: &corev1.LocalObjectReference{Name: "policy"}}
	ownStore := minimal()
	ownStore.Spec.SecretStoreRef = &api.SecretStoreRef{Kind: api.NamespacedSecretStoreKind, Name: "own"}
	server := store("main", onServer, func(s *v1alpha1.BarbicanSecretStore) {
		s.Spec.OpenBao.Server.CABundleSecretRef = &v1alpha1.SecretNameRef{Name: "bao-ca"}
	})
	for _, c := range []struct {
		index string
		of    client.Object
		want  string
	}{
		{"Barbican " + indexSecrets, minimal(), "db-credentials service-user"},
		{"Barbican " + indexSecrets, maximal(), "db-ca db-client db-credentials service-user"},
		{"Barbican " + indexMariaDB, minimal(), "mariadb"},
		{"Barbican " + indexMariaDB, maximal(), ""},
		{"Barbican " + indexSecretStore, minimal(), "ClusterSecretStore/openbao-cluster-store"},
		{"Barbican " + indexSecretStore, ownStore, "SecretStore/own"},
		{"Barbican " + indexPolicy, minimal(), ""},
		{"Barbican " + indexPolicy, withPolicy, "policy"},
		{"BarbicanSecretStore " + IndexBarbicanRef, store("main"), "barbican"},
		{"BarbicanSecretStore " + IndexInstanceRef, store("main"), "bao"},
		{"BarbicanSecretStore " + IndexInstanceRef, server, ""},
		{"BarbicanSecretStore " + IndexStoreSecrets, store("main"), "bao-tls-ca main-approle"},
		{"BarbicanSecretStore " + IndexStoreSecrets, server, "bao-ca given"},
		{"BarbicanSecretStore " + IndexStoreSecrets, store("main", onServer), "given"},
	} {
		if got := strings.Join(slices.Sorted(slices.Values(all[c.index](c.of))), " "); got != c.want {
			t.Errorf("%s of %s is %q, want %q", c.index, c.of.GetName(), got, c.want)
		}
	}
}

// TestProjectedPartOfAStore says which changes of a store wake its Barbican.
func TestProjectedPartOfAStore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit  storeEdit
		wakes bool
	}{
		"validated another pair":  {func(s *v1alpha1.BarbicanSecretStore) { s.Status.CredentialsHash = "other" }, true},
		"edited":                  {func(s *v1alpha1.BarbicanSecretStore) { s.Generation++ }, true},
		"is being deleted":        {func(s *v1alpha1.BarbicanSecretStore) { s.DeletionTimestamp = new(metav1.Now()) }, true},
		"lost its credentials":    {says(api.ConditionCredentialsReady, metav1.ConditionFalse, v1alpha1.ReasonInvalidCredentials), true},
		"lost its mount":          {says(v1alpha1.ConditionProvisioningReady, metav1.ConditionFalse, v1alpha1.ReasonInstanceNotProvisioned), true},
		"does not answer":         {says(api.ConditionCredentialsReady, metav1.ConditionFalse, v1alpha1.ReasonOpenBaoUnreachable), false},
		"is in the configuration": {says(api.ConditionConfigProjected, metav1.ConditionTrue, v1alpha1.ReasonConfigProjected), false},
	} {
		if wakes := !reflect.DeepEqual(projected(store("main")), projected(store("main", c.edit))); wakes != c.wakes {
			t.Errorf("a store that %s wakes: %v, want %v", name, wakes, c.wakes)
		}
	}
}

func TestWhoIsWoken(t *testing.T) {
	t.Parallel()
	want := []reconcile.Request{{NamespacedName: key}}
	if diff := cmp.Diff(want, toParent(t.Context(), store("main"))); diff != "" {
		t.Errorf("by a store (-want +got):\n%s", diff)
	}
	run := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "run", Labels: instance(minimal()).Labels()}}
	if diff := cmp.Diff(want, watch.Instance(App)(t.Context(), run)); diff != "" {
		t.Errorf("by a run of the clean-up (-want +got):\n%s", diff)
	}
	run.Labels = map[string]string{"app.kubernetes.io/name": "glance", "app.kubernetes.io/instance": "barbican"}
	if got := watch.Instance(App)(t.Context(), run); got != nil {
		t.Errorf("by a Job of another service: %v", got)
	}
}
