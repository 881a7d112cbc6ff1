// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/cobaltcore/common/api"
)

// Barbican is an OpenStack key manager: API, database schema and key stores.
//
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || size(self.metadata.name) <= 43",optionalOldSelf=true,message="metadata.name must have at most 43 characters"
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="Release",type=string,JSONPath=`.status.installedRelease`
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.status.endpoint`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Barbican struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the requested state.
	Spec BarbicanSpec `json:"spec,omitempty"`

	// Status is the observed state.
	Status BarbicanStatus `json:"status,omitempty"`
}

// BarbicanList is a list of Barbicans.
//
// +kubebuilder:object:root=true
type BarbicanList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Barbican `json:"items"`
}

// BarbicanSpec is the requested state of a Barbican.
// +kubebuilder:validation:XValidation:rule="has(self.targetClusterRef) == has(oldSelf.targetClusterRef)",message="targetClusterRef is immutable"
// +kubebuilder:validation:XValidation:rule="!has(self.targetClusterRef) || !has(oldSelf.targetClusterRef) || self.targetClusterRef.name == oldSelf.targetClusterRef.name",message="targetClusterRef is immutable"
// +kubebuilder:validation:XValidation:rule="!has(self.autoscaling) || has(self.autoscaling.minReplicas) || self.autoscaling.maxReplicas >= (has(self.deployment) && has(self.deployment.replicas) ? self.deployment.replicas : 3)",message="autoscaling.maxReplicas must not be below deployment.replicas (default 3) while autoscaling.minReplicas is unset"
// +kubebuilder:validation:XValidation:rule="!has(self.apiServer) || !has(self.apiServer.uwsgi) || !has(self.apiServer.uwsgi.harakiri) || self.apiServer.uwsgi.harakiri < (has(self.deployment) && has(self.deployment.terminationGracePeriodSeconds) ? self.deployment.terminationGracePeriodSeconds : 30) - (has(self.deployment) && has(self.deployment.preStopSleepSeconds) ? self.deployment.preStopSleepSeconds : 5)",message="apiServer.uwsgi.harakiri must be below terminationGracePeriodSeconds (default 30) minus preStopSleepSeconds (default 5)"
type BarbicanSpec struct {
	// OpenStackRelease the schema and the configuration are brought to, YYYY.1 or
	// YYYY.2. A running Barbican goes up one release at a time, and never down. It
	// does not follow from the image: change both together. Example: "2026.1".
	// +kubebuilder:validation:Pattern=`^\d{4}\.[12]$`
	OpenStackRelease string `json:"openStackRelease"`

	// Image of the service, used by the API and by the database Jobs.
	Image api.ImageSpec `json:"image"`

	// Deployment tunes the API pods.
	// +kubebuilder:validation:XValidation:rule="!has(self.topologySpreadConstraints) || self.topologySpreadConstraints.all(c, has(c.labelSelector) && !has(c.labelSelector.matchExpressions) && has(c.labelSelector.matchLabels) && size(c.labelSelector.matchLabels) == 2 && 'app.kubernetes.io/instance' in c.labelSelector.matchLabels && 'app.kubernetes.io/name' in c.labelSelector.matchLabels && c.labelSelector.matchLabels['app.kubernetes.io/name'] == 'barbican')",message="the labelSelector of a topology spread constraint must be app.kubernetes.io/name=barbican and app.kubernetes.io/instance=<name>, without matchExpressions"
	// +optional
	Deployment api.DeploymentSpec `json:"deployment,omitempty"`

	// Database of the service.
	Database api.DatabaseSpec `json:"database"`

	// Cache used to validate tokens.
	Cache api.CacheSpec `json:"cache"`

	// KeystoneEndpoint is the Keystone that pods reach, for example
	// http://keystone.openstack.svc.cluster.local:5000/v3.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^https?://`
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getHostname() != ''",message="must be a URL with a host"
	KeystoneEndpoint string `json:"keystoneEndpoint"`

	// KeystonePublicEndpoint is the Keystone that clients are sent to for a token.
	// Default: keystoneEndpoint.
	// +kubebuilder:validation:Pattern=`^https?://`
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getHostname() != ''",message="must be a URL with a host"
	// +optional
	KeystonePublicEndpoint string `json:"keystonePublicEndpoint,omitempty"`

	// ServiceUser is the account that validates tokens.
	ServiceUser api.ServiceUserSpec `json:"serviceUser"`

	// Region of the Keystone catalogue. Default: none is configured.
	// +kubebuilder:validation:XValidation:rule=`!self.matches('\\p{Cc}')`,message="must not contain control characters"
	// +optional
	Region string `json:"region,omitempty"`

	// APIServer tunes the server process.
	// +optional
	APIServer *APIServerSpec `json:"apiServer,omitempty"`

	// DBClean tunes the regular clean-up of soft-deleted rows. The clean-up always
	// exists; suspend pauses it.
	// +optional
	DBClean *DBCleanSpec `json:"dbClean,omitempty"`

	// Gateway exposes the API outside the cluster. Removing it removes the route.
	// +optional
	Gateway *api.GatewaySpec `json:"gateway,omitempty"`

	// NetworkPolicy closes the pods to traffic that is not listed or derived.
	// Removing it opens them.
	// +optional
	NetworkPolicy *api.NetworkPolicySpec `json:"networkPolicy,omitempty"`

	// Autoscaling hands the number of pods to an autoscaler. Removing it returns
	// to deployment.replicas.
	// +optional
	Autoscaling *api.AutoscalingSpec `json:"autoscaling,omitempty"`

	// Logging of the service.
	// +optional
	Logging *api.LoggingSpec `json:"logging,omitempty"`

	// SecretStoreRef names the External Secrets store that must be Ready before
	// credentials are used. Default: the ClusterSecretStore openbao-cluster-store.
	// It is not where Barbican keeps its secrets; see BarbicanSecretStore.
	// +optional
	SecretStoreRef *api.SecretStoreRef `json:"secretStoreRef,omitempty"`

	// TargetClusterRef names the cluster that receives everything this object
	// creates, and where everything it refers to is looked up. Default: this
	// cluster. It cannot be added, changed or removed later.
	// +optional
	TargetClusterRef *api.TargetClusterRef `json:"targetClusterRef,omitempty"`

	// PolicyOverrides changes who may do what.
	// +optional
	PolicyOverrides *api.PolicyOverrides `json:"policyOverrides,omitempty"`

	// Middleware adds filters to the authenticated pipeline, in this order.
	// +optional
	Middleware []api.Middleware `json:"middleware,omitempty"`

	// Plugins adds sections to barbican.conf.
	// +listType=map
	// +listMapKey=configSection
	// +optional
	Plugins []api.Plugin `json:"plugins,omitempty"`

	// ExtraConfig adds options to barbican.conf, by section and option name with
	// underscores. It wins over what the operator sets; ExtraConfigHealthy reports
	// where it does. Passwords, secret IDs and root tokens are refused. Example:
	// {"DEFAULT": {"max_allowed_secret_in_bytes": "40000"}}.
	// +kubebuilder:validation:XValidation:rule="!('keystone_authtoken' in self) || !('password' in self['keystone_authtoken'])",message="[keystone_authtoken] password must not be set: it comes from spec.serviceUser.secretRef"
	// +kubebuilder:validation:XValidation:rule="!('vault_plugin' in self) || !('approle_secret_id' in self['vault_plugin'] || 'root_token_id' in self['vault_plugin'])",message="[vault_plugin] approle_secret_id and root_token_id must not be set: credentials come from the BarbicanSecretStore"
	// +optional
	ExtraConfig map[string]map[string]string `json:"extraConfig,omitempty"`
}

// APIServerSpec tunes the server process of an API pod.
type APIServerSpec struct {
	// UWSGI tunes the uWSGI server.
	// +optional
	UWSGI *api.UWSGISpec `json:"uwsgi,omitempty"`
}

// Defaults of the clean-up.
const (
	DefaultDBCleanRetentionDays         int32 = 90
	DefaultDBCleanSchedule                    = "1 0 * * *"
	DefaultDBCleanActiveDeadlineSeconds int64 = 3600
)

// DBCleanSpec tunes the clean-up of the database.
type DBCleanSpec struct {
	// RetentionDays is how long, in days, a soft-deleted row is kept before it is
	// removed for good. Default 90.
	// +kubebuilder:validation:Minimum=1
	// +optional
	RetentionDays *int32 `json:"retentionDays,omitempty"`

	// Schedule in cron notation with five fields, or one of @yearly, @monthly,
	// @weekly, @daily, @hourly. Default "1 0 * * *", a minute past midnight. A
	// time zone belongs in timeZone.
	// +optional
	Schedule string `json:"schedule,omitempty"`

	// TimeZone the schedule is read in, by its IANA name, for example
	// Europe/Berlin. Default: that of the cluster's controller manager, usually
	// UTC.
	// +optional
	TimeZone *string `json:"timeZone,omitempty"`

	// SoftDeleteExpiredSecrets also soft-deletes secrets that have expired, so
	// that they are removed after retentionDays. Default true.
	// +optional
	SoftDeleteExpiredSecrets *bool `json:"softDeleteExpiredSecrets,omitempty"`

	// CleanUnassociatedProjects also removes projects that own nothing. Default
	// false.
	// +optional
	CleanUnassociatedProjects *bool `json:"cleanUnassociatedProjects,omitempty"`

	// ActiveDeadlineSeconds is the time, in seconds, after which a run is stopped
	// and counts as failed. Default 3600.
	// +kubebuilder:validation:Minimum=1
	// +optional
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`

	// Suspend pauses the clean-up. Default false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// WithDefaults returns a copy in which every member but timeZone is set; nil counts as an empty block.
func (s *DBCleanSpec) WithDefaults() DBCleanSpec {
	var out DBCleanSpec
	if s != nil {
		s.DeepCopyInto(&out)
	}
	out.Schedule = cmp.Or(out.Schedule, DefaultDBCleanSchedule)
	out.RetentionDays = cmp.Or(out.RetentionDays, new(DefaultDBCleanRetentionDays))
	out.SoftDeleteExpiredSecrets = cmp.Or(out.SoftDeleteExpiredSecrets, new(true))
	out.CleanUnassociatedProjects = cmp.Or(out.CleanUnassociatedProjects, new(false))
	out.ActiveDeadlineSeconds = cmp.Or(out.ActiveDeadlineSeconds, new(DefaultDBCleanActiveDeadlineSeconds))
	return out
}

// BarbicanStatus is the observed state of a Barbican.
type BarbicanStatus struct {
	// Conditions tell what works and what does not. Ready sums up all of them but
	// ExtraConfigHealthy.
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`

	// ObservedGeneration is the generation of the spec that the status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Endpoint of the API: the gateway's https address, or the Service's inside
	// the cluster. Set once the Deployment is ready.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`

	// InstalledRelease is the release the schema was last migrated to.
	// +optional
	InstalledRelease string `json:"installedRelease,omitempty"`

	// InstalledImage is the image that belongs to installedRelease. A new release
	// with this very image is refused.
	// +optional
	InstalledImage string `json:"installedImage,omitempty"`

	// TargetRelease is the release an accepted upgrade goes to, empty when none is
	// under way.
	// +optional
	TargetRelease string `json:"targetRelease,omitempty"`

	// SchemaRelease is the newest release a migration was started for. It is
	// recorded before the first migration Job of that release is created; going
	// back behind it is refused unless the annotation
	// barbican.c5c3.io/allow-schema-rollback names the release.
	// +optional
	SchemaRelease string `json:"schemaRelease,omitempty"`

	// ProjectedSecretStores are the names of the stores in the running
	// configuration, sorted.
	// +optional
	ProjectedSecretStores []string `json:"projectedSecretStores,omitempty"`

	// ProjectedSecretStoreHosts are the URLs of these stores' servers. They stay
	// reachable while the stores are broken.
	// +optional
	ProjectedSecretStoreHosts []string `json:"projectedSecretStoreHosts,omitempty"`

	// LastDBSyncJobUID is the UID of the last migration Job whose outcome was
	// counted in the metrics; each counts once.
	// +optional
	LastDBSyncJobUID string `json:"lastDBSyncJobUID,omitempty"`

	// LastDBCleanJobUID is the UID of the last clean-up Job whose outcome was
	// counted in the metrics; each counts once.
	// +optional
	LastDBCleanJobUID string `json:"lastDBCleanJobUID,omitempty"`
}

// StatusConditions gives access to the conditions.
func (b *Barbican) StatusConditions() *[]metav1.Condition { return &b.Status.Conditions }

// SetObservedGeneration records the generation the status speaks of.
func (b *Barbican) SetObservedGeneration(generation int64) { b.Status.ObservedGeneration = generation }

// MinPods returns the smallest number of API pods there can be.
func (s BarbicanSpec) MinPods() int32 { return api.MinPods(s.Deployment, s.Autoscaling) }

// MaxPods returns the largest number of API pods there can be, rollouts aside.
func (s BarbicanSpec) MaxPods() int32 { return api.MaxPods(s.Deployment, s.Autoscaling) }

// EffectiveServiceUser returns the service user with its defaults.
func (s BarbicanSpec) EffectiveServiceUser() api.ServiceUserSpec {
	return s.ServiceUser.WithDefaults(DefaultServiceUser)
}

// EffectiveUWSGI returns the uWSGI settings with their defaults.
func (s BarbicanSpec) EffectiveUWSGI() api.UWSGISpec {
	if s.APIServer == nil {
		return (*api.UWSGISpec)(nil).WithDefaults()
	}
	return s.APIServer.UWSGI.WithDefaults()
}

// EffectiveKeystonePublicEndpoint returns the Keystone that clients are sent to.
func (s BarbicanSpec) EffectiveKeystonePublicEndpoint() string {
	return cmp.Or(s.KeystonePublicEndpoint, s.KeystoneEndpoint)
}
