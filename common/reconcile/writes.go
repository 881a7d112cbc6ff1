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

// latest is the newer of what the cache shows and what we wrote.
func (w *writes[T]) latest(cached T) T {
	key := client.ObjectKeyFromObject(cached)
	w.mu.Lock()
	defer w.mu.Unlock()
	own, ok := w.newest[key]
	if !ok {
		return cached
	}
	if own.GetUID() == cached.GetUID() && apply.Older(cached, own) {
		return own
	}
	delete(w.newest, key)
	return cached
}

func (w *writes[T]) forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.newest, key)
}
