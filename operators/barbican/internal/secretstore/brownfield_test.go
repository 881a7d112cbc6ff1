// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	standin "github.com/c5c3/cobaltcore/common/kubetest/openbao"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/openbao"
)

// fail is a login of a pod with the pair.
func (w *world) fail(c credential) {
	w.t.Helper()
	client, err := openbao.New(openbao.Options{URL: "https://bao.keys.svc:8200", CA: w.CA(), Dial: w.Dial})
	if err != nil {
		w.t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Validate(context.Background(), c.Credentials, "barbican"); err == nil {
		w.t.Fatal("the stale pair works")
	}
}

// beginGiven starts a world with a brownfield store whose pair is valid.
func beginGiven(t *testing.T) *world {
	t.Helper()
	w := begin(t, givenStore())
	id, _ := w.MintSecretID(appRole)
	w.create(given(openbao.Credentials{RoleID: w.roleID, SecretID: id}))
	return w
}

func TestGivenStoreBecomesReady(t *testing.T) {
	t.Parallel()
	w := beginGiven(t)
	store := w.pass()
	w.expect(store, "CredentialsReady=True/CredentialsAvailable", "ProvisioningReady", "ConfigProjected=False/WaitingForProjection")
	w.deployed("a\n[secretstore:main]\n", "")
	store = w.pass()
	w.expect(store, "Ready=True/AllReady")
	if store.Status.CredentialsHash == "" {
		t.Error("no credentialsHash")
	}
	for call := range w.AllCalls() {
		if !strings.HasPrefix(call, "GET ") && call != "POST auth/approle/login" && call != "POST auth/token/revoke-self" && call != "POST sys/capabilities-self" {
			t.Errorf("the server of others is written to: %s", call)
		}
	}
	w.expectEvents()

	w.ForgetCalls()
	writes := w.writes.Load()
	result, err := w.reconcile()
	if err != nil || result.RequeueAfter != revalidate || len(w.AllCalls()) != 0 || w.writes.Load() != writes {
		t.Errorf("a converged pass comes back in %v (%v) and calls %v", result.RequeueAfter, err, w.AllCalls())
	}
}

func TestGivenStoreLosesAStaleProvisioningCondition(t *testing.T) {
	t.Parallel()
	w := beginGiven(t)
	store := w.store()
	store.Status.Conditions = []metav1.Condition{{
		Type: "ProvisioningReady", Status: "False", Reason: "InstanceNotFound", LastTransitionTime: metav1.NewTime(now),
	}}
	if err := w.client.Status().Update(context.Background(), store); err != nil {
		t.Fatal(err)
	}
	w.expect(w.pass(), "ProvisioningReady", "CredentialsReady=True/CredentialsAvailable")
}

func TestGivenStoreWaits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		given   func(*world)
		reason  string
		message string
	}{
		{name: "no Secret", given: func(w *world) { w.delete(secret("given")) }, reason: "WaitingForCredentials", message: "Secret given does not exist"},
		{name: "no secret ID", given: func(w *world) { w.update(given(openbao.Credentials{RoleID: "r"})) }, reason: "WaitingForCredentials", message: "lacks role-id or secret-id"},
		{
			name: "line break", given: func(w *world) { w.update(given(openbao.Credentials{RoleID: "r", SecretID: "s\n"})) },
			reason: "WaitingForCredentials", message: "line break",
		},
		{name: "no CA", given: func(w *world) { w.delete(secret("bao-tls-ca")) }, reason: "WaitingForCredentials", message: "Secret bao-tls-ca does not exist"},
		{
			name: "no mode", given: func(w *world) {
				store := w.store()
				store.Spec.OpenBao.Server = nil
				w.update(store)
			},
			reason: "WaitingForCredentials", message: "neither",
		},
		{name: "wrong pair", given: func(w *world) { w.update(given(openbao.Credentials{RoleID: w.roleID, SecretID: "s"})) }, reason: "InvalidCredentials"},
		{name: "locked out", given: func(w *world) { w.LockOut(w.roleID) }, reason: "InvalidCredentials", message: "sys/locked-users/"},
		{name: "sealed", given: func(w *world) { w.Seal() }, reason: "OpenBaoUnreachable", message: "sealed"},
		{name: "no auth method", given: func(w *world) { w.DropAuth("approle") }, reason: "OpenBaoUnreachable"},
		{name: "another CA", given: func(w *world) { w.update(secret("bao-tls-ca", "ca.crt", "broken")) }, reason: "OpenBaoUnreachable", message: "no certificate"},
		{name: "missing mount", given: func(w *world) { w.DropMount("barbican") }, reason: "InsufficientCapabilities", message: "is gone"},
		{name: "KV v1", given: func(w *world) { w.EnableKV("barbican", 1) }, reason: "InsufficientCapabilities", message: "not a KV version 2 engine"},
		{
			name: "capabilities missing", given: func(w *world) { w.WritePolicy("barbican", standin.Policy{"barbican/data/*": {"read", "list"}}) },
			reason: "InsufficientCapabilities", message: "lacks create, delete on barbican/data/*",
		},
		{name: "capabilities denied", given: func(w *world) { w.Deny("sys/capabilities-self") }, reason: "InsufficientCapabilities"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := beginGiven(t)
			test.given(w)
			result, err := w.reconcile()
			if err != nil || result.RequeueAfter != retry {
				t.Errorf("comes back in %v, %v", result.RequeueAfter, err)
			}
			store := w.store()
			w.expect(store, "CredentialsReady=False/"+test.reason, "ProvisioningReady", "ConfigProjected", "Ready=False/NotAllReady")
			if !strings.Contains(message(store, "CredentialsReady"), test.message) {
				t.Errorf("message %q does not contain %q", message(store, "CredentialsReady"), test.message)
			}
			w.expectEvents("BarbicanSecretStore Warning " + test.reason)
			_, _ = w.reconcile()
			w.expectEvents()
		})
	}
}

func TestUpdateIsReportedAsUnsafe(t *testing.T) {
	t.Parallel()
	w := beginGiven(t)
	w.WritePolicy("barbican", standin.Policy{"barbican/data/*": {"create", "read", "update", "delete", "list"}})
	store := w.pass()
	w.expect(store, "CredentialsReady=True/CredentialsAvailable")
	if !strings.Contains(message(store, "CredentialsReady"), "loses secrets") {
		t.Errorf("message: %s", message(store, "CredentialsReady"))
	}
}

// R7, R10: the validated pair counts until another one is validated.
func TestRotationAndOutageOfAGivenStore(t *testing.T) {
	t.Parallel()
	w := beginGiven(t)
	first := w.pass().Status.CredentialsHash

	w.Seal()
	store := w.after(revalidate)
	w.expect(store, "CredentialsReady=False/OpenBaoUnreachable")
	if store.Status.CredentialsHash != first {
		t.Error("an outage takes the store out of the configuration")
	}
	w.Unseal()

	w.update(given(openbao.Credentials{RoleID: w.roleID, SecretID: "not yet valid"}))
	store = w.pass()
	w.expect(store, "CredentialsReady=False/InvalidCredentials")
	if store.Status.CredentialsHash != first {
		t.Error("a pair that is not valid is taken over")
	}

	id, _ := w.MintSecretID(appRole)
	pair := openbao.Credentials{RoleID: w.roleID, SecretID: id}
	w.update(given(pair))
	store = w.pass()
	w.expect(store, "CredentialsReady=True/CredentialsAvailable")
	if store.Status.CredentialsHash != pair.Hash() {
		t.Error("the rotated pair is not taken over")
	}
}

// Credentials that were validated for one server say nothing about another.
func TestEditedStoreIsNotProjectedBeforeItIsValidated(t *testing.T) {
	t.Parallel()
	w := beginGiven(t)
	store := w.pass()
	store.Spec.OpenBao.Server.URL = "https://elsewhere.example.org"
	store.Generation++
	w.update(store)
	w.Seal()
	store = w.pass()
	w.expect(store, "CredentialsReady=False/OpenBaoUnreachable")
	if store.Status.CredentialsHash != "" {
		t.Error("the Barbican would be configured with a server that nobody validated")
	}
	w.Unseal()
	if store = w.after(retry); store.Status.CredentialsHash == "" {
		t.Error("the other server is not validated")
	}
}

func TestLostMountOfAGivenStore(t *testing.T) {
	t.Parallel()
	w := beginGiven(t)
	w.pass()
	w.DropMount("barbican")
	store := w.after(revalidate)
	w.expect(store, "CredentialsReady=False/InsufficientCapabilities")
	if store.Status.CredentialsHash != "" {
		t.Error("the store can still be projected")
	}
	w.expectEvents("Barbican Warning "+v1alpha1.EventSecretsMayBeLost, "BarbicanSecretStore Warning InsufficientCapabilities",
		"BarbicanSecretStore Warning "+v1alpha1.EventSecretsMayBeLost)
	w.after(retry)
	w.expectEvents()
}

// A wrong pair must not lock the role out for the one that follows.
func TestAWrongPairIsTriedOnce(t *testing.T) {
	t.Parallel()
	w := beginGiven(t)
	w.update(given(openbao.Credentials{RoleID: w.roleID, SecretID: "wrong"}))
	w.pass()
	for range 20 {
		w.after(retry)
	}
	if n := w.Calls("POST", "auth/approle/login"); n != 1 {
		t.Errorf("%d logins in ten minutes, want 1", n)
	}
	id, _ := w.MintSecretID(appRole)
	w.update(given(openbao.Credentials{RoleID: w.roleID, SecretID: id}))
	w.expect(w.pass(), "CredentialsReady=True/CredentialsAvailable")
}
