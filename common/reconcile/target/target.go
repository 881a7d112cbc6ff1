// SPDX-License-Identifier: Apache-2.0

// Package target says on which cluster the children of an object live and how to reach it. It knows the clusters only
// through the Resolver, so that a test or another registry can stand in for the real one.
package target

import (
	"context"
	"fmt"
	"net"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/apply"
)

// Cluster is where the children of an object live and where its inputs are read from.
type Cluster struct {
	Name   string        // empty for the management cluster
	Client client.Client // reads from caches
	Reader client.Reader // reads the API server
	Writer *apply.Writer // writes children
	// Secrets reads whole Secrets; Client would cache all of the cluster's.
	Secrets SecretReader

	// HTTP reaches the cluster's Services; nil stands for the default transport.
	HTTP http.RoundTripper
	// Dial reaches the cluster's Services where TLS must end at the workload; nil stands for the default dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// SecretReader reads a Secret, answering NotFound as the API server does. What it returns is shared: do not change it.
type SecretReader interface {
	Get(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error)
}

// Remote says whether the cluster is another one than the management cluster.
func (c Cluster) Remote() bool { return c.Name != "" }

// Resolver finds a cluster by its name; the empty name is the management cluster. It answers an error that wraps
// UnknownError when no such cluster is registered.
type Resolver interface {
	Resolve(ctx context.Context, name string) (Cluster, error)
}

// UnknownError says that no cluster of that name is registered, or that its registration is refused.
type UnknownError struct {
	Name   string
	Reason string
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("target cluster %q is not available: %s", e.Name, e.Reason)
}

// Local resolves the management cluster and no other.
type Local struct{ Cluster Cluster }

// Resolve implements Resolver.
func (l Local) Resolve(_ context.Context, name string) (Cluster, error) {
	if name != "" {
		return Cluster{}, &UnknownError{Name: name, Reason: "target clusters are switched off"}
	}
	return l.Cluster, nil
}
