// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"maps"
	"reflect"

	"github.com/samber/lo"
	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/naming"
)

// transform is what every object goes through before it is cached. Nobody reads managed fields, nor the copy of the
// object that kubectl leaves in an annotation. Of the kinds that we write children of, an object that is not marked as
// ours is kept for its metadata alone: that it exists and whose it is.
func transform(managedBy string, children []client.Object) toolscache.TransformFunc {
	written := lo.SliceToMap(children, func(o client.Object) (reflect.Type, bool) { return reflect.TypeOf(o), true })
	return func(in any) (any, error) {
		obj, ok := in.(client.Object)
		if !ok {
			return in, nil
		}
		obj.SetManagedFields(nil)
		if _, ok := obj.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; ok {
			annotations := maps.Clone(obj.GetAnnotations())
			delete(annotations, corev1.LastAppliedConfigAnnotation)
			obj.SetAnnotations(annotations)
		}
		if written[reflect.TypeOf(obj)] && obj.GetLabels()[naming.LabelManagedBy] != managedBy {
			return husk(obj), nil
		}
		return obj, nil
	}
}

// husk is an object without anything but its type and metadata.
func husk(obj client.Object) client.Object {
	full := reflect.ValueOf(obj).Elem()
	empty := reflect.New(full.Type())
	for _, kept := range []string{"TypeMeta", "ObjectMeta"} {
		empty.Elem().FieldByName(kept).Set(full.FieldByName(kept))
	}
	return empty.Interface().(client.Object)
}
