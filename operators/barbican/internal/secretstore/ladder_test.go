// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/metrics"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/openbao"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func aged(age, ttl time.Duration) credential {
	return credential{
		Credentials: openbao.Credentials{RoleID: "role", SecretID: "secret"}, mintedAt: now.Add(-age), ttl: ttl, accessor: "accessor",
	}
}

func TestLadder(t *testing.T) {
	t.Parallel()
	const month = 720 * time.Hour
	tests := []struct {
		name        string
		credential  credential
		mint        bool
		trigger     metrics.Trigger
		replaceable bool
		attempt     time.Duration
		visit       time.Duration
	}{
		{name: "absent", credential: credential{}, mint: true, trigger: initial},
		{name: "without a secret ID", credential: credential{Credentials: openbao.Credentials{RoleID: "role"}, mintedAt: now}, mint: true},
		{name: "without a role ID", credential: credential{Credentials: openbao.Credentials{SecretID: "secret"}, mintedAt: now}, mint: true},
		{name: "unstamped", credential: credential{Credentials: openbao.Credentials{RoleID: "role", SecretID: "secret"}}, mint: true},
		{name: "stamped in the future", credential: aged(-time.Hour, month), mint: true},
		{name: "stamped by a clock ahead of ours", credential: aged(-time.Minute, month), attempt: time.Minute, visit: revalidate},
		{name: "fresh", credential: aged(0, month), attempt: time.Minute, visit: revalidate},
		{name: "three minutes old", credential: aged(3*time.Minute, month), attempt: 6 * time.Minute, visit: revalidate},
		{name: "just before the cooldown", credential: aged(cooldown-time.Second, month), attempt: retry, visit: revalidate},
		{name: "just after the cooldown", credential: aged(cooldown, month), replaceable: true, attempt: retry, visit: revalidate},
		{name: "at two thirds", credential: aged(480*time.Hour, month), replaceable: true, attempt: retry, visit: retry},
		{name: "past two thirds", credential: aged(480*time.Hour+time.Second, month), mint: true, trigger: metrics.Proactive, replaceable: true, attempt: retry, visit: retry},
		{name: "close to two thirds", credential: aged(480*time.Hour-5*time.Minute, month), replaceable: true, attempt: retry, visit: 5 * time.Minute},
		{name: "a minute before the end of a short life", credential: aged(0, time.Minute), attempt: time.Minute, visit: 40 * time.Second},
		{name: "without an end", credential: aged(10*month, 0), replaceable: true, attempt: retry, visit: revalidate},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			trigger, mint := test.credential.due(now)
			if mint != test.mint || trigger != test.trigger {
				t.Errorf("due: %v %q, want %v %q", mint, trigger, test.mint, test.trigger)
			}
			if !test.credential.usable(now) {
				return
			}
			if got := test.credential.replaceable(now); got != test.replaceable {
				t.Errorf("replaceable: %v, want %v", got, test.replaceable)
			}
			if got := test.credential.nextAttempt(now); got != test.attempt {
				t.Errorf("next attempt in %v, want %v", got, test.attempt)
			}
			if got := test.credential.nextVisit(now); got != test.visit {
				t.Errorf("next visit in %v, want %v", got, test.visit)
			}
		})
	}
}

func TestCredentialSecret(t *testing.T) {
	t.Parallel()
	store := &v1alpha1.BarbicanSecretStore{
		ObjectMeta: metav1.ObjectMeta{Namespace: "keys", Name: "main"},
		Spec: v1alpha1.BarbicanSecretStoreSpec{
			BarbicanRef: v1alpha1.BarbicanRef{Name: "barbican"},
			OpenBao:     &v1alpha1.OpenBaoSpec{InstanceRef: &v1alpha1.OpenBaoInstanceRef{Name: "bao"}},
		},
	}
	written := aged(time.Hour, 720*time.Hour)
	secret := written.secret(store)
	if secret.Name != "main-approle" || secret.Namespace != "keys" {
		t.Errorf("it is %s/%s", secret.Namespace, secret.Name)
	}
	want := map[string]string{
		v1alpha1.AnnotationSecretIDMintedAt: "2026-03-01T11:00:00Z", v1alpha1.AnnotationSecretIDTTLSeconds: "2592000",
		v1alpha1.AnnotationSecretIDAccessor: "accessor",
	}
	if diff := cmp.Diff(want, secret.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if read := credentialOf(secret); read != written {
		t.Errorf("read back %+v, want %+v", read, written)
	}
	for name, value := range map[string]string{
		"no number": "soon", "negative": "-1", "too large": "99999999999999",
	} {
		broken := secret.DeepCopy()
		broken.Annotations[v1alpha1.AnnotationSecretIDTTLSeconds] = value
		if credentialOf(broken).usable(now) {
			t.Errorf("a TTL that is %s is accepted", name)
		}
	}
	broken := secret.DeepCopy()
	broken.Annotations[v1alpha1.AnnotationSecretIDMintedAt] = "yesterday"
	if credentialOf(broken).usable(now) {
		t.Error("a stamp that cannot be parsed is accepted")
	}
	if credentialOf(&corev1.Secret{}).usable(now) {
		t.Error("an empty Secret is accepted")
	}
}

func TestHasLine(t *testing.T) {
	t.Parallel()
	const line = "[secretstore:main]"
	tests := []struct {
		text string
		want bool
	}{
		{"[secretstore:main]\n", true},
		{"a = b\r\n[secretstore:main]\r\nc = d\r\n", true},
		{"a\r[secretstore:main]\r", true},
		{"[secretstore:main2]\n", false},
		{" [secretstore:main]\n", false},
		{"[secretstore:main] \n", false},
		{"x = [secretstore:main]\n", false},
		{"[secretstore:main]", false},
		{"", false},
	}
	for _, test := range tests {
		if got := hasLine([]byte(test.text), line); got != test.want {
			t.Errorf("%q: %v, want %v", test.text, got, test.want)
		}
	}
}
