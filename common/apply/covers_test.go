// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/kubetest"
)

// What the API server makes of a child covers it, and no edit of anything it says does.
func TestCoversTellsDriftFromDefaults(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	namespace := kubetest.NewNamespace(t, c)
	for kind, build := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			live, desired := build(), build()
			live.SetNamespace(namespace)
			if err := c.Create(t.Context(), live); err != nil {
				t.Fatal(err)
			}
			if !covers(live, desired) || !coversMeta(live, desired) {
				t.Fatalf("server defaults count as drift: %+v", live)
			}
			if kind != "Job" && len(edits(desired)) == 0 {
				t.Fatal("no edits found")
			}
			for _, e := range edits(desired) {
				drifted := live.DeepCopyObject().(client.Object)
				e.apply(drifted)
				if covers(drifted, desired) {
					t.Errorf("the edit of %s is not seen", e.path)
				}
			}
		})
	}
}

func TestCovers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		edit func(*appsv1.Deployment)
		want bool
	}{
		{"same", func(*appsv1.Deployment) {}, true},
		{"other spelling of a quantity", func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].Resources.Limits[corev1.ResourceCPU] = resource.MustParse("500m")
		}, true},
		{"status", func(d *appsv1.Deployment) { d.Status.Replicas = 7 }, true},
		{"scalar that nobody asked for", func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = new(int32(3)) }, true},
		{"scalar in a list entry that nobody asked for", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].ImagePullPolicy = "Always" }, true},
		{"annotation of the template", func(d *appsv1.Deployment) { d.Spec.Template.Annotations["restartedAt"] = "now" }, true},
		{"lost annotation of the template", func(d *appsv1.Deployment) { delete(d.Spec.Template.Annotations, "example.com/config-hash") }, false},
		{"one container more", func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: "sidecar"})
		}, false},
		{"selector narrowed", func(d *appsv1.Deployment) {
			d.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpExists}}
		}, false},
		{"empty value filled", func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].Env[2].ValueFrom = &corev1.EnvVarSource{}
		}, false},
		{"zero of an integer or string", func(d *appsv1.Deployment) { *d.Spec.Strategy.RollingUpdate.MaxUnavailable = intstr.FromString("0") }, false},
		{"false to true", func(d *appsv1.Deployment) { *d.Spec.Template.Spec.EnableServiceLinks = true }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			live := deployment()
			tt.edit(live)
			if got := covers(live, deployment()); got != tt.want {
				t.Errorf("covers() = %v, want %v", got, tt.want)
			}
		})
	}
}

// A policy belongs to us whole: what is added to it narrows or widens it.
func TestCoversSeesAdditionsToPolicies(t *testing.T) {
	t.Parallel()
	desired := &networkingv1.NetworkPolicy{Spec: networkingv1.NetworkPolicySpec{
		Ingress: []networkingv1.NetworkPolicyIngressRule{{}},
		Egress:  []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{}}}}},
	}}
	for name, edit := range map[string]func(*networkingv1.NetworkPolicySpec){
		"pods of an all-pods policy": func(s *networkingv1.NetworkPolicySpec) { s.PodSelector.MatchLabels = labels() },
		"ports of an open rule": func(s *networkingv1.NetworkPolicySpec) {
			s.Ingress[0].Ports = make([]networkingv1.NetworkPolicyPort, 1)
		},
		"peers of an open rule":    func(s *networkingv1.NetworkPolicySpec) { s.Ingress[0].From = make([]networkingv1.NetworkPolicyPeer, 1) },
		"pods of a namespace peer": func(s *networkingv1.NetworkPolicySpec) { s.Egress[0].To[0].PodSelector = &metav1.LabelSelector{} },
		"labels of any namespace":  func(s *networkingv1.NetworkPolicySpec) { s.Egress[0].To[0].NamespaceSelector.MatchLabels = labels() },
		"another rule": func(s *networkingv1.NetworkPolicySpec) {
			s.Egress = append(s.Egress, networkingv1.NetworkPolicyEgressRule{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := desired.DeepCopy()
			edit(&live.Spec)
			if covers(live, desired) {
				t.Error("the addition is not seen")
			}
		})
	}
}

func TestCoversIntegerOrString(t *testing.T) {
	t.Parallel()
	budget := func(v intstr.IntOrString) *policyv1.PodDisruptionBudget {
		return &policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &v}}
	}
	values := []intstr.IntOrString{intstr.FromInt32(0), intstr.FromInt32(1), intstr.FromString("0"), intstr.FromString("25%")}
	for i, live := range values {
		for j, desired := range values {
			if got := covers(budget(live), budget(desired)); got != (i == j) {
				t.Errorf("%v covers %v: %v", &live, &desired, got)
			}
		}
	}
}
