// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// memory keeps, by store, the credential this process minted last, from the
// moment the server hands it out: a write that fails or a cache that lags must
// not lead to another mint. The zero value is ready to use.
type memory struct {
	mu    sync.Mutex
	fresh map[types.NamespacedName]*fresh
}

type fresh struct {
	minted
	store   types.UID
	counted bool // as a re-mint
}

func (m *memory) keep(store types.NamespacedName, uid types.UID, id minted) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fresh == nil {
		m.fresh = map[types.NamespacedName]*fresh{}
	}
	m.fresh[store] = &fresh{minted: id, store: uid}
}

// of returns what was minted for the store of this UID, nil if nothing.
func (m *memory) of(store types.NamespacedName, uid types.UID) *fresh {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.fresh[store]; f != nil && f.store == uid {
		return f
	}
	return nil
}

// count says, once, that the re-mint is to be counted.
func (m *memory) count(f *fresh) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	first := !f.counted && f.trigger != initial
	f.counted = true
	return first
}

func (m *memory) forget(store types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.fresh, store)
}
