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
//
// +kubebuilder:object:root=true
type OpenBaoCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Status OpenBaoClusterStatus `json:"status,omitzero"`
}

// OpenBaoClusterStatus is what we read of an instance's status.
//
// +kubebuilder:object:generate=true
type OpenBaoClusterStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// OpenBaoClusterList is a list of OpenBaoClusters.
//
// +kubebuilder:object:root=true
type OpenBaoClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	Items []OpenBaoCluster `json:"items"`
}

func (o *OpenBaoCluster) available() bool {
	return meta.IsStatusConditionTrue(o.Status.Conditions, "Available")
}
