// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var instanceVersion = schema.GroupVersion{Group: "openbao.org", Version: "v1alpha1"}

// AddToScheme registers the view of OpenBaoClusters.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(instanceVersion, &OpenBaoCluster{}, &OpenBaoClusterList{})
	metav1.AddToGroupVersion(scheme, instanceVersion)
	return nil
}

// OpenBaoCluster is what we read of an OpenBao instance.
type OpenBaoCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Status struct {
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status,omitzero"`
}

// OpenBaoClusterList is a list of OpenBaoClusters.
type OpenBaoClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	Items []OpenBaoCluster `json:"items"`
}

func (o *OpenBaoCluster) available() bool {
	return meta.IsStatusConditionTrue(o.Status.Conditions, "Available")
}

// DeepCopyObject implements runtime.Object.
func (o *OpenBaoCluster) DeepCopyObject() runtime.Object {
	c := o.copy()
	return &c
}

func (o *OpenBaoCluster) copy() OpenBaoCluster {
	c := *o
	o.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	c.Status.Conditions = nil
	for i := range o.Status.Conditions {
		c.Status.Conditions = append(c.Status.Conditions, *o.Status.Conditions[i].DeepCopy())
	}
	return c
}

// DeepCopyObject implements runtime.Object.
func (l *OpenBaoClusterList) DeepCopyObject() runtime.Object {
	c := *l
	l.ListMeta.DeepCopyInto(&c.ListMeta)
	c.Items = nil
	for i := range l.Items {
		c.Items = append(c.Items, l.Items[i].copy())
	}
	return &c
}
