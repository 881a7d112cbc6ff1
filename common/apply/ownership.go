// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// The ownership mark: every child names its owner's UID. A child on another cluster, where no owner reference can
// resolve, carries the labels instead; there the UID tells apart two management clusters that hold the same kind,
// namespace and name.
const (
	LabelOwnerKind      = "openstack.c5c3.io/owner-kind"
	LabelOwnerName      = "openstack.c5c3.io/owner-name"
	LabelOwnerNamespace = "openstack.c5c3.io/owner-namespace"
	AnnotationOwnerUID  = "openstack.c5c3.io/owner-uid"
)

// ForeignError says that an object with a child's name exists and belongs to somebody else.
type ForeignError struct {
	Child string // kind and namespaced name
	Owner string
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s exists and is not controlled by %s: delete or rename one of the two", e.Child, e.Owner)
}

// IsForeign says whether err is or wraps a ForeignError.
func IsForeign(err error) bool {
	var foreign *ForeignError
	return errors.As(err, &foreign)
}

// ownership decides and marks who controls a child.
type ownership struct {
	scheme *runtime.Scheme
	remote bool
}

func (o ownership) controls(owner, obj client.Object) bool {
	if !o.remote {
		return metav1.IsControlledBy(obj, owner)
	}
	labels, uid := obj.GetLabels(), obj.GetAnnotations()[AnnotationOwnerUID]
	return labels[LabelOwnerName] == owner.GetName() && labels[LabelOwnerNamespace] == owner.GetNamespace() &&
		labels[LabelOwnerKind] == o.kind(owner) && (uid == "" || uid == string(owner.GetUID()))
}

// writable says whether owner may write obj: it controls it, or did so until somebody took half of the mark away. That
// much is restored, never used to delete: who orphaned an object on purpose keeps it.
func (o ownership) writable(owner, obj client.Object) bool {
	uid := owner.GetUID()
	return o.controls(owner, obj) ||
		metav1.GetControllerOfNoCopy(obj) == nil && uid != "" && obj.GetAnnotations()[AnnotationOwnerUID] == string(uid)
}

// marked says whether nothing of the mark is missing.
func (o ownership) marked(owner, obj client.Object) bool {
	return o.controls(owner, obj) && obj.GetAnnotations()[AnnotationOwnerUID] == string(owner.GetUID())
}

// mark makes obj a child of owner.
func (o ownership) mark(owner, obj client.Object) error {
	obj.SetAnnotations(with(obj.GetAnnotations(), map[string]string{AnnotationOwnerUID: string(owner.GetUID())}))
	if !o.remote {
		return controllerutil.SetControllerReference(owner, obj, o.scheme)
	}
	if problems := validation.IsValidLabelValue(owner.GetName()); len(problems) > 0 {
		return fmt.Errorf("%s cannot own children on another cluster: its name is no label value: %s",
			o.describe(owner), problems[0])
	}
	obj.SetLabels(with(obj.GetLabels(), map[string]string{
		LabelOwnerKind: o.kind(owner), LabelOwnerName: owner.GetName(), LabelOwnerNamespace: owner.GetNamespace(),
	}))
	return nil
}

func (o ownership) foreign(owner, obj client.Object) error {
	return &ForeignError{Child: o.describe(obj), Owner: o.describe(owner)}
}

func (o ownership) describe(obj client.Object) string {
	return o.kind(obj) + " " + client.ObjectKeyFromObject(obj).String()
}

// kind is taken from the scheme: typed objects do not carry theirs.
func (o ownership) kind(obj client.Object) string {
	gvk, err := apiutil.GVKForObject(obj, o.scheme)
	if err != nil {
		return fmt.Sprintf("%T", obj)
	}
	return gvk.Kind
}

// with leaves both maps as they are: builders may share theirs between objects.
func with(base, extra map[string]string) map[string]string {
	merged := make(map[string]string, len(base)+len(extra))
	maps.Copy(merged, base)
	maps.Copy(merged, extra)
	return merged
}
