// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/naming"
)

var exposed = Service{Instance: instance, Component: naming.ComponentAPI, Port: 9311}

func rollingOut() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Status: appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 1}}
}

func TestEveryPodIsNew(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		generation, observed int64
		replicas, updated    int32
		want                 bool
	}{
		"first template":      {1, 0, 0, 0, true},
		"rolling out":         {2, 2, 3, 1, false},
		"rolled out":          {2, 2, 3, 3, true},
		"not seen":            {3, 2, 3, 3, false},
		"nothing is known":    {2, 0, 0, 0, false},
		"no pods":             {2, 2, 0, 0, false},
		"an old pod is going": {2, 2, 4, 3, false},
	} {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: tt.generation}, Status: appsv1.DeploymentStatus{
			ObservedGeneration: tt.observed, Replicas: tt.replicas, UpdatedReplicas: tt.updated}}
		if got := everyPodIsNew(d); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestTheSelectorOfAServiceNarrowsOnce(t *testing.T) {
	t.Parallel()
	c := world(t, interceptor.Funcs{})
	selector := func(d *appsv1.Deployment) string {
		t.Helper()
		if err := EnsureService(t.Context(), c, service(), exposed, d); err != nil {
			t.Fatal(err)
		}
		s := get(t, c, &corev1.Service{}).Spec.Selector
		if s[naming.LabelName] != "svc" || s[naming.LabelInstance] != "one" {
			t.Fatalf("selector = %v", s)
		}
		return s[naming.LabelComponent]
	}
	rolledOut := rollingOut()
	rolledOut.Status.UpdatedReplicas = 3
	for step, want := range []struct {
		deployment *appsv1.Deployment
		component  string
	}{{rollingOut(), ""}, {rollingOut(), ""}, {rolledOut, "api"}, {rolledOut, "api"}, {rollingOut(), "api"}, {rollingOut(), "api"}} {
		if got := selector(want.deployment); got != want.component {
			t.Errorf("step %d selects component %q, want %q", step, got, want.component)
		}
	}
}

func TestACacheThatLagsDoesNotWidenAService(t *testing.T) {
	t.Parallel()
	narrow := childOf(service(), &corev1.Service{Spec: corev1.ServiceSpec{Selector: instance.ComponentSelector("api")}})
	c := world(t, interceptor.Funcs{Get: func(ctx context.Context, next client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
		err := next.Get(ctx, key, obj, opts...)
		if s, ok := obj.(*corev1.Service); ok {
			s.Spec.Selector = instance.Selector()
		}
		return err
	}}, narrow)
	if err := EnsureService(t.Context(), c, service(), exposed, rollingOut()); err != nil {
		t.Fatal(err)
	}
	if s := get(t, c, &corev1.Service{}).Spec.Selector; s[naming.LabelComponent] != "api" {
		t.Errorf("selector = %v", s)
	}
}

func TestEnsureService(t *testing.T) {
	t.Parallel()
	first := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
	t.Run("repairs drift", func(t *testing.T) {
		t.Parallel()
		drifted := childOf(service(), &corev1.Service{Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": "x"}, Ports: []corev1.ServicePort{{Port: 1}}, ClusterIP: "10.0.0.7"}})
		c := world(t, interceptor.Funcs{}, drifted)
		if err := EnsureService(t.Context(), c, service(), exposed, first); err != nil {
			t.Fatal(err)
		}
		live := get(t, c, &corev1.Service{})
		if diff := cmp.Diff([]corev1.ServicePort{{Protocol: "TCP", Port: 9311, TargetPort: intstr.FromInt32(9311)}}, live.Spec.Ports); diff != "" {
			t.Errorf("ports (-want +got):\n%s", diff)
		}
		if live.Spec.ClusterIP != "10.0.0.7" || live.Labels[naming.LabelManagedBy] != "svc-operator" || live.Labels[naming.LabelComponent] != "" {
			t.Errorf("Service = %+v", live)
		}
	})
	t.Run("leaves a foreign Service alone", func(t *testing.T) {
		t.Parallel()
		c := world(t, interceptor.Funcs{}, childOf(stranger(), &corev1.Service{Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "theirs"}}}))
		if err := EnsureService(t.Context(), c, service(), exposed, first); !apply.IsForeign(err) {
			t.Errorf("EnsureService() = %v", err)
		}
		if s := get(t, c, &corev1.Service{}).Spec.Selector; s["app"] != "theirs" {
			t.Errorf("selector = %v", s)
		}
	})
	t.Run("does not guess when it cannot read", func(t *testing.T) {
		t.Parallel()
		down := errors.New("connection refused")
		c := world(t, interceptor.Funcs{})
		c.Reader = interceptor.NewClient(c.Reader.(client.WithWatch), interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return down
		}})
		if err := EnsureService(t.Context(), c, service(), exposed, rollingOut()); !errors.Is(err, down) {
			t.Errorf("EnsureService() = %v", err)
		}
	})
}

func TestEnsureDisruptionBudget(t *testing.T) {
	t.Parallel()
	c := world(t, interceptor.Funcs{})
	for _, tt := range []struct {
		pods                         int32
		minAvailable, maxUnavailable *intstr.IntOrString
	}{{3, new(intstr.FromInt32(1)), nil}, {2, new(intstr.FromInt32(1)), nil}, {1, nil, new(intstr.FromInt32(1))}, {2, new(intstr.FromInt32(1)), nil}} {
		if err := EnsureDisruptionBudget(t.Context(), c, service(), instance, tt.pods); err != nil {
			t.Fatal(err)
		}
		want := policyv1.PodDisruptionBudgetSpec{MinAvailable: tt.minAvailable, MaxUnavailable: tt.maxUnavailable, Selector: &metav1.LabelSelector{
			MatchLabels: instance.Selector(), MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "batch.kubernetes.io/job-name", Operator: "DoesNotExist"}}}}
		if diff := cmp.Diff(want, get(t, c, &policyv1.PodDisruptionBudget{}).Spec); diff != "" {
			t.Errorf("%d pods (-want +got):\n%s", tt.pods, diff)
		}
	}
	c = world(t, interceptor.Funcs{}, childOf(stranger(), &policyv1.PodDisruptionBudget{}))
	if err := EnsureDisruptionBudget(t.Context(), c, service(), instance, 1); !apply.IsForeign(err) {
		t.Errorf("a foreign budget: %v", err)
	}
}

func TestEnsureAutoscaler(t *testing.T) {
	t.Parallel()
	utilization := func(of corev1.ResourceName, percent int32) autoscalingv2.MetricSpec {
		return autoscalingv2.MetricSpec{Type: "Resource", Resource: &autoscalingv2.ResourceMetricSource{
			Name: of, Target: autoscalingv2.MetricTarget{Type: "Utilization", AverageUtilization: &percent}}}
	}
	both := &api.AutoscalingSpec{MaxReplicas: 9, TargetCPUUtilization: new(int32(70)), TargetMemoryUtilization: new(int32(80))}
	memory := &api.AutoscalingSpec{MaxReplicas: 9, TargetMemoryUtilization: new(int32(80))}
	drifted := childOf(service(), &autoscalingv2.HorizontalPodAutoscaler{Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 1}})
	foreign := childOf(stranger(), &autoscalingv2.HorizontalPodAutoscaler{Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 1}})
	down := interceptor.Funcs{
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			return errors.New("refused")
		},
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			return errors.New("refused")
		},
	}
	for _, tt := range []struct {
		name    string
		spec    *api.AutoscalingSpec
		there   *autoscalingv2.HorizontalPodAutoscaler
		hooks   interceptor.Funcs
		reason  string
		fails   bool
		max     int32 // of the autoscaler afterwards; 0: there is none
		metrics []autoscalingv2.MetricSpec
	}{
		{name: "created", spec: both, reason: api.ReasonHPAReady, max: 9, metrics: []autoscalingv2.MetricSpec{utilization("cpu", 70), utilization("memory", 80)}},
		{name: "one target", spec: memory, reason: api.ReasonHPAReady, max: 9, metrics: []autoscalingv2.MetricSpec{utilization("memory", 80)}},
		{name: "repaired", spec: memory, there: drifted, reason: api.ReasonHPAReady, max: 9, metrics: []autoscalingv2.MetricSpec{utilization("memory", 80)}},
		{name: "foreign", spec: memory, there: foreign, fails: true, max: 1},
		{name: "removed", there: drifted, reason: api.ReasonHPANotRequired},
		{name: "never requested", reason: api.ReasonHPANotRequired},
		{name: "not requested, but there is a foreign one", there: foreign, reason: api.ReasonHPANotRequired, max: 1},
		{name: "API server down", spec: memory, hooks: down, fails: true},
		{name: "API server down at the end", there: drifted, hooks: down, fails: true, max: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var objects []client.Object
			if tt.there != nil {
				objects = append(objects, tt.there.DeepCopy())
			}
			c := world(t, tt.hooks, objects...)
			got := EnsureAutoscaler(t.Context(), c, service(), Autoscaler{Instance: instance, Spec: tt.spec, MinPods: 2})
			if got.Reason() != tt.reason || (got.Err() != nil) != tt.fails {
				t.Errorf("outcome = %q, err %v", got.Reason(), got.Err())
			}
			live := &autoscalingv2.HorizontalPodAutoscaler{}
			if err := c.Reader.Get(t.Context(), client.ObjectKeyFromObject(service()), live); client.IgnoreNotFound(err) != nil || apierrors.IsNotFound(err) != (tt.max == 0) {
				t.Fatal(err)
			}
			if live.Spec.MaxReplicas != tt.max || cmp.Diff(tt.metrics, live.Spec.Metrics) != "" {
				t.Errorf("autoscaler = %+v", live.Spec)
			}
			target := autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "one"}
			if tt.max == 9 && (live.Spec.ScaleTargetRef != target || *live.Spec.MinReplicas != 2) {
				t.Errorf("autoscaler = %+v", live.Spec)
			}
		})
	}
}
