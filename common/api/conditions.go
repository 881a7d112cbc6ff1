// SPDX-License-Identifier: Apache-2.0

package api

// Ready is the aggregate: True when every other aggregated condition is True at the current generation.
const (
	ConditionReady = "Ready"

	// ReasonAllReady: every aggregated condition is True.
	ReasonAllReady = "AllReady"
	// ReasonNotAllReady: at least one aggregated condition is not True, or was not judged at this generation yet.
	ReasonNotAllReady = "NotAllReady"
)

// SecretsReady tells whether the secret store answers and every credential the service needs is there. It is the gate
// condition: what stops a pass before its first step is reported here.
const (
	ConditionSecretsReady = "SecretsReady"

	// ReasonSecretsAvailable: all credentials are there.
	ReasonSecretsAvailable = "SecretsAvailable"
	// ReasonSecretStoreNotReady: the External Secrets store is missing or not Ready.
	ReasonSecretStoreNotReady = "SecretStoreNotReady"
	// ReasonWaitingForDBCredentials: the database credentials Secret is missing or lacks a key.
	ReasonWaitingForDBCredentials = "WaitingForDBCredentials"
	// ReasonWaitingForServiceUserCredentials: the service user's Secret is missing or lacks its key.
	ReasonWaitingForServiceUserCredentials = "WaitingForServiceUserCredentials"
	// ReasonConfigError: the configuration cannot be rendered or stored.
	ReasonConfigError = "ConfigError"
	// ReasonTargetClusterUnavailable: the target cluster is not registered, not reachable, or not open to this namespace.
	ReasonTargetClusterUnavailable = "TargetClusterUnavailable"
)

// DatabaseReady tells whether schema, user and migrations are in place for the requested release.
const (
	ConditionDatabaseReady = "DatabaseReady"

	// ReasonDatabaseSynced: the schema is at the requested release.
	ReasonDatabaseSynced = "DatabaseSynced"
	// ReasonClusterNotReady: the MariaDB is missing or not Ready.
	ReasonClusterNotReady = "ClusterNotReady"
	// ReasonWaitingForDatabase: the Database, User or Grant is not Ready yet.
	ReasonWaitingForDatabase = "WaitingForDatabase"
	// ReasonDBSyncInProgress: the migration Job runs.
	ReasonDBSyncInProgress = "DBSyncInProgress"
	// ReasonDBSyncFailed: the migration Job failed for good.
	ReasonDBSyncFailed = "DBSyncFailed"
	// ReasonSchemaCheckInProgress: the schema check Job runs, for services that have one.
	ReasonSchemaCheckInProgress = "SchemaCheckInProgress"
	// ReasonSchemaDriftDetected: the schema check Job found a difference.
	ReasonSchemaDriftDetected = "SchemaDriftDetected"
	// ReasonVersionParseError: the installed or the requested release cannot be read as YYYY.N.
	ReasonVersionParseError = "VersionParseError"
	// ReasonDowngradeNotSupported: the requested release is older than the installed one.
	ReasonDowngradeNotSupported = "DowngradeNotSupported"
	// ReasonUpgradePathInvalid: the requested release is not the next one, or leads back over a started migration.
	ReasonUpgradePathInvalid = "UpgradePathInvalid"
	// ReasonImageReleaseMismatch: the image belongs to another release than the one requested.
	ReasonImageReleaseMismatch = "ImageReleaseMismatch"
)

// DeploymentReady tells whether every API pod runs the newest template.
const (
	ConditionDeploymentReady = "DeploymentReady"

	// ReasonDeploymentReady: the rollout is complete.
	ReasonDeploymentReady = "DeploymentReady"
	// ReasonWaitingForDeployment: the rollout goes on, or exceeded its deadline; the message tells which.
	ReasonWaitingForDeployment = "WaitingForDeployment"
)

// The API condition (its type carries the service's name) tells whether the API answers over its Service.
const (
	// ReasonAPIHealthy: the API answered the health check.
	ReasonAPIHealthy = "APIHealthy"
	// ReasonAPIUnhealthy: the API answered with an error status.
	ReasonAPIUnhealthy = "APIUnhealthy"
	// ReasonEndpointNotReady: the endpoint is not set yet, or its name does not resolve.
	ReasonEndpointNotReady = "EndpointNotReady"
	// ReasonHealthCheckTimeout: the API did not answer in time.
	ReasonHealthCheckTimeout = "HealthCheckTimeout"
	// ReasonConnectionFailed: nothing listens at the endpoint.
	ReasonConnectionFailed = "ConnectionFailed"
	// ReasonHealthCheckFailed: the health check failed in any other way.
	ReasonHealthCheckFailed = "HealthCheckFailed"
)

// HPAReady tells whether the HorizontalPodAutoscaler is as requested.
const (
	ConditionHPAReady = "HPAReady"

	// ReasonHPAReady: the autoscaler is in place.
	ReasonHPAReady = "HPAReady"
	// ReasonHPANotRequired: autoscaling is not requested.
	ReasonHPANotRequired = "HPANotRequired"
)

// NetworkPolicyReady tells whether the NetworkPolicy is as requested.
const (
	ConditionNetworkPolicyReady = "NetworkPolicyReady"

	// ReasonNetworkPolicyReady: the policy is in place.
	ReasonNetworkPolicyReady = "NetworkPolicyReady"
	// ReasonNetworkPolicyNotRequired: no policy is requested.
	ReasonNetworkPolicyNotRequired = "NetworkPolicyNotRequired"
)

// HTTPRouteReady tells whether the Gateway accepted the route.
const (
	ConditionHTTPRouteReady = "HTTPRouteReady"

	// ReasonHTTPRouteAccepted: the named Gateway accepted the route at its current generation.
	ReasonHTTPRouteAccepted = "HTTPRouteAccepted"
	// ReasonHTTPRouteNotRequired: no gateway is requested.
	ReasonHTTPRouteNotRequired = "HTTPRouteNotRequired"
	// ReasonHTTPRouteNotAccepted: the named Gateway has not accepted the route, or refused it.
	ReasonHTTPRouteNotAccepted = "HTTPRouteNotAccepted"
	// ReasonGatewayAPINotInstalled: a gateway is requested, but the cluster does not serve HTTPRoutes.
	ReasonGatewayAPINotInstalled = "GatewayAPINotInstalled"
	// ReasonCapabilityProbeFailed: asking the cluster whether it serves an optional kind failed.
	ReasonCapabilityProbeFailed = "CapabilityProbeFailed"
)

// ExtraConfigHealthy tells whether extraConfig leaves the operator's own options alone. It does not count for Ready.
const (
	ConditionExtraConfigHealthy = "ExtraConfigHealthy"

	// ReasonNoOwnedKeysOverridden: no option the operator owns is overridden.
	ReasonNoOwnedKeysOverridden = "NoOwnedKeysOverridden"
	// ReasonOwnedKeysOverridden: options the operator owns are overridden; the message names them.
	ReasonOwnedKeysOverridden = "OwnedKeysOverridden"
)

// Objects attached to a service, such as a secret store, carry conditions of their own.
const (
	// ConditionCredentialsReady tells whether the attached backend accepts the credentials. It is the gate condition of attachments.
	ConditionCredentialsReady = "CredentialsReady"
	// ConditionConfigProjected tells whether the service runs with this attachment in its configuration.
	ConditionConfigProjected = "ConfigProjected"

	// ReasonWaitingForParent: the service this object belongs to does not exist yet.
	ReasonWaitingForParent = "WaitingForParent"
)

// Reasons of events that report no condition.
const (
	// EventExtraConfigOwnedKeyOverride: extraConfig came to override an option the operator owns, or another one.
	EventExtraConfigOwnedKeyOverride = "ExtraConfigOwnedKeyOverride"
	// EventFinalizingDatabase: the deletion of the database objects has begun.
	EventFinalizingDatabase = "FinalizingDatabase"
	// EventDatabaseFinalized: the deletion of the database objects is under way and the finalizer released.
	EventDatabaseFinalized = "DatabaseFinalized"
	// EventRemoteChildrenAbandoned: the target cluster stayed away, so children on it were left behind.
	EventRemoteChildrenAbandoned = "RemoteChildrenAbandoned"
)

// FinalizerRemoteChildren holds an object until its children on a target cluster are deleted.
const FinalizerRemoteChildren = "openstack.c5c3.io/remote-children"
