// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

func (v *views) newInformer(
	source toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	if gvk, err := apiutil.GVKForObject(example, v.scheme); err == nil && v.refused[gvk] != nil {
		source = nothing{}
	}
	return toolscache.NewSharedIndexInformer(source, example, resync, indexers)
}

// nothing is the source of a kind that cannot be read, so that a watch of it neither fails nor holds up the start.
type nothing struct{}

// List implements cache.Lister.
func (nothing) List(metav1.ListOptions) (runtime.Object, error) {
	return &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: "0"}}, nil
}

// Watch implements cache.Watcher.
func (nothing) Watch(metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil }

// IsWatchListSemanticsUnSupported makes the informer list once instead of waiting for a watch to be filled.
func (nothing) IsWatchListSemanticsUnSupported() bool { return true }
