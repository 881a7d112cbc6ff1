// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API of External Secrets that the views in this package read.
var GroupVersion = schema.GroupVersion{Group: "external-secrets.io", Version: "v1"}

// AddToScheme registers the views of External Secrets' kinds.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&ClusterSecretStore{}, &ClusterSecretStoreList{},
		&SecretStore{}, &SecretStoreList{},
		&ExternalSecret{}, &ExternalSecretList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

// ClusterSecretStore is what is read of a cluster-wide store.
// +kubebuilder:object:root=true
type ClusterSecretStore struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Status SyncStatus `json:"status,omitempty"`
}

// ClusterSecretStoreList is a list of ClusterSecretStores.
// +kubebuilder:object:root=true
type ClusterSecretStoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterSecretStore `json:"items"`
}

// SecretStore is what is read of a namespaced store.
// +kubebuilder:object:root=true
type SecretStore struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Status SyncStatus `json:"status,omitempty"`
}

// SecretStoreList is a list of SecretStores.
// +kubebuilder:object:root=true
type SecretStoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SecretStore `json:"items"`
}

// ExternalSecret is what is read of an ExternalSecret.
// +kubebuilder:object:root=true
type ExternalSecret struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Status SyncStatus `json:"status,omitempty"`
}

// ExternalSecretList is a list of ExternalSecrets.
// +kubebuilder:object:root=true
type ExternalSecretList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ExternalSecret `json:"items"`
}

// SyncStatus is how far External Secrets has come with an object.
// +kubebuilder:object:generate=true
type SyncStatus struct {
	Conditions []SyncCondition `json:"conditions,omitempty"`
}

// SyncCondition is a condition of External Secrets, which knows neither generations nor required reasons.
// +kubebuilder:object:generate=true
type SyncCondition struct {
	Type    string                 `json:"type"`
	Status  corev1.ConditionStatus `json:"status"`
	Reason  string                 `json:"reason,omitempty"`
	Message string                 `json:"message,omitempty"`
}

// Ready is the Ready condition, the zero SyncCondition when it is not reported.
func (s SyncStatus) Ready() SyncCondition {
	for _, c := range s.Conditions {
		if c.Type == "Ready" {
			return c
		}
	}
	return SyncCondition{}
}
