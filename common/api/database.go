// SPDX-License-Identifier: Apache-2.0

package api

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
)

// CredentialsMode says who issues the database user.
// +kubebuilder:validation:Enum=Static;Dynamic
type CredentialsMode string

// The ways a database user comes about.
const (
	StaticCredentials  CredentialsMode = "Static"
	DynamicCredentials CredentialsMode = "Dynamic"
)

// DatabaseDeletionPolicy says what becomes of a schema when the custom resource that asked for it goes away.
// +kubebuilder:validation:Enum=Retain;Delete
type DatabaseDeletionPolicy string

// The fates of a schema.
const (
	RetainDatabase DatabaseDeletionPolicy = "Retain"
	DeleteDatabase DatabaseDeletionPolicy = "Delete"
)

// DatabaseTLSMode grades how much a database connection is protected.
// +kubebuilder:validation:Enum=disabled;prefer;require;verify-ca;verify-full
type DatabaseTLSMode string

// The TLS modes of a database connection, weakest first.
const (
	DatabaseTLSDisabled   DatabaseTLSMode = "disabled"
	DatabaseTLSPrefer     DatabaseTLSMode = "prefer"
	DatabaseTLSRequire    DatabaseTLSMode = "require"
	DatabaseTLSVerifyCA   DatabaseTLSMode = "verify-ca"
	DatabaseTLSVerifyFull DatabaseTLSMode = "verify-full"
)

// DefaultDatabasePort is the MariaDB port.
const DefaultDatabasePort int32 = 3306

// DatabaseSpec points a service at its MariaDB: one managed by
// mariadb-operator in the same namespace (clusterRef), or any reachable server
// (host).
// +kubebuilder:validation:XValidation:rule="has(self.clusterRef) != has(self.host)",message="exactly one of clusterRef and host must be set"
// +kubebuilder:validation:XValidation:rule="!has(self.clusterRef) || (has(self.clusterRef.name) && self.clusterRef.name != \"\")",message="clusterRef.name must not be empty"
// +kubebuilder:validation:XValidation:rule="!has(self.credentialsMode) || self.credentialsMode != 'Dynamic' || has(self.clusterRef)",message="credentialsMode Dynamic needs clusterRef"
type DatabaseSpec struct {
	// ClusterRef names the MariaDB (k8s.mariadb.com/v1alpha1) of this namespace
	// that holds the schema. The operator then creates the Database, and with
	// static credentials also the User and the Grant. Exclusive with host.
	// +optional
	ClusterRef *corev1.LocalObjectReference `json:"clusterRef,omitempty"`

	// Host name or address of a server whose schema and user exist already.
	// Exclusive with clusterRef. Example: db.example.org.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9._:-]+$`
	// +optional
	Host string `json:"host,omitempty"`

	// Port of the server, for both modes. Default 3306.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Port int32 `json:"port,omitempty"`

	// Database is the name of the schema, for example barbican.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_]+$`
	Database string `json:"database"`

	// SecretRef names the Secret with the credentials. Its keys are fixed:
	// username and password; a key set here is ignored.
	SecretRef SecretRef `json:"secretRef"`

	// CredentialsMode is Static (default) for a user with a fixed name, or Dynamic
	// for users that a database secrets engine issues and renews; the operator
	// then creates no User and no Grant. Dynamic needs clusterRef.
	// +optional
	CredentialsMode CredentialsMode `json:"credentialsMode,omitempty"`

	// TLS protects the connection. Absent means a connection without TLS.
	// +optional
	TLS *DatabaseTLSSpec `json:"tls,omitempty"`

	// DeletionPolicy says what becomes of the schema when this object is deleted:
	// Retain (default) keeps it with all its data, Delete drops it. It has an
	// effect with clusterRef only; the operator never touches a schema behind
	// host.
	// +kubebuilder:default=Retain
	// +optional
	DeletionPolicy DatabaseDeletionPolicy `json:"deletionPolicy,omitempty"`

	// Replicas of the database server. Honoured only where a control plane creates
	// the MariaDB itself; a service ignores it. Default 3.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// StorageSize of each database replica. Honoured only where a control plane
	// creates the MariaDB itself. Default 100Gi.
	// +kubebuilder:default="100Gi"
	// +kubebuilder:validation:Pattern=`^[0-9]+(Mi|Gi|Ti)$`
	// +optional
	StorageSize string `json:"storageSize,omitempty"`
}

// DatabaseTLSSpec sets the protection of a database connection and the files
// for it.
type DatabaseTLSSpec struct {
	// Mode of the protection: disabled; prefer, require and verify-full encrypt and
	// check the server's certificate against the CA bundle and the server's name;
	// verify-ca leaves the name out. Default require.
	// +kubebuilder:default=require
	// +optional
	Mode DatabaseTLSMode `json:"mode,omitempty"`

	// CABundleSecretRef names the Secret whose key ca.crt holds the CA that signed
	// the server's certificate.
	CABundleSecretRef SecretRef `json:"caBundleSecretRef"`

	// ClientCertSecretRef names the Secret whose keys tls.crt and tls.key hold the
	// client certificate.
	ClientCertSecretRef SecretRef `json:"clientCertSecretRef"`
}

// Managed reports whether mariadb-operator runs the server.
func (s DatabaseSpec) Managed() bool { return s.ClusterRef != nil }

// Dynamic reports whether a secrets engine issues the users.
func (s DatabaseSpec) Dynamic() bool { return s.CredentialsMode == DynamicCredentials }

// EffectivePort returns the port of the server, 3306 unless set.
func (s DatabaseSpec) EffectivePort() int32 { return cmp.Or(s.Port, DefaultDatabasePort) }

// TLSMode returns the mode that counts: disabled without a block, require when the block names none.
func (s DatabaseSpec) TLSMode() DatabaseTLSMode {
	if s.TLS == nil {
		return DatabaseTLSDisabled
	}
	return cmp.Or(s.TLS.Mode, DatabaseTLSRequire)
}

// TLSEnabled reports whether the connection uses TLS and pods need its files.
func (s DatabaseSpec) TLSEnabled() bool { return s.TLSMode() != DatabaseTLSDisabled }

// Retained reports whether the schema outlives the custom resource. Only an explicit Delete drops it.
func (s DatabaseSpec) Retained() bool { return s.DeletionPolicy != DeleteDatabase }
