// SPDX-License-Identifier: Apache-2.0

package api

import (
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// Defaults of a memcached.
const (
	DefaultCachePort    int32 = 11211
	DefaultCacheBackend       = "dogpile.cache.pymemcache"
)

// CacheSpec points a service at the memcached that its token middleware uses.
// +kubebuilder:validation:XValidation:rule="has(self.clusterRef) != (has(self.servers) && size(self.servers) > 0)",message="exactly one of clusterRef and servers must be set"
// +kubebuilder:validation:XValidation:rule="!has(self.clusterRef) || (has(self.clusterRef.name) && self.clusterRef.name != \"\")",message="clusterRef.name must not be empty"
// +kubebuilder:validation:XValidation:rule="!has(self.clusterRef) || !has(self.clusterRef.name) || !(self.clusterRef.name.contains('\\n') || self.clusterRef.name.contains('\\r'))",message="clusterRef.name must not contain line breaks"
type CacheSpec struct {
	// ClusterRef names a memcached of this namespace by its Service; it is reached
	// at <name>:11211. Exclusive with servers.
	// +optional
	ClusterRef *corev1.LocalObjectReference `json:"clusterRef,omitempty"`

	// Servers lists memcached servers as host:port. Exclusive with clusterRef.
	// Example: ["cache-0.example.org:11211"].
	// +kubebuilder:validation:items:Pattern=`^[^\n\r]*$`
	// +optional
	Servers []string `json:"servers,omitempty"`

	// Backend is the dogpile backend of services that cache through oslo.cache,
	// dogpile.cache.pymemcache when empty. Services that only use memcached for
	// tokens store it and render nothing from it.
	Backend string `json:"backend"`

	// Replicas of the memcached. Honoured only where a control plane creates the
	// memcached itself. Default 3.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
}

// Addresses returns the servers as host:port in the order given; a clusterRef stands for its Service.
func (s CacheSpec) Addresses() []string {
	if s.ClusterRef != nil {
		return []string{net.JoinHostPort(s.ClusterRef.Name, strconv.Itoa(int(DefaultCachePort)))}
	}
	return s.Servers
}
