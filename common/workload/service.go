// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/naming"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

// Service exposes the pods of one component of an instance at one port.
type Service struct {
	Instance  naming.Instance
	Component string
	Port      int32
}

// EnsureService brings the Service of owner into place. It selects the pods of the component, except while pods that
// an older template made without a component label still serve: then it selects all pods of the instance. Once it
// is narrow it stays so.
func EnsureService(ctx context.Context, c target.Cluster, owner client.Object, s Service, deployment *appsv1.Deployment) error {
	selector := s.Instance.ComponentSelector(s.Component)
	if !everyPodIsNew(deployment) {
		narrow, err := s.isNarrow(ctx, c, owner)
		if err != nil {
			return err
		}
		if !narrow {
			selector = s.Instance.Selector()
		}
	}
	return c.Writer.Apply(ctx, owner, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: owner.GetNamespace(), Name: owner.GetName(), Labels: s.Instance.Labels()},
		Spec: corev1.ServiceSpec{
			Selector: selector,
			Ports:    []corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: s.Port, TargetPort: intstr.FromInt32(s.Port)}},
		},
	})
}

// everyPodIsNew says whether no pod of an older template is left. A Deployment at its first generation has never had
// another template.
func everyPodIsNew(d *appsv1.Deployment) bool {
	if d.Generation <= 1 {
		return true
	}
	return d.Status.ObservedGeneration >= d.Generation && d.Status.Replicas > 0 && d.Status.UpdatedReplicas == d.Status.Replicas
}

// isNarrow reads the API server: a cache that lags would widen a Service that another pass has just narrowed.
func (s Service) isNarrow(ctx context.Context, c target.Cluster, owner client.Object) (bool, error) {
	var cached corev1.Service
	key := client.ObjectKeyFromObject(owner)
	if err := c.Client.Get(ctx, key, &cached, client.UnsafeDisableDeepCopy); err == nil && cached.Spec.Selector[naming.LabelComponent] != "" {
		return true, nil
	}
	var live corev1.Service
	err := c.Reader.Get(ctx, key, &live)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading Service %s: %w", key, err)
	}
	return err == nil && live.Spec.Selector[naming.LabelComponent] != "", nil
}
