// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BarbicanSecretStore attaches a key store to a Barbican of the same
// namespace.
//
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || size(self.metadata.name) <= 55",optionalOldSelf=true,message="metadata.name must have at most 55 characters"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || !(self.metadata.name in ['default', 'database', 'secretstore', 'queue', 'healthcheck'])",optionalOldSelf=true,message="metadata.name must not be the name of a section of barbican.conf"
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Default",type=boolean,JSONPath=`.spec.isDefault`
// +kubebuilder:printcolumn:name="Barbican",type=string,JSONPath=`.spec.barbicanRef.name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type BarbicanSecretStore struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the requested state.
	Spec BarbicanSecretStoreSpec `json:"spec,omitempty"`

	// Status is the observed state.
	Status BarbicanSecretStoreStatus `json:"status,omitempty"`
}

// BarbicanSecretStoreList is a list of BarbicanSecretStores.
//
// +kubebuilder:object:root=true
type BarbicanSecretStoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BarbicanSecretStore `json:"items"`
}

// SecretStoreType is the kind of key store.
// +kubebuilder:validation:Enum=OpenBao
type SecretStoreType string

// OpenBaoStore is a KV version 2 mount of OpenBao or HashiCorp Vault.
const OpenBaoStore SecretStoreType = "OpenBao"

// BarbicanSecretStoreSpec is the requested state of a BarbicanSecretStore.
// +kubebuilder:validation:XValidation:rule="(self.type == 'OpenBao') == has(self.openBao)",message="openBao must be set exactly when type is OpenBao"
type BarbicanSecretStoreSpec struct {
	// BarbicanRef names the Barbican the store belongs to. It may be created
	// later; the reference cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self.name == oldSelf.name",message="barbicanRef.name is immutable"
	BarbicanRef BarbicanRef `json:"barbicanRef"`

	// Type of the key store. OpenBao also stands for HashiCorp Vault. It cannot be
	// changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="type is immutable"
	Type SecretStoreType `json:"type"`

	// OpenBao says which server and which mount. Required for type OpenBao.
	// +optional
	OpenBao *OpenBaoSpec `json:"openBao,omitempty"`

	// IsDefault makes the store the one that new secrets go to. Exactly one ready
	// store of a Barbican must be the default. Default false.
	// +optional
	IsDefault bool `json:"isDefault,omitempty"`

	// ExtraOptions adds options to the section [vault_plugin] of barbican.conf;
	// those of the default store count. Options that hold the server, its
	// credentials or the mount are refused. At most 32.
	// Example: {"kv_path": "team-a"}.
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, size(key) <= 256)",message="option names must have at most 256 characters"
	// +kubebuilder:validation:XValidation:rule="self.all(key, size(self[key]) <= 1024)",message="option values must have at most 1024 characters"
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.matches('^[A-Za-z0-9_]+$'))",message="option names must consist of letters, digits and underscores"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !(key in ['vault_url', 'use_ssl', 'ssl_ca_crt_file', 'approle_role_id', 'approle_secret_id', 'root_token_id', 'kv_mountpoint', 'namespace', 'secret_store_plugin', 'crypto_plugin', 'global_default']))",message="options that hold the server, its credentials or the mount are set by the operator"
	// +optional
	ExtraOptions map[string]string `json:"extraOptions,omitempty"`
}

// BarbicanRef names a Barbican of the same namespace.
type BarbicanRef struct {
	// Name of the Barbican.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// OpenBaoSpec says where the secrets go: to an OpenBao instance of this
// namespace (instanceRef) or to any server (server). A store cannot change
// from one to the other.
// +kubebuilder:validation:XValidation:rule="has(self.instanceRef) != has(self.server)",message="exactly one of instanceRef and server must be set"
// +kubebuilder:validation:XValidation:rule="has(self.instanceRef) == has(oldSelf.instanceRef) && has(self.server) == has(oldSelf.server)",message="a store cannot change between instanceRef and server"
// +kubebuilder:validation:XValidation:rule="!has(self.instanceRef) || !has(self.kvMountpoint) || self.kvMountpoint == 'barbican'",message="kvMountpoint of a managed store must be barbican"
// +kubebuilder:validation:XValidation:rule="!has(self.instanceRef) || !has(self.namespace)",message="a managed store has no namespace"
type OpenBaoSpec struct {
	// InstanceRef names an OpenBaoCluster (openbao.org/v1alpha1) of this
	// namespace. The operator then mints and renews the credentials itself.
	// Exclusive with server.
	// +optional
	InstanceRef *OpenBaoInstanceRef `json:"instanceRef,omitempty"`

	// Server is a server with credentials that were made elsewhere. Nothing is
	// ever changed on it. Exclusive with instanceRef.
	// +optional
	Server *OpenBaoServer `json:"server,omitempty"`

	// KVMountpoint is the path of the KV version 2 mount. Default barbican, which
	// is also the only value for a managed store. It cannot be changed.
	// +kubebuilder:default=barbican
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="kvMountpoint is immutable"
	// +optional
	KVMountpoint string `json:"kvMountpoint,omitempty"`

	// Namespace of the server, for servers that have namespaces. Default: the root
	// namespace. Not for a managed store.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// OpenBaoInstanceRef names an OpenBaoCluster of the same namespace.
type OpenBaoInstanceRef struct {
	// Name of the OpenBaoCluster.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// OpenBaoServer is a server with credentials that were made elsewhere.
type OpenBaoServer struct {
	// URL of the server. Example: https://openbao.example.org:8200.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^https://`
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getHostname() != ''",message="must be a URL with a host"
	URL string `json:"url"`

	// CABundleSecretRef names the Secret whose key ca.crt holds the CA of the
	// server. Default: the CAs of the image.
	// +optional
	CABundleSecretRef *SecretNameRef `json:"caBundleSecretRef,omitempty"`

	// CredentialsSecretRef names the Secret whose keys role-id and secret-id hold
	// the AppRole credentials. The secret ID must have no use limit. The policy
	// needs create, read and delete on <kvMountpoint>/data/*.
	CredentialsSecretRef SecretNameRef `json:"credentialsSecretRef"`
}

// SecretNameRef names a Secret of the same namespace whose keys are fixed.
type SecretNameRef struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// BarbicanSecretStoreStatus is the observed state of a BarbicanSecretStore.
type BarbicanSecretStoreStatus struct {
	// Conditions tell what works and what does not. Ready sums them up.
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`

	// ObservedGeneration is the generation of the spec that the status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// CredentialsHash is a digest of the AppRole credentials that were validated
	// last. Barbican is configured with credentials of this digest only.
	// +optional
	CredentialsHash string `json:"credentialsHash,omitempty"`

	// PreviousSecretIDAccessors are the accessors of minted secret IDs that were
	// replaced. Each is destroyed once no pod runs with its secret ID any more.
	// +optional
	PreviousSecretIDAccessors []string `json:"previousSecretIDAccessors,omitempty"`
}

// StatusConditions gives access to the conditions.
func (s *BarbicanSecretStore) StatusConditions() *[]metav1.Condition { return &s.Status.Conditions }

// SetObservedGeneration records the generation the status speaks of.
func (s *BarbicanSecretStore) SetObservedGeneration(generation int64) {
	s.Status.ObservedGeneration = generation
}

// Managed reports whether the store is an OpenBao instance that the operator mints credentials on.
func (s BarbicanSecretStoreSpec) Managed() bool {
	return s.OpenBao != nil && s.OpenBao.InstanceRef != nil
}

// KVMountpoint returns the path of the mount, barbican unless set.
func (s BarbicanSecretStoreSpec) KVMountpoint() string {
	if s.OpenBao == nil {
		return DefaultKVMountpoint
	}
	return cmp.Or(s.OpenBao.KVMountpoint, DefaultKVMountpoint)
}

// ServerURL returns the address of the server: that of the instance's Service for a managed store in the given namespace.
func (s BarbicanSecretStoreSpec) ServerURL(namespace string) string {
	switch {
	case s.OpenBao == nil:
		return ""
	case s.OpenBao.InstanceRef != nil:
		return "https://" + s.OpenBao.InstanceRef.Name + "." + namespace + ".svc:8200"
	case s.OpenBao.Server != nil:
		return s.OpenBao.Server.URL
	}
	return ""
}

// CredentialsSecretName returns the Secret with the AppRole credentials: the minted <store>-approle, or the one of the server.
func (s *BarbicanSecretStore) CredentialsSecretName() string {
	if s.Spec.OpenBao != nil && s.Spec.OpenBao.Server != nil {
		return s.Spec.OpenBao.Server.CredentialsSecretRef.Name
	}
	return s.Name + "-approle"
}

// CASecretName returns the Secret with the CA of the server, empty when the CAs of the image are trusted.
func (s *BarbicanSecretStore) CASecretName() string {
	switch {
	case s.Spec.Managed():
		return s.Spec.OpenBao.InstanceRef.Name + "-tls-ca"
	case s.Spec.OpenBao != nil && s.Spec.OpenBao.Server != nil && s.Spec.OpenBao.Server.CABundleSecretRef != nil:
		return s.Spec.OpenBao.Server.CABundleSecretRef.Name
	}
	return ""
}
