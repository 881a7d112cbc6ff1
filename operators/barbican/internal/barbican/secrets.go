// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"bytes"
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/database"
	"github.com/c5c3/cobaltcore/common/oslo"
	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/common/secrets"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// secrets waits for the External Secrets store and for the credentials that it delivers.
func (s *steps) secrets(ctx context.Context, p *pass) reconcile.Outcome {
	b := p.Object
	if o := secrets.StoreGate(ctx, p.Children, b, b.Spec.SecretStoreRef.WithDefaults()); !o.Done() {
		return o
	}
	_, o := secrets.Await(ctx, p.Children, b, secrets.Credential{
		Name: b.Spec.Database.SecretRef.Name, Keys: []string{database.UsernameKey, database.PasswordKey}, Reason: api.ReasonWaitingForDBCredentials,
	})
	if !o.Done() {
		return o
	}
	user := b.Spec.EffectiveServiceUser().SecretRef
	password, o := secrets.Await(ctx, p.Children, b, secrets.Credential{
		Name: user.Name, Keys: []string{user.Key}, Reason: api.ReasonWaitingForServiceUserCredentials,
	})
	if !o.Done() {
		return o
	}
	p.Values.authTokenHash = apply.Fingerprint(password, password.Data[user.Key])
	p.Values.password, o = passwordSource(ctx, p, user, password.Data[user.Key])
	if !o.Done() {
		return o
	}
	return reconcile.Ready(api.ReasonSecretsAvailable, "All credentials are available")
}

// passwordSource is where the pods take the service user's password from. oslo.config would replace $name in it, so
// a password with a dollar reaches the pods through a Secret of ours, escaped; the service then sees the original.
func passwordSource(ctx context.Context, p *pass, user api.SecretRef, password []byte) (api.SecretRef, reconcile.Outcome) {
	if !bytes.ContainsRune(password, '$') {
		return user, reconcile.Outcome{}
	}
	escaped := escapedPassword(p.Object)
	escaped.Type = corev1.SecretTypeOpaque
	escaped.Data = map[string][]byte{api.DefaultPasswordDataKey: []byte(oslo.Escape(string(password)))}
	err := p.Children.Writer.Replace(ctx, p.Object, escaped)
	return api.SecretRef{Name: escaped.Name, Key: api.DefaultPasswordDataKey}, blame(api.ReasonWaitingForServiceUserCredentials, err)
}

func escapedPassword(b *v1alpha1.Barbican) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: b.Namespace, Name: b.Name + "-authtoken", Labels: instance(b).Labels(),
	}}
}

// dropEscaped deletes the escaped password when no pod takes it any more.
func dropEscaped(ctx context.Context, p *pass) error {
	escaped := escapedPassword(p.Object)
	if p.Values.password.Name == escaped.Name {
		return nil
	}
	_, err := p.Children.Writer.Delete(ctx, p.Object, escaped)
	return err
}

// blame shows on the condition what somebody has to mend, such as a foreign object of the same name; an error that
// passes by itself has no say.
func blame(reason string, err error) reconcile.Outcome {
	if apply.IsRefused(err) {
		return reconcile.Fail(reason, err)
	}
	return reconcile.Error(err)
}
