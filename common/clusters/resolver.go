// SPDX-License-Identifier: Apache-2.0

// Package clusters finds the clusters that children are placed on among those that a multicluster provider has engaged.
package clusters

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

// LabelRegistration marks, with the value "true", the Secrets that register a target cluster.
const LabelRegistration = "sigs.k8s.io/multicluster-runtime-kubeconfig"

// Provider knows the engaged clusters; every multicluster.Provider is one. For any other name it answers
// multicluster.ErrClusterNotFound.
type Provider interface {
	Get(ctx context.Context, name multicluster.ClusterName) (cluster.Cluster, error)
}

// Options of a Resolver.
type Options struct {
	// Namespace of the registration Secrets; empty switches target clusters off.
	Namespace string
	// Provider of the target clusters; nil knows none.
	Provider Provider
	// Secrets returns the reader of a target cluster's Secrets. May be nil.
	Secrets func(cluster.Cluster) target.SecretReader
}

// Resolver finds the management cluster under the empty name and target clusters under the names of their registrations.
type Resolver struct {
	local   target.Cluster
	options Options

	mu      sync.Mutex
	engaged map[string]engaged
}

var _ target.Resolver = (*Resolver)(nil)

// engaged keeps what has a memory, the writer above all, for as long as a cluster is the same.
type engaged struct {
	cluster cluster.Cluster
	target  target.Cluster
}

// NewResolver returns a Resolver whose management cluster is local.
func NewResolver(local target.Cluster, o Options) *Resolver {
	return &Resolver{local: local, options: o, engaged: map[string]engaged{}}
}

// Resolve implements target.Resolver.
func (r *Resolver) Resolve(ctx context.Context, name string) (target.Cluster, error) {
	switch {
	case name == "":
		return r.local, nil
	case r.options.Namespace == "":
		return target.Cluster{}, &target.UnknownError{
			Name: name, Reason: "target clusters are switched off, the operator runs with an empty --clusters-namespace",
		}
	case r.options.Provider == nil:
		return target.Cluster{}, r.unknown(name)
	}
	found, err := r.options.Provider.Get(ctx, multicluster.ClusterName(name))
	if errors.Is(err, multicluster.ErrClusterNotFound) {
		r.forget(name)
		return target.Cluster{}, r.unknown(name)
	}
	if err != nil {
		return target.Cluster{}, fmt.Errorf("looking up target cluster %q: %w", name, err)
	}
	return r.remote(name, found), nil
}

func (r *Resolver) unknown(name string) error {
	return &target.UnknownError{Name: name, Reason: fmt.Sprintf(
		"no cluster is registered under this name; register it with the Secret %s/%s, which has the label %s=true and a kubeconfig "+
			"under the key kubeconfig", r.options.Namespace, name, LabelRegistration)}
}

func (r *Resolver) remote(name string, found cluster.Cluster) target.Cluster {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.engaged[name]; ok && known.cluster == found {
		return known.target
	}
	c, live := found.GetClient(), found.GetAPIReader()
	remote := target.Cluster{Name: name, Client: c, Reader: live, Writer: apply.NewRemoteWriter(c, live)}
	if r.options.Secrets != nil {
		remote.Secrets = r.options.Secrets(found)
	}
	r.engaged[name] = engaged{cluster: found, target: remote}
	return remote
}

func (r *Resolver) forget(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.engaged, name)
}
