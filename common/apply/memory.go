// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"sync"
	"time"
	"unique"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// cacheLag is how long a child that we created may be missing from a cache before it counts as deleted by somebody.
const cacheLag = 2 * time.Second

// record is what the last look at a child left behind: it was as desired at that version.
type record struct {
	uid     types.UID
	version string
	desired sum // of the desired object
	content sum // of the live object, without metadata and status

	answer *answer // until the cache has caught up
}

// answer is what our write returned.
type answer struct {
	client.Object
	at time.Time
}

func recordOf(live client.Object, desired sum) record {
	return record{
		uid: live.GetUID(), version: live.GetResourceVersion(), desired: desired, content: contentSum(live),
	}
}

// ahead says whether our own write is newer than what the cache shows; live is nil when it shows nothing.
func (r record) ahead(live client.Object, now time.Time) bool {
	switch {
	case r.answer == nil:
		return false
	case live == nil:
		return now.Sub(r.answer.at) < cacheLag
	}
	return r.uid == live.GetUID() && Older(live, r.answer)
}

// Older says whether a is an earlier version of the same object than b.
func Older(a, b client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order < 0
}

// childKey is small: there is one for every child.
type childKey struct {
	kind unique.Handle[schema.GroupKind]
	name types.NamespacedName
}

// memory holds the records by owner, so that an owner's go with it.
type memory struct {
	mu     sync.Mutex
	owners map[types.NamespacedName]map[childKey]record
	doubts map[types.UID]struct{} // owners that were told of a write which the cache does not show
}

func (m *memory) doubt(owner types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.doubts == nil {
		m.doubts = map[types.UID]struct{}{}
	}
	m.doubts[owner] = struct{}{}
}

func (m *memory) doubted(owner types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.doubts[owner]
	delete(m.doubts, owner)
	return ok
}

func (m *memory) recall(owner types.NamespacedName, child childKey) record {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.owners[owner][child]
}

func (m *memory) remember(owner types.NamespacedName, child childKey, r record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.owners == nil {
		m.owners = map[types.NamespacedName]map[childKey]record{}
	}
	if m.owners[owner] == nil {
		m.owners[owner] = map[childKey]record{}
	}
	m.owners[owner][child] = r
}

// shown lets go of the answer to a write that the cache shows now, and of a record that held nothing else.
func (m *memory) shown(owner types.NamespacedName, child childKey, cached client.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.owners[owner][child]
	switch {
	case r.answer == nil || r.uid != cached.GetUID() || Older(cached, r.answer):
	case r.desired == sum{}:
		delete(m.owners[owner], child)
	default:
		r.answer = nil
		m.owners[owner][child] = r
	}
}

func (m *memory) drop(owner types.NamespacedName, child childKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.owners[owner], child)
}

func (m *memory) forget(owner types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.owners, owner)
}
