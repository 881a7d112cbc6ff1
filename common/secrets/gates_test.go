// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/c5c3/cobaltcore/common/api"
)

func synced(status corev1.ConditionStatus, message string) SyncStatus {
	return SyncStatus{Conditions: []SyncCondition{{Type: "Other", Status: "True"}, {Type: "Ready", Status: status, Message: message}}}
}

func failingGet(err error) interceptor.Funcs {
	return interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return err
	}}
}

func TestStoreGate(t *testing.T) {
	t.Parallel()
	cluster := func(status SyncStatus) client.Object {
		return &ClusterSecretStore{ObjectMeta: metav1.ObjectMeta{Name: "store"}, Status: status}
	}
	local := func(namespace string) client.Object {
		return &SecretStore{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "store"}, Status: synced("True", "")}
	}
	for _, tt := range []struct {
		name    string
		kind    api.SecretStoreKind
		objects []client.Object
		hooks   interceptor.Funcs
		reason  string
		fails   bool
		says    string
	}{
		{name: "ready", kind: api.ClusterSecretStoreKind, objects: []client.Object{cluster(synced("True", ""))}},
		{name: "ready in the namespace", kind: api.NamespacedSecretStoreKind, objects: []client.Object{local("ns")}},
		{name: "ready in another namespace", kind: api.NamespacedSecretStoreKind, objects: []client.Object{local("other")}, reason: api.ReasonSecretStoreNotReady, says: "does not exist"},
		{name: "missing", kind: api.ClusterSecretStoreKind, reason: api.ReasonSecretStoreNotReady, says: `ClusterSecretStore "store" does not exist`},
		{name: "silent", kind: api.ClusterSecretStoreKind, objects: []client.Object{cluster(SyncStatus{})}, reason: api.ReasonSecretStoreNotReady, says: "not ready"},
		{name: "broken", kind: api.ClusterSecretStoreKind, objects: []client.Object{cluster(synced("False", "sealed"))}, reason: api.ReasonSecretStoreNotReady,
			says: `ClusterSecretStore "store" is not ready; upstream secret backend unreachable`},
		{name: "unknown kind", kind: "VaultStore", reason: api.ReasonSecretStoreNotReady, fails: true, says: `"VaultStore" is no kind of secret store`},
		{name: "not installed", kind: api.ClusterSecretStoreKind, hooks: failingGet(&meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "ClusterSecretStore"}}),
			reason: api.ReasonSecretStoreNotReady, says: "install External Secrets"},
		{name: "outside of the registration", kind: api.NamespacedSecretStoreKind, hooks: failingGet(errors.New(`unable to get: ns/store because of unknown namespace for the cache`)),
			reason: api.ReasonSecretStoreNotReady, fails: true, says: "unknown namespace for the cache"},
		{name: "kept out of the cache", kind: api.ClusterSecretStoreKind, hooks: failingGet(errors.New("ClusterSecretStore cannot be read: missing permission")), reason: api.ReasonSecretStoreNotReady, fails: true, says: "missing permission"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := StoreGate(t.Context(), world(t, tt.hooks, tt.objects...), service(), api.SecretStoreRef{Kind: tt.kind, Name: "store"})
			expect(t, got, tt.reason, tt.fails)
			if !strings.Contains(got.Message(), tt.says) {
				t.Errorf("message = %q, want it to say %q", got.Message(), tt.says)
			}
			if tt.reason != "" && !tt.fails && got.ComesBack() != Retry {
				t.Errorf("comes back after %s", got.ComesBack())
			}
		})
	}
}

func TestAwait(t *testing.T) {
	t.Parallel()
	source := func(status SyncStatus) client.Object {
		return &ExternalSecret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "db"}, Status: status}
	}
	complete := secret("db", map[string][]byte{"username": []byte("u"), "password": []byte("p")})
	half := secret("db", map[string][]byte{"username": []byte("u"), "password": {}})
	for _, tt := range []struct {
		name    string
		objects []client.Object
		read    error
		reason  string
		fails   bool
		says    string
	}{
		{name: "complete", objects: []client.Object{complete}},
		{name: "complete though not synced", objects: []client.Object{complete, source(synced("False", "sealed"))}},
		{name: "nobody writes it", reason: api.ReasonWaitingForDBCredentials, says: `Secret "db" does not exist: no ExternalSecret "db" would write it`},
		{name: "sync fails", objects: []client.Object{source(synced("False", "permission denied"))}, reason: api.ReasonWaitingForDBCredentials, says: "not synced: permission denied"},
		{name: "sync pending", objects: []client.Object{source(SyncStatus{})}, reason: api.ReasonWaitingForDBCredentials, says: "not synced yet"},
		{name: "empty value", objects: []client.Object{half, source(synced("True", ""))}, reason: api.ReasonWaitingForDBCredentials, says: `no value for the key "password": ExternalSecret "db" is synced, but`},
		{name: "key missing", objects: []client.Object{secret("db", nil)}, reason: api.ReasonWaitingForDBCredentials, says: `no value for the key "username"`},
		{name: "outside of the registration", read: errors.New("unknown namespace for the cache"), reason: api.ReasonWaitingForDBCredentials, fails: true, says: "unknown namespace"},
		{name: "API server down", read: errors.New("connection refused"), fails: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := world(t, interceptor.Funcs{}, tt.objects...)
			if tt.read != nil {
				c.Secrets = brokenReader{tt.read}
			}
			found, got := Await(t.Context(), c, service(), Credential{Name: "db", Keys: []string{"username", "password"}, Reason: api.ReasonWaitingForDBCredentials})
			expect(t, got, tt.reason, tt.fails)
			if !strings.Contains(got.Message(), tt.says) {
				t.Errorf("message = %q, want it to say %q", got.Message(), tt.says)
			}
			if (found != nil) != got.Done() || (found != nil && string(found.Data["password"]) != "p") {
				t.Errorf("secret = %v", found)
			}
		})
	}
}

func TestAwaitKeepsTheReasonOfItsCaller(t *testing.T) {
	t.Parallel()
	_, got := Await(t.Context(), world(t, interceptor.Funcs{}), service(), Credential{Name: "user", Keys: []string{"password"}, Reason: api.ReasonWaitingForServiceUserCredentials})
	expect(t, got, api.ReasonWaitingForServiceUserCredentials, false)
}

type brokenReader struct{ err error }

func (r brokenReader) Get(context.Context, types.NamespacedName) (*corev1.Secret, error) {
	return nil, r.err
}

func TestDigest(t *testing.T) {
	t.Parallel()
	if got, want := Digest([]byte("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; got != want {
		t.Errorf("Digest(abc) = %s, want the plain SHA-256 %s", got, want)
	}
	seen := map[string]string{}
	for name, values := range map[string][][]byte{
		"a, bc": {[]byte("a"), []byte("bc")}, "ab, c": {[]byte("ab"), []byte("c")}, "abc": {[]byte("abc")}, "a, b, c": {[]byte("a"), []byte("b"), []byte("c")},
		"abc, nothing": {[]byte("abc"), nil}, "nothing": nil,
	} {
		d := Digest(values...)
		if other, taken := seen[d]; taken {
			t.Errorf("%q and %q share a digest", name, other)
		}
		seen[d] = name
	}
}
