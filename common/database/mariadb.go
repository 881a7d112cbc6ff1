// SPDX-License-Identifier: Apache-2.0

package database

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The types in this file are views: they hold what is written to and read of mariadb-operator's kinds. Its own package
// would bring its controllers' helpers into every binary, and keep whole MariaDB objects in the cache for one condition.

// GroupVersion is the API of mariadb-operator.
var GroupVersion = schema.GroupVersion{Group: "k8s.mariadb.com", Version: "v1alpha1"}

// AddToScheme registers the views of mariadb-operator's kinds.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&MariaDB{}, &MariaDBList{}, &Database{}, &DatabaseList{}, &User{}, &UserList{}, &Grant{}, &GrantList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

// CleanupPolicy says what mariadb-operator does in the server when one of its objects is deleted.
type CleanupPolicy string

// The clean-up policies.
const (
	CleanupSkip   CleanupPolicy = "Skip"
	CleanupDelete CleanupPolicy = "Delete"
)

// MariaDBRef names a MariaDB of the same namespace.
// +kubebuilder:object:generate=true
type MariaDBRef struct {
	Name string `json:"name"`
}

// Status is how far mariadb-operator has come with an object.
// +kubebuilder:object:generate=true
type Status struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

func (s Status) ready() bool { return meta.IsStatusConditionTrue(s.Conditions, "Ready") }

// MariaDB is what is read of a server.
// +kubebuilder:object:root=true
type MariaDB struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Status Status `json:"status,omitempty"`
}

// MariaDBList is a list of servers.
// +kubebuilder:object:root=true
type MariaDBList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MariaDB `json:"items"`
}

// Database is a schema on a server.
// +kubebuilder:object:root=true
type Database struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   SchemaSpec `json:"spec,omitempty"`
	Status Status     `json:"status,omitempty"`
}

// SchemaSpec is the specification of a Database.
// +kubebuilder:object:generate=true
type SchemaSpec struct {
	MariaDBRef    MariaDBRef    `json:"mariaDbRef"`
	CharacterSet  string        `json:"characterSet,omitempty"`
	Collate       string        `json:"collate,omitempty"`
	Name          string        `json:"name,omitempty"`
	CleanupPolicy CleanupPolicy `json:"cleanupPolicy,omitempty"`
}

// DatabaseList is a list of schemas.
// +kubebuilder:object:root=true
type DatabaseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Database `json:"items"`
}

// User is an account on a server.
// +kubebuilder:object:root=true
type User struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   UserSpec `json:"spec,omitempty"`
	Status Status   `json:"status,omitempty"`
}

// UserSpec is the specification of a User.
// +kubebuilder:object:generate=true
type UserSpec struct {
	MariaDBRef           MariaDBRef                `json:"mariaDbRef"`
	PasswordSecretKeyRef *corev1.SecretKeySelector `json:"passwordSecretKeyRef,omitempty"`
	MaxUserConnections   int32                     `json:"maxUserConnections,omitempty"`
}

// UserList is a list of accounts.
// +kubebuilder:object:root=true
type UserList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []User `json:"items"`
}

// Grant lets an account use a schema.
// +kubebuilder:object:root=true
type Grant struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GrantSpec `json:"spec,omitempty"`
	Status Status    `json:"status,omitempty"`
}

// GrantSpec is the specification of a Grant.
// +kubebuilder:object:generate=true
type GrantSpec struct {
	MariaDBRef MariaDBRef `json:"mariaDbRef"`
	Privileges []string   `json:"privileges"`
	Database   string     `json:"database,omitempty"`
	Table      string     `json:"table,omitempty"`
	Username   string     `json:"username"`
}

// GrantList is a list of grants.
// +kubebuilder:object:root=true
type GrantList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Grant `json:"items"`
}
