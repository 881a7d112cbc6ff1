// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// cluster has a cache of whole Secrets, one of metadata, and an API server that counts the reads.
type cluster struct {
	*Source
	api, whole client.WithWatch
	metadata   *metadataCache
	clock      *clocktesting.FakePassiveClock
	reads      atomic.Int32
	failure    error         // what the API server answers
	entered    chan struct{} // gets a value when a read reaches the API server
	hold       chan struct{} // what the API server waits for before it answers
}

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	c := &cluster{
		api:      fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).Build(),
		whole:    fake.NewClientBuilder().WithScheme(scheme(t)).Build(),
		metadata: &metadataCache{secrets: map[client.ObjectKey]metav1.ObjectMeta{}},
		entered:  make(chan struct{}, 1),
		clock:    clocktesting.NewFakePassiveClock(time.Unix(1_000_000, 0)),
	}
	counted := interceptor.NewClient(c.api, interceptor.Funcs{Get: func(
		ctx context.Context, next client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption,
	) error {
		c.reads.Add(1)
		select {
		case c.entered <- struct{}{}:
		default:
		}
		if c.hold != nil {
			select {
			case <-c.hold:
			case <-ctx.Done():
			}
		}
		if c.failure != nil {
			return c.failure
		}
		return next.Get(ctx, key, obj, opts...)
	}})
	c.Source = NewSource(c.whole, c.metadata, counted)
	c.Source.clock = c.clock
	c.sync(t)
	return c
}

// sync brings the metadata cache up to date.
func (c *cluster) sync(t *testing.T) {
	t.Helper()
	list := &corev1.SecretList{}
	if err := c.api.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	now := map[client.ObjectKey]metav1.ObjectMeta{}
	for _, s := range list.Items {
		now[client.ObjectKeyFromObject(&s)] = s.ObjectMeta
	}
	c.metadata.replace(now)
}

func (c *cluster) update(t *testing.T, name, value string) {
	t.Helper()
	s := &corev1.Secret{}
	if err := c.api.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: name}, s); err != nil {
		t.Fatal(err)
	}
	s.Data = map[string][]byte{"key": []byte(value)}
	if err := c.api.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

// expect gets a Secret and compares its value and how often the API server was read in all.
func (c *cluster) expect(t *testing.T, name, value string, reads int32) {
	t.Helper()
	s, err := c.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: name})
	if err != nil || string(s.Data["key"]) != value || c.reads.Load() != reads {
		t.Errorf("Get(%s) = %v, %v after %d reads, want %q after %d", name, s, err, c.reads.Load(), value, reads)
	}
}

// metadataCache answers for the metadata of Secrets alone.
type metadataCache struct {
	cache.Cache
	mu       sync.Mutex
	secrets  map[client.ObjectKey]metav1.ObjectMeta
	handlers []toolscache.ResourceEventHandler
}

func (m *metadataCache) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, ok := m.secrets[key]
	if !ok {
		return apierrors.NewNotFound(corev1.Resource("secrets"), key.Name)
	}
	obj.(*metav1.PartialObjectMetadata).ObjectMeta = found
	return nil
}

func (m *metadataCache) replace(now map[client.ObjectKey]metav1.ObjectMeta) {
	m.mu.Lock()
	gone := maps.Clone(m.secrets)
	maps.DeleteFunc(gone, func(key client.ObjectKey, _ metav1.ObjectMeta) bool { _, ok := now[key]; return ok })
	m.secrets = now
	m.mu.Unlock()
	for _, meta := range gone {
		for _, h := range m.handlers {
			h.OnDelete(&metav1.PartialObjectMetadata{ObjectMeta: meta})
		}
	}
}

func (m *metadataCache) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return informer{cache: m}, nil
}

type informer struct {
	cache.Informer
	cache *metadataCache
}

func (i informer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	i.cache.handlers = append(i.cache.handlers, h)
	return nil, nil
}

func keyed(name, value string) *corev1.Secret {
	s := secret(name, map[string][]byte{"key": []byte(value)})
	s.UID, s.Annotations = types.UID("uid-"+name), map[string]string{"last-applied": value}
	return s
}

func TestASecretIsReadOnceForEachVersion(t *testing.T) {
	t.Parallel()
	c := newCluster(t, keyed("a", "1"), keyed("b", "2"))
	c.expect(t, "a", "1", 1)
	c.expect(t, "a", "1", 1)
	c.expect(t, "b", "2", 2)
	c.update(t, "a", "3")
	c.expect(t, "a", "1", 2) // the cache does not know yet
	c.sync(t)
	c.expect(t, "a", "3", 3)
	c.expect(t, "a", "3", 3)
}

func TestAReadAheadOfTheCacheIsNotRepeated(t *testing.T) {
	t.Parallel()
	c := newCluster(t, keyed("a", "1"))
	c.update(t, "a", "2")
	c.expect(t, "a", "2", 1)
	c.expect(t, "a", "2", 1)
	c.sync(t)
	c.expect(t, "a", "2", 1)
}

func TestASecretOfTheSameNameIsAnotherSecret(t *testing.T) {
	t.Parallel()
	c := newCluster(t, keyed("a", "1"))
	c.expect(t, "a", "1", 1)
	renewed := keyed("a", "2")
	renewed.UID = "another"
	if err := errors.Join(c.api.Delete(t.Context(), keyed("a", "")), c.api.Create(t.Context(), renewed)); err != nil {
		t.Fatal(err)
	}
	c.sync(t)
	c.expect(t, "a", "2", 2)
}

func TestOwnSecretsComeFromTheCache(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	if err := c.whole.Create(t.Context(), keyed("own", "1")); err != nil {
		t.Fatal(err)
	}
	c.expect(t, "own", "1", 0)
}

func TestNoDataIsKeptOfWhatIsGone(t *testing.T) {
	t.Parallel()
	c := newCluster(t, keyed("a", "1"))
	if _, err := c.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "missing"}); !apierrors.IsNotFound(err) || c.reads.Load() != 0 {
		t.Errorf("a missing Secret: %v after %d reads", err, c.reads.Load())
	}
	c.expect(t, "a", "1", 1)
	if err := c.api.Delete(t.Context(), keyed("a", "")); err != nil {
		t.Fatal(err)
	}
	c.sync(t)
	if len(c.kept) != 0 {
		t.Errorf("kept %v", c.kept)
	}
	if _, err := c.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "a"}); !apierrors.IsNotFound(err) {
		t.Errorf("a deleted Secret: %v", err)
	}
}

func TestWhatNobodyAsksForIsDropped(t *testing.T) {
	t.Parallel()
	c := newCluster(t, keyed("used", "1"), keyed("idle", "2"))
	c.expect(t, "used", "1", 1)
	c.expect(t, "idle", "2", 2)
	for range 8 {
		c.clock.SetTime(c.clock.Now().Add(idleAfter / 4))
		c.expect(t, "used", "1", 2)
	}
	if len(c.kept) != 1 {
		t.Errorf("kept %d Secrets, want the used one", len(c.kept))
	}
	c.expect(t, "idle", "2", 3)
}

func TestManyWhoAskAtOnceShareOneRead(t *testing.T) {
	t.Parallel()
	c := newCluster(t, keyed("a", "1"))
	c.hold = make(chan struct{})
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			s, err := c.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "a"})
			if err != nil || string(s.Data["key"]) != "1" || s.Annotations != nil {
				t.Errorf("Get() = %v, %v", s, err)
			}
		})
	}
	<-c.entered
	close(c.hold)
	all.Wait()
	if c.reads.Load() != 1 {
		t.Errorf("%d reads, want 1", c.reads.Load())
	}
}

func TestOneWhoGivesUpDoesNotSpoilTheReadOfOthers(t *testing.T) {
	t.Parallel()
	c := newCluster(t, keyed("a", "1"))
	c.hold = make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Get(ctx, types.NamespacedName{Namespace: "ns", Name: "a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("Get() = %v", err)
	}
	close(c.hold)
	s, err := c.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "a"})
	if err != nil || string(s.Data["key"]) != "1" {
		t.Errorf("Get() = %v, %v", s, err)
	}
}

func TestAFailedReadIsTriedAgain(t *testing.T) {
	t.Parallel()
	c := newCluster(t, keyed("a", "1"))
	c.failure = errors.New("timeout")
	if _, err := c.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "a"}); err == nil {
		t.Error("a failed read passes")
	}
	c.failure = nil
	c.expect(t, "a", "1", 2)
}

//nolint:paralleltest // allocations are counted for the whole process
func TestACachedSecretCostsNoAllocation(t *testing.T) {
	c := newCluster(t, keyed("a", "1"))
	c.expect(t, "a", "1", 1)
	current := Metadata()
	if err := c.metadata.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "a"}, current); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { c.recall(types.NamespacedName{Namespace: "ns", Name: "a"}, current) }); n > 0 {
		t.Errorf("recall allocates %v times", n)
	}
}
