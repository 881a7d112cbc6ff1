// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/cobaltcore/common/naming"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/openbao"
)

// credential is what the Secret of a managed store holds. The zero value is a
// Secret that is missing or cannot be read.
type credential struct {
	openbao.Credentials
	mintedAt time.Time
	ttl      time.Duration // 0: never expires
	accessor string
}

// pairOf reads the two keys every credentials Secret has.
func pairOf(secret *corev1.Secret) openbao.Credentials {
	return openbao.Credentials{
		RoleID: string(secret.Data[v1alpha1.RoleIDKey]), SecretID: string(secret.Data[v1alpha1.SecretIDKey]),
	}
}

// credentialOf reads a minted Secret. A stamp that cannot be read makes the
// credential unusable.
func credentialOf(secret *corev1.Secret) credential {
	c := credential{Credentials: pairOf(secret), accessor: secret.Annotations[v1alpha1.AnnotationSecretIDAccessor]}
	mintedAt, err := time.Parse(time.RFC3339, secret.Annotations[v1alpha1.AnnotationSecretIDMintedAt])
	if err != nil {
		return c
	}
	seconds, err := strconv.ParseInt(secret.Annotations[v1alpha1.AnnotationSecretIDTTLSeconds], 10, 64)
	if err != nil || seconds < 0 || seconds > int64(maxTTL/time.Second) {
		return c
	}
	c.mintedAt, c.ttl = mintedAt, time.Duration(seconds)*time.Second
	return c
}

// maxTTL keeps a stamp within what a Duration can hold.
const maxTTL = 200 * 365 * 24 * time.Hour

// secret is the Secret that holds the credential of a managed store.
func (c credential) secret(store *v1alpha1.BarbicanSecretStore) *corev1.Secret {
	annotations := map[string]string{
		v1alpha1.AnnotationSecretIDMintedAt:   c.mintedAt.UTC().Format(time.RFC3339),
		v1alpha1.AnnotationSecretIDTTLSeconds: strconv.FormatInt(int64(c.ttl/time.Second), 10),
		v1alpha1.AnnotationSecretIDAccessor:   c.accessor,
	}
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Name: store.CredentialsSecretName(), Namespace: store.Namespace,
			Labels:      naming.Instance{App: appRole, Name: store.Spec.BarbicanRef.Name}.Labels(),
			Annotations: annotations,
		},
		Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{v1alpha1.RoleIDKey: []byte(c.RoleID), v1alpha1.SecretIDKey: []byte(c.SecretID)},
	}
}
