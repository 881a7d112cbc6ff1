// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"context"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/network"
	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/common/reconcile/probe"
	"github.com/c5c3/cobaltcore/common/workload"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// The members of the group behind the Deployment. None of them needs another.

// httpRoute publishes the API through the gateway of the spec, or withdraws it.
func (s *steps) httpRoute(ctx context.Context, p *pass) reconcile.Outcome {
	return network.EnsureRoute(ctx, p.Children, p.Object, network.Route{
		Instance: instance(p.Object), Gateway: p.Object.Spec.Gateway, Service: p.Object.Name, Port: v1alpha1.Port,
		Unserved: s.NoRoutes,
	})
}

// healthCheck asks the API itself, past any gateway. The path needs neither a token nor the database.
func (s *steps) healthCheck(ctx context.Context, p *pass) reconcile.Outcome {
	b := p.Object
	if b.Status.Endpoint == "" {
		return reconcile.Poll(probe.Retry, api.ReasonEndpointNotReady, "The Deployment has not been ready yet")
	}
	url := "http://" + b.Name + "." + b.Namespace + ".svc.cluster.local:" + strconv.Itoa(int(v1alpha1.Port)) + healthPath
	return s.Health.Check(ctx, types.NamespacedName{Namespace: b.Namespace, Name: b.Name}, b.UID, p.Children.HTTP, url)
}

// hpa hands the number of pods to an autoscaler, or takes it back.
func (s *steps) hpa(ctx context.Context, p *pass) reconcile.Outcome {
	return workload.EnsureAutoscaler(ctx, p.Children, p.Object, workload.Autoscaler{
		Instance: instance(p.Object), Spec: p.Object.Spec.Autoscaling, MinPods: p.Object.Spec.MinPods(),
	})
}

// networkPolicy lets in and out what the spec and the projected stores name, and nothing else.
func (s *steps) networkPolicy(ctx context.Context, p *pass) reconcile.Outcome {
	spec := p.Object.Spec
	return network.EnsurePolicy(ctx, p.Children, p.Object, network.Policy{
		Instance: instance(p.Object), Spec: spec.NetworkPolicy, Port: v1alpha1.Port,
		Gateway: spec.Gateway, OperatorNamespace: s.OperatorNamespace,
		Egress: [][]int32{
			{spec.Database.EffectivePort()},
			{network.URLPort(spec.KeystoneEndpoint)},
			network.CachePorts(spec.Cache.Addresses()),
			network.HostPorts(p.Values.stores.hosts),
		},
	})
}
