// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// writers is how many objects the benchmark writes at a time.
const writers = 4

func barbican(namespace string, i int) *v1alpha1.Barbican {
	return &v1alpha1.Barbican{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("barbican-%04d", i)},
		Spec: v1alpha1.BarbicanSpec{
			OpenStackRelease: "2026.1",
			Image:            api.ImageSpec{Repository: "registry.example.org/barbican", Tag: "2026.1"},
			Database: api.DatabaseSpec{
				ClusterRef: &corev1.LocalObjectReference{Name: "mariadb"}, Database: "barbican", SecretRef: api.SecretRef{Name: "db"},
			},
			Cache:            api.CacheSpec{Servers: []string{"memcached:11211"}, Backend: "dogpile.cache.pymemcache"},
			KeystoneEndpoint: "http://keystone.example.org:5000/v3",
			ServiceUser:      api.ServiceUserSpec{SecretRef: api.SecretRef{Name: "service-user"}},
			SecretStoreRef:   &api.SecretStoreRef{Kind: api.NamespacedSecretStoreKind, Name: "store"},
		},
	}
}

func secretStore(b *v1alpha1.Barbican) *v1alpha1.BarbicanSecretStore {
	return &v1alpha1.BarbicanSecretStore{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name},
		Spec: v1alpha1.BarbicanSecretStoreSpec{
			BarbicanRef: v1alpha1.BarbicanRef{Name: b.Name}, Type: v1alpha1.OpenBaoStore, IsDefault: true,
			OpenBao: &v1alpha1.OpenBaoSpec{InstanceRef: &v1alpha1.OpenBaoInstanceRef{Name: instance}},
		},
	}
}

// converge creates n Barbicans with a store each and returns how long it took until all of them were Ready.
func (w *world) converge(ctx context.Context, namespace string, n int) (time.Duration, error) {
	begin := time.Now()
	ready := make(chan error, 1)
	go func() { ready <- w.awaitReady(ctx, namespace, n) }()
	err := each(n, func(i int) error {
		b := barbican(namespace, i)
		return errors.Join(w.Create(ctx, b), w.Create(ctx, secretStore(b)))
	})
	err = errors.Join(err, <-ready)
	return time.Since(begin), err
}

// awaitReady returns once n Barbicans and their stores are Ready.
func (w *world) awaitReady(ctx context.Context, namespace string, n int) error {
	barbicans, err := w.Watch(ctx, &v1alpha1.BarbicanList{}, client.InNamespace(namespace))
	if err != nil {
		return err
	}
	defer barbicans.Stop()
	stores, err := w.Watch(ctx, &v1alpha1.BarbicanSecretStoreList{}, client.InNamespace(namespace))
	if err != nil {
		return err
	}
	defer stores.Stop()
	conditions := map[types.UID][]metav1.Condition{}
	for count(conditions) < 2*n {
		var event watch.Event
		var open bool
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d objects are Ready: %w\n%s", count(conditions), 2*n, ctx.Err(), unmet(conditions))
		case event, open = <-barbicans.ResultChan():
		case event, open = <-stores.ResultChan():
		}
		if !open {
			return errors.New("a watch of the benchmark ended")
		}
		if o, ok := event.Object.(interface {
			client.Object
			StatusConditions() *[]metav1.Condition
		}); ok {
			conditions[o.GetUID()] = *o.StatusConditions()
		}
	}
	return nil
}

func count(conditions map[types.UID][]metav1.Condition) int {
	ready := 0
	for _, all := range conditions {
		if meta.IsStatusConditionTrue(all, "Ready") {
			ready++
		}
	}
	return ready
}

// unmet is what keeps one of the objects from being Ready.
func unmet(conditions map[types.UID][]metav1.Condition) string {
	for _, all := range conditions {
		if meta.IsStatusConditionTrue(all, "Ready") {
			continue
		}
		var text strings.Builder
		for _, c := range all {
			fmt.Fprintf(&text, "%s=%s/%s: %s\n", c.Type, c.Status, c.Reason, c.Message)
		}
		return text.String()
	}
	return ""
}

// touch changes an annotation of every Barbican and store of a namespace: each of them is looked at, nothing is to be done.
func (w *world) touch(ctx context.Context, namespace string, n int) error {
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"bench":"%d"}}}`, time.Now().UnixNano()))
	return each(n, func(i int) error {
		b := barbican(namespace, i)
		return errors.Join(w.Patch(ctx, b.DeepCopy(), patch), w.Patch(ctx, secretStore(b), patch))
	})
}

// touchSecret changes the metadata of a Secret that all Barbicans of a namespace share, and not its data.
func (w *world) touchSecret(ctx context.Context, namespace string) error {
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"bench":"%d"}}}`, time.Now().UnixNano()))
	return w.Patch(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "service-user"}}, patch)
}

func each(n int, do func(i int) error) error {
	var all errgroup.Group
	all.SetLimit(writers)
	for i := range n {
		all.Go(func() error { return do(i) })
	}
	return all.Wait()
}
