// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"context"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/database"
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
	source, err := escapedPassword(b).Source(ctx, p.Children, b, user, password.Data[user.Key])
	if err != nil {
		return reconcile.Blame(api.ReasonWaitingForServiceUserCredentials, err)
	}
	p.Values.password = source
	return reconcile.Ready(api.ReasonSecretsAvailable, "All credentials are available")
}

func escapedPassword(b *v1alpha1.Barbican) secrets.Escaped {
	return secrets.Escaped{Name: b.Name + "-authtoken", Labels: instance(b).Labels()}
}
