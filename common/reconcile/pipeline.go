// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/c5c3/cobaltcore/common/api"
)

// Pipeline is a checked table of steps.
type Pipeline[T Object, V any] struct {
	rows       [][]row[T, V] // a row of one step, or the members of a group
	conditions []string      // distinct, in the order of the table
	expected   []int         // how many steps report each condition
}

type row[T Object, V any] struct {
	step      Step[T, V]
	condition int // index into Pipeline.conditions
	observe   func(time.Duration, error)
}

// NewPipeline checks the table: names are there and distinct, every step has a condition other than Ready and something
// to run, and no two members of a group report the same condition.
func NewPipeline[T Object, V any](o Observer, steps ...Step[T, V]) (*Pipeline[T, V], error) {
	p := &Pipeline[T, V]{}
	names := map[string]bool{}
	for _, step := range steps {
		members := step.members
		switch {
		case members == nil:
			members = []Step[T, V]{step}
		case len(members) == 0:
			return nil, errors.New("a group is empty")
		}
		group := make([]row[T, V], 0, len(members))
		for _, m := range members {
			if err := checkStep(m, names, group); err != nil {
				return nil, err
			}
			names[m.Name] = true
			group = append(group, row[T, V]{step: m, condition: p.condition(m.Condition), observe: o.Step(m.Name, m.Condition)})
		}
		p.rows = append(p.rows, group)
	}
	if len(p.rows) == 0 {
		return nil, errors.New("the table has no steps")
	}
	return p, nil
}

func checkStep[T Object, V any](s Step[T, V], names map[string]bool, group []row[T, V]) error {
	switch {
	case s.members != nil:
		return errors.New("a group stands inside a group")
	case s.Name == "" || s.Condition == "" || s.Run == nil:
		return fmt.Errorf("step %q lacks a name, a condition or something to run", s.Name)
	case s.Condition == api.ConditionReady:
		return fmt.Errorf("step %q reports %s, but Ready is made of the others", s.Name, s.Condition)
	case names[s.Name]:
		return fmt.Errorf("two steps are named %q", s.Name)
	case slices.ContainsFunc(group, func(r row[T, V]) bool { return r.step.Condition == s.Condition }):
		return fmt.Errorf("two members of a group report %s", s.Condition)
	}
	return nil
}

func (p *Pipeline[T, V]) condition(name string) int {
	i := slices.Index(p.conditions, name)
	if i < 0 {
		i = len(p.conditions)
		p.conditions = append(p.conditions, name)
		p.expected = append(p.expected, 0)
	}
	p.expected[i]++
	return i
}

// Conditions are the condition types that Ready is made of, in the order of the table.
func (p *Pipeline[T, V]) Conditions() []string { return slices.Clone(p.conditions) }

// Steps are the names of all steps, in the order of the table.
func (p *Pipeline[T, V]) Steps() []string {
	var names []string
	for _, group := range p.rows {
		for _, r := range group {
			names = append(names, r.step.Name)
		}
	}
	return names
}

// run goes through the table until a step stops it.
func (p *Pipeline[T, V]) run(ctx context.Context, pass *Pass[T, V]) *ledger {
	l := newLedger(p.conditions, p.expected)
	for _, group := range p.rows {
		if len(group) == 1 {
			l.book(group[0].condition, group[0].run(ctx, pass))
		} else {
			runGroup(ctx, pass, group, l)
		}
		if l.stopped {
			break
		}
	}
	return l
}

// epoch is what durations are measured from: reading the monotonic clock alone costs half of time.Now.
var epoch = time.Now()

func (r *row[T, V]) run(ctx context.Context, pass *Pass[T, V]) (o Outcome) {
	start := time.Since(epoch)
	defer func() {
		if panicked := recover(); panicked != nil {
			o = Error(fmt.Errorf("panic: %v\n%s", panicked, debug.Stack()))
		}
		if o.err != nil {
			o.err = fmt.Errorf("%s: %w", r.step.Name, o.err)
		}
		r.observe(time.Since(epoch)-start, o.err)
	}()
	return r.step.Run(ctx, pass)
}

func runGroup[T Object, V any](ctx context.Context, pass *Pass[T, V], group []row[T, V], l *ledger) {
	outcomes := make([]Outcome, len(group))
	var members sync.WaitGroup
	for i := range group {
		own := *pass
		own.Object = pass.Object.DeepCopyObject().(T)
		members.Go(func() { outcomes[i] = group[i].run(ctx, &own) })
	}
	members.Wait()
	for i, o := range outcomes {
		l.book(group[i].condition, o)
	}
}
