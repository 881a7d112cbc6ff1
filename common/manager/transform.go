// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"reflect"

	"github.com/samber/lo"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/naming"
	"github.com/c5c3/cobaltcore/common/oslo"
)

// transform is what every object goes through before it is cached. Nobody reads managed fields, nor the copy of the
// object that kubectl leaves in an annotation. Of the kinds that we write children of, an object that is not marked as
// ours is kept for its metadata alone: that it exists and whose it is.
func transform(managedBy string, children []client.Object) toolscache.TransformFunc {
	written := lo.SliceToMap(children, func(o client.Object) (reflect.Type, bool) { return reflect.TypeOf(o), true })
	common := newSharer()
	return func(in any) (any, error) {
		obj, ok := in.(client.Object)
		if !ok {
			return in, nil
		}
		slimMetadata(obj)
		if written[reflect.TypeOf(obj)] && obj.GetLabels()[naming.LabelManagedBy] != managedBy {
			obj = husk(obj)
		} else {
			slimContent(obj)
		}
		common.share(obj)
		return obj, nil
	}
}

// slimContent drops what nobody reads of a kind that is cached whole, whoever wrote it.
func slimContent(obj client.Object) {
	switch o := obj.(type) {
	case *batchv1.Job:
		if finished(o) {
			o.Spec = batchv1.JobSpec{} // its work is done, and a change of it is told by its annotations
		}
	case *corev1.ConfigMap:
		policy, ok := o.Data[oslo.PolicyFile]
		o.Data, o.BinaryData = nil, nil
		if ok {
			o.Data = map[string]string{oslo.PolicyFile: policy}
		}
	}
}

func slimMetadata(obj client.Object) {
	obj.SetManagedFields(nil)
	if annotations := obj.GetAnnotations(); annotations != nil {
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		if len(annotations) == 0 {
			obj.SetAnnotations(nil)
		}
	}
}

func finished(job *batchv1.Job) bool {
	return lo.ContainsBy(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
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
