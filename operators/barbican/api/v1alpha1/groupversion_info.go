// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the API of the Barbican operator: the kinds Barbican and BarbicanSecretStore, their defaults as methods,
// and the names the outside world relies on. It imports common/api and Kubernetes API types only.
//
// +kubebuilder:object:generate=true
// +groupName=barbican.openstack.c5c3.io
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion of the kinds in this package.
	GroupVersion = schema.GroupVersion{Group: "barbican.openstack.c5c3.io", Version: "v1alpha1"}

	// SchemeBuilder collects the functions that add the kinds to a scheme.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme adds the kinds of this package to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Barbican{}, &BarbicanList{}, &BarbicanSecretStore{}, &BarbicanSecretStoreList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
