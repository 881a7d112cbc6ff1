// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/naming"
	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

// RolloutRetry is how long a pass waits for a rollout.
const RolloutRetry = 10 * time.Second

// AnnotationScaledBy marks a Deployment whose size somebody else decides.
const AnnotationScaledBy = "cobaltcore.c5c3.io/scaled-by"

// scaleManager holds the size of a Deployment while nobody else does: a size that its last owner drops becomes one.
const scaleManager client.FieldOwner = "cobaltcore-operator-scale"

// Deployment is the API of one instance.
type Deployment struct {
	Instance    naming.Instance
	Component   string
	Spec        api.DeploymentSpec
	Autoscaling *api.AutoscalingSpec // nil: the size is Spec's
	Template    corev1.PodTemplateSpec
}

// EnsureDeployment brings the Deployment of owner into place and returns it as it is, shared with the cache. It is nil
// when one with another selector had to make way: it is made anew by a later pass.
func EnsureDeployment(ctx context.Context, c target.Cluster, owner client.Object, d Deployment) (*appsv1.Deployment, error) {
	desired := d.desired(owner)
	live, err := ReadDeployment(ctx, c, client.ObjectKeyFromObject(desired))
	if err != nil {
		return nil, err
	}
	exists := live != nil && c.Writer.Reclaims(owner, live)
	if exists && !maps.Equal(live.Spec.Selector.MatchLabels, desired.Spec.Selector.MatchLabels) {
		_, err := c.Writer.Delete(ctx, owner, desired)
		return nil, err
	}
	if exists && d.Autoscaling != nil {
		desired.Spec.Replicas = nil
		desired.Annotations = map[string]string{AnnotationScaledBy: "HorizontalPodAutoscaler"}
		if live.Annotations[AnnotationScaledBy] == "" {
			if err := keepSize(ctx, c, live); err != nil {
				return nil, err
			}
		}
	}
	return desired, c.Writer.Apply(ctx, owner, desired)
}

// ReadDeployment returns a Deployment as it is, shared with the cache, or nil without one. The cache holds nothing but the
// metadata of one that has lost our label, so that one is read from the API server.
func ReadDeployment(ctx context.Context, c target.Cluster, key client.ObjectKey) (*appsv1.Deployment, error) {
	live := &appsv1.Deployment{}
	err := c.Client.Get(ctx, key, live, client.UnsafeDisableDeepCopy)
	if err == nil && live.Spec.Selector == nil {
		live = &appsv1.Deployment{}
		err = c.Reader.Get(ctx, key, live)
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading Deployment %s: %w", key, err)
	}
	return live, nil
}

// keepSize gives the present size to a field owner of its own, since our next apply drops it. It reads the API server
// and writes on top of just that version: an autoscaler may change the size at any moment.
func keepSize(ctx context.Context, c target.Cluster, cached *appsv1.Deployment) error {
	var live appsv1.Deployment
	key := client.ObjectKeyFromObject(cached)
	if err := c.Reader.Get(ctx, key, &live); err != nil {
		return fmt.Errorf("reading the size of Deployment %s: %w", key, err)
	}
	size := &unstructured.Unstructured{}
	size.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	size.SetNamespace(key.Namespace)
	size.SetName(key.Name)
	size.SetUID(cached.UID)
	size.SetResourceVersion(live.ResourceVersion)
	replicas := int64(1)
	if live.Spec.Replicas != nil {
		replicas = int64(*live.Spec.Replicas)
	}
	size.Object["spec"] = map[string]any{"replicas": replicas}
	if err := c.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(size), scaleManager, client.ForceOwnership); err != nil {
		return fmt.Errorf("keeping the size of Deployment %s: %w", key, err)
	}
	return nil
}

// Rollout says how far a Deployment has come. It is Ready when every pod runs the newest template, is ready and
// counts as available, and carries on otherwise. A nil Deployment is one that EnsureDeployment makes anew.
func Rollout(d *appsv1.Deployment) reconcile.Outcome {
	if d == nil {
		return reconcile.Poll(RolloutRetry, api.ReasonWaitingForDeployment, "The Deployment's selector changed: it is made anew")
	}
	if why := unfinished(d); why != "" {
		return reconcile.Poll(RolloutRetry, api.ReasonWaitingForDeployment, why)
	}
	return reconcile.Ready(api.ReasonDeploymentReady, "Every pod runs the newest template and is ready")
}

// unfinished says why not every pod is as it should be; empty when all are. Conditions of a former generation say nothing.
func unfinished(d *appsv1.Deployment) string {
	want, s := int32(1), d.Status
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	const waiting = "Waiting for every pod to run the newest template and to be ready; if it stays so, see the events of the pods"
	if s.ObservedGeneration < d.Generation {
		return waiting
	}
	progressing, failing, available := condition(d, appsv1.DeploymentProgressing), condition(d, appsv1.DeploymentReplicaFailure), condition(d, appsv1.DeploymentAvailable)
	switch {
	case progressing != nil && progressing.Status == corev1.ConditionFalse:
		return progressing.Reason + ": " + progressing.Message
	case failing != nil && failing.Status == corev1.ConditionTrue:
		return "Pods cannot be created (" + failing.Reason + "): see the events of the ReplicaSet, quota is a usual cause"
	case s.UpdatedReplicas != want || s.ReadyReplicas != want || s.Replicas != want,
		available == nil || available.Status != corev1.ConditionTrue:
		return waiting
	}
	return ""
}

func condition(d *appsv1.Deployment, of appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range d.Status.Conditions {
		if c := &d.Status.Conditions[i]; c.Type == of {
			return c
		}
	}
	return nil
}

func (d Deployment) desired(owner client.Object) *appsv1.Deployment {
	replicas := d.initialReplicas()
	selector := &metav1.LabelSelector{MatchLabels: d.Instance.Selector()}
	template := d.Template
	template.Spec.TerminationGracePeriodSeconds = new(d.Spec.EffectiveGracePeriodSeconds())
	template.Spec.TopologySpreadConstraints = d.topologySpread(selector)
	if d.Spec.PriorityClassName != nil {
		template.Spec.PriorityClassName = *d.Spec.PriorityClassName
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: owner.GetNamespace(), Name: owner.GetName(), Labels: d.Instance.Component(d.Component),
		},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: selector, Strategy: d.strategy(), Template: template},
	}
}

// initialReplicas is the size of a Deployment that is new, within what an autoscaler would accept.
func (d Deployment) initialReplicas() int32 {
	replicas := d.Spec.EffectiveReplicas()
	if d.Autoscaling == nil {
		return replicas
	}
	return min(max(replicas, api.MinPods(d.Spec, d.Autoscaling)), d.Autoscaling.MaxReplicas)
}

func (d Deployment) strategy() appsv1.DeploymentStrategy {
	if d.Spec.Strategy != nil {
		return *d.Spec.Strategy
	}
	return surge
}

// surge starts a new pod before an old one stops. It is not to be changed in place.
var surge = appsv1.DeploymentStrategy{
	Type: appsv1.RollingUpdateDeploymentStrategyType,
	RollingUpdate: &appsv1.RollingUpdateDeployment{
		MaxUnavailable: new(intstr.FromInt32(0)), MaxSurge: new(intstr.FromInt32(1)),
	},
}

// topologySpread spreads over zones and hosts unless the spec has its own mind; an empty list is one.
func (d Deployment) topologySpread(selector *metav1.LabelSelector) []corev1.TopologySpreadConstraint {
	if d.Spec.TopologySpreadConstraints != nil {
		return d.Spec.TopologySpreadConstraints
	}
	spread := func(key string) corev1.TopologySpreadConstraint {
		return corev1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: selector,
		}
	}
	return []corev1.TopologySpreadConstraint{spread(corev1.LabelTopologyZone), spread(corev1.LabelHostname)}
}

// PreStop sleeps before a pod is told to stop, so that no new request is sent to it any more.
func PreStop(seconds int64) *corev1.Lifecycle {
	return &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{
		Command: []string{"/bin/sh", "-c", "sleep " + strconv.FormatInt(seconds, 10)},
	}}}
}
