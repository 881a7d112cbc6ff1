// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Restore gives a child that is written once back what tells whose it is: the ownership mark and labels, in one patch if
// anything of it is missing. Afterwards live holds the object as the API server has it. A child that owner may not write
// is answered with a ForeignError.
func (w *Writer) Restore(ctx context.Context, owner, live client.Object, labels map[string]string) error {
	if !w.owners.writable(owner, live) {
		return w.owners.foreign(owner, live)
	}
	if w.owners.marked(owner, live) && includes(live.GetLabels(), labels) {
		return nil
	}
	next := live.DeepCopyObject().(client.Object)
	next.SetLabels(with(live.GetLabels(), labels))
	if err := w.owners.mark(owner, next); err != nil {
		return err
	}
	// The lock keeps the mark off an object that has taken the place of the child since.
	if err := w.client.Patch(ctx, next, client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{}), FieldManager); err != nil {
		return fmt.Errorf("restoring the labels of %s: %w", w.owners.describe(live), err)
	}
	assign(live, next)
	return nil
}
