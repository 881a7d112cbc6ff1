// SPDX-License-Identifier: Apache-2.0

package api

import "cmp"

// SecretRef names a Secret in the namespace of the object that refers to it.
type SecretRef struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`

	// Key inside the Secret, for the fields that read a single value. Fields that
	// read fixed keys (database credentials, TLS files) say so and ignore it.
	// +optional
	Key string `json:"key,omitempty"`
}

// SecretStoreKind says whether an External Secrets store belongs to the cluster or to one namespace.
// +kubebuilder:validation:Enum=ClusterSecretStore;SecretStore
type SecretStoreKind string

// The kinds of store that External Secrets serves.
const (
	ClusterSecretStoreKind    SecretStoreKind = "ClusterSecretStore"
	NamespacedSecretStoreKind SecretStoreKind = "SecretStore"
)

// DefaultSecretStoreName is the ClusterSecretStore that counts when a custom resource names none.
const DefaultSecretStoreName = "openbao-cluster-store"

// SecretStoreRef names the External Secrets store whose health gates a
// service.
type SecretStoreRef struct {
	// Kind of the store: ClusterSecretStore (default) or SecretStore. A
	// SecretStore is looked up in the namespace of this object.
	// +kubebuilder:default=ClusterSecretStore
	// +optional
	Kind SecretStoreKind `json:"kind,omitempty"`

	// Name of the store, for example openbao-tenant-store.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`
}

// WithDefaults returns the store that counts: the cluster-wide default for a nil reference, the cluster-wide kind for an empty one.
func (r *SecretStoreRef) WithDefaults() SecretStoreRef {
	if r == nil {
		return SecretStoreRef{Kind: ClusterSecretStoreKind, Name: DefaultSecretStoreName}
	}
	return SecretStoreRef{Kind: cmp.Or(r.Kind, ClusterSecretStoreKind), Name: r.Name}
}

// TargetClusterRef names the cluster that receives the children of a custom
// resource.
type TargetClusterRef struct {
	// Name of the registration Secret of that cluster, in the operator's clusters
	// namespace (c5c3-clusters unless the operator was started otherwise). The
	// cluster need not be registered yet: until it is, the object reports
	// TargetClusterUnavailable.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`
}

// ClusterName returns the name of the target cluster, empty for the management cluster.
func (r *TargetClusterRef) ClusterName() string {
	if r == nil {
		return ""
	}
	return r.Name
}
