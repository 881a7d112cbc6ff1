// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/workload"
)

// ensure applies the Deployment and returns its size.
func (p *place) ensure(t *testing.T, d workload.Deployment) int32 {
	t.Helper()
	_, err := workload.EnsureDeployment(t.Context(), p.Cluster, p.service, d)
	check(t, err)
	live := &appsv1.Deployment{}
	p.get(t, live)
	return *live.Spec.Replicas
}

// scale does what the autoscaler does, through the subresource.
func (p *place) scale(t *testing.T, to int32) {
	t.Helper()
	live := &appsv1.Deployment{}
	p.get(t, live)
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: to}}
	check(t, p.Client.SubResource("scale").Update(t.Context(), live, client.WithSubResourceBody(scale), client.FieldOwner("kube-controller-manager")))
}

func TestTheSizeIsHandedOverWithoutADip(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	spec, scaling := api.DeploymentSpec{Replicas: 4}, &api.AutoscalingSpec{MaxReplicas: 9}
	plain, scaled := p.deployment(spec, nil), p.deployment(spec, scaling)
	newer := scaled
	newer.Template = p.pod("newer")
	expect := func(what string, got, want int32) {
		t.Helper()
		if got != want {
			t.Fatalf("%s: %d pods, want %d", what, got, want)
		}
	}
	expect("created", p.ensure(t, plain), 4)
	p.scale(t, 6)
	expect("drift is repaired", p.ensure(t, plain), 4)
	for range 3 {
		expect("handed to the autoscaler", p.ensure(t, scaled), 4)
	}
	p.scale(t, 7)
	expect("the autoscaler decides", p.ensure(t, scaled), 7)
	expect("also through a rollout", p.ensure(t, newer), 7)
	p.restart()
	expect("and a restart", p.ensure(t, newer), 7)
	expect("taken back", p.ensure(t, plain), 4)
	expect("handed over again", p.ensure(t, scaled), 4)
	expect("and kept", p.ensure(t, scaled), 4)
}

func TestADeploymentThatStartsUnderAnAutoscalerKeepsItsSize(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	d := p.deployment(api.DeploymentSpec{Replicas: 4}, &api.AutoscalingSpec{MaxReplicas: 9})
	for pass := range 4 {
		if got := p.ensure(t, d); got != 4 {
			t.Fatalf("pass %d: %d pods", pass, got)
		}
	}
}
