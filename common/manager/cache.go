// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/c5c3/cobaltcore/common/naming"
)

var secretKind = corev1.SchemeGroupVersion.WithKind("Secret")

// views is a cache that holds our own Secrets whole, and the metadata of all others for those who ask for that alone.
type views struct {
	cache.Cache
	metadata cache.Cache
	scheme   *runtime.Scheme
	refused  map[schema.GroupVersionKind]error // kinds that cannot be read, and why; complete before the start
	ending   <-chan struct{}                   // closed when the process is told to end
}

var _ cache.Cache = (*views)(nil)

// newCache is a cache.NewCacheFunc.
func (v *views) newCache(o Options) cache.NewCacheFunc {
	return func(config *rest.Config, options cache.Options) (cache.Cache, error) {
		options.NewInformer = v.newInformer
		options.SyncPeriod = &o.SyncPeriod
		options.DefaultTransform = newBurst(debug.FreeOSMemory).before(transform(o.Name, o.Children))
		if o.Namespace != "" {
			options.DefaultNamespaces = map[string]cache.Config{o.Namespace: {}}
		}
		ours, others, err := selectors(o.Name)
		if err != nil {
			return nil, err
		}
		options.ByObject = map[client.Object]cache.ByObject{&corev1.Secret{}: {Label: others}}
		if v.metadata, err = cache.New(config, options); err != nil {
			return nil, err
		}
		options.ByObject = map[client.Object]cache.ByObject{&corev1.Secret{}: {Label: ours}}
		v.Cache, err = cache.New(config, options)
		return v, err
	}
}

// selectors tell our own Secrets from those of others; every Secret is one or the other.
func selectors(managedBy string) (ours, others labels.Selector, err error) {
	if ours, err = labels.Parse(naming.LabelManagedBy + "=" + managedBy); err != nil {
		return nil, nil, err
	}
	others, err = labels.Parse(naming.LabelManagedBy + "!=" + managedBy)
	return ours, others, err
}

// of returns the cache that answers for a kind.
func (v *views) of(obj runtime.Object) (cache.Cache, error) {
	gvk, err := apiutil.GVKForObject(obj, v.scheme)
	if err != nil {
		return nil, err
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	if err := v.refused[gvk]; err != nil {
		return nil, err
	}
	return v.holder(obj, gvk), nil
}

func (v *views) holder(obj runtime.Object, gvk schema.GroupVersionKind) cache.Cache {
	switch obj.(type) {
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		if gvk == secretKind {
			return v.metadata
		}
	}
	return v.Cache
}

// Get implements client.Reader.
func (v *views) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	c, err := v.of(obj)
	if err != nil {
		return err
	}
	return c.Get(ctx, key, obj, opts...)
}

// List implements client.Reader.
func (v *views) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	c, err := v.of(list)
	if err != nil {
		return err
	}
	return c.List(ctx, list, opts...)
}

// GetInformer implements cache.Informers. That of a refused kind never tells anything.
func (v *views) GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	gvk, err := apiutil.GVKForObject(obj, v.scheme)
	if err != nil {
		return nil, err
	}
	return v.holder(obj, gvk).GetInformer(ctx, obj, opts...)
}

// RemoveInformer implements cache.Informers.
func (v *views) RemoveInformer(ctx context.Context, obj client.Object) error {
	gvk, err := apiutil.GVKForObject(obj, v.scheme)
	if err != nil {
		return err
	}
	return v.holder(obj, gvk).RemoveInformer(ctx, obj)
}

// IndexField implements client.FieldIndexer.
func (v *views) IndexField(ctx context.Context, obj client.Object, field string, get client.IndexerFunc) error {
	c, err := v.of(obj)
	if err != nil {
		return err
	}
	return c.IndexField(ctx, obj, field, get)
}

// Start implements cache.Informers.
func (v *views) Start(ctx context.Context) error {
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return v.metadata.Start(ctx) })
	both.Go(func() error { return v.Cache.Start(ctx) })
	return both.Wait()
}

// WaitForCacheSync implements cache.Informers. It ends with the process as if the caches were filled: controller-runtime
// spins, deaf to a signal, until it hears that.
func (v *views) WaitForCacheSync(ctx context.Context) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	filled := make(chan bool, 1)
	go func() { filled <- v.metadata.WaitForCacheSync(ctx) && v.Cache.WaitForCacheSync(ctx) }()
	select {
	case ok := <-filled:
		return ok
	case <-v.ending:
		return true
	}
}

// refuse makes reads of a kind fail with a reason that whoever reads it can show.
func (v *views) refuse(gvk schema.GroupVersionKind, why string) {
	v.refused[gvk] = fmt.Errorf("%s cannot be read: %s", gvk.Kind, why)
}
