// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/naming"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// observed sets the status of the Deployment.
func (w *world) observed(change func(*appsv1.Deployment)) {
	w.Helper()
	d := get(w, &appsv1.Deployment{}, "barbican")
	change(d)
	if err := w.live.Status().Update(w.Context(), d); err != nil {
		w.Fatal(err)
	}
}

// TestRollout is R14: what counts as rolled out.
func TestRollout(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status  func(*appsv1.Deployment)
		want    string
		message string
	}{
		"rolled out":                     {func(*appsv1.Deployment) {}, "True/DeploymentReady", ""},
		"not seen by its controller yet": {func(d *appsv1.Deployment) { d.Status.ObservedGeneration-- }, "False/WaitingForDeployment", "Waiting"},
		"an old pod is left":             {func(d *appsv1.Deployment) { d.Status.Replicas++ }, "False/WaitingForDeployment", "Waiting"},
		"a pod has the old template":     {func(d *appsv1.Deployment) { d.Status.UpdatedReplicas-- }, "False/WaitingForDeployment", "Waiting"},
		"a pod is not ready":             {func(d *appsv1.Deployment) { d.Status.ReadyReplicas-- }, "False/WaitingForDeployment", "Waiting"},
		"not available": {func(d *appsv1.Deployment) {
			d.Status.Conditions[0].Status = corev1.ConditionFalse
		}, "False/WaitingForDeployment", "Waiting"},
		"given up": {func(d *appsv1.Deployment) {
			d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{
				Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded", Message: "ReplicaSet has timed out",
			})
		}, "False/WaitingForDeployment", "ProgressDeadlineExceeded: ReplicaSet has timed out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t)
			w.ready()
			w.observed(c.status)
			result, err := w.reconcile()
			if err != nil {
				t.Fatal(err)
			}
			w.expect("DeploymentReady=" + c.want)
			if waits := strings.HasPrefix(c.want, "False"); waits != (result.RequeueAfter == 10*time.Second) {
				t.Errorf("comes back after %s", result.RequeueAfter)
			}
			if got := message(w.barbican(), api.ConditionDeploymentReady); !strings.Contains(got, c.message) {
				t.Errorf("message %q lacks %q", got, c.message)
			}
		})
	}
}

// TestStuckRollout is R13: what stands behind the Deployment is put in place and can be mended all the same.
func TestStuckRollout(t *testing.T) {
	t.Parallel()
	w := begin(t, full)
	w.pass()
	w.simulate()
	w.pass()
	w.simulate()
	w.pass()
	w.expect("DeploymentReady=False/WaitingForDeployment", "NetworkPolicyReady=True/NetworkPolicyReady", "HPAReady=True/HPAReady",
		"HTTPRouteReady=False/HTTPRouteNotAccepted", "BarbicanAPIReady=False/EndpointNotReady")
	w.edit(func(b *v1alpha1.Barbican) { b.Spec.Database.Port = 3307 })
	w.pass()
	w.simulate()
	w.pass()
	w.expect("DeploymentReady=False/WaitingForDeployment")
	policy := get(w, &networkingv1.NetworkPolicy{}, "barbican")
	if got := policy.Spec.Egress[1].Ports[0].Port.IntValue(); got != 3307 {
		t.Errorf("the policy opens port %d", got)
	}
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	w := begin(t)
	if got := w.ready().Status.Endpoint; got != "http://barbican.keys.svc.cluster.local:9311" {
		t.Errorf("endpoint is %s", got)
	}
	w.edit(func(b *v1alpha1.Barbican) {
		b.Spec.Gateway = &api.GatewaySpec{ParentRef: api.GatewayParentRef{Name: "gateway"}, Hostname: "keys.example.org"}
	})
	if got := w.converge().Status.Endpoint; got != "https://keys.example.org" {
		t.Errorf("endpoint is %s", got)
	}
}

// TestSelectorChanged lets go of a Deployment whose selector cannot be changed, and makes it anew in the next pass.
func TestSelectorChanged(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.ready()
	d := get(w, &appsv1.Deployment{}, "barbican")
	d.Spec.Selector.MatchLabels = map[string]string{"app": "barbican"}
	w.put(d)
	w.pass()
	if requests := w.taken(); !slices.Contains(requests, "delete Deployment") {
		t.Errorf("requests: %q", requests)
	}
	w.expect("DeploymentReady=False/WaitingForDeployment")
	w.converge()
	w.expect("Ready=True/AllReady")
	if got := get(w, &appsv1.Deployment{}, "barbican").Spec.Selector.MatchLabels; got[naming.LabelInstance] != "barbican" {
		t.Errorf("selector is %v", got)
	}
}

// TestServiceNarrows starts with pods that an older operator made without the component.
func TestServiceNarrows(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.ready()
	d := get(w, &appsv1.Deployment{}, "barbican")
	delete(d.Spec.Template.Labels, naming.LabelComponent)
	w.put(d)
	service := get(w, &corev1.Service{}, "barbican")
	delete(service.Spec.Selector, naming.LabelComponent)
	w.put(service)
	component := func() string { return get(w, &corev1.Service{}, "barbican").Spec.Selector[naming.LabelComponent] }

	w.pass()
	if got := component(); got != "" {
		t.Errorf("narrowed to %q before the old pods are gone", got)
	}
	w.rollOut()
	w.pass()
	if got := component(); got != "api" {
		t.Errorf("the component is %q after the rollout", got)
	}
	w.edit(func(b *v1alpha1.Barbican) { b.Spec.Deployment.PriorityClassName = new("high") })
	w.pass() // the next rollout begins
	if got := component(); got != "api" {
		t.Errorf("widened again to %q", got)
	}
}

func TestDisruptionBudgetFollowsTheAutoscaler(t *testing.T) {
	t.Parallel()
	scale := func(minimum *int32) *api.AutoscalingSpec {
		return &api.AutoscalingSpec{MinReplicas: minimum, MaxReplicas: 5, TargetCPUUtilization: new(int32(50))}
	}
	for name, c := range map[string]struct {
		replicas    int32
		autoscaling *api.AutoscalingSpec
		keepsOne    bool
	}{
		"one":                       {1, nil, false},
		"two":                       {2, nil, true},
		"at least one (R35)":        {3, scale(new(int32(1))), false},
		"at least two (R35)":        {1, scale(new(int32(2))), true},
		"at least as many as there": {3, scale(nil), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t, func(b *v1alpha1.Barbican) { b.Spec.Deployment.Replicas, b.Spec.Autoscaling = c.replicas, c.autoscaling })
			w.ready()
			budget := get(w, &policyv1.PodDisruptionBudget{}, "barbican").Spec
			if keeps := budget.MinAvailable != nil && budget.MaxUnavailable == nil; keeps != c.keepsOne {
				t.Errorf("budget is %v, %v", budget.MinAvailable, budget.MaxUnavailable)
			}
		})
	}
}

// TestAutoscalerTakesOver is R35: the size is nobody's accident, neither on the way to an autoscaler nor back.
func TestAutoscalerTakesOver(t *testing.T) {
	t.Parallel()
	w := begin(t, func(b *v1alpha1.Barbican) { b.Spec.Deployment.Replicas = 4 })
	w.ready()
	size := func() int32 { return *get(w, &appsv1.Deployment{}, "barbican").Spec.Replicas }

	w.edit(func(b *v1alpha1.Barbican) {
		b.Spec.Autoscaling = &api.AutoscalingSpec{MinReplicas: new(int32(2)), MaxReplicas: 8, TargetCPUUtilization: new(int32(50))}
	})
	w.pass()
	if got := size(); got != 4 {
		t.Errorf("size is %d after the hand-over, want 4", got)
	}
	w.converge()
	w.expect("Ready=True/AllReady", "HPAReady=True/HPAReady")

	d := get(w, &appsv1.Deployment{}, "barbican")
	d.Spec.Replicas = new(int32(7)) // the autoscaler
	d.Generation++
	w.put(d)
	w.converge()
	if got := size(); got != 7 {
		t.Errorf("size is %d, want the autoscaler's 7", got)
	}

	w.edit(func(b *v1alpha1.Barbican) { b.Spec.Autoscaling = nil })
	w.converge()
	w.expect("Ready=True/AllReady", "HPAReady=True/HPANotRequired")
	if got := size(); got != 4 || exists(w, &autoscalingv2.HorizontalPodAutoscaler{}, "barbican") {
		t.Errorf("size is %d without the autoscaler, want the specified 4", got)
	}
}

func TestNewDeploymentStartsAtItsSize(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ replicas, minimum, maximum, want int32 }{
		"the replicas":             {4, 2, 8, 4},
		"not below the minimum":    {1, 2, 8, 2},
		"not above the maximum":    {9, 2, 8, 8},
		"the default, when unset":  {0, 1, 8, 3},
		"the maximum, when unset":  {0, 1, 2, 2},
		"the minimum, from the CR": {3, 5, 8, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t, func(b *v1alpha1.Barbican) {
				b.Spec.Deployment.Replicas = c.replicas
				b.Spec.Autoscaling = &api.AutoscalingSpec{MinReplicas: &c.minimum, MaxReplicas: c.maximum, TargetCPUUtilization: new(int32(50))}
			})
			w.ready()
			if got := *get(w, &appsv1.Deployment{}, "barbican").Spec.Replicas; got != c.want {
				t.Errorf("size is %d, want %d", got, c.want)
			}
		})
	}
}
