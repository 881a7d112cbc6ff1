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

// The ownership mark of a child on another cluster, where no owner reference can resolve. The UID tells apart two
// management clusters that hold the same kind, namespace and name.
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
	kind, err := apiutil.GVKForObject(owner, o.scheme)
	if err != nil {
		return false
	}
	labels, uid := obj.GetLabels(), obj.GetAnnotations()[AnnotationOwnerUID]
	return labels[LabelOwnerKind] == kind.Kind && labels[LabelOwnerName] == owner.GetName() &&
		labels[LabelOwnerNamespace] == owner.GetNamespace() && (uid == "" || uid == string(owner.GetUID()))
}

// mark makes obj a child of owner.
func (o ownership) mark(owner, obj client.Object) error {
	if !o.remote {
		return controllerutil.SetControllerReference(owner, obj, o.scheme)
	}
	kind, err := apiutil.GVKForObject(owner, o.scheme)
	if err != nil {
		return err
	}
	if problems := validation.IsValidLabelValue(owner.GetName()); len(problems) > 0 {
		return fmt.Errorf("%s %q cannot own children on another cluster: its name is no label value: %s",
			kind.Kind, owner.GetName(), problems[0])
	}
	obj.SetLabels(with(obj.GetLabels(), map[string]string{
		LabelOwnerKind: kind.Kind, LabelOwnerName: owner.GetName(), LabelOwnerNamespace: owner.GetNamespace(),
	}))
	obj.SetAnnotations(with(obj.GetAnnotations(), map[string]string{AnnotationOwnerUID: string(owner.GetUID())}))
	return nil
}

// marked says whether the mark on live is complete, so that nothing would be written to restore it.
func (o ownership) marked(owner, live client.Object) bool {
	return !o.remote || live.GetAnnotations()[AnnotationOwnerUID] == string(owner.GetUID())
}

func (o ownership) foreign(owner, obj client.Object) error {
	return &ForeignError{Child: o.describe(obj), Owner: o.describe(owner)}
}

func (o ownership) describe(obj client.Object) string {
	kind := "object"
	if gvk, err := apiutil.GVKForObject(obj, o.scheme); err == nil {
		kind = gvk.Kind
	}
	return kind + " " + client.ObjectKeyFromObject(obj).String()
}

// with leaves both maps as they are: builders may share theirs between objects.
func with(base, extra map[string]string) map[string]string {
	merged := make(map[string]string, len(base)+len(extra))
	maps.Copy(merged, base)
	maps.Copy(merged, extra)
	return merged
}
