// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"bytes"
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/oslo"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

// Escaped is a copy of a password for pods that read it through oslo.config, which would replace $name in it. The service
// then sees the original.
type Escaped struct {
	Name   string // of the Secret with the copy
	Labels map[string]string
}

// Source is where pods take the password from: the Secret it comes from, or the copy if it must be escaped.
func (e Escaped) Source(ctx context.Context, c target.Cluster, owner client.Object, from api.SecretRef, password []byte) (api.SecretRef, error) {
	if !bytes.ContainsRune(password, '$') {
		return from, nil
	}
	escaped := e.secret(owner)
	escaped.Type = corev1.SecretTypeOpaque
	escaped.Data = map[string][]byte{api.DefaultPasswordDataKey: []byte(oslo.Escape(string(password)))}
	return api.SecretRef{Name: e.Name, Key: api.DefaultPasswordDataKey}, c.Writer.Replace(ctx, owner, escaped)
}

// Drop deletes the copy unless it is the source in use. No pod may take it any more.
func (e Escaped) Drop(ctx context.Context, c target.Cluster, owner client.Object, source api.SecretRef) error {
	if source.Name == e.Name {
		return nil
	}
	_, err := c.Writer.Delete(ctx, owner, e.secret(owner))
	return err
}

func (e Escaped) secret(owner client.Object) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: owner.GetNamespace(), Name: e.Name, Labels: e.Labels}}
}
