// SPDX-License-Identifier: Apache-2.0

package api

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Defaults of a Deployment.
const (
	DefaultReplicas           int32 = 3
	DefaultGracePeriodSeconds int64 = 30
	DefaultPreStopSeconds     int64 = 5
	MinGracePeriodSeconds     int64 = 10
)

// DeploymentSpec tunes the pods that serve the API.
// +kubebuilder:validation:XValidation:rule="!has(self.strategy) || !has(self.strategy.type) || self.strategy.type != 'Recreate' || !has(self.strategy.rollingUpdate)",message="strategy.rollingUpdate must not be set with type Recreate"
// +kubebuilder:validation:XValidation:rule="(has(self.preStopSleepSeconds) ? self.preStopSleepSeconds : 5) < (has(self.terminationGracePeriodSeconds) ? self.terminationGracePeriodSeconds : 30)",message="preStopSleepSeconds (default 5) must be below terminationGracePeriodSeconds (default 30)"
type DeploymentSpec struct {
	// Replicas is the number of API pods. Default 3. With autoscaling it is only
	// the size to start with and the minimum when autoscaling.minReplicas is
	// unset.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// Resources of the API container. Default when neither requests nor limits are
	// given: requests of cpu 100m and memory 256Mi, limits of cpu 500m and memory
	// 512Mi. A request must not exceed its limit.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// TerminationGracePeriodSeconds is the time, in seconds, a pod has to stop,
	// preStopSleepSeconds included. Default 30, at least 10.
	// +kubebuilder:validation:Minimum=10
	// +optional
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`

	// PreStopSleepSeconds is the time, in seconds, a pod keeps serving after it
	// was told to stop, so that load balancers drop it first. Default 5; 0 stops
	// at once. It must be below terminationGracePeriodSeconds.
	// +kubebuilder:validation:Minimum=0
	// +optional
	PreStopSleepSeconds *int64 `json:"preStopSleepSeconds,omitempty"`

	// Strategy of a rollout. Default RollingUpdate with maxUnavailable 0 and
	// maxSurge 1. Recreate takes no rollingUpdate.
	// +optional
	Strategy *appsv1.DeploymentStrategy `json:"strategy,omitempty"`

	// TopologySpreadConstraints of the pods. Default: spread over zones and over
	// nodes, each with maxSkew 1 and ScheduleAnyway. An empty list turns the
	// defaults off. The label selector of each must be exactly the pods of this
	// object (app.kubernetes.io/name and app.kubernetes.io/instance).
	// +optional
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// PriorityClassName of the API pods; the class must exist. Jobs do not get it.
	// +optional
	PriorityClassName *string `json:"priorityClassName,omitempty"`
}

// EffectiveReplicas returns the number of pods, 3 unless set.
func (s DeploymentSpec) EffectiveReplicas() int32 { return cmp.Or(s.Replicas, DefaultReplicas) }

// EffectiveGracePeriodSeconds returns the seconds a pod has to stop, 30 unless set.
func (s DeploymentSpec) EffectiveGracePeriodSeconds() int64 {
	return valueOr(s.TerminationGracePeriodSeconds, DefaultGracePeriodSeconds)
}

// EffectivePreStopSeconds returns the seconds a stopping pod keeps serving, 5 unless set.
func (s DeploymentSpec) EffectivePreStopSeconds() int64 {
	return valueOr(s.PreStopSleepSeconds, DefaultPreStopSeconds)
}

// EffectiveResources returns a copy of the resources, or the defaults when neither requests nor limits are set.
func (s DeploymentSpec) EffectiveResources() corev1.ResourceRequirements {
	if s.Resources != nil && len(s.Resources.Requests)+len(s.Resources.Limits) > 0 {
		return *s.Resources.DeepCopy()
	}
	defaults := defaultResources()
	if s.Resources != nil {
		defaults.Claims = s.Resources.DeepCopy().Claims
	}
	return defaults
}

func defaultResources() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("100m"),
			corev1.ResourceMemory: resource.MustParse("256Mi"),
		},
		Limits: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("500m"),
			corev1.ResourceMemory: resource.MustParse("512Mi"),
		},
	}
}

// AutoscalingSpec hands the number of API pods to a HorizontalPodAutoscaler.
// +kubebuilder:validation:XValidation:rule="has(self.targetCPUUtilization) || has(self.targetMemoryUtilization)",message="at least one of targetCPUUtilization and targetMemoryUtilization must be set"
// +kubebuilder:validation:XValidation:rule="!has(self.minReplicas) || self.minReplicas <= self.maxReplicas",message="minReplicas must not exceed maxReplicas"
type AutoscalingSpec struct {
	// MinReplicas is the smallest number of pods. Default: deployment.replicas.
	// +kubebuilder:validation:Minimum=1
	// +optional
	MinReplicas *int32 `json:"minReplicas,omitempty"`

	// MaxReplicas is the largest number of pods, at least minReplicas. The
	// connection limit of a managed database user is sized for it.
	// +kubebuilder:validation:Minimum=1
	MaxReplicas int32 `json:"maxReplicas"`

	// TargetCPUUtilization is the average CPU use to aim at, in percent of the
	// request. One of the two targets must be set.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	TargetCPUUtilization *int32 `json:"targetCPUUtilization,omitempty"`

	// TargetMemoryUtilization is the average memory use to aim at, in percent of
	// the request. One of the two targets must be set.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	TargetMemoryUtilization *int32 `json:"targetMemoryUtilization,omitempty"`
}

// MinPods returns the smallest number of pods there can be: the autoscaler's minimum, or the effective replicas without one.
func MinPods(deployment DeploymentSpec, autoscaling *AutoscalingSpec) int32 {
	if autoscaling != nil && autoscaling.MinReplicas != nil {
		return *autoscaling.MinReplicas
	}
	return deployment.EffectiveReplicas()
}

// MaxPods returns the largest number of pods there can be, rollouts aside: the autoscaler's maximum, or the effective replicas.
func MaxPods(deployment DeploymentSpec, autoscaling *AutoscalingSpec) int32 {
	if autoscaling != nil {
		return autoscaling.MaxReplicas
	}
	return deployment.EffectiveReplicas()
}

func valueOr[T any](value *T, fallback T) T {
	if value == nil {
		return fallback
	}
	return *value
}
