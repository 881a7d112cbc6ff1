// SPDX-License-Identifier: Apache-2.0

package clusters

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

var errBroken = errors.New("the provider is not started")

func TestResolveFails(t *testing.T) {
	t.Parallel()
	provider := fakeProvider{"engaged": newCluster()}
	tests := map[string]struct {
		options Options
		name    string
		want    []string
		unknown bool
	}{
		"feature switched off": {Options{Provider: provider}, "engaged", []string{`"engaged"`, "--clusters-namespace"}, true},
		"no provider":          {Options{Namespace: "regs"}, "engaged", []string{"regs/engaged", LabelRegistration}, true},
		"not registered":       {Options{Namespace: "regs", Provider: provider}, "other", []string{"regs/other", "key kubeconfig"}, true},
		"provider fails":       {Options{Namespace: "regs", Provider: provider}, "broken", []string{`"broken"`, errBroken.Error()}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := NewResolver(target.Cluster{}, tt.options).Resolve(t.Context(), tt.name)
			if err == nil {
				t.Fatal("it resolves")
			}
			if unknown := new(target.UnknownError); errors.As(err, &unknown) != tt.unknown {
				t.Errorf("%v: counts as unknown: %v, want %v", err, !tt.unknown, tt.unknown)
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not mention %s", err, part)
				}
			}
		})
	}
}

func TestResolveLocal(t *testing.T) {
	t.Parallel()
	local := target.Cluster{Client: fake.NewFakeClient()}
	got, err := NewResolver(local, Options{}).Resolve(t.Context(), "")
	if err != nil || got.Client != local.Client || got.Remote() {
		t.Errorf("got %+v, %v; want the management cluster", got, err)
	}
}

func TestResolveRemote(t *testing.T) {
	t.Parallel()
	first, second := newCluster(), newCluster()
	provider := fakeProvider{"east": first}
	asked := 0
	r := NewResolver(target.Cluster{}, Options{Namespace: "regs", Provider: provider,
		Secrets: func(cluster.Cluster) target.SecretReader { asked++; return fakeSecrets{} }})

	east := resolve(t, r)
	if !east.Remote() || east.Client != first.client || east.Reader != first.live || east.Secrets != target.SecretReader(fakeSecrets{}) {
		t.Errorf("got %+v, want the cached and the live reader of the provider's cluster", east)
	}
	if again := resolve(t, r); again.Writer != east.Writer || asked != 1 {
		t.Error("the writer of an unchanged cluster lost its memory")
	}
	provider["east"] = second
	if rotated := resolve(t, r); rotated.Client != second.client || rotated.Writer == east.Writer {
		t.Error("a rotated registration is not used")
	}
	delete(provider, "east")
	if _, err := r.Resolve(t.Context(), "east"); err == nil {
		t.Error("a withdrawn registration is still honoured")
	}
	provider["east"] = second
	if resolve(t, r).Client != second.client {
		t.Error("a cluster that is registered again is not found")
	}
}

func TestRemoteChildrenCarryLabels(t *testing.T) {
	t.Parallel()
	provider := fakeProvider{"east": newCluster()}
	east := resolve(t, NewResolver(target.Cluster{}, Options{Namespace: "regs", Provider: provider}))
	owner := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "keys", Name: "owner", UID: "1"}}
	child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "keys", Name: "child"}}
	if err := east.Writer.Create(t.Context(), owner, child); err != nil {
		t.Fatal(err)
	}
	if len(child.OwnerReferences) > 0 || child.Labels[apply.LabelOwnerName] != "owner" {
		t.Errorf("got owner references %v and labels %v, want labels alone", child.OwnerReferences, child.Labels)
	}
}

func resolve(t *testing.T, r *Resolver) target.Cluster {
	t.Helper()
	c, err := r.Resolve(t.Context(), "east")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

type fakeProvider map[multicluster.ClusterName]cluster.Cluster

func (p fakeProvider) Get(_ context.Context, name multicluster.ClusterName) (cluster.Cluster, error) {
	switch c, ok := p[name]; {
	case name == "broken":
		return nil, errBroken
	case !ok:
		return nil, multicluster.ErrClusterNotFound
	default:
		return c, nil
	}
}

type fakeCluster struct {
	cluster.Cluster
	client client.Client
	live   client.Reader
}

func newCluster() *fakeCluster {
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).Build()
	return &fakeCluster{client: c, live: &liveReader{c}}
}

func (c *fakeCluster) GetClient() client.Client    { return c.client }
func (c *fakeCluster) GetAPIReader() client.Reader { return c.live }

type liveReader struct{ client.Reader }

type fakeSecrets struct{}

func (fakeSecrets) Get(context.Context, types.NamespacedName) (*corev1.Secret, error) {
	return nil, errBroken
}
