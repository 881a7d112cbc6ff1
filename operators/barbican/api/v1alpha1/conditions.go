// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Types and reasons that every service shares (Ready, SecretsReady, DatabaseReady, DeploymentReady, HPAReady, NetworkPolicyReady,
// HTTPRouteReady, ExtraConfigHealthy, CredentialsReady, ConfigProjected) are documented in common/api. What Barbican adds
// follows, by condition.

// SecretStoresReady tells whether the attached stores form a configuration Barbican accepts: exactly one default, one OpenBao.
const (
	ConditionSecretStoresReady = "SecretStoresReady"

	// ReasonAllStoresProjected: every ready store is in the configuration.
	ReasonAllStoresProjected = "AllStoresProjected"
	// ReasonNoDefaultSecretStore: not exactly one ready store is the default.
	ReasonNoDefaultSecretStore = "NoDefaultSecretStore"
	// ReasonMultipleOpenBaoStores: more than one ready store is of type OpenBao, which Barbican refuses to start with.
	ReasonMultipleOpenBaoStores = "MultipleOpenBaoStores"
	// ReasonWaitingForSecretStores: the stores' credentials cannot be used yet. DBCleanReady, DatabaseReady and DeploymentReady
	// report it too while there is no valid configuration to work with.
	ReasonWaitingForSecretStores = "WaitingForSecretStores"
)

// DBCleanReady tells whether the regular clean-up of the database is scheduled and works.
const (
	ConditionDBCleanReady = "DBCleanReady"

	// ReasonDBCleanScheduled: the CronJob is active and its newest run did not fail.
	ReasonDBCleanScheduled = "DBCleanScheduled"
	// ReasonDBCleanSuspended: the CronJob is paused, by dbClean.suspend or until the schema is at the requested release.
	ReasonDBCleanSuspended = "DBCleanSuspended"
	// ReasonDBCleanJobFailed: the newest run failed.
	ReasonDBCleanJobFailed = "DBCleanJobFailed"
	// ReasonDBCleanBlocked: the CronJob is paused and stays so, because the requested release is refused.
	ReasonDBCleanBlocked = "DBCleanBlocked"
)

// ConditionBarbicanAPIReady tells whether the API answers its health check; the reasons are the shared ones of an API condition.
const ConditionBarbicanAPIReady = "BarbicanAPIReady"

// CredentialsReady of a store tells whether the key store accepts its AppRole credentials.
const (
	// ReasonCredentialsAvailable: the AppRole login succeeds and may do what Barbican needs.
	ReasonCredentialsAvailable = "CredentialsAvailable"
	// ReasonWaitingForCredentials: the credentials Secret is missing, or a key in it is missing or empty.
	ReasonWaitingForCredentials = "WaitingForCredentials"
	// ReasonInvalidCredentials: the server refuses the login.
	ReasonInvalidCredentials = "InvalidCredentials"
	// ReasonInsufficientCapabilities: the login succeeds, but the mount is missing or its policy grants too little.
	ReasonInsufficientCapabilities = "InsufficientCapabilities"
	// ReasonOpenBaoUnreachable: the server does not answer, is sealed or answers unexpectedly. ProvisioningReady reports it too.
	ReasonOpenBaoUnreachable = "OpenBaoUnreachable"
	// ReasonProvisioningDenied: the server or the cluster denies the operator's provisioner access. Both conditions report it.
	ReasonProvisioningDenied = "ProvisioningDenied"
)

// ProvisioningReady of a managed store tells whether the OpenBao instance has what Barbican needs. A store with a server of
// its own does not carry it.
const (
	ConditionProvisioningReady = "ProvisioningReady"

	// ReasonProvisioned: mount and AppRole are in place.
	ReasonProvisioned = "Provisioned"
	// ReasonInstanceNotFound: the OpenBaoCluster does not exist.
	ReasonInstanceNotFound = "InstanceNotFound"
	// ReasonWaitingForInstance: the OpenBaoCluster is not Available, or its provisioner account does not exist.
	ReasonWaitingForInstance = "WaitingForInstance"
	// ReasonWaitingForInstanceTLS: the Secret with the instance's CA is missing or lacks ca.crt.
	ReasonWaitingForInstanceTLS = "WaitingForInstanceTLS"
	// ReasonInstanceNotProvisioned: the mount or the AppRole is missing on the instance.
	ReasonInstanceNotProvisioned = "InstanceNotProvisioned"
)

// ConfigProjected of a store tells whether the Deployment's configuration contains it.
const (
	// ReasonConfigProjected: it does.
	ReasonConfigProjected = "ConfigProjected"
	// ReasonWaitingForProjection: it does not yet.
	ReasonWaitingForProjection = "WaitingForProjection"
)

// Reasons of events that report no condition, next to the shared ones in common/api.
const (
	// EventBarbicanSecretStoreSkipped: the default store's credentials cannot be rendered, so the last good configuration stays.
	EventBarbicanSecretStoreSkipped = "BarbicanSecretStoreSkipped"
	// EventSecretStoreDetached: a store left the configuration.
	EventSecretStoreDetached = "SecretStoreDetached"
	// EventDBSyncMetricEmissionDeferred: the outcome of a migration could not be recorded, so its metric waits for the next pass.
	EventDBSyncMetricEmissionDeferred = "DBSyncMetricEmissionDeferred"
	// EventDBCleanMetricEmissionDeferred: the outcome of a clean-up could not be recorded, so its metric waits for the next pass.
	EventDBCleanMetricEmissionDeferred = "DBCleanMetricEmissionDeferred"
	// EventSecretsMayBeLost: the KV mount is gone, and Barbican may accept secrets without keeping them.
	EventSecretsMayBeLost = "SecretsMayBeLost"
)
