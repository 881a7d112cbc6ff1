// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/database"
	"github.com/c5c3/cobaltcore/common/secrets"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// TestSecretsGate is about what a first pass waits for, and that it then writes nothing but the finalizer and the status.
func TestSecretsGate(t *testing.T) {
	t.Parallel()
	user, db := secret("service-user", "password", "p"), secret("db-credentials", "username", "u", "password", "p")
	open := clusterStore(corev1.ConditionTrue)
	withTLS := func(b *v1alpha1.Barbican) {
		b.Spec.Database.TLS = &api.DatabaseTLSSpec{
			CABundleSecretRef: api.SecretRef{Name: "db-ca"}, ClientCertSecretRef: api.SecretRef{Name: "db-client"},
		}
	}
	for name, c := range map[string]struct {
		edit    func(*v1alpha1.Barbican)
		objects []client.Object
		reason  string
		message string   // part of it
		writes  []string // beside the finalizer and the status
	}{
		"no store of External Secrets": {
			reason: api.ReasonSecretStoreNotReady, message: `ClusterSecretStore "openbao-cluster-store" does not exist`,
		},
		"the store is not ready": {
			objects: []client.Object{clusterStore(corev1.ConditionFalse), db, user},
			reason:  api.ReasonSecretStoreNotReady, message: `ClusterSecretStore "openbao-cluster-store" is not ready`,
		},
		"a namespaced store": {
			edit: func(b *v1alpha1.Barbican) {
				b.Spec.SecretStoreRef = &api.SecretStoreRef{Kind: api.NamespacedSecretStoreKind, Name: "own"}
			},
			objects: []client.Object{&secrets.SecretStore{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "own"}}, db, user},
			reason:  api.ReasonSecretStoreNotReady, message: `SecretStore "own" does not exist`,
		},
		"a store of an unknown kind": {
			edit: func(b *v1alpha1.Barbican) {
				b.Spec.SecretStoreRef = &api.SecretStoreRef{Kind: "Vault", Name: "own"}
			},
			reason: api.ReasonSecretStoreNotReady, message: `"Vault" is no kind of secret store`,
		},
		"no database credentials": {
			objects: []client.Object{open, user},
			reason:  api.ReasonWaitingForDBCredentials, message: `Secret "db-credentials" does not exist`,
		},
		"half-written database credentials": {
			objects: []client.Object{open, user, secret("db-credentials", "password", "p", "username", "")},
			reason:  api.ReasonWaitingForDBCredentials, message: `Secret "db-credentials" has no value for the key "username"`,
		},
		"no service user": {
			objects: []client.Object{open, db},
			reason:  api.ReasonWaitingForServiceUserCredentials, message: `Secret "service-user" does not exist`,
		},
		"a service user without the configured key": {
			edit:    func(b *v1alpha1.Barbican) { b.Spec.ServiceUser.SecretRef.Key = "secret" },
			objects: []client.Object{open, db, user},
			reason:  api.ReasonWaitingForServiceUserCredentials, message: `no value for the key "secret"`,
		},
		"no CA of the database": {
			edit: withTLS, objects: []client.Object{open, db, user}, writes: []string{"create Secret"},
			reason: api.ReasonWaitingForDBCredentials, message: `Secret "db-ca" does not exist`,
		},
		"half a client certificate": {
			edit: withTLS, writes: []string{"create Secret"},
			objects: []client.Object{open, db, user, secret("db-ca", "ca.crt", "CA"), secret("db-client", "tls.crt", "C")},
			reason:  api.ReasonWaitingForDBCredentials, message: `Secret "db-client" has no value for the key "tls.key"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := minimal()
			if c.edit != nil {
				c.edit(b)
			}
			w := beginWith(t, append(c.objects, b)...)
			result, err := w.reconcile()
			if unknown := strings.Contains(name, "unknown"); unknown != (err != nil) || !unknown && result.RequeueAfter != 15*time.Second {
				t.Errorf("the pass ends with %+v, %v", result, err)
			}
			w.expect("SecretsReady=False/"+c.reason, "Ready=False/NotAllReady", "SecretStoresReady")
			if got := message(w.barbican(), api.ConditionSecretsReady); !strings.Contains(got, c.message) {
				t.Errorf("message %q lacks %q", got, c.message)
			}
			if got := w.writesTaken(); !slices.Equal(got, append([]string{"patch Barbican"}, c.writes...)) {
				t.Errorf("writes are %q, want the finalizer and %q", got, c.writes)
			}
			w.expectEvents()
		})
	}
}

func TestPasswordWithDollar(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.put(secret("service-user", "password", "pa$$word$1"))
	w.ready()
	escaped := get(w, &corev1.Secret{}, "barbican-authtoken")
	if got := string(escaped.Data["password"]); got != "pa$$$$word$$1" || !metav1.IsControlledBy(escaped, w.barbican()) {
		t.Errorf("the escaped Secret holds %q, owned by %v", got, escaped.OwnerReferences)
	}
	if got := w.passwordOfPods(); got != "barbican-authtoken/password" {
		t.Errorf("pods take the password from %s", got)
	}

	w.put(secret("service-user", "password", "plain"))
	w.pass()
	if got := w.passwordOfPods(); got != "service-user/password" {
		t.Errorf("pods take the password from %s", got)
	}
	if !exists(w, &corev1.Secret{}, "barbican-authtoken") {
		t.Error("the escaped Secret went while pods of the old template may still start with it")
	}
	w.rollOut()
	w.pass()
	w.expect("Ready=True/AllReady")
	if exists(w, &corev1.Secret{}, "barbican-authtoken") {
		t.Error("the escaped Secret is still there after the rollout")
	}
}

// passwordOfPods is where the pods take the service user's password from.
func (w *world) passwordOfPods() string {
	w.Helper()
	for _, e := range get(w, &appsv1.Deployment{}, "barbican").Spec.Template.Spec.Containers[0].Env {
		if e.Name == envServicePassword {
			return e.ValueFrom.SecretKeyRef.Name + "/" + e.ValueFrom.SecretKeyRef.Key
		}
	}
	return ""
}

// TestRotatedPasswords checks that each rotation rolls the pods and changes nothing else.
func TestRotatedPasswords(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		secret     *corev1.Secret
		annotation string
		writes     string
	}{
		"service user": {secret("service-user", "password", "new"), v1alpha1.AnnotationAuthTokenHash, "apply Deployment"},
		"database": {secret("db-credentials", "username", "u", "password", "new"), v1alpha1.AnnotationDBConnectionHash,
			"update Secret, apply Deployment"},
		"CA of the store": {secret("bao-tls-ca", "ca.crt", "new"), v1alpha1.AnnotationSecretStoreCAHash, "apply Deployment"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t)
			w.ready()
			before := get(w, &appsv1.Deployment{}, "barbican").Spec.Template.Annotations
			w.put(c.secret)
			w.pass()
			after := get(w, &appsv1.Deployment{}, "barbican").Spec.Template.Annotations
			for key, digest := range after {
				if (before[key] != digest) != (key == c.annotation) {
					t.Errorf("annotation %s was %s and is %s", key, before[key], digest)
				}
			}
			if got := strings.Join(w.writesTaken(), ", "); got != c.writes {
				t.Errorf("writes are %q, want %q", got, c.writes)
			}
		})
	}
}

// TestTemplateGivesNoPasswordAway checks that who can read Deployments, but no Secrets, has nothing to try passwords against.
func TestTemplateGivesNoPasswordAway(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.ready()
	var plain []string
	for name, key := range map[string]string{"service-user": "password", "db-credentials": "password", "barbican-db-connection": database.ConnectionKey} {
		value := get(w, &corev1.Secret{}, name).Data[key]
		if len(value) == 0 {
			t.Fatalf("Secret %s has no %s", name, key)
		}
		plain = append(plain, secrets.Digest(value))
	}
	for annotation, value := range get(w, &appsv1.Deployment{}, "barbican").Spec.Template.Annotations {
		if slices.Contains(plain, value) {
			t.Errorf("annotation %s is the plain hash of a secret", annotation)
		}
	}
}
