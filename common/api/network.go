// SPDX-License-Identifier: Apache-2.0

package api

import (
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GatewaySpec exposes an API through the Gateway API.
type GatewaySpec struct {
	// ParentRef names the Gateway that serves the route.
	ParentRef GatewayParentRef `json:"parentRef"`

	// Hostname the API is reached at from outside, for example
	// barbican.example.org. Links in answers are built from it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:XValidation:rule=`!self.matches('\\p{Cc}')`,message="must not contain control characters"
	Hostname string `json:"hostname"`

	// Path prefix of the API on that host. Default "/"; a missing leading slash is
	// added.
	// +optional
	Path string `json:"path,omitempty"`

	// Annotations for the HTTPRoute.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// GatewayParentRef names a Gateway, or one listener of it.
type GatewayParentRef struct {
	// Name of the Gateway.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// Namespace of the Gateway. Default: the namespace of this object.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// SectionName is the listener of the Gateway to attach to. Default: any that
	// accepts the route.
	// +optional
	SectionName string `json:"sectionName,omitempty"`
}

// EffectivePath returns the path prefix with its leading slash, "/" unless set.
func (s GatewaySpec) EffectivePath() string {
	return "/" + strings.TrimPrefix(s.Path, "/")
}

// NetworkPolicySpec closes the pods of a service to all traffic but what it
// needs and what is listed.
// +kubebuilder:validation:XValidation:rule="size(self.ingress) > 0",message="at least one ingress source must be set"
type NetworkPolicySpec struct {
	// Ingress lists who may reach the API, at least one source. The Gateway's
	// namespace and the operator's are added.
	Ingress []IngressSource `json:"ingress"`

	// AdditionalEgress is appended to the derived rules for DNS, database,
	// Keystone, cache and key store.
	// +optional
	AdditionalEgress []networkingv1.NetworkPolicyEgressRule `json:"additionalEgress,omitempty"`
}

// IngressSource selects pods that may reach an API.
type IngressSource struct {
	// NamespaceSelector selects the namespaces of the clients. An empty selector
	// is every namespace.
	NamespaceSelector metav1.LabelSelector `json:"namespaceSelector"`

	// PodSelector narrows the source to some pods of these namespaces. Default:
	// all of them.
	// +optional
	PodSelector *metav1.LabelSelector `json:"podSelector,omitempty"`
}
