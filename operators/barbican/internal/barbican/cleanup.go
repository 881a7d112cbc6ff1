// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"context"

	"github.com/c5c3/cobaltcore/common/database"
	"github.com/c5c3/cobaltcore/common/reconcile"
)

// cleanUp sends the database objects on their way before the owner chain goes.
func (s *steps) cleanUp(ctx context.Context, p *pass) reconcile.Outcome {
	return database.Finalize(ctx, p.Children, p.Object, schemaOf(p.Object))
}
