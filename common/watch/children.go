// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/c5c3/cobaltcore/common/naming"
)

// Children wakes a service on its children of the core kinds. A status wakes only where a building block reads it. What happens to
// any of them goes through seen first.
func Children(b *builder.Builder, app string, seen predicate.Predicate) *builder.Builder {
	return b.
		Owns(&appsv1.Deployment{}, builder.WithPredicates(seen, Changed())).
		Owns(&corev1.Secret{}, builder.WithPredicates(seen, Desired(func(s *corev1.Secret) any { return s.Data }))).
		Owns(&corev1.Service{}, builder.WithPredicates(seen, Desired(func(s *corev1.Service) any { return s.Spec }))).
		Owns(&policyv1.PodDisruptionBudget{}, builder.WithPredicates(seen, Desired(func(p *policyv1.PodDisruptionBudget) any { return p.Spec }))).
		Owns(&autoscalingv2.HorizontalPodAutoscaler{}, builder.WithPredicates(seen, Desired(
			func(h *autoscalingv2.HorizontalPodAutoscaler) any { return h.Spec }))).
		Owns(&networkingv1.NetworkPolicy{}, builder.WithPredicates(seen, Desired(func(n *networkingv1.NetworkPolicy) any { return n.Spec }))).
		Owns(&batchv1.CronJob{}, builder.WithPredicates(seen, Desired(func(c *batchv1.CronJob) any { return c.Spec }))).
		Watches(&batchv1.Job{}, handler.EnqueueRequestsFromMapFunc(Instance(app)), builder.WithPredicates(seen, Changed()))
}

// Instance finds the instance of a service by the labels of a child: a Job of a CronJob has that as its owner.
func Instance(app string) handler.MapFunc {
	return func(_ context.Context, o client.Object) []reconcile.Request {
		labels := o.GetLabels()
		if labels[naming.LabelName] != app || labels[naming.LabelInstance] == "" {
			return nil
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: labels[naming.LabelInstance]}}}
	}
}
