// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	standin "github.com/c5c3/cobaltcore/common/kubetest/openbao"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/metrics"
)

var serviceAccounts = schema.GroupResource{Resource: "serviceaccounts"}

const mintPath = "auth/approle/role/barbican/secret-id"

func TestManagedStoreBecomesReadyInOnePass(t *testing.T) {
	t.Parallel()
	w := begin(t, managedStore())
	store := w.pass()
	w.expect(store, "ProvisioningReady=True/Provisioned", "CredentialsReady=True/CredentialsAvailable",
		"ConfigProjected=False/"+v1alpha1.ReasonWaitingForProjection, "Ready=False/NotAllReady")
	minted := w.minted()
	if minted.RoleID != w.roleID || minted.ttl != 720*time.Hour || !minted.mintedAt.Equal(now) {
		t.Errorf("minted %v for %v at %v", minted.RoleID, minted.ttl, minted.mintedAt)
	}
	if store.Status.CredentialsHash != minted.Hash() {
		t.Errorf("credentialsHash is %q, want that of the pair", store.Status.CredentialsHash)
	}
	metadata := w.SecretIDs(appRole)[minted.accessor]
	if metadata["store"] != "keys/main" || metadata["store-uid"] != "store-uid" {
		t.Errorf("the secret ID is tied to %v", metadata)
	}
	var s corev1.Secret
	w.get(types.NamespacedName{Namespace: key.Namespace, Name: "main-approle"}, &s)
	if !metav1.IsControlledBy(&s, store) {
		t.Error("the Secret is not the store's")
	}
	if n := w.writes.Load(); n != 2 {
		t.Errorf("%d writes, want the Secret and the status", n)
	}
	if len(w.remints.counted) != 0 {
		t.Errorf("the first mint counts as %v", w.remints.counted)
	}
	if w.OpenSessions() != 0 {
		t.Errorf("%d sessions are left", w.OpenSessions())
	}
	w.expectEvents()

	w.deployed("[secretstore:main]\nsecret_store_plugin = vault_plugin\n", minted.Hash())
	w.expect(w.pass(), "ConfigProjected=True/ConfigProjected", "Ready=True/AllReady")
}

func TestConvergedPassCostsNothing(t *testing.T) {
	t.Parallel()
	w := begin(t, managedStore())
	w.pass()
	w.deployed("[secretstore:main]\n", w.minted().Hash())
	w.pass()
	writes := w.writes.Load()
	w.ForgetCalls()
	w.tokenError = errors.New("no token is to be asked for")
	result, err := w.reconcile()
	if err != nil {
		t.Fatal(err)
	}
	if w.writes.Load() != writes || len(w.AllCalls()) != 0 {
		t.Errorf("%d writes and the calls %v", w.writes.Load()-writes, w.AllCalls())
	}
	if result.RequeueAfter != revalidate {
		t.Errorf("comes back in %v, want %v", result.RequeueAfter, revalidate)
	}
	w.tokenError = nil
	w.after(revalidate)
	if n := w.Calls("POST", "auth/approle/login"); n != 1 {
		t.Errorf("%d logins after the revalidation is due, want 1", n)
	}
}

func TestATokenRequestThatFailedIsRepeatedWithTheNextPass(t *testing.T) {
	t.Parallel()
	w := begin(t, managedStore())
	w.tokenError = apierrors.NewInternalError(errors.New("etcd"))
	if _, err := w.reconcile(); err == nil {
		t.Fatal("the failure is not told")
	}
	w.tokenError = nil
	w.expect(w.pass(), "CredentialsReady=True/CredentialsAvailable")
}

func TestManagedStoreWaits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		given   func(*world)
		want    []string
		message string
		events  []string
		err     bool
	}{
		{
			name:  "no instance",
			given: func(w *world) { w.delete(instance("True")) },
			want:  []string{"ProvisioningReady=False/InstanceNotFound", "CredentialsReady"}, events: []string{"InstanceNotFound"},
			message: "OpenBaoCluster bao does not exist",
		},
		{
			name:  "instance not available",
			given: func(w *world) { w.delete(instance("True")); w.create(instance("False")) },
			want:  []string{"ProvisioningReady=False/WaitingForInstance", "CredentialsReady"}, events: []string{"WaitingForInstance"},
		},
		{
			name:  "no CA",
			given: func(w *world) { w.delete(secret("bao-tls-ca")) },
			want:  []string{"ProvisioningReady=False/WaitingForInstanceTLS"}, events: []string{"WaitingForInstanceTLS"},
			message: "Secret bao-tls-ca does not exist",
		},
		{
			name:  "empty CA",
			given: func(w *world) { w.update(secret("bao-tls-ca")) },
			want:  []string{"ProvisioningReady=False/WaitingForInstanceTLS"}, events: []string{"WaitingForInstanceTLS"},
			message: "Secret bao-tls-ca lacks ca.crt",
		},
		{
			name:  "CA without a certificate",
			given: func(w *world) { w.update(secret("bao-tls-ca", "ca.crt", "half-written")) },
			want:  []string{"ProvisioningReady=False/OpenBaoUnreachable"}, events: []string{"OpenBaoUnreachable"},
		},
		{
			name:  "no provisioner account",
			given: func(w *world) { w.tokenError = apierrors.NewNotFound(serviceAccounts, "bao-provisioner") },
			want:  []string{"ProvisioningReady=False/WaitingForInstance"}, events: []string{"WaitingForInstance"},
		},
		{
			name: "token request forbidden",
			given: func(w *world) {
				w.tokenError = apierrors.NewForbidden(serviceAccounts, "bao-provisioner", errors.New("no"))
			},
			want: []string{"ProvisioningReady=False/ProvisioningDenied"}, events: []string{"ProvisioningDenied"},
			message: "rbac.secretStoreNamespaces",
		},
		{
			name:  "token request fails",
			given: func(w *world) { w.tokenError = apierrors.NewInternalError(errors.New("etcd")) },
			want:  []string{"ProvisioningReady", "CredentialsReady"}, err: true,
		},
		{
			name: "wrong audience",
			given: func(w *world) {
				w.ReviewTokens(func(standin.KubernetesRole, string) error { return errors.New("audience") })
			},
			want: []string{"ProvisioningReady=False/ProvisioningDenied"}, events: []string{"ProvisioningDenied"},
		},
		{
			name:  "no kubernetes role",
			given: func(w *world) { w.DropAuth("kubernetes") },
			want:  []string{"ProvisioningReady=False/InstanceNotProvisioned"}, events: []string{"InstanceNotProvisioned"},
		},
		{
			name:  "no AppRole",
			given: func(w *world) { w.DropAppRole(appRole) },
			want:  []string{"ProvisioningReady=False/InstanceNotProvisioned", "CredentialsReady"}, events: []string{"InstanceNotProvisioned"},
			message: "barbican_kv, approle_auth, barbican_approle_role",
		},
		{
			name:   "no mount",
			given:  func(w *world) { w.DropMount("barbican") },
			want:   []string{"ProvisioningReady=False/InstanceNotProvisioned", "CredentialsReady=False/InsufficientCapabilities"},
			events: []string{"InstanceNotProvisioned", "InsufficientCapabilities"}, message: "No secret engine mount at barbican/",
		},
		{
			name:   "KV v1 mount",
			given:  func(w *world) { w.EnableKV("barbican", 1) },
			want:   []string{"ProvisioningReady=False/InstanceNotProvisioned", "CredentialsReady=False/InsufficientCapabilities"},
			events: []string{"InstanceNotProvisioned", "InsufficientCapabilities"}, message: "not a KV version 2 engine",
		},
		{
			name:  "mount denied",
			given: func(w *world) { w.Deny("sys/mounts/barbican") },
			want:  []string{"ProvisioningReady=False/ProvisioningDenied"}, events: []string{"ProvisioningDenied"},
		},
		{
			name:  "role ID denied",
			given: func(w *world) { w.Deny("auth/approle/role/barbican/role-id") },
			want:  []string{"ProvisioningReady=False/ProvisioningDenied"}, events: []string{"ProvisioningDenied"},
		},
		{
			name:  "mint denied",
			given: func(w *world) { w.Deny(mintPath) },
			want:  []string{"ProvisioningReady=True/Provisioned", "CredentialsReady=False/ProvisioningDenied"}, events: []string{"ProvisioningDenied"},
		},
		{
			name:  "sealed",
			given: func(w *world) { w.Seal() },
			want:  []string{"ProvisioningReady=False/OpenBaoUnreachable", "CredentialsReady"}, events: []string{"OpenBaoUnreachable"},
			message: "sealed",
		},
		{
			name:  "standby",
			given: func(w *world) { w.StandBy() },
			want:  []string{"ProvisioningReady=False/OpenBaoUnreachable"}, events: []string{"OpenBaoUnreachable"}, message: "standby",
		},
		{
			name:   "capabilities missing",
			given:  func(w *world) { w.WritePolicy("barbican", standin.Policy{"barbican/data/*": {"read"}}) },
			want:   []string{"ProvisioningReady=True/Provisioned", "CredentialsReady=False/InsufficientCapabilities", "ConfigProjected"},
			events: []string{"InsufficientCapabilities"},
		},
		{
			name:  "minted pair not accepted yet",
			given: func(w *world) { w.EnableAuth("approle"); w.LockOut(w.roleID) },
			want:  []string{"CredentialsReady=False/InvalidCredentials"}, events: []string{"InvalidCredentials"},
		},
		{
			name:  "foreign Secret in the way",
			given: func(w *world) { w.create(secret("main-approle", "role-id", "theirs", "secret-id", "theirs")) },
			want:  []string{"ProvisioningReady=True/Provisioned", "CredentialsReady=False/WaitingForCredentials"}, events: []string{"WaitingForCredentials"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := begin(t, managedStore())
			test.given(w)
			result, err := w.reconcile()
			if (err != nil) != test.err {
				t.Fatalf("error %v, want one: %v", err, test.err)
			}
			if !test.err && result.RequeueAfter != retry {
				t.Errorf("comes back in %v, want %v", result.RequeueAfter, retry)
			}
			store := w.store()
			w.expect(store, append(test.want, "Ready=False/NotAllReady")...)
			if all := message(store, "ProvisioningReady") + message(store, "CredentialsReady"); !strings.Contains(all, test.message) {
				t.Errorf("messages %q do not contain %q", all, test.message)
			}
			want := make([]string, 0, len(test.events))
			for _, reason := range test.events {
				want = append(want, "BarbicanSecretStore Warning "+reason)
			}
			w.expectEvents(want...)
			if w.OpenSessions() != 0 {
				t.Errorf("%d sessions are left", w.OpenSessions())
			}

			writes := w.writes.Load()
			_, _ = w.reconcile()
			w.expectEvents()
			if w.writes.Load() != writes && test.name != "foreign Secret in the way" {
				t.Error("the second pass writes")
			}
		})
	}
}

func TestForeignSecretIsNotTouchedAndMintsOnce(t *testing.T) {
	t.Parallel()
	w := begin(t, managedStore(), secret("main-approle", "role-id", "theirs", "secret-id", "theirs"))
	w.pass()
	for range 3 {
		w.after(retry)
	}
	if n := w.Calls("POST", mintPath); n != 1 {
		t.Errorf("%d mints, want 1", n)
	}
	if got := w.minted(); got.SecretID != "theirs" {
		t.Error("the foreign Secret is changed")
	}
	w.delete(secret("main-approle"))
	w.expect(w.after(retry), "CredentialsReady=True/CredentialsAvailable")
	if n := w.Calls("POST", mintPath); n != 1 {
		t.Errorf("%d mints after the way was free, want the first one used", n)
	}
}

// An outage is no reconfiguration: what was valid stays valid, nothing is minted.
func TestOutageLeavesCredentialsAlone(t *testing.T) {
	t.Parallel()
	for name, outage := range map[string]func(*world){
		"sealed": func(w *world) { w.Seal() },
		"gone":   func(w *world) { w.delete(instance("True")) },
		"denied": func(w *world) { w.Deny("auth/kubernetes/login") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t, managedStore())
			before := w.pass()
			outage(w)
			store := w.after(revalidate)
			w.expect(store, "CredentialsReady=True/CredentialsAvailable", "Ready=False/NotAllReady")
			if store.Status.CredentialsHash == "" || store.Status.CredentialsHash != before.Status.CredentialsHash {
				t.Errorf("credentialsHash is %q, was %q", store.Status.CredentialsHash, before.Status.CredentialsHash)
			}
			if n := w.Calls("POST", mintPath); n != 1 {
				t.Errorf("%d mints, want the first one only", n)
			}
		})
	}
}

// R37: the store leaves the configuration and both objects are told, once.
func TestLostMount(t *testing.T) {
	t.Parallel()
	w := begin(t, managedStore())
	w.pass()
	w.DropMount("barbican")
	store := w.after(revalidate)
	w.expect(store, "ProvisioningReady=False/InstanceNotProvisioned", "CredentialsReady=False/InsufficientCapabilities")
	if store.Status.CredentialsHash != "" {
		t.Error("the store can still be projected")
	}
	w.expectEvents("Barbican Warning "+v1alpha1.EventSecretsMayBeLost, "BarbicanSecretStore Warning InstanceNotProvisioned",
		"BarbicanSecretStore Warning InsufficientCapabilities", "BarbicanSecretStore Warning "+v1alpha1.EventSecretsMayBeLost)
	w.after(retry)
	w.expectEvents()

	w.EnableKV("barbican", 2)
	store = w.after(retry)
	w.expect(store, "ProvisioningReady=True/Provisioned", "CredentialsReady=True/CredentialsAvailable")
	if store.Status.CredentialsHash != w.minted().Hash() {
		t.Error("the pair is not validated again")
	}
}

func TestProactiveRemint(t *testing.T) {
	t.Parallel()
	w := begin(t, managedStore())
	w.pass()
	old := w.minted()
	store := w.after(480*time.Hour + time.Second)
	fresh := w.minted()
	w.expect(store, "CredentialsReady=True/CredentialsAvailable")
	if fresh.SecretID == old.SecretID || store.Status.CredentialsHash != fresh.Hash() {
		t.Error("the pair is not replaced or not validated")
	}
	if len(w.remints.counted) != 1 || w.remints.counted[0] != metrics.Proactive {
		t.Errorf("counted %v", w.remints.counted)
	}
	if got := store.Status.PreviousSecretIDAccessors; len(got) != 1 || got[0] != old.accessor {
		t.Errorf("previous accessors %v, want the old one", got)
	}
	w.pass()
	if n := w.Calls("POST", mintPath); n != 2 || len(w.remints.counted) != 1 {
		t.Errorf("%d mints, %v counted", n, w.remints.counted)
	}
}

func TestReplacedSecretIDIsDestroyedAfterTheRollout(t *testing.T) {
	t.Parallel()
	begun := func(t *testing.T) (*world, credential) {
		t.Helper()
		w := begin(t, managedStore())
		w.pass()
		old := w.minted()
		w.deployed("[secretstore:main]\n", old.Hash())
		w.after(480*time.Hour + time.Second)
		if _, alive := w.SecretIDs(appRole)[old.accessor]; !alive {
			t.Fatal("the old secret ID is destroyed while pods run with it")
		}
		return w, old
	}
	rollout := func(w *world, updated int32) {
		var d appsv1.Deployment
		w.get(types.NamespacedName{Namespace: key.Namespace, Name: "barbican"}, &d)
		d.Spec.Template.Annotations["barbican.c5c3.io/secret-store-credentials-hash"] = w.minted().Hash()
		w.update(&d)
		d.Status.UpdatedReplicas = updated
		if err := w.client.Status().Update(context.Background(), &d); err != nil {
			t.Error(err)
		}
	}
	t.Run("unfinished", func(t *testing.T) {
		t.Parallel()
		w, old := begun(t)
		rollout(w, 1)
		w.pass()
		if _, alive := w.SecretIDs(appRole)[old.accessor]; !alive {
			t.Error("the old secret ID is destroyed in the middle of the rollout")
		}
	})
	t.Run("finished", func(t *testing.T) {
		t.Parallel()
		w, old := begun(t)
		rollout(w, 3)
		store := w.pass()
		if _, alive := w.SecretIDs(appRole)[old.accessor]; alive {
			t.Error("the old secret ID is still there")
		}
		if len(store.Status.PreviousSecretIDAccessors) != 0 {
			t.Errorf("still noted: %v", store.Status.PreviousSecretIDAccessors)
		}
		w.expect(store, "Ready=True/AllReady")
	})
	t.Run("denied", func(t *testing.T) {
		t.Parallel()
		w, _ := begun(t)
		w.Deny("auth/approle/role/barbican/secret-id-accessor/destroy")
		rollout(w, 3)
		store := w.pass()
		w.expect(store, "Ready=True/AllReady")
		if len(store.Status.PreviousSecretIDAccessors) != 0 {
			t.Errorf("still noted: %v", store.Status.PreviousSecretIDAccessors)
		}
		w.expectEvents()
	})
}

// Who wants no expiry may write a life of centuries, which our stamp cannot hold.
func TestLongestLifeMintsOnce(t *testing.T) {
	t.Parallel()
	w := begin(t, managedStore())
	w.WriteAppRole(appRole, standin.AppRole{Policies: []string{appRole}, SecretIDTTL: maxTTL + 80*365*24*time.Hour, TokenTTL: time.Hour})
	w.expect(w.pass(), "CredentialsReady=True/CredentialsAvailable")
	for range 3 {
		w.after(revalidate)
	}
	if n := w.Calls("POST", mintPath); n != 1 {
		t.Errorf("%d mints, and a rollout for each", n)
	}
}

// Somebody spoils the Secret, it is minted anew, and the one of before comes back from a backup: it was replaced and is in use.
func TestSecretIDInUseIsNeverDestroyed(t *testing.T) {
	t.Parallel()
	w := begin(t, managedStore())
	w.pass()
	w.pass()
	var backup corev1.Secret
	w.get(types.NamespacedName{Namespace: key.Namespace, Name: "main-approle"}, &backup)
	old := w.minted()
	spoilt := backup.DeepCopy()
	spoilt.Data["secret-id"] = nil
	w.update(spoilt)
	w.pass()
	w.pass()
	backup.ResourceVersion = ""
	w.update(&backup)
	w.expect(w.after(revalidate), "CredentialsReady=True/CredentialsAvailable")
	w.deployed("[secretstore:main]\n", old.Hash())
	w.after(revalidate)
	if _, alive := w.SecretIDs(appRole)[old.accessor]; !alive || w.minted().accessor != old.accessor {
		t.Error("the secret ID that every pod runs with is destroyed")
	}
}

func TestReactiveRemint(t *testing.T) {
	t.Parallel()
	w := begin(t, managedStore())
	w.pass()
	old := w.minted()
	w.DestroySecretID(old.accessor)
	store := w.after(revalidate)
	w.expect(store, "CredentialsReady=True/CredentialsAvailable")
	if w.minted().SecretID == old.SecretID || store.Status.CredentialsHash != w.minted().Hash() {
		t.Error("the refused pair is not replaced")
	}
	if len(w.remints.counted) != 1 || w.remints.counted[0] != metrics.Reactive {
		t.Errorf("counted %v", w.remints.counted)
	}
}

func TestFreshPairThatIsRefusedIsNotReplaced(t *testing.T) {
	t.Parallel()
	w := begin(t, managedStore())
	w.pass()
	w.DestroySecretID(w.minted().accessor)
	w.restart() // forgets the verdict
	w.expect(w.after(time.Minute), "CredentialsReady=False/InvalidCredentials")
	for range 20 {
		w.after(retry - time.Second)
	}
	if n := w.Calls("POST", mintPath); n != 2 {
		t.Errorf("%d mints, want the second one after the cooldown", n)
	}
	// One at the start, then at growing intervals, then the new pair's.
	if n := w.Calls("POST", "auth/approle/login"); n > 6 {
		t.Errorf("%d logins: a refused pair is tried too often and locks the role out", n)
	}
	w.expect(w.store(), "CredentialsReady=True/CredentialsAvailable")
}

// R38: a 403 is no reason to mint.
func TestLockoutDoesNotMint(t *testing.T) {
	t.Parallel()
	w := begin(t, managedStore())
	before := w.pass()
	w.LockOut(w.roleID)
	store := w.after(revalidate - time.Second)
	w.expect(store, "CredentialsReady=True/CredentialsAvailable")
	w.LockOut(w.roleID)
	store = w.after(time.Second)
	w.expect(store, "CredentialsReady=False/InvalidCredentials")
	if !strings.Contains(message(store, "CredentialsReady"), "sys/locked-users/") {
		t.Errorf("the message does not name the unlock call: %s", message(store, "CredentialsReady"))
	}
	if n := w.Calls("POST", mintPath); n != 1 || store.Status.CredentialsHash != before.Status.CredentialsHash {
		t.Errorf("%d mints, credentialsHash %s", n, store.Status.CredentialsHash)
	}
	w.Unlock(w.roleID)
	w.expect(w.after(retry), "CredentialsReady=True/CredentialsAvailable")
}

// R38: the pods with the stale secret ID keep the lock alive, so the new pair goes out although it cannot be validated.
func TestLockoutAfterAReactiveRemintRollsThePods(t *testing.T) {
	t.Parallel()
	for _, restarted := range []bool{false, true} {
		w := begin(t, managedStore())
		w.pass()
		old := w.minted()
		w.DestroySecretID(old.accessor)
		w.clock.SetTime(now.Add(revalidate))
		for range 4 { // the pods' retries; our own probe is the fifth failure
			w.fail(old)
		}
		store := w.pass()
		if restarted {
			w.restart()
			store = w.after(retry)
		}
		fresh := w.minted()
		w.expect(store, "CredentialsReady=False/OpenBaoUnreachable")
		if fresh.SecretID == old.SecretID || store.Status.CredentialsHash != fresh.Hash() {
			t.Error("the pods would not be restarted with the new pair")
		}
		if !strings.Contains(message(store, "CredentialsReady"), "locked out") {
			t.Errorf("message: %s", message(store, "CredentialsReady"))
		}
		w.Unlock(w.roleID)
		w.expect(w.after(retry), "CredentialsReady=True/CredentialsAvailable")
		if n := w.Calls("POST", mintPath); n != 2 {
			t.Errorf("%d mints, want 2", n)
		}
	}
}

// R38: a pair that is renewed during a lockout has to go out at the latest when the one of the pods expires, for from then on their
// retries keep the lock alive. Until then the pods are left alone: they may still hold tokens.
func TestLockoutAfterAProactiveRemintRollsThePodsInTime(t *testing.T) {
	t.Parallel()
	w := begin(t, managedStore())
	w.pass()
	old := w.minted()
	renewed := now.Add(481 * time.Hour)
	w.clock.SetTime(renewed)
	w.LockOut(w.roleID)
	store := w.pass()
	fresh := w.minted()
	w.expect(store, "CredentialsReady=False/InvalidCredentials")
	if fresh.SecretID == old.SecretID || store.Status.CredentialsHash != old.Hash() {
		t.Error("the pods are restarted while theirs is valid")
	}
	w.clock.SetTime(renewed.Add(240 * time.Hour))
	w.LockOut(w.roleID)
	store = w.pass()
	w.expect(store, "CredentialsReady=False/OpenBaoUnreachable")
	if store.Status.CredentialsHash != fresh.Hash() || w.minted().SecretID != fresh.SecretID {
		t.Error("the pods would keep the role locked out with an expired secret ID")
	}
	w.Unlock(w.roleID)
	w.expect(w.after(retry), "CredentialsReady=True/CredentialsAvailable")
	if len(w.remints.counted) != 1 || w.remints.counted[0] != metrics.Proactive {
		t.Errorf("counted %v", w.remints.counted)
	}
}

func TestAbsentSecretIsMintedAnew(t *testing.T) {
	t.Parallel()
	w := begin(t, managedStore())
	w.pass()
	w.pass()
	old := w.minted()
	w.delete(secret("main-approle"))
	w.restart() // else the deletion may still be a lag of the cache
	w.expect(w.pass(), "CredentialsReady=True/CredentialsAvailable")
	if w.minted().SecretID == old.SecretID {
		t.Error("the deleted pair is back")
	}
}

func TestBrokenSecretIsMintedAnew(t *testing.T) {
	t.Parallel()
	for name, break_ := range map[string]func(*corev1.Secret){
		"stamp lost":   func(s *corev1.Secret) { s.Annotations = nil },
		"stamp broken": func(s *corev1.Secret) { s.Annotations["barbican.c5c3.io/secret-id-minted-at"] = "?" },
		"key emptied":  func(s *corev1.Secret) { s.Data["secret-id"] = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t, managedStore())
			w.pass()
			w.pass()
			var s corev1.Secret
			w.get(types.NamespacedName{Namespace: key.Namespace, Name: "main-approle"}, &s)
			break_(&s)
			w.update(&s)
			w.expect(w.pass(), "CredentialsReady=True/CredentialsAvailable")
			if n := w.Calls("POST", mintPath); n != 2 || !w.minted().usable(w.clock.Now()) {
				t.Errorf("%d mints, %+v", n, w.minted().mintedAt)
			}
		})
	}
}

// A mint whose write fails is not repeated: the next pass writes what was minted.
func TestMintIsNeverLost(t *testing.T) {
	t.Parallel()
	w := begin(t, managedStore())
	w.writeError = errors.New("no")
	if _, err := w.reconcile(); err == nil {
		t.Fatal("the failed write is no error")
	}
	w.expect(w.pass(), "CredentialsReady=True/CredentialsAvailable")
	if n := w.Calls("POST", mintPath); n != 1 {
		t.Errorf("%d mints, want 1", n)
	}
}
