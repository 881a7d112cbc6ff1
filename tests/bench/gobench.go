// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math"
	"os/exec"
	"regexp"
	"strconv"
)

// tableSteps is how many steps BenchmarkTable runs.
const tableSteps = 20

// goBenchmarks are the cases that a Go benchmark measures: its package, its name, the unit that is read and its worth in
// the unit of the table.
var goBenchmarks = []struct {
	directory, name, unit, result string
	worth                         float64
}{
	{"operators/barbican/internal/operator", "BenchmarkPass", "cpu-ns/op", "b2 CPU", 1e-6},
	{"operators/barbican/internal/operator", "BenchmarkPass", "allocs/op", "b2 allocations", 1},
	{"operators/barbican/internal/config", "BenchmarkRender/minimal/miss", "allocs/op", "g miss", 1},
	{"operators/barbican/internal/config", "BenchmarkRender/minimal/hit", "allocs/op", "g hit", 1},
	{"common/reconcile", "BenchmarkTable", "allocs/op", "h", 1.0 / tableSteps},
}

func runBenchmarks(ctx context.Context, root string, r results) error {
	outputs := map[string]string{} // one run may tell several results
	for _, b := range goBenchmarks {
		out, ran := outputs[b.name]
		if !ran {
			var err error
			if out, err = runBenchmark(ctx, root+"/"+b.directory, b.name); err != nil {
				return err
			}
			outputs[b.name] = out
		}
		found := regexp.MustCompile(`\s([0-9.]+) ` + b.unit).FindStringSubmatch(out)
		if found == nil {
			return fmt.Errorf("%s tells no %s\n%s", b.name, b.unit, out)
		}
		value, err := strconv.ParseFloat(found[1], 64)
		if err != nil {
			return err
		}
		value *= b.worth
		if b.unit == "allocs/op" {
			value = math.Floor(value) // as the testing package counts
		}
		r.put(b.result, 0, value)
	}
	return nil
}

func runBenchmark(ctx context.Context, directory, name string) (string, error) {
	say("%s", name)
	run := exec.CommandContext(ctx, "go", "test", "-C", directory, "-run=^$", "-bench="+exactly(name), "-benchmem", "-benchtime=1000x", ".") //nolint:gosec // names from above
	out, err := run.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("running %s: %w\n%s", name, err, out)
	}
	return string(out), nil
}

var element = regexp.MustCompile(`[^/]+`)

// exactly is the pattern of a benchmark with this name and no other.
func exactly(name string) string { return element.ReplaceAllString(name, `^$0$$`) }
