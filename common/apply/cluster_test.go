// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/c5c3/cobaltcore/common/kubetest"
)

// cluster is an API server, and what a Writer sees of it: a cache that shows the present unless told otherwise. It counts
// the requests of the Writer, of which reads from the cache are none.
type cluster struct {
	client.WithWatch // what everybody else does
	namespace        string
	owner            *corev1.ConfigMap
	clock            *testclock.FakePassiveClock

	mu       sync.Mutex
	requests []string
	past     map[types.NamespacedName]client.Object // nil: not shown
	fail     map[string]error                       // by verb
}

// apiServers are a fake API server and a real one.
var apiServers = map[string]func(*testing.T) *cluster{
	"fake": func(t *testing.T) *cluster {
		t.Helper()
		return newCluster(t, fake.NewClientBuilder().WithScheme(scheme).Build(), "default")
	},
	"real": newRealCluster,
}

func newRealCluster(t *testing.T) *cluster {
	t.Helper()
	c, err := client.NewWithWatch(env.Agent("apply"), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return newCluster(t, c, kubetest.NewNamespace(t, c))
}

func newCluster(t *testing.T, c client.WithWatch, namespace string) *cluster {
	t.Helper()
	cl := &cluster{
		WithWatch: c, namespace: namespace, clock: testclock.NewFakePassiveClock(time.Unix(0, 0)),
		past: map[types.NamespacedName]client.Object{}, fail: map[string]error{},
	}
	cl.owner = cl.newOwner(t, "owner")
	return cl
}

func (c *cluster) newOwner(t *testing.T, name string) *corev1.ConfigMap {
	t.Helper()
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.namespace, UID: types.UID("uid-of-" + name)}}
	if err := c.Create(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	return owner
}

// writer is a newly started process on the cluster.
func (c *cluster) writer() *Writer {
	w := NewWriter(c.cached(), c.live())
	w.clock = c.clock
	return w
}

func (c *cluster) remoteWriter() *Writer {
	w := NewRemoteWriter(c.cached(), c.live())
	w.clock = c.clock
	return w
}

func (c *cluster) cached() client.Client {
	return interceptor.NewClient(c.WithWatch, interceptor.Funcs{
		Get: func(ctx context.Context, api client.WithWatch, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
			c.mu.Lock()
			past, lags := c.past[key]
			c.mu.Unlock()
			switch {
			case c.fail["read"] != nil:
				return c.fail["read"]
			case lags && past == nil:
				return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
			case lags:
				assign(obj, past.DeepCopyObject().(client.Object))
				return nil
			}
			return api.Get(ctx, key, obj)
		},
		Apply: func(ctx context.Context, api client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return c.request("apply", func() error { return api.Apply(ctx, obj, opts...) })
		},
		Create: func(ctx context.Context, api client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			return c.request("create", func() error { return api.Create(ctx, obj, opts...) })
		},
		Update: func(ctx context.Context, api client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			return c.request("update", func() error { return api.Update(ctx, obj, opts...) })
		},
		Patch: func(ctx context.Context, api client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return c.request("patch", func() error { return api.Patch(ctx, obj, patch, opts...) })
		},
		Delete: func(ctx context.Context, api client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			return c.request("delete", func() error { return api.Delete(ctx, obj, opts...) })
		},
	})
}

func (c *cluster) live() client.Reader {
	return interceptor.NewClient(c.WithWatch, interceptor.Funcs{
		Get: func(ctx context.Context, api client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			return c.request("get", func() error { return api.Get(ctx, key, obj, opts...) })
		},
	})
}

func (c *cluster) request(verb string, send func() error) error {
	c.mu.Lock()
	c.requests = append(c.requests, verb)
	err := c.fail[verb]
	c.mu.Unlock()
	if err != nil {
		return err
	}
	return send()
}

// show makes the cache show an earlier state of the object, or none of it.
func (c *cluster) show(key, past client.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.past[client.ObjectKeyFromObject(key)] = past
}

func (c *cluster) catchUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.past)
}

// sent fails the test unless exactly these requests were sent since the last look.
func (c *cluster) sent(t *testing.T, want ...string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Equal(c.requests, want) {
		t.Fatalf("sent %q, want %q", c.requests, want)
	}
	c.requests = nil
}

func (c *cluster) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.requests)
}

// child builds a child of that kind in the cluster's namespace.
func (c *cluster) child(kind string) client.Object {
	child := kinds[kind]()
	child.SetNamespace(c.namespace)
	return child
}

func (c *cluster) get(t *testing.T, like client.Object) client.Object {
	t.Helper()
	live := blank(like)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(like), live); err != nil {
		t.Fatal(err)
	}
	return live
}

// edit changes the live object as somebody else would.
func (c *cluster) edit(t *testing.T, like client.Object, change func(client.Object)) {
	t.Helper()
	live := c.get(t, like)
	change(live)
	if err := c.Update(t.Context(), live, client.FieldOwner("somebody")); err != nil {
		t.Fatal(err)
	}
}

func mustApply(t *testing.T, w *Writer, owner, desired client.Object) {
	t.Helper()
	if err := w.Apply(t.Context(), owner, desired); err != nil {
		t.Fatal(err)
	}
}
