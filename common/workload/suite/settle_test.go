// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/database"
	"github.com/c5c3/cobaltcore/common/kubetest"
	"github.com/c5c3/cobaltcore/common/naming"
	"github.com/c5c3/cobaltcore/common/network"
	"github.com/c5c3/cobaltcore/common/secrets"
	"github.com/c5c3/cobaltcore/common/workload"
)

// everything is one pass over all building blocks that apply children.
func (p *place) everything(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	spec := api.DatabaseSpec{ClusterRef: &corev1.LocalObjectReference{Name: "db"}, Database: "svc", SecretRef: api.SecretRef{Name: "credentials"}}
	scaling := &api.AutoscalingSpec{MaxReplicas: 9, TargetCPUUtilization: new(int32(70)), TargetMemoryUtilization: new(int32(80))}
	gateway := &api.GatewaySpec{ParentRef: api.GatewayParentRef{Name: "gw"}, Hostname: "svc.example.org", Annotations: map[string]string{"a": "b"}}

	must(t, database.Provision(ctx, p.Cluster, p.service, database.Schema{Spec: spec, Labels: p.instance.Labels(), MaxConnections: 18}))
	digest, o := database.Connect(ctx, p.Cluster, p.service, database.Connection{Spec: spec, Name: "one-db-connection", Labels: p.instance.Labels()})
	if must(t, o); digest == "" {
		t.Fatalf("no connection: %s", o.Message())
	}
	must(t, secrets.Ensure(ctx, p.Cluster, p.service, secrets.Hashed(p.service, "one-config", p.instance.Labels(), map[string][]byte{"f": []byte("x")})))
	d, err := workload.EnsureDeployment(ctx, p.Cluster, p.service, p.deployment(api.DeploymentSpec{}, scaling))
	check(t, err)
	check(t, workload.EnsureService(ctx, p.Cluster, p.service, workload.Service{Instance: p.instance, Component: naming.ComponentAPI, Port: 9311}, d))
	check(t, workload.EnsureDisruptionBudget(ctx, p.Cluster, p.service, p.instance, 3))
	must(t, workload.EnsureAutoscaler(ctx, p.Cluster, p.service, workload.Autoscaler{Instance: p.instance, Spec: scaling, MinPods: 3}))
	must(t, network.EnsureRoute(ctx, p.Cluster, p.service, network.Route{Instance: p.instance, Gateway: gateway, Service: "one", Port: 9311}))
	must(t, network.EnsurePolicy(ctx, p.Cluster, p.service, network.Policy{
		Instance: p.instance, Port: 9311, Gateway: gateway, OperatorNamespace: "operators", Egress: [][]int32{{3306}, {443}},
		Spec: &api.NetworkPolicySpec{Ingress: []api.IngressSource{{NamespaceSelector: metav1.LabelSelector{}}}},
	}))
}

func (p *place) versions(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for name, obj := range map[string]client.Object{
		"Deployment": &appsv1.Deployment{}, "Service": &corev1.Service{}, "PodDisruptionBudget": &policyv1.PodDisruptionBudget{},
		"HorizontalPodAutoscaler": &autoscalingv2.HorizontalPodAutoscaler{}, "NetworkPolicy": &networkingv1.NetworkPolicy{},
		"HTTPRoute": network.RouteObject(), "Database": &database.Database{}, "User": &database.User{}, "Grant": &database.Grant{},
		"connection": &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "one-db-connection"}},
		"config":     secrets.Hashed(p.service, "one-config", nil, map[string][]byte{"f": []byte("x")}),
	} {
		p.get(t, obj)
		found[name] = obj.GetResourceVersion()
	}
	return found
}

func TestEverythingSettlesAndARestartWritesNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "credentials"}, Data: map[string][]byte{"password": []byte("p")}})
	server := &database.MariaDB{ObjectMeta: metav1.ObjectMeta{Name: "db"}}
	p.create(t, server)
	server.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Ready", LastTransitionTime: metav1.Now()}}
	check(t, p.Client.Status().Update(t.Context(), server))

	p.everything(t)
	p.everything(t) // the size is handed to the autoscaler
	settled := p.versions(t)
	p.everything(t)
	if diff := cmp.Diff(settled, p.versions(t)); diff != "" {
		t.Errorf("a converged pass wrote (-before +after):\n%s", diff)
	}
	p.restart()
	p.everything(t)
	if diff := cmp.Diff(settled, p.versions(t)); diff != "" {
		t.Errorf("a restart wrote (-before +after):\n%s", diff)
	}
}

func TestADisruptionBudgetChangesItsKind(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, pods := range []int32{3, 1, 3} {
		check(t, workload.EnsureDisruptionBudget(t.Context(), p.Cluster, p.service, p.instance, pods))
		live := &policyv1.PodDisruptionBudget{}
		p.get(t, live)
		if (live.Spec.MinAvailable != nil) != (pods > 1) || (live.Spec.MaxUnavailable != nil) != (pods == 1) {
			t.Errorf("%d pods: %+v", pods, live.Spec)
		}
	}
}

func TestPodsPassTheRestrictedLevel(t *testing.T) {
	t.Parallel()
	p := newPlace(t, kubetest.Restricted)
	template := p.pod("image")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "ours", Labels: template.Labels}, Spec: template.Spec}
	p.create(t, pod)
	loose := pod.DeepCopy()
	loose.ObjectMeta = metav1.ObjectMeta{Namespace: pod.Namespace, Name: "loose"}
	loose.Spec.Containers[0].SecurityContext = nil
	if err := p.Client.Create(t.Context(), loose); err == nil {
		t.Error("the namespace admits anything: the test proves nothing")
	}
	live := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "ours"}}
	p.get(t, live)
	if live.Spec.AutomountServiceAccountToken == nil || *live.Spec.AutomountServiceAccountToken || len(live.Spec.Volumes) != 3 {
		t.Errorf("the pod got a token: %+v", live.Spec.Volumes)
	}
}

func TestAServiceKeepsItsAddressWhileItsSelectorNarrows(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := workload.Service{Instance: p.instance, Component: naming.ComponentAPI, Port: 9311}
	rolling := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
	rolledOut := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Status: appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 1, UpdatedReplicas: 1}}
	var address string
	for i, step := range []struct {
		deployment *appsv1.Deployment
		selector   map[string]string
	}{{rolling, p.instance.Selector()}, {rolledOut, p.instance.ComponentSelector("api")}, {rolling, p.instance.ComponentSelector("api")}} {
		check(t, workload.EnsureService(t.Context(), p.Cluster, p.service, s, step.deployment))
		live := &corev1.Service{}
		p.get(t, live)
		if i == 0 {
			address = live.Spec.ClusterIP
		}
		if !maps.Equal(live.Spec.Selector, step.selector) || live.Spec.ClusterIP != address || address == "" {
			t.Errorf("step %d: selector %v, address %s, was %s", i, live.Spec.Selector, live.Spec.ClusterIP, address)
		}
	}
}
