// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/naming"
	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

const dnsPort int32 = 53

// Policy is a NetworkPolicy for all pods of one instance. Everything that is not named is denied, both ways.
type Policy struct {
	Instance naming.Instance
	Spec     *api.NetworkPolicySpec // nil: no policy
	Port     int32                  // that the instance serves

	Gateway           *api.GatewaySpec // its namespace may come in; nil: none
	OperatorNamespace string           // may come in; empty: unknown

	// Egress are further TCP ports, one list a rule; an empty list adds no rule, since without ports it would allow all.
	Egress [][]int32
}

// EnsurePolicy brings the NetworkPolicy of owner into place, or removes it.
func EnsurePolicy(ctx context.Context, c target.Cluster, owner client.Object, p Policy) reconcile.Outcome {
	if p.Spec == nil {
		child := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: owner.GetNamespace(), Name: owner.GetName()}}
		if _, err := c.Writer.Delete(ctx, owner, child); err != nil {
			return reconcile.Error(err)
		}
		return reconcile.Ready(api.ReasonNetworkPolicyNotRequired, "No NetworkPolicy is requested")
	}
	if len(p.Spec.Ingress) == 0 {
		return reconcile.Error(errors.New("spec.networkPolicy.ingress is empty: nobody could reach the API; name at least one source"))
	}
	if err := c.Writer.Apply(ctx, owner, p.desired(owner)); err != nil {
		return reconcile.Error(err)
	}
	return reconcile.Ready(api.ReasonNetworkPolicyReady, "The NetworkPolicy is in place")
}

func (p Policy) desired(owner client.Object) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: owner.GetNamespace(), Name: owner.GetName(), Labels: p.Instance.Labels()},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: p.Instance.Selector()},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{
				From: p.sources(owner), Ports: []networkingv1.NetworkPolicyPort{port(corev1.ProtocolTCP, p.Port)},
			}},
			Egress: p.egress(),
		},
	}
}

// sources are those of the spec, then the gateway's namespace, then the operator's.
func (p Policy) sources(owner client.Object) []networkingv1.NetworkPolicyPeer {
	peers := make([]networkingv1.NetworkPolicyPeer, 0, len(p.Spec.Ingress)+2)
	for i := range p.Spec.Ingress {
		source := &p.Spec.Ingress[i]
		peers = append(peers, networkingv1.NetworkPolicyPeer{NamespaceSelector: &source.NamespaceSelector, PodSelector: source.PodSelector})
	}
	if p.Gateway != nil {
		namespace := p.Gateway.ParentRef.Namespace
		if namespace == "" {
			namespace = owner.GetNamespace()
		}
		peers = append(peers, namespacePeer(namespace))
	}
	if p.OperatorNamespace != "" {
		peers = append(peers, namespacePeer(p.OperatorNamespace))
	}
	return peers
}

func namespacePeer(name string) networkingv1.NetworkPolicyPeer {
	return networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{
		MatchLabels: map[string]string{corev1.LabelMetadataName: name},
	}}
}

func (p Policy) egress() []networkingv1.NetworkPolicyEgressRule {
	rules := make([]networkingv1.NetworkPolicyEgressRule, 0, 1+len(p.Egress)+len(p.Spec.AdditionalEgress))
	rules = append(rules, networkingv1.NetworkPolicyEgressRule{
		Ports: []networkingv1.NetworkPolicyPort{port(corev1.ProtocolUDP, dnsPort), port(corev1.ProtocolTCP, dnsPort)},
	})
	for _, ports := range p.Egress {
		if len(ports) == 0 {
			continue
		}
		rule := networkingv1.NetworkPolicyEgressRule{Ports: make([]networkingv1.NetworkPolicyPort, 0, len(ports))}
		for _, number := range ports {
			rule.Ports = append(rule.Ports, port(corev1.ProtocolTCP, number))
		}
		rules = append(rules, rule)
	}
	return append(rules, p.Spec.AdditionalEgress...)
}

func port(protocol corev1.Protocol, number int32) networkingv1.NetworkPolicyPort {
	return networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: new(intstr.FromInt32(number))}
}
