// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"fmt"
	"testing"
	"time"
)

type unobserved struct{}

func (unobserved) Step(string, string) func(time.Duration, error) {
	return func(time.Duration, error) {}
}

func rows(n int) []step {
	steps := make([]step, n)
	for i := range steps {
		steps[i] = says(fmt.Sprint("Step", i), fmt.Sprint("Condition", i), Ready("Found", "It is there"))
	}
	return steps
}

// A pass allocates its bookkeeping once; the steps add nothing to it.
func TestAStepAllocatesNothing(t *testing.T) { //nolint:paralleltest // allocations are counted for the whole process
	p := &pass{Object: newThing()}
	allocations := func(n int) float64 {
		table, err := NewPipeline(unobserved{}, rows(n)...)
		if err != nil {
			t.Fatal(err)
		}
		return testing.AllocsPerRun(100, func() { table.run(t.Context(), p) })
	}
	if one, many := allocations(1), allocations(21); one > 2 || many != one {
		t.Errorf("%v allocations for one step, %v for 21", one, many)
	}
}

// The overhead of a step is ns/op divided by the number of steps.
func BenchmarkTable(b *testing.B) {
	const n = 20
	table, err := NewPipeline(unobserved{}, rows(n)...)
	if err != nil {
		b.Fatal(err)
	}
	p := &pass{Object: newThing()}
	b.ReportAllocs()
	for b.Loop() {
		table.run(b.Context(), p)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/step")
}

func BenchmarkClock(b *testing.B) {
	for b.Loop() {
		time.Since(time.Now())
	}
}
