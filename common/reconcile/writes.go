// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/apply"
)

// writes remembers what we wrote last until the cache shows it: a pass on an older copy would repeat writes and events.
type writes[T Object] struct {
	mu     sync.Mutex
	newest map[types.NamespacedName]T
}

func (w *writes[T]) keep(object T) {
	object.SetManagedFields(nil) // half of its size, and nobody reads them
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.newest == nil {
		w.newest = map[types.NamespacedName]T{}
	}
	w.newest[client.ObjectKeyFromObject(object)] = object
}

// of returns what is kept of an object. It is asked ahead of the cache, which drops it as soon as it has that version itself.
func (w *writes[T]) of(key types.NamespacedName) (own T, kept bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	own, kept = w.newest[key]
	return own, kept
}

// shown drops what is kept of an object unless it is newer than what the cache shows.
func (w *writes[T]) shown(cached T) {
	key := client.ObjectKeyFromObject(cached)
	w.mu.Lock()
	defer w.mu.Unlock()
	if own, kept := w.newest[key]; kept && !newer(own, cached) {
		delete(w.newest, key)
	}
}

func newer(own, cached client.Object) bool {
	return own.GetUID() == cached.GetUID() && apply.Older(cached, own)
}

func (w *writes[T]) forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.newest, key)
}
