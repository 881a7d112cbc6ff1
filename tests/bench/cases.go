// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/c5c3/cobaltcore/common/kubetest"
)

const (
	caseTimeout = 5 * time.Minute
	childDelay  = 2 * time.Second
	touchRounds = 3
)

// run is the life of one operator through all cases.
type benchmark struct {
	*world
	*process
	results
	path, log string
	converged int // Barbicans that there are
	memoryAt  map[int]float64
}

// measure runs all cases for one operator.
func measure(ctx context.Context, o options, path, log string, r results) error {
	_ = os.Remove(log)
	say("%s: starting the control plane", path)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := newWorld(ctx, o.crds)
	if err != nil {
		return err
	}
	b := &benchmark{world: w, results: r, path: path, log: log, memoryAt: map[int]float64{}}
	err = b.run(ctx, o.sizes)
	if b.process != nil {
		err = errors.Join(err, b.process.stop())
	}
	cancel()
	return errors.Join(err, w.stop())
}

func (b *benchmark) run(ctx context.Context, sizes []int) (err error) {
	if b.process, err = b.start(ctx, b.path, b.log); err != nil {
		return err
	}
	if err := b.idle(ctx); err != nil {
		return err
	}
	for _, n := range sizes {
		if err := b.cold(ctx, n); err != nil {
			return err
		}
	}
	last := slices.Max(sizes)
	return inOrder(
		func() error { return b.noOp(ctx, last) },
		func() error { return b.cost(ctx, last) },
		func() error { return b.sharedSecret(ctx, last) },
		func() error { return b.restart(ctx) },
	)
}

// inOrder stops at the first error.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (b *benchmark) cold(ctx context.Context, n int) error {
	if n > 1 {
		return b.coldMany(ctx, n)
	}
	// The slow one first: it bears what only the first of a process has to pay.
	if err := b.coldOneSlow(ctx); err != nil {
		return err
	}
	return b.coldOne(ctx)
}

// idle is c4's base.
func (b *benchmark) idle(ctx context.Context) error {
	if err := b.reset(ctx); err != nil {
		return err
	}
	return b.remember("c4 base")
}

func (b *benchmark) remember(name string) error {
	memory, err := b.memory()
	b.put(name, 0, memory)
	b.memoryAt[b.converged] = memory
	return err
}

// coldOne is a1 and e: one Barbican whose children are ready at once.
func (b *benchmark) coldOne(ctx context.Context) error {
	if _, err := b.create(ctx, namespace(1), 1); err != nil {
		return err
	}
	b.put("a1 writes", 1, float64(len(writes(b.requests))))
	b.put("a1 calls", 1, float64(len(b.requests)))
	b.put("a1 conflicts", 1, float64(len(b.requests.Conflicts())))
	b.put("e Barbican", 1, float64(len(b.requests.Writes().Of("barbicans/status"))))
	b.put("e store", 1, float64(len(b.requests.Writes().Of("barbicansecretstores/status"))))
	return nil
}

// coldOneSlow is a2: each child is ready two seconds late.
func (b *benchmark) coldOneSlow(ctx context.Context) error {
	const slow = "slow"
	late := kubetest.Succeed().After(childDelay)
	for _, children := range []*kubetest.Actor{b.simulation.Databases, b.simulation.Users, b.simulation.Grants, b.simulation.Jobs, b.simulation.Deployments} {
		children.In(slow).Do(late)
	}
	wall, err := b.create(ctx, slow, 1)
	b.put("a2 wall", 1, wall.Seconds())
	b.put("a2 calls", 1, float64(len(b.requests)))
	return err
}

// coldMany is c1 and c4's growth.
func (b *benchmark) coldMany(ctx context.Context, n int) error {
	wall, err := b.create(ctx, namespace(n), n)
	if err != nil {
		return err
	}
	b.put("c1 wall", n, wall.Seconds())
	b.put("c1 calls", n, float64(len(b.requests))/float64(n))
	b.put("c1 conflicts", n, float64(len(b.requests.Conflicts())))
	before := slices.Max(slices.Collect(maps.Keys(b.memoryAt)))
	was := b.memoryAt[before]
	if err := b.remember("c4 with"); err != nil {
		return err
	}
	b.put("c4 a CR", n, max(0, (b.memoryAt[b.converged]-was)/float64(b.converged-before)))
	return nil
}

// create converges n Barbicans in a namespace of their own; their requests are counted.
func (b *benchmark) create(ctx context.Context, namespace string, n int) (time.Duration, error) {
	say("%s: %d cold in namespace %s", b.path, n, namespace)
	if err := b.furnish(ctx, namespace); err != nil {
		return 0, err
	}
	if err := b.reset(ctx); err != nil {
		return 0, err
	}
	limited, cancel := context.WithTimeout(ctx, caseTimeout)
	defer cancel()
	wall, err := b.converge(limited, namespace, n)
	if err != nil {
		return 0, err
	}
	b.converged += n
	err = b.settle(ctx, 2*time.Second)
	trace(namespace, b.requests)
	return wall, err
}

// noOp is b1, c5 and the Events of e: every object is touched, and nothing is to be done.
func (b *benchmark) noOp(ctx context.Context, n int) error {
	say("%s: touching %d", b.path, n)
	if err := b.touched(ctx, n); err != nil {
		return err
	}
	trace("touch", b.requests)
	b.put("b1 calls", n, float64(len(b.requests)))
	b.put("c5 calls", n, float64(len(b.requests)))
	b.put("e Events", n, float64(len(b.requests.Of("events"))))
	return nil
}

func (b *benchmark) touched(ctx context.Context, n int) error {
	if err := b.reset(ctx); err != nil {
		return err
	}
	before, err := b.passes(ctx)
	if err != nil {
		return err
	}
	return inOrder(
		func() error { return b.touch(ctx, namespace(n), n) },
		func() error { return b.passed(ctx, before, float64(2*n)) },
		func() error { return b.settle(ctx, time.Second) },
	)
}

// cost is what a pass of a Barbican and one of its store cost the whole process, watches included; b2 is the pass alone.
// Looking at the process costs as well, so that is done twice only.
func (b *benchmark) cost(ctx context.Context, n int) error {
	say("%s: cost of a pass", b.path)
	if err := b.reset(ctx); err != nil {
		return err
	}
	before, err := b.usage(ctx)
	if err != nil {
		return err
	}
	for range touchRounds {
		if err := inOrder(
			func() error { return b.touch(ctx, namespace(n), n) },
			func() error { return b.settle(ctx, 2*time.Second) },
		); err != nil {
			return err
		}
	}
	after, err := b.usage(ctx)
	pairs := (after.passes - before.passes) / 2
	b.put("b process CPU", n, (after.seconds-before.seconds)/pairs*1000)
	b.put("b process allocations", n, (after.allocations-before.allocations)/pairs)
	return err
}

// usage is what a process has used and done so far.
type usage struct{ seconds, allocations, passes float64 }

func (b *benchmark) usage(ctx context.Context) (u usage, err error) {
	for name, into := range map[string]*float64{
		"process_cpu_seconds_total": &u.seconds, "go_memstats_mallocs_total": &u.allocations, passesMetric: &u.passes,
	} {
		if *into, err = b.metric(ctx, name); err != nil {
			return u, err
		}
	}
	return u, nil
}

// sharedSecret is c6.
func (b *benchmark) sharedSecret(ctx context.Context, n int) error {
	say("%s: event of a Secret that %d share", b.path, n)
	if err := b.reset(ctx); err != nil {
		return err
	}
	before, err := b.passes(ctx)
	if err != nil {
		return err
	}
	err = inOrder(
		func() error { return b.touchSecret(ctx, namespace(n)) },
		func() error { return b.passed(ctx, before, float64(n)) },
		func() error { return b.settle(ctx, time.Second) },
	)
	if err != nil {
		return err
	}
	trace("shared Secret", b.requests)
	b.put("c6 calls", n, float64(len(b.requests)-distinctSecrets(b.requests)))
	return nil
}

// restart is d: a new process finds everything as it should be.
func (b *benchmark) restart(ctx context.Context) error {
	var err error
	say("%s: restart with %d", b.path, b.converged)
	err = inOrder(
		b.process.stop,
		func() error { return b.reset(ctx) },
		func() error { b.process, err = b.start(ctx, b.path, b.log); return err },
		func() error { return b.passed(ctx, 0, float64(2*b.converged)) },
		func() error { return b.settle(ctx, 2*time.Second) },
	)
	if err != nil {
		return err
	}
	trace("restart", b.requests)
	b.put("d writes", b.converged, float64(len(writes(b.requests))))
	b.put("d reads", b.converged, float64(len(b.requests.Reads())-distinctSecrets(b.requests)))
	return nil
}

// writes leaves out requests for tokens, which change nothing; as calls they count.
func writes(requests kubetest.Requests) kubetest.Requests {
	return requests.Writes().Except("serviceaccounts/token")
}

// distinctSecrets is how many Secrets were read. One read of each is no waste: metadata does not tell whether data changed.
func distinctSecrets(requests kubetest.Requests) int {
	names := map[string]bool{}
	for _, r := range requests.Reads().Of("secrets") {
		names[r.Namespace+"/"+r.Name] = true
	}
	return len(names)
}

func namespace(n int) string { return fmt.Sprintf("bench-%d", n) }

// trace prints what was requested when BENCH_TRACE is set.
func trace(of string, requests kubetest.Requests) {
	if os.Getenv("BENCH_TRACE") != "" {
		say("%s: %s", of, requests)
	}
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...) }
