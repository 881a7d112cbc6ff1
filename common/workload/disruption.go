// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/naming"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

// EnsureDisruptionBudget keeps one pod of the instance running through voluntary disruptions when at least two are
// guaranteed, and lets the only one go otherwise. Pods of Jobs do not count.
func EnsureDisruptionBudget(ctx context.Context, c target.Cluster, owner client.Object, instance naming.Instance, minPods int32) error {
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: owner.GetNamespace(), Name: owner.GetName(), Labels: instance.Labels()},
		Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{
			MatchLabels: instance.Selector(),
			MatchExpressions: []metav1.LabelSelectorRequirement{{
				Key: naming.LabelJobName, Operator: metav1.LabelSelectorOpDoesNotExist,
			}},
		}},
	}
	one := intstr.FromInt32(1)
	if minPods > 1 {
		budget.Spec.MinAvailable = &one
	} else {
		budget.Spec.MaxUnavailable = &one
	}
	return c.Writer.Apply(ctx, owner, budget)
}
