// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// memory keeps, by store UID, the credential this process minted last, from the
// moment the server hands it out: a write that fails or a cache that lags must
// not lead to another mint. The zero value is ready to use.
type memory struct{ fresh sync.Map }

// fresh is touched by the passes of its store only.
type fresh struct {
	minted
	counted bool // as a re-mint
}

func (m *memory) keep(store types.UID, id minted) { m.fresh.Store(store, &fresh{minted: id}) }

// of returns what was minted for the store, nil if nothing.
func (m *memory) of(store types.UID) *fresh {
	if f, ok := m.fresh.Load(store); ok {
		return f.(*fresh)
	}
	return nil
}

func (m *memory) forget(store types.UID) { m.fresh.Delete(store) }
