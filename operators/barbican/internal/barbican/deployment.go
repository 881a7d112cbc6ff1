// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/naming"
	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/common/workload"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/config"
)

// deployment runs the API. It polls without stopping the table: what stands behind it must be in place before the
// pods are, and can be mended while a rollout is stuck. Without a configuration nothing is created; on the last good one
// the pods are kept in shape.
func (s *steps) deployment(ctx context.Context, p *pass) reconcile.Outcome {
	b := p.Object
	if p.Values.mounts.configSecret == "" {
		return reconcile.NotReady(v1alpha1.ReasonWaitingForSecretStores, "The pods wait for a first configuration: see SecretStoresReady")
	}
	live, err := ensureAPI(ctx, p)
	if err != nil {
		return reconcile.Blame(api.ReasonWaitingForDeployment, err)
	}
	rollout := workload.Rollout(live)
	if rollout.Done() {
		b.Status.Endpoint = config.Endpoint(b.Name, b.Namespace, b.Spec.Gateway)
		if err := escapedPassword(b).Drop(ctx, p.Children, b, p.Values.password); err != nil {
			return reconcile.Error(err)
		}
	}
	if !p.Values.stores.valid {
		return reconcile.NotReady(v1alpha1.ReasonWaitingForSecretStores,
			"The pods stay on their last good configuration: see SecretStoresReady").After(rollout.ComesBack())
	}
	return rollout
}

// ensureAPI brings the Deployment and what stands before it into place. The Deployment is nil while it is made anew.
func ensureAPI(ctx context.Context, p *pass) (*appsv1.Deployment, error) {
	b := p.Object
	live, err := workload.EnsureDeployment(ctx, p.Children, b, workload.Deployment{
		Instance: instance(b), Component: naming.ComponentAPI, Spec: b.Spec.Deployment, Autoscaling: b.Spec.Autoscaling,
		Template: apiTemplate(b, p.Values),
	})
	if err != nil {
		return nil, err
	}
	if live != nil {
		service := workload.Service{Instance: instance(b), Component: naming.ComponentAPI, Port: v1alpha1.Port}
		if err := workload.EnsureService(ctx, p.Children, b, service, live); err != nil {
			return nil, err
		}
	}
	return live, workload.EnsureDisruptionBudget(ctx, p.Children, b, instance(b), b.Spec.MinPods())
}
