// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"reflect"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const rewriter client.FieldOwner = FieldManager + "-rewrite"

// rewrite puts all that we say into live by a merge patch, which takes lists as a whole. A server-side apply merges them by
// key: once somebody has changed the port of a Service, ours would stand beside his, under the same name, and be refused
// for ever. Afterwards the fields belong to FieldManager as if they had been applied.
func (w *Writer) rewrite(ctx context.Context, c child, live client.Object) error {
	next := live.DeepCopyObject().(client.Object)
	overlay(next, c.Object)
	err := w.client.Patch(ctx, next, client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{}), rewriter)
	if err != nil {
		return err
	}
	handOver, err := csaupgrade.UpgradeManagedFieldsPatch(next, sets.New(string(rewriter)), string(FieldManager))
	if err != nil || handOver == nil {
		return err
	}
	return w.client.Patch(ctx, next, client.RawPatch(types.JSONPatchType, handOver))
}

// overlay copies what desired says beside metadata and status into live.
func overlay(live, desired client.Object) {
	l, d := reflect.ValueOf(live).Elem(), reflect.ValueOf(desired).Elem()
	for f := range contents(d.Type()) {
		overlayValue(l.Field(f.index), d.Field(f.index))
	}
}

func overlayValue(live, desired reflect.Value) {
	switch {
	case unset(desired):
	case desired.Kind() == reflect.Pointer && desired.Type().Elem().Kind() == reflect.Struct && !live.IsNil():
		overlayValue(live.Elem(), desired.Elem())
	case desired.Kind() == reflect.Struct && desired.Type() != quantityType && desired.Type() != intOrStringType:
		for _, f := range fieldsOf(desired.Type()) {
			overlayValue(live.Field(f.index), desired.Field(f.index))
		}
	default:
		live.Set(desired)
	}
}
