// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/openbao"
)

type storeEdit = func(*v1alpha1.BarbicanSecretStore)

func says(condition string, status metav1.ConditionStatus, reason string) storeEdit {
	return func(s *v1alpha1.BarbicanSecretStore) { setCondition(s, condition, status, reason) }
}

func further(s *v1alpha1.BarbicanSecretStore) { s.Spec.IsDefault = false }

// otherType stands for a type that a later release may bring: not OpenBao, so it may stand beside one.
func otherType(s *v1alpha1.BarbicanSecretStore) { s.Spec.Type, s.Spec.IsDefault = "Other", false }

func onServer(s *v1alpha1.BarbicanSecretStore) {
	s.Spec.OpenBao = &v1alpha1.OpenBaoSpec{Namespace: "team", KVMountpoint: "kv", Server: &v1alpha1.OpenBaoServer{
		URL: "https://bao.example.org:8443", CredentialsSecretRef: v1alpha1.SecretNameRef{Name: "given"},
	}}
}

// TestStoresDecision is about a first pass, with nothing to fall back on.
func TestStoresDecision(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		objects []client.Object // beside the Barbican
		reason  string
		message string   // part of it
		events  []string // of this condition
		stores  []string // projected
	}{
		"no store": {
			reason: v1alpha1.ReasonNoDefaultSecretStore, message: "No ready store has isDefault: true",
		},
		"no default": {
			objects: []client.Object{store("main", further)},
			reason:  v1alpha1.ReasonNoDefaultSecretStore, message: "No ready store has isDefault: true",
		},
		"two defaults": {
			objects: []client.Object{store("one"), store("two")},
			reason:  v1alpha1.ReasonNoDefaultSecretStore, message: "keep it on one of one, two",
		},
		"two of type OpenBao": {
			objects: []client.Object{store("main"), store("more", further)},
			reason:  v1alpha1.ReasonMultipleOpenBaoStores, message: "delete all but one of main, more",
		},
		"a second one that is not ready does not count": {
			objects: []client.Object{store("main"), credentials(pair), secret("bao-tls-ca", "ca.crt", "CA"),
				store("more", further, says(api.ConditionCredentialsReady, metav1.ConditionFalse, v1alpha1.ReasonInvalidCredentials))},
			reason: v1alpha1.ReasonAllStoresProjected, message: "Projected: main", stores: []string{"main"},
		},
		"several types, in name order": {
			objects: []client.Object{store("main"), credentials(pair), secret("bao-tls-ca", "ca.crt", "CA"), store("alpha", otherType)},
			reason:  v1alpha1.ReasonAllStoresProjected, message: "Projected: alpha, main", stores: []string{"alpha", "main"},
		},
		"a server of its own, trusted by the image": {
			objects: []client.Object{store("main", onServer), secret("given", "role-id", pair.RoleID, "secret-id", pair.SecretID)},
			reason:  v1alpha1.ReasonAllStoresProjected, message: "Projected: main", stores: []string{"main"},
		},
		"no credentials Secret": {
			objects: []client.Object{store("main")},
			reason:  v1alpha1.ReasonWaitingForSecretStores, message: "credentials Secret main-approle does not exist",
			events: []string{"Warning BarbicanSecretStoreSkipped"},
		},
		"half-written credentials": {
			objects: []client.Object{store("main"), secret("main-approle", "role-id", "r")},
			reason:  v1alpha1.ReasonWaitingForSecretStores, message: "Secret main-approle lacks role-id or secret-id",
			events: []string{"Warning BarbicanSecretStoreSkipped"},
		},
		"credentials that nobody has validated": {
			objects: []client.Object{store("main"), credentials(openbao.Credentials{RoleID: "r", SecretID: "other"})},
			reason:  v1alpha1.ReasonWaitingForSecretStores, message: "the credentials in Secret main-approle are not validated yet",
			events: []string{"Warning BarbicanSecretStoreSkipped"},
		},
		"a secret ID that would be interpolated": {
			objects: []client.Object{store("main"), credentials(openbao.Credentials{RoleID: "r", SecretID: "a$b"})},
			reason:  v1alpha1.ReasonWaitingForSecretStores, message: "secret-id in Secret main-approle contains a dollar sign",
			events: []string{"Warning BarbicanSecretStoreSkipped"},
		},
		"no CA": {
			objects: []client.Object{store("main"), credentials(pair)},
			reason:  v1alpha1.ReasonWaitingForSecretStores, message: "its CA Secret bao-tls-ca lacks ca.crt",
			events: []string{"Warning BarbicanSecretStoreSkipped"},
		},
		"empty CA": {
			objects: []client.Object{store("main"), credentials(pair), secret("bao-tls-ca", "ca.crt", "")},
			reason:  v1alpha1.ReasonWaitingForSecretStores, message: "its CA Secret bao-tls-ca lacks ca.crt",
			events: []string{"Warning BarbicanSecretStoreSkipped"},
		},
		"a line break in the role ID": {
			objects: []client.Object{poisoned.store(), credentials(poisoned.pair), secret("bao-tls-ca", "ca.crt", "CA")},
			reason:  v1alpha1.ReasonWaitingForSecretStores, message: "Store main: it cannot stand in a configuration file",
			events: []string{"Warning BarbicanSecretStoreSkipped"},
		},
		"a line break in an option that skipped the webhook": {
			objects: []client.Object{credentials(pair), secret("bao-tls-ca", "ca.crt", "CA"),
				store("main", func(s *v1alpha1.BarbicanSecretStore) {
					s.Spec.ExtraOptions = map[string]string{"timeout": "1\n[DEFAULT]\nhost_href = http://evil"}
				})},
			reason: v1alpha1.ReasonWaitingForSecretStores, message: "Store main: it cannot stand in a configuration file",
			events: []string{"Warning BarbicanSecretStoreSkipped"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := append(c.objects, minimal(), clusterStore(corev1.ConditionTrue), mariaDB(metav1.ConditionTrue),
				secret("db-credentials", "username", "u", "password", "p"), secret("service-user", "password", "p"))
			w := beginWith(t, objects...)
			b := w.pass()
			status := "False/"
			if len(c.stores) > 0 {
				status = "True/"
			}
			w.expect("SecretStoresReady=" + status + c.reason)
			if got := message(b, v1alpha1.ConditionSecretStoresReady); !strings.Contains(got, c.message) {
				t.Errorf("message %q lacks %q", got, c.message)
			}
			if diff := cmp.Diff(c.stores, b.Status.ProjectedSecretStores); diff != "" {
				t.Errorf("projected (-want +got):\n%s", diff)
			}
			w.expectEvents(c.events...)
			w.simulate()
			w.pass()
			w.expectEvents() // nothing new
			if len(c.stores) == 0 {
				w.expect("DatabaseReady=False/WaitingForSecretStores",
					"SecretsReady=True/SecretsAvailable", "DBCleanReady=False/WaitingForSecretStores",
					"DeploymentReady=False/WaitingForSecretStores", "HPAReady=True/HPANotRequired")
			}
		})
	}
}

// poisoned is a store that validated a role ID with a line break, which is a valid role ID for the server.
var poisoned = poison{openbao.Credentials{RoleID: "r\nroot_token_id = x", SecretID: "s"}}

type poison struct{ pair openbao.Credentials }

func (p poison) store() *v1alpha1.BarbicanSecretStore {
	return store("main", func(s *v1alpha1.BarbicanSecretStore) { s.Status.CredentialsHash = p.pair.Hash() })
}

// TestStoreLeavesOrStays is about what becomes of a running Barbican when something happens to its only store.
func TestStoreLeavesOrStays(t *testing.T) {
	t.Parallel()
	unavailable := func(reason string) storeEdit {
		return says(api.ConditionCredentialsReady, metav1.ConditionFalse, reason)
	}
	for name, c := range map[string]struct {
		edit  storeEdit
		stays bool
	}{
		"its server does not answer (R10)": {unavailable(v1alpha1.ReasonOpenBaoUnreachable), true},
		"its instance does not answer": {
			says(v1alpha1.ConditionProvisioningReady, metav1.ConditionFalse, v1alpha1.ReasonOpenBaoUnreachable), true},
		"its instance is restarted": {
			says(v1alpha1.ConditionProvisioningReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForInstance), true},
		"its mount is gone, managed (R37)": {
			says(v1alpha1.ConditionProvisioningReady, metav1.ConditionFalse, v1alpha1.ReasonInstanceNotProvisioned), false},
		"its mount is gone, own server (R37)": {unavailable(v1alpha1.ReasonInsufficientCapabilities), false},
		"its credentials are refused":         {unavailable(v1alpha1.ReasonInvalidCredentials), false},
		"its credentials are gone":            {unavailable(v1alpha1.ReasonWaitingForCredentials), false},
		"it may not mint":                     {unavailable(v1alpha1.ReasonProvisioningDenied), false},
		"its spec changed and was not validated": {
			func(s *v1alpha1.BarbicanSecretStore) { s.Generation++ }, false},
		"it was never validated": {
			func(s *v1alpha1.BarbicanSecretStore) { s.Status.CredentialsHash = "" }, false},
		"its openBao block is gone": {
			func(s *v1alpha1.BarbicanSecretStore) { s.Spec.OpenBao = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t)
			w.ready()
			before := get(w, &appsv1.Deployment{}, "barbican")
			w.editStore("main", c.edit)
			w.pass()
			if c.stays {
				w.expect("SecretStoresReady=True/AllStoresProjected", "Ready=True/AllReady")
				return
			}
			w.expect("SecretStoresReady=False/NoDefaultSecretStore", "DeploymentReady=False/WaitingForSecretStores",
				"DatabaseReady=True/DatabaseSynced", "DBCleanReady=True/DBCleanScheduled", "SecretsReady=True/SecretsAvailable")
			w.expectLastGood(before)
		})
	}
}

// expectLastGood checks that the pods keep their configuration, and the record of it is kept.
func (w *world) expectLastGood(before *appsv1.Deployment) {
	w.Helper()
	after := get(w, &appsv1.Deployment{}, before.Name)
	if diff := cmp.Diff(before.Spec.Template, after.Spec.Template); diff != "" {
		w.Errorf("the pod template changed (-before +after):\n%s", diff)
	}
	b := w.barbican()
	if want := []string{"main"}; !slices.Equal(b.Status.ProjectedSecretStores, want) {
		w.Errorf("recorded stores are %q, want %q", b.Status.ProjectedSecretStores, want)
	}
	if want := []string{"https://bao.keys.svc:8200"}; !slices.Equal(b.Status.ProjectedSecretStoreHosts, want) {
		w.Errorf("recorded hosts are %q, want %q", b.Status.ProjectedSecretStoreHosts, want)
	}
}

func TestTerminatingStoreLeaves(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.ready()
	before := get(w, &appsv1.Deployment{}, "barbican")
	w.editStore("main", func(s *v1alpha1.BarbicanSecretStore) { s.Finalizers = []string{"test/holds"} })
	w.remove(get(w, &v1alpha1.BarbicanSecretStore{}, "main"))
	w.pass()
	w.expect("SecretStoresReady=False/NoDefaultSecretStore")
	w.expectLastGood(before)
	w.expectEvents() // the running configuration still has it
}

func TestStoreDetached(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.create(store("extra", otherType))
	w.ready()
	w.editStore("extra", says(api.ConditionCredentialsReady, metav1.ConditionFalse, v1alpha1.ReasonInvalidCredentials))
	b := w.pass()
	w.expectEvents("Warning SecretStoreDetached")
	if want := []string{"main"}; !slices.Equal(b.Status.ProjectedSecretStores, want) {
		t.Errorf("recorded stores are %q, want %q", b.Status.ProjectedSecretStores, want)
	}
	w.pass()
	w.expectEvents()
}

// TestRotation follows R7: the pods get a rotated pair once the store has validated it, and not before.
func TestRotation(t *testing.T) {
	t.Parallel()
	rotated := openbao.Credentials{RoleID: "role-2", SecretID: "secret-id-2"}
	for name, secretLast := range map[string]bool{"the Secret is seen first": false, "the Secret is seen last": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t)
			w.ready()
			before := get(w, &appsv1.Deployment{}, "barbican")
			write := func() { w.put(credentials(rotated)) }
			validate := func() {
				w.editStore("main", func(s *v1alpha1.BarbicanSecretStore) { s.Status.CredentialsHash = rotated.Hash() })
			}
			first, last := write, validate
			if secretLast {
				first, last = validate, write
			}
			first()
			w.pass()
			w.expect("Ready=True/AllReady")
			w.expectLastGood(before)
			w.expectEvents()
			if requests := w.taken(); len(requests) > 0 {
				t.Errorf("requests: %q", requests)
			}
			last()
			w.pass()
			after := get(w, &appsv1.Deployment{}, "barbican").Spec.Template
			if got := after.Annotations[v1alpha1.AnnotationSecretStoreCredentialsHash]; got != rotated.Hash() {
				t.Errorf("the pods carry the digest %q, want %q", got, rotated.Hash())
			}
			config := w.configFile(after)
			if !strings.Contains(config, "approle_role_id = role-2\n") {
				t.Errorf("the rotated role ID is not in the configuration:\n%s", config)
			}
		})
	}
}

// configFile is the barbican.conf that a pod mounts.
func (w *world) configFile(template corev1.PodTemplateSpec) string {
	w.Helper()
	for _, v := range template.Spec.Volumes {
		if v.Name == volumeConfig {
			return string(get(w, &corev1.Secret{}, v.Secret.SecretName).Data["barbican.conf"])
		}
	}
	w.Fatal("no configuration is mounted")
	return ""
}

// TestRotationSeenByAnotherProcess starts without the memory of the last good pair, and must not use the new one either.
func TestRotationSeenByAnotherProcess(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.ready()
	before := get(w, &appsv1.Deployment{}, "barbican")
	w.put(credentials(openbao.Credentials{RoleID: "role-2", SecretID: "secret-id-2"}))
	w.restart()
	w.pass()
	w.expect("SecretStoresReady=False/WaitingForSecretStores", "DeploymentReady=False/WaitingForSecretStores")
	w.expectLastGood(before)
	w.expectEvents("Warning BarbicanSecretStoreSkipped")
}

func TestStoreMemoryGoesWithTheBarbican(t *testing.T) {
	t.Parallel()
	var v validatedPairs
	v.keep(key, validatedPair{store: "uid", roleID: "role", hash: "hash"})
	if _, ok := v.lastOf(key, "uid"); !ok {
		t.Error("what was kept is not found")
	}
	if _, ok := v.lastOf(key, "another store"); ok {
		t.Error("another store got the pair")
	}
	v.forget(key)
	if _, ok := v.lastOf(key, "uid"); ok {
		t.Error("a Barbican that is gone is still remembered")
	}
}

// TestUnreadableStores checks that a passing fault changes nothing and is no verdict.
func TestUnreadableStores(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"main-approle", "bao-tls-ca"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t)
			w.ready()
			w.failReads(name)
			_, err := w.reconcile()
			if err == nil || !strings.Contains(err.Error(), errBroken.Error()) {
				t.Errorf("err = %v", err)
			}
			w.expect("SecretStoresReady=True/AllStoresProjected", "Ready=True/AllReady")
		})
	}
}

// failReads lets reads of one Secret fail.
func (w *world) failReads(secret string) {
	w.Helper()
	local, err := w.controller.Targets.Resolve(w.Context(), "")
	if err != nil {
		w.Fatal(err)
	}
	w.use(local.Client, local.Reader, failingReader{secretReader{local.Client}, secret, errBroken})
}
