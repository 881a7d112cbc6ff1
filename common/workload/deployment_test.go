// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/naming"
)

func TestDeployment(t *testing.T) {
	t.Parallel()
	selector := map[string]string{"app.kubernetes.io/name": "svc", "app.kubernetes.io/instance": "one"}
	got := deployment(api.DeploymentSpec{}, nil).desired(service())
	if *got.Spec.Replicas != 3 || *got.Spec.Template.Spec.TerminationGracePeriodSeconds != 30 || got.Spec.Template.Spec.PriorityClassName != "" {
		t.Errorf("defaults: %+v", got.Spec)
	}
	if diff := cmp.Diff(selector, got.Spec.Selector.MatchLabels); diff != "" {
		t.Errorf("selector (-want +got):\n%s", diff)
	}
	if got.Labels["app.kubernetes.io/component"] != "api" || got.Labels["app.kubernetes.io/managed-by"] != "svc-operator" {
		t.Errorf("labels = %v", got.Labels)
	}
	if r := got.Spec.Strategy.RollingUpdate; got.Spec.Strategy.Type != "RollingUpdate" || r.MaxUnavailable.IntValue() != 0 || r.MaxSurge.IntValue() != 1 {
		t.Errorf("strategy = %+v", got.Spec.Strategy)
	}
	var keys []string
	for _, c := range got.Spec.Template.Spec.TopologySpreadConstraints {
		keys = append(keys, c.TopologyKey)
		if c.MaxSkew != 1 || c.WhenUnsatisfiable != "ScheduleAnyway" || cmp.Diff(selector, c.LabelSelector.MatchLabels) != "" {
			t.Errorf("spread = %+v", c)
		}
	}
	if strings.Join(keys, " ") != "topology.kubernetes.io/zone kubernetes.io/hostname" {
		t.Errorf("spread over %v", keys)
	}
	recreate := appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	got = deployment(api.DeploymentSpec{
		Replicas: 5, TerminationGracePeriodSeconds: new(int64(60)), Strategy: &recreate, PriorityClassName: new("high"),
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{},
	}, nil).desired(service())
	if pod := got.Spec.Template.Spec; *got.Spec.Replicas != 5 || *pod.TerminationGracePeriodSeconds != 60 || got.Spec.Strategy != recreate ||
		pod.PriorityClassName != "high" || len(pod.TopologySpreadConstraints) != 0 {
		t.Errorf("as asked for: %+v", got.Spec)
	}
}

func TestPreStop(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[int64]string{0: "/bin/sh -c sleep 0", 5: "/bin/sh -c sleep 5"} {
		if got := strings.Join(PreStop(seconds).PreStop.Exec.Command, " "); got != want {
			t.Errorf("PreStop(%d) = %q", seconds, got)
		}
	}
}

// size is what Deployments are applied with and what they have afterwards.
func size(t *testing.T, c func() (*appsv1.Deployment, error)) int32 {
	t.Helper()
	d, err := c()
	if err != nil || d == nil {
		t.Fatalf("EnsureDeployment() = %v, %v", d, err)
	}
	if d.Spec.Replicas == nil {
		t.Fatal("the Deployment has no size: the API server would make it 1")
	}
	return *d.Spec.Replicas
}

func TestTheSizeOfADeployment(t *testing.T) {
	t.Parallel()
	spec := api.DeploymentSpec{Replicas: 3}
	scaling := &api.AutoscalingSpec{MinReplicas: new(int32(2)), MaxReplicas: 10}
	t.Run("is kept when somebody changes it", func(t *testing.T) {
		t.Parallel()
		c := world(t, interceptor.Funcs{})
		ensure := func() (*appsv1.Deployment, error) {
			return EnsureDeployment(t.Context(), c, service(), deployment(spec, nil))
		}
		if got := size(t, ensure); got != 3 {
			t.Errorf("created with %d", got)
		}
		scale(t, c.Client, 7)
		if got := size(t, ensure); got != 3 {
			t.Errorf("drift to %d stays", got)
		}
	})
	t.Run("is the autoscaler's, who takes over at the present one", func(t *testing.T) {
		t.Parallel()
		c := world(t, interceptor.Funcs{})
		with := func() (*appsv1.Deployment, error) {
			return EnsureDeployment(t.Context(), c, service(), deployment(spec, scaling))
		}
		without := func() (*appsv1.Deployment, error) {
			return EnsureDeployment(t.Context(), c, service(), deployment(spec, nil))
		}
		size(t, without)
		for pass := range 3 {
			if got := size(t, with); got != 3 {
				t.Fatalf("pass %d after the hand-over: %d", pass, got)
			}
		}
		scale(t, c.Client, 8)
		other := deployment(spec, scaling)
		other.Template.Spec.Containers[0].Image = "newer"
		if got := size(t, func() (*appsv1.Deployment, error) { return EnsureDeployment(t.Context(), c, service(), other) }); got != 8 {
			t.Errorf("a new template scales to %d", got)
		}
		if got := size(t, without); got != 3 {
			t.Errorf("without the autoscaler: %d", got)
		}
		if got := size(t, with); got != 3 {
			t.Errorf("with the autoscaler again: %d", got)
		}
	})
	for name, tt := range map[string]struct {
		replicas int32
		scaling  api.AutoscalingSpec
		want     int32
	}{
		"starts as asked for":          {3, api.AutoscalingSpec{MaxReplicas: 10}, 3},
		"starts within the maximum":    {9, api.AutoscalingSpec{MinReplicas: new(int32(2)), MaxReplicas: 5}, 5},
		"starts at least at a minimum": {1, api.AutoscalingSpec{MinReplicas: new(int32(2)), MaxReplicas: 5}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := world(t, interceptor.Funcs{})
			ensure := func() (*appsv1.Deployment, error) {
				return EnsureDeployment(t.Context(), c, service(), deployment(api.DeploymentSpec{Replicas: tt.replicas}, &tt.scaling))
			}
			for range 3 {
				if got := size(t, ensure); got != tt.want {
					t.Errorf("size %d, want %d", got, tt.want)
				}
			}
		})
	}
}

// scale does what an autoscaler does.
func scale(t *testing.T, c client.Client, to int32) {
	t.Helper()
	d := &appsv1.Deployment{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(service()), d); err != nil {
		t.Fatal(err)
	}
	d.Spec.Replicas = &to
	if err := c.Update(t.Context(), d, client.FieldOwner("kube-controller-manager")); err != nil {
		t.Fatal(err)
	}
}

func TestTheHandOverDoesNotOverwriteANewerSize(t *testing.T) {
	t.Parallel()
	spec, scaling := api.DeploymentSpec{Replicas: 3}, &api.AutoscalingSpec{MaxReplicas: 10}
	c := world(t, interceptor.Funcs{})
	if _, err := EnsureDeployment(t.Context(), c, service(), deployment(spec, nil)); err != nil {
		t.Fatal(err)
	}
	behind := get(t, c, &appsv1.Deployment{})
	scale(t, c.Client, 6)
	c.Reader = interceptor.NewClient(c.Reader.(client.WithWatch), interceptor.Funcs{Get: func(
		_ context.Context, _ client.WithWatch, _ client.ObjectKey, obj client.Object, _ ...client.GetOption,
	) error {
		behind.DeepCopyInto(obj.(*appsv1.Deployment)) // as it was before the autoscaler came in between
		return nil
	}})
	if _, err := EnsureDeployment(t.Context(), c, service(), deployment(spec, scaling)); !apierrors.IsConflict(err) {
		t.Errorf("EnsureDeployment() = %v, want a conflict", err)
	}
	live := &appsv1.Deployment{}
	if err := c.Client.Get(t.Context(), client.ObjectKeyFromObject(service()), live); err != nil || *live.Spec.Replicas != 6 {
		t.Errorf("the autoscaler's size became %v, %v", live.Spec.Replicas, err)
	}
}

func TestAnotherSelectorMakesTheDeploymentAnew(t *testing.T) {
	t.Parallel()
	old := childOf(service(), deployment(api.DeploymentSpec{}, nil).desired(service()))
	old.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "svc"}}
	c := world(t, interceptor.Funcs{}, old)
	d, err := EnsureDeployment(t.Context(), c, service(), deployment(api.DeploymentSpec{}, nil))
	if d != nil || err != nil {
		t.Fatalf("EnsureDeployment() = %v, %v", d, err)
	}
	if o := Rollout(d); o.Reason() != api.ReasonWaitingForDeployment || o.Stops() || o.ComesBack() != RolloutRetry {
		t.Errorf("outcome = %+v", o)
	}
	if d, err = EnsureDeployment(t.Context(), c, service(), deployment(api.DeploymentSpec{}, nil)); err != nil || len(d.Spec.Selector.MatchLabels) != 2 {
		t.Errorf("EnsureDeployment() = %v, %v", d, err)
	}
}

func TestAForeignDeploymentIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, theirs := range map[string]*appsv1.Deployment{
		"of another owner": childOf(stranger(), &appsv1.Deployment{}), "of nobody": {ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "one"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			theirs.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "theirs"}}
			c := world(t, interceptor.Funcs{}, theirs)
			if _, err := EnsureDeployment(t.Context(), c, service(), deployment(api.DeploymentSpec{}, &api.AutoscalingSpec{MaxReplicas: 4})); !apply.IsForeign(err) {
				t.Errorf("EnsureDeployment() = %v", err)
			}
			if live := get(t, c, &appsv1.Deployment{}); live.Spec.Selector.MatchLabels["app"] != "theirs" || live.Spec.Replicas != nil {
				t.Errorf("the foreign Deployment is %+v", live.Spec)
			}
		})
	}
}

func TestEnsureDeploymentPassesErrorsOn(t *testing.T) {
	t.Parallel()
	down := errors.New("connection refused")
	c := world(t, interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return down
	}})
	if _, err := EnsureDeployment(t.Context(), c, service(), deployment(api.DeploymentSpec{}, nil)); !errors.Is(err, down) {
		t.Errorf("EnsureDeployment() = %v", err)
	}
}

func TestRollout(t *testing.T) {
	t.Parallel()
	rolledOut := func(change func(*appsv1.Deployment)) *appsv1.Deployment {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 4}, Spec: appsv1.DeploymentSpec{Replicas: new(int32(3))}}
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: 4, Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 3, Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentProgressing, Status: "True", Reason: "NewReplicaSetAvailable"}, {Type: appsv1.DeploymentAvailable, Status: "True"},
		}}
		change(d)
		return d
	}
	for _, tt := range []struct {
		name   string
		change func(*appsv1.Deployment)
		says   string // empty: ready
	}{
		{"rolled out", func(*appsv1.Deployment) {}, ""},
		{"spec not seen yet", func(d *appsv1.Deployment) { d.Generation = 5 }, "Waiting"},
		{"old pods serve", func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 2 }, "Waiting"},
		{"an old pod is left", func(d *appsv1.Deployment) { d.Status.Replicas = 4 }, "Waiting"},
		{"a pod is not ready", func(d *appsv1.Deployment) { d.Status.ReadyReplicas = 2 }, "Waiting"},
		{"scaling up", func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(5)) }, "Waiting"},
		{"not available", func(d *appsv1.Deployment) { d.Status.Conditions[1].Status = "False" }, "Waiting"},
		{"nothing known", func(d *appsv1.Deployment) { d.Status = appsv1.DeploymentStatus{} }, "Waiting"},
		{"no conditions", func(d *appsv1.Deployment) { d.Status.Conditions = nil }, "Waiting"},
		{"deadline exceeded", func(d *appsv1.Deployment) {
			d.Status.Conditions[0] = appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: "False", Reason: "ProgressDeadlineExceeded", Message: `ReplicaSet "one-x" has timed out progressing.`}
		}, `ProgressDeadlineExceeded: ReplicaSet "one-x" has timed out progressing.`},
		{"deadline exceeded by a former spec", func(d *appsv1.Deployment) {
			d.Generation = 5
			d.Status.Conditions[0] = appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: "False", Reason: "ProgressDeadlineExceeded"}
		}, "Waiting"},
		{"over quota", func(d *appsv1.Deployment) {
			d.Status.ReadyReplicas = 0
			d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{Type: appsv1.DeploymentReplicaFailure, Status: "True", Reason: "FailedCreate", Message: "pods one-7f9c-x4k is forbidden, used: 7"})
		}, "Pods cannot be created (FailedCreate)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Rollout(rolledOut(tt.change))
			if tt.says == "" {
				if got.Reason() != api.ReasonDeploymentReady || !got.Done() || got.ComesBack() != 0 {
					t.Errorf("Rollout() = %q", got.Message())
				}
				return
			}
			if got.Reason() != api.ReasonWaitingForDeployment || got.Done() || got.Stops() || got.ComesBack() != RolloutRetry || !strings.Contains(got.Message(), tt.says) {
				t.Errorf("Rollout() = %q %q, want it to say %q and to carry on", got.Reason(), got.Message(), tt.says)
			}
			if strings.Contains(got.Message(), "used: 7") {
				t.Error("the message changes by itself")
			}
		})
	}
}

// The cache keeps nothing but the metadata of a Deployment without our label.
func TestADeploymentThatLostItsLabelIsMendedInPlace(t *testing.T) {
	t.Parallel()
	for name, scaling := range map[string]*api.AutoscalingSpec{"fixed size": nil, "autoscaled": {MaxReplicas: 4}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stripped := childOf(service(), deployment(api.DeploymentSpec{}, scaling).desired(service()))
			stripped.UID = "uid-deployment"
			delete(stripped.Labels, naming.LabelManagedBy)
			c := world(t, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				err := c.Get(ctx, key, o, opts...)
				if d, ok := o.(*appsv1.Deployment); ok && d.Labels[naming.LabelManagedBy] == "" {
					d.Spec, d.Status = appsv1.DeploymentSpec{}, appsv1.DeploymentStatus{}
				}
				return err
			}}, stripped)
			if _, err := EnsureDeployment(t.Context(), c, service(), deployment(api.DeploymentSpec{}, scaling)); err != nil {
				t.Fatal(err)
			}
			if live := get(t, c, &appsv1.Deployment{}); live.UID != "uid-deployment" || live.Labels[naming.LabelManagedBy] == "" || *live.Spec.Replicas != 3 {
				t.Errorf("the Deployment is %+v", live)
			}
		})
	}
}

func TestADeploymentThatLostItsOwnerKeepsTheSizeThatTheAutoscalerChose(t *testing.T) {
	t.Parallel()
	scaling := &api.AutoscalingSpec{MaxReplicas: 9}
	orphan := childOf(service(), deployment(api.DeploymentSpec{}, scaling).desired(service()))
	orphan.UID, orphan.OwnerReferences = "uid-deployment", nil
	orphan.Annotations = map[string]string{AnnotationScaledBy: "HorizontalPodAutoscaler", apply.AnnotationOwnerUID: "uid-one"}
	orphan.Spec.Replicas = new(int32(7))
	c := world(t, interceptor.Funcs{}, orphan)
	if _, err := EnsureDeployment(t.Context(), c, service(), deployment(api.DeploymentSpec{}, scaling)); err != nil {
		t.Fatal(err)
	}
	if live := get(t, c, &appsv1.Deployment{}); *live.Spec.Replicas != 7 || len(live.OwnerReferences) != 1 {
		t.Errorf("the Deployment is %+v", live)
	}
}
