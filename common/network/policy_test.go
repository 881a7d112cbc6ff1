// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/apply"
)

func restricted() *api.NetworkPolicySpec {
	return &api.NetworkPolicySpec{Ingress: []api.IngressSource{
		{NamespaceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}},
		{NamespaceSelector: metav1.LabelSelector{}, PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "client"}}},
	}}
}

func policy() Policy {
	return Policy{
		Instance: instance, Spec: restricted(), Port: 9311, Gateway: &api.GatewaySpec{}, OperatorNamespace: "operators",
		Egress: [][]int32{{3306}, nil, {11211, 11212}},
	}
}

func tcp(ports ...int32) []networkingv1.NetworkPolicyPort {
	var out []networkingv1.NetworkPolicyPort
	for _, p := range ports {
		out = append(out, networkingv1.NetworkPolicyPort{Protocol: new(corev1.ProtocolTCP), Port: new(intstr.FromInt32(p))})
	}
	return out
}

func namespaced(name string) networkingv1.NetworkPolicyPeer {
	return networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": name}}}
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	p := policy()
	extra := networkingv1.NetworkPolicyEgressRule{Ports: tcp(443), To: []networkingv1.NetworkPolicyPeer{namespaced("elsewhere")}}
	p.Spec.AdditionalEgress = []networkingv1.NetworkPolicyEgressRule{extra}
	dns := append([]networkingv1.NetworkPolicyPort{{Protocol: new(corev1.ProtocolUDP), Port: new(intstr.FromInt32(53))}}, tcp(53)...)
	want := networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": "svc", "app.kubernetes.io/instance": "one"}},
		PolicyTypes: []networkingv1.PolicyType{"Ingress", "Egress"},
		Ingress: []networkingv1.NetworkPolicyIngressRule{{
			Ports: tcp(9311),
			From: []networkingv1.NetworkPolicyPeer{
				{NamespaceSelector: &p.Spec.Ingress[0].NamespaceSelector},
				{NamespaceSelector: &p.Spec.Ingress[1].NamespaceSelector, PodSelector: p.Spec.Ingress[1].PodSelector},
				namespaced("ns"), namespaced("operators"),
			},
		}},
		Egress: []networkingv1.NetworkPolicyEgressRule{{Ports: dns}, {Ports: tcp(3306)}, {Ports: tcp(11211, 11212)}, extra},
	}
	if diff := cmp.Diff(want, p.desired(service()).Spec); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPolicySources(t *testing.T) {
	t.Parallel()
	elsewhere := &api.GatewaySpec{ParentRef: api.GatewayParentRef{Namespace: "gateways"}}
	for name, tt := range map[string]struct {
		gateway  *api.GatewaySpec
		operator string
		want     []networkingv1.NetworkPolicyPeer
	}{
		"users alone":                       {nil, "", nil},
		"a gateway of the same namespace":   {&api.GatewaySpec{}, "", []networkingv1.NetworkPolicyPeer{namespaced("ns")}},
		"a gateway elsewhere, the operator": {elsewhere, "op", []networkingv1.NetworkPolicyPeer{namespaced("gateways"), namespaced("op")}},
	} {
		p := policy()
		p.Gateway, p.OperatorNamespace = tt.gateway, tt.operator
		got := p.sources(service())[len(p.Spec.Ingress):]
		if len(got) != len(tt.want) || (len(got) > 0 && cmp.Diff(tt.want, got) != "") {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestEnsurePolicy(t *testing.T) {
	t.Parallel()
	closed := policy()
	closed.Spec = &api.NetworkPolicySpec{}
	unrestricted := policy()
	unrestricted.Spec = nil
	drifted := ownedBy(service(), &networkingv1.NetworkPolicy{Spec: networkingv1.NetworkPolicySpec{
		PolicyTypes: []networkingv1.PolicyType{"Ingress"}, Ingress: []networkingv1.NetworkPolicyIngressRule{{}},
	}})
	foreign := ownedBy(stranger(), &networkingv1.NetworkPolicy{Spec: networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{"Ingress"}}})
	down := errors.New("connection refused")
	for _, tt := range []struct {
		name    string
		policy  Policy
		there   *networkingv1.NetworkPolicy
		hooks   interceptor.Funcs
		reason  string
		fails   bool
		foreign bool
		left    string // of the policy afterwards: ours, as it was, or nothing
	}{
		{name: "created", policy: policy(), reason: api.ReasonNetworkPolicyReady, left: "ours"},
		{name: "repaired", policy: policy(), there: drifted, reason: api.ReasonNetworkPolicyReady, left: "ours"},
		{name: "foreign", policy: policy(), there: foreign, fails: true, foreign: true, left: "as it was"},
		{name: "nobody may come in", policy: closed, there: drifted, fails: true, left: "as it was"},
		{name: "nobody may come in, at first", policy: closed, fails: true},
		{name: "no longer requested", policy: unrestricted, there: drifted, reason: api.ReasonNetworkPolicyNotRequired},
		{name: "never requested", policy: unrestricted, reason: api.ReasonNetworkPolicyNotRequired},
		{name: "not requested, but there is a foreign one", policy: unrestricted, there: foreign, reason: api.ReasonNetworkPolicyNotRequired, left: "as it was"},
		{name: "API server down", policy: policy(), fails: true, hooks: interceptor.Funcs{Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			return down
		}}},
		{name: "API server down at the end", policy: unrestricted, there: drifted, fails: true, left: "as it was", hooks: interceptor.Funcs{Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return down }}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var objects []client.Object
			if tt.there != nil {
				objects = append(objects, tt.there.DeepCopy())
			}
			c := world(t, tt.hooks, objects...)
			got := EnsurePolicy(t.Context(), c, service(), tt.policy)
			expect(t, got, tt.reason, tt.fails)
			if apply.IsForeign(got.Err()) != tt.foreign {
				t.Errorf("error = %v", got.Err())
			}
			live := &networkingv1.NetworkPolicy{}
			err := c.Reader.Get(t.Context(), client.ObjectKeyFromObject(service()), live)
			state := ""
			switch {
			case err != nil:
			case cmp.Diff(policy().desired(service()).Spec, live.Spec) == "":
				state = "ours"
			case tt.there != nil && cmp.Diff(tt.there.Spec, live.Spec) == "":
				state = "as it was"
			default:
				state = "neither"
			}
			if state != tt.left {
				t.Errorf("the policy is %q, want %q: %+v", state, tt.left, live.Spec)
			}
		})
	}
}
