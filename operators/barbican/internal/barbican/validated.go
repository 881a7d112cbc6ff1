// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// validatedPairs remembers, by Barbican, what its default store validated last. The zero value is ready.
type validatedPairs struct {
	mu    sync.Mutex
	pairs map[types.NamespacedName]validatedPair
}

// validatedPair is what is known of a pair of AppRole credentials; its secret ID is not kept.
type validatedPair struct {
	store        types.UID
	roleID, hash string
}

func (v *validatedPairs) keep(barbican types.NamespacedName, pair validatedPair) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.pairs == nil {
		v.pairs = map[types.NamespacedName]validatedPair{}
	}
	v.pairs[barbican] = pair
}

// lastOf returns the pair that a store of the Barbican validated last, if it is its default store.
func (v *validatedPairs) lastOf(barbican types.NamespacedName, store types.UID) (validatedPair, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	known, ok := v.pairs[barbican]
	return known, ok && known.store == store
}

func (v *validatedPairs) forget(barbican types.NamespacedName) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.pairs, barbican)
}
