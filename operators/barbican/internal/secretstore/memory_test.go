// SPDX-License-Identifier: Apache-2.0

package secretstore

import "testing"

func TestMemory(t *testing.T) {
	t.Parallel()
	var m memory
	store, successor := managedStore(), managedStore()
	successor.UID = "another"
	m.keep(store, minted{credential: credential{accessor: "a"}})
	if f := m.of(store); f == nil || f.accessor != "a" {
		t.Errorf("kept %+v", f)
	}
	if f := m.of(successor); f != nil {
		t.Errorf("a store of the same name gets what was minted for its predecessor: %+v", f)
	}
}

// A store without a finalizer is gone before anybody sees it go: all that is left is its name.
func TestNothingIsKeptOfAStoreThatVanished(t *testing.T) {
	t.Parallel()
	w := begin(t, managedStore(), secret("main-approle", "role-id", "theirs", "secret-id", "theirs"))
	kept := func() (n int) {
		w.controller.steps.memory.fresh.Range(func(any, any) bool { n++; return true })
		return n
	}
	w.delete(w.pass())
	if kept() != 1 {
		t.Fatalf("%d minted credentials kept, want the one that could not be written", kept())
	}
	if _, err := w.reconcile(); err != nil {
		t.Fatal(err)
	}
	if kept() != 0 {
		t.Error("a secret ID of a store that is gone stays in memory for ever")
	}
}
