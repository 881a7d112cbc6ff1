// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
)

// goBenchmarks are the cases that a Go benchmark measures: its package, its name and what its allocations are.
var goBenchmarks = []struct{ directory, name, result string }{
	{"operators/barbican/internal/config", "BenchmarkRender/minimal/miss", "g miss"},
	{"operators/barbican/internal/config", "BenchmarkRender/minimal/hit", "g hit"},
	{"common/reconcile", "BenchmarkStep", "h"},
}

var allocations = regexp.MustCompile(`\s(\d+) allocs/op`)

func runBenchmarks(ctx context.Context, root string, r results) error {
	for _, b := range goBenchmarks {
		say("%s", b.name)
		var out bytes.Buffer
		c := exec.CommandContext(ctx, "go", "test", "-C", root+"/"+b.directory, "-run=^$", "-bench="+exactly(b.name), "-benchmem", "-benchtime=1000x", ".")
		c.Stdout, c.Stderr = &out, os.Stderr
		if err := c.Run(); err != nil {
			return fmt.Errorf("running %s: %w\n%s", b.name, err, &out)
		}
		found := allocations.FindSubmatch(out.Bytes())
		if found == nil {
			return fmt.Errorf("%s: there is no such benchmark in %s\n%s", b.name, b.directory, &out)
		}
		count, err := strconv.ParseFloat(string(found[1]), 64)
		if err != nil {
			return err
		}
		r.put(b.result, 0, count)
	}
	return nil
}

var element = regexp.MustCompile(`[^/]+`)

// exactly is the pattern of a benchmark with this name and no other.
func exactly(name string) string { return element.ReplaceAllString(name, `^$0$$`) }
