// SPDX-License-Identifier: Apache-2.0

// Command bench measures what an operator costs: requests, time, memory. It starts a control plane with stand-ins for
// everything around the operator, drives Barbicans through their life, and holds the numbers against the gates.
// Requests are counted from the API server's audit log, so any build of an operator can be measured:
//
//	bench --operator bin/barbican-operator --operator /tmp/other-build --sizes 1,20,100
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

type options struct {
	operators []string
	sizes     []int
	crds      string
	packages  string
	logs      string
}

func main() {
	o := options{sizes: []int{1, 20, 100}}
	flag.Func("operator", "An operator to measure, the `path` of its binary. May be given several times; the gates hold for the first.",
		func(path string) error { o.operators = append(o.operators, path); return nil })
	flag.Func("sizes", "How many Barbicans to converge at a time, a comma separated `list`. (default 1,20,100)", func(list string) (err error) {
		o.sizes, err = parseSizes(list)
		return err
	})
	flag.StringVar(&o.crds, "crds", "operators/barbican/config/crd/bases", "The `folder` of the operator's CRDs.")
	flag.StringVar(&o.packages, "benchmarks", ".", "The `root` of the repository, whose Go benchmarks are run as well; empty runs none.")
	flag.StringVar(&o.logs, "logs", os.TempDir(), "The `folder` for the logs of the operators.")
	flag.Parse()
	log.SetLogger(logr.Discard()) // the libraries' own news

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	passed, err := run(ctx, o)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	case !passed:
		os.Exit(1)
	}
}

func parseSizes(list string) ([]int, error) {
	var sizes []int
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is no number of Barbicans", text)
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

// busy says whether the processors had enough to do before the benchmark came.
func busy() bool {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return false
	}
	var load float64
	_, err = fmt.Sscan(string(text), &load)
	return err == nil && load > float64(runtime.NumCPU())
}

func run(ctx context.Context, o options) (passed bool, err error) {
	if len(o.operators) == 0 || flag.NArg() > 0 {
		return false, errors.New("no --operator to measure, or arguments without a flag")
	}
	table := report{operators: o.operators, busy: busy()}
	for _, path := range o.operators {
		measured := results{}
		log := filepath.Join(o.logs, fmt.Sprintf("bench-%d.log", len(table.measured)))
		if err := measure(ctx, o, path, log, measured); err != nil {
			return false, fmt.Errorf("measuring %s (its log is %s): %w", path, log, err)
		}
		table.measured = append(table.measured, measured)
	}
	if o.packages != "" {
		if err := runBenchmarks(ctx, o.packages, table.measured[0]); err != nil {
			return false, err
		}
	}
	return table.print(os.Stdout), nil
}
