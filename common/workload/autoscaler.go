// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/naming"
	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

// Autoscaler scales the Deployment that bears the owner's name.
type Autoscaler struct {
	Instance naming.Instance
	Spec     *api.AutoscalingSpec // nil: no autoscaler
	MinPods  int32
}

// EnsureAutoscaler brings the HorizontalPodAutoscaler of owner into place, or removes it.
func EnsureAutoscaler(ctx context.Context, c target.Cluster, owner client.Object, a Autoscaler) reconcile.Outcome {
	if a.Spec == nil {
		child := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: owner.GetNamespace(), Name: owner.GetName()}}
		if _, err := c.Writer.Delete(ctx, owner, child); err != nil {
			return reconcile.Error(err)
		}
		return reconcile.Ready(api.ReasonHPANotRequired, "Autoscaling is not requested")
	}
	if err := c.Writer.Apply(ctx, owner, a.desired(owner)); err != nil {
		return reconcile.Error(err)
	}
	return reconcile.Ready(api.ReasonHPAReady, "The HorizontalPodAutoscaler is in place")
}

func (a Autoscaler) desired(owner client.Object) *autoscalingv2.HorizontalPodAutoscaler {
	metrics := make([]autoscalingv2.MetricSpec, 0, 2)
	metrics = appendUtilization(metrics, corev1.ResourceCPU, a.Spec.TargetCPUUtilization)
	metrics = appendUtilization(metrics, corev1.ResourceMemory, a.Spec.TargetMemoryUtilization)
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: owner.GetNamespace(), Name: owner.GetName(), Labels: a.Instance.Labels()},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: owner.GetName()},
			MinReplicas:    &a.MinPods, MaxReplicas: a.Spec.MaxReplicas, Metrics: metrics,
		},
	}
}

func appendUtilization(metrics []autoscalingv2.MetricSpec, resource corev1.ResourceName, percent *int32) []autoscalingv2.MetricSpec {
	if percent == nil {
		return metrics
	}
	return append(metrics, autoscalingv2.MetricSpec{
		Type: autoscalingv2.ResourceMetricSourceType,
		Resource: &autoscalingv2.ResourceMetricSource{
			Name:   resource,
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: percent},
		},
	})
}
