// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// memory keeps, by store, the credential this process minted last, from the
// moment the server hands it out: a write that fails or a cache that lags must
// not lead to another mint. The zero value is ready to use.
type memory struct{ fresh sync.Map }

// fresh is touched by the passes of its store only.
type fresh struct {
	minted
	store   types.UID
	counted bool // as a re-mint
}

func (m *memory) keep(store *v1alpha1.BarbicanSecretStore, id minted) {
	m.fresh.Store(client.ObjectKeyFromObject(store), &fresh{minted: id, store: store.UID})
}

// of returns what was minted for the store, nil if nothing. What was minted for
// another store of that name is not its own.
func (m *memory) of(store *v1alpha1.BarbicanSecretStore) *fresh {
	if f, ok := m.fresh.Load(client.ObjectKeyFromObject(store)); ok && f.(*fresh).store == store.UID {
		return f.(*fresh)
	}
	return nil
}

func (m *memory) forget(store types.NamespacedName) { m.fresh.Delete(store) }
