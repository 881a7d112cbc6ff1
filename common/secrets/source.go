// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

const (
	// idleAfter outlasts several resyncs, so that what is in use stays.
	idleAfter = time.Hour
	// readTimeout bounds a live read, which many passes may be waiting for.
	readTimeout = 10 * time.Second
)

// Source reads Secrets of one cluster. Those in the whole cache are answered from there. Of all others only the metadata is
// cached; their data is read once for each version that somebody asks for. It is safe for concurrent use.
type Source struct {
	whole    client.Reader
	metadata cache.Cache
	live     client.Reader
	clock    clock.PassiveClock

	flights singleflight.Group
	mu      sync.Mutex
	kept    map[types.NamespacedName]*keptSecret
	swept   time.Time
	watched bool // the metadata cache tells us what is deleted
}

type keptSecret struct {
	secret *corev1.Secret
	used   time.Time
}

var _ target.SecretReader = (*Source)(nil)

// NewSource returns a Source over three views of a cluster: the Secrets that are cached whole, the metadata of all others,
// and the API server. The first two may be one cache, if it keeps whole Secrets and metadata apart.
func NewSource(whole client.Reader, metadata cache.Cache, live client.Reader) *Source {
	return &Source{
		whole: whole, metadata: metadata, live: live, clock: clock.RealClock{},
		kept: map[types.NamespacedName]*keptSecret{},
	}
}

// Metadata is what the cached metadata of a Secret looks like, for watches on Source.Cache.
func Metadata() *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: secretType}
}

var secretType = metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}

// Cache reports the changes of the Secrets that are cached as Metadata only.
func (s *Source) Cache() cache.Cache { return s.metadata }

// Get returns a Secret, or a NotFound error. It costs a request only when the version is new to this Source, and one
// request serves all who ask meanwhile. The annotations of a Secret that is not cached whole are left out.
func (s *Source) Get(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	if !s.keeps(key) { // else it is hardly one that is cached whole
		own := &corev1.Secret{}
		err := s.whole.Get(ctx, key, own, client.UnsafeDisableDeepCopy)
		if err == nil || !apierrors.IsNotFound(err) {
			return own, err
		}
	}
	secret, err := s.others(ctx, key)
	if err != nil && apierrors.IsNotFound(err) && s.keeps(key) {
		s.evict(key)
		return s.Get(ctx, key) // it may have become one
	}
	return secret, err
}

func (s *Source) keeps(key types.NamespacedName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept[key] != nil
}

// others returns a Secret of which only the metadata is cached.
func (s *Source) others(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	current := Metadata()
	if err := s.metadata.Get(ctx, key, current, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	if secret := s.recall(key, current); secret != nil {
		return secret, nil
	}
	return s.read(ctx, key, current)
}

// recall returns what is kept, unless the cluster has something newer.
func (s *Source) recall(key types.NamespacedName, current client.Object) *corev1.Secret {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	kept := s.kept[key]
	if kept == nil || kept.secret.UID != current.GetUID() {
		return nil
	}
	if kept.secret.ResourceVersion != current.GetResourceVersion() && !apply.Older(current, kept.secret) {
		return nil
	}
	kept.used = s.clock.Now()
	return kept.secret
}

// read fetches the data of a version, once for all who wait for it. The fetch outlives a caller that gives up.
func (s *Source) read(ctx context.Context, key types.NamespacedName, current client.Object) (*corev1.Secret, error) {
	s.watchDeletions(ctx)
	flight := key.String() + "/" + string(current.GetUID()) + "/" + current.GetResourceVersion()
	landed := s.flights.DoChan(flight, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
		defer cancel()
		secret := &corev1.Secret{}
		if err := s.live.Get(ctx, key, secret); err != nil {
			return nil, err
		}
		secret.ManagedFields, secret.Annotations = nil, nil
		s.keep(key, secret)
		return secret, nil
	})
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("reading Secret %s: %w", key, ctx.Err())
	case result := <-landed:
		if result.Err != nil {
			return nil, result.Err
		}
		return result.Val.(*corev1.Secret), nil
	}
}

func (s *Source) keep(key types.NamespacedName, secret *corev1.Secret) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[key] = &keptSecret{secret: secret, used: s.clock.Now()}
}

func (s *Source) evict(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.kept, key)
}

// sweep drops what nobody asked for lately; s.mu is held.
func (s *Source) sweep() {
	now := s.clock.Now()
	if now.Sub(s.swept) < idleAfter/4 {
		return
	}
	s.swept = now
	for key, kept := range s.kept {
		if now.Sub(kept.used) >= idleAfter {
			delete(s.kept, key)
		}
	}
}

// watchDeletions drops the data of a Secret when the Secret goes. Failing that, sweep does it.
func (s *Source) watchDeletions(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watched {
		return
	}
	informer, err := s.metadata.GetInformer(ctx, Metadata(), cache.BlockUntilSynced(false))
	if err != nil {
		return
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{DeleteFunc: func(gone any) {
		if namespace, name, err := toolscache.SplitMetaNamespaceKey(deletedKey(gone)); err == nil {
			s.evict(types.NamespacedName{Namespace: namespace, Name: name})
		}
	}})
	s.watched = err == nil
}

func deletedKey(gone any) string {
	key, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(gone)
	if err != nil {
		return ""
	}
	return key
}
