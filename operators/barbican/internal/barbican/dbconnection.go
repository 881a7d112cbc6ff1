// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"context"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/database"
	"github.com/c5c3/cobaltcore/common/reconcile"
)

// dbConnectionSecret writes the DSN into a Secret of its own, which is the only place that has it.
func (s *steps) dbConnectionSecret(ctx context.Context, p *pass) reconcile.Outcome {
	b := p.Object
	digest, o := database.Connect(ctx, p.Children, b, database.Connection{
		Spec: b.Spec.Database, Name: connectionSecretName(b), Labels: instance(b).Labels(), TLSDir: databaseTLSPath,
	})
	if !o.Done() {
		return o
	}
	p.Values.dbConnectionHash = digest
	if p.Values.dbTLSHash, o = database.TLSDigest(ctx, p.Children, b, b.Spec.Database); !o.Done() {
		return o
	}
	return reconcile.Ready(api.ReasonSecretsAvailable, "All credentials are available")
}
