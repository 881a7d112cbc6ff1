// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

const uid = types.UID("5f9e")

func TestRendererRemembers(t *testing.T) {
	t.Parallel()
	r := NewRenderer(10)
	first, err := r.Render(uid, 1, full())
	if err != nil {
		t.Fatal(err)
	}
	again, _ := r.Render(uid, 1, full())
	if &first.Data[ConfFile][0] != &again.Data[ConfFile][0] {
		t.Error("equal input was rendered twice")
	}
	r.Evict(uid)
	again, _ = r.Render(uid, 1, full())
	if &first.Data[ConfFile][0] == &again.Data[ConfFile][0] {
		t.Error("an evicted Barbican was remembered")
	}
}

// TestRendererNotices changes the input behind the renderer's back. A change of the spec comes with a new generation.
func TestRendererNotices(t *testing.T) {
	t.Parallel()
	for name, change := range changes {
		r := NewRenderer(10)
		in := full()
		in.Spec.OpenStackRelease = "2026.1"
		before, err := r.Render(uid, 1, in)
		if err != nil {
			t.Fatal(err)
		}
		changed := full()
		changed.Spec.OpenStackRelease = "2026.1"
		change(&changed)
		generation := int64(1)
		if !sameSpec(in, changed) {
			generation = 2
		}
		after, err := r.Render(uid, generation, changed)
		if err != nil {
			t.Fatal(err)
		}
		if before.Name == after.Name {
			t.Errorf("%s went unnoticed", name)
		}
	}
}

func TestRendererForgetsFailures(t *testing.T) {
	t.Parallel()
	r := NewRenderer(10)
	in := full()
	in.Stores[0].RoleID = "\n"
	if _, err := r.Render(uid, 1, in); err == nil {
		t.Fatal("a broken store was rendered")
	}
	if _, err := r.Render(uid, 1, full()); err != nil {
		t.Errorf("the failure stuck: %v", err)
	}
}

func TestRendererIgnoresObjectsThatWereNeverStored(t *testing.T) {
	t.Parallel()
	r := NewRenderer(10)
	in := full()
	before, _ := r.Render("", 0, in)
	in.Spec.Region = "elsewhere"
	if after, _ := r.Render("", 0, in); after.Name == before.Name {
		t.Error("a change of an object without a generation went unnoticed")
	}
}

func TestRendererIsBounded(t *testing.T) {
	t.Parallel()
	r := NewRenderer(3)
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			if _, err := r.Render(types.UID(fmt.Sprint(i)), 1, minimal()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if len(r.entries) != 3 {
		t.Errorf("%d Barbicans are remembered", len(r.entries))
	}
}

// The gates of the benchmark table: a render, and one that finds nothing changed.
const (
	missAllocations = 120
	hitAllocations  = 0
)

//nolint:paralleltest // allocations can only be counted while nothing else runs
func TestAllocations(t *testing.T) {
	in := minimal()
	in.Spec.OpenStackRelease = "2026.1"
	r := NewRenderer(1)
	miss := testing.AllocsPerRun(100, func() {
		r.Evict(uid)
		_, _ = r.Render(uid, 1, in)
	})
	hit := testing.AllocsPerRun(100, func() { _, _ = r.Render(uid, 1, in) })
	if miss > missAllocations || hit > hitAllocations {
		t.Errorf("%v allocations a miss (at most %d), %v a hit (%d)", miss, missAllocations, hit, hitAllocations)
	}
	t.Logf("%v allocations a miss, %v a hit", miss, hit)
}

func BenchmarkRender(b *testing.B) {
	for name, input := range map[string]func() Input{"minimal": minimal, "full": full} {
		in := input()
		in.Spec.OpenStackRelease = "2026.1"
		b.Run(name+"/miss", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = Render(in)
			}
		})
		b.Run(name+"/hit", func(b *testing.B) {
			r := NewRenderer(1)
			_, _ = r.Render(uid, 1, in)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = r.Render(uid, 1, in)
			}
		})
	}
}

func sameSpec(a, b Input) bool { return fmt.Sprintf("%+v", *a.Spec) == fmt.Sprintf("%+v", *b.Spec) }
