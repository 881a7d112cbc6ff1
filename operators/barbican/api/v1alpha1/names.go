// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Finalizer holds a Barbican until its database objects are on their way out.
const Finalizer = "barbican.openstack.c5c3.io/finalizer"

// Annotations of a Barbican.
const (
	// AnnotationAllowSchemaRollback names the release that a Barbican may go back to although a migration to a newer one was
	// started. Whoever sets it vouches that this release runs on the schema as it is.
	AnnotationAllowSchemaRollback = "barbican.c5c3.io/allow-schema-rollback"
)

// Annotations of the pod template; each carries a digest, so that a change of what it covers rolls the pods.
const (
	AnnotationDBConnectionHash           = "barbican.c5c3.io/db-connection-hash"
	AnnotationDBTLSHash                  = "barbican.c5c3.io/db-tls-hash"
	AnnotationAuthTokenHash              = "barbican.c5c3.io/authtoken-hash"
	AnnotationSecretStoreCredentialsHash = "barbican.c5c3.io/secret-store-credentials-hash"
	AnnotationSecretStoreCAHash          = "barbican.c5c3.io/secret-store-ca-hash"
)

// Annotations of a store and of its minted credentials Secret.
const (
	// AnnotationChildrenCluster on a store names the target cluster its credentials Secret was written to.
	AnnotationChildrenCluster = "openstack.c5c3.io/children-cluster"
	// AnnotationSecretIDMintedAt is the time the secret ID was minted, RFC 3339 in UTC.
	AnnotationSecretIDMintedAt = "barbican.c5c3.io/secret-id-minted-at"
	// AnnotationSecretIDTTLSeconds is the life the server gave the secret ID, decimal; 0 never expires.
	AnnotationSecretIDTTLSeconds = "barbican.c5c3.io/secret-id-ttl-seconds"
	// AnnotationSecretIDAccessor is the accessor of the secret ID, with which it can be destroyed. It is no credential.
	AnnotationSecretIDAccessor = "barbican.c5c3.io/secret-id-accessor"
)

// Service facts.
const (
	// Port of the API.
	Port int32 = 9311
	// DefaultServiceUser is the Keystone user name unless spec.serviceUser.username says otherwise.
	DefaultServiceUser = "barbican"
	// DefaultKVMountpoint is the KV mount unless spec.openBao.kvMountpoint says otherwise, and always that of a managed store.
	DefaultKVMountpoint = "barbican"
	// MaxNameLength keeps the name of the clean-up CronJob within the 52 characters that Kubernetes allows.
	MaxNameLength = 43
	// MaxSecretStoreNameLength keeps the name of the credentials Secret within 63 characters.
	MaxSecretStoreNameLength = 55
)

// Keys of the Secrets a store works with.
const (
	RoleIDKey   = "role-id"
	SecretIDKey = "secret-id"
	CABundleKey = "ca.crt"
)
