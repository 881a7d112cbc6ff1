// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Renderer renders and remembers the last result of each Barbican, so that a pass that changes nothing costs nothing. It is
// safe for concurrent use.
type Renderer struct {
	limit   int
	mu      sync.Mutex
	entries map[types.UID]entry
}

// entry is a remembered result and the input it belongs to. The spec is known by its generation.
type entry struct {
	generation int64
	input      Input
	files      Files
}

// NewRenderer returns a renderer that remembers at most limit Barbicans.
func NewRenderer(limit int) *Renderer {
	return &Renderer{limit: limit, entries: map[types.UID]entry{}}
}

// Render is the function of that name for the Barbican with a UID, whose spec is at a generation. Nothing is remembered of an
// object that was never stored, which has generation 0, nor of a failure.
func (r *Renderer) Render(uid types.UID, generation int64, in Input) (Files, error) {
	if files, ok := r.lookup(uid, generation, in); ok {
		return files, nil
	}
	files, err := Render(in)
	if err != nil || generation == 0 {
		return files, err
	}
	// The spec is the caller's: the generation stands for it. Stores and rules are kept to compare with.
	in.Spec, in.Stores = nil, slices.Clone(in.Stores)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.makeRoom(uid)
	r.entries[uid] = entry{generation: generation, input: in, files: files}
	return files, nil
}

// Evict forgets a Barbican that is gone.
func (r *Renderer) Evict(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.entries, uid)
}

func (r *Renderer) lookup(uid types.UID, generation int64, in Input) (Files, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.entries[uid]
	return known.files, ok && known.generation == generation && known.input.same(in)
}

// makeRoom drops any other Barbican when the limit is reached; it will be rendered again.
func (r *Renderer) makeRoom(uid types.UID) {
	if _, ok := r.entries[uid]; ok || len(r.entries) < r.limit {
		return
	}
	for other := range r.entries {
		delete(r.entries, other)
		return
	}
}

// same compares all of the input but the spec.
func (in Input) same(other Input) bool {
	return in.Name == other.Name && in.Endpoint == other.Endpoint && maps.Equal(in.Policy, other.Policy) &&
		slices.EqualFunc(in.Stores, other.Stores, Store.same)
}

func (s Store) same(other Store) bool {
	return s.Name == other.Name && s.Default == other.Default && s.URL == other.URL && s.RoleID == other.RoleID &&
		s.Mount == other.Mount && s.Namespace == other.Namespace && s.CA == other.CA && maps.Equal(s.Options, other.Options)
}
