// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/apply"
)

// ledger collects the outcomes of one pass and turns them into conditions once, at the end.
type ledger struct {
	conditions []string
	entries    []entry
	stopped    bool
	after      time.Duration
	errs       []error
	extras     []*extra
}

// entry is the verdict on one condition. The first False wins; True counts only if every step of the condition ran,
// else the step that was not reached could have said False.
type entry struct {
	outcome Outcome
	missing int    // steps that have not run
	refused string // what somebody must mend before a step can report
}

func newLedger(conditions []string, expected []int) *ledger {
	l := &ledger{conditions: conditions, entries: make([]entry, len(conditions))}
	for i, n := range expected {
		l.entries[i].missing = n
	}
	return l
}

func (l *ledger) book(condition int, o Outcome) {
	e := &l.entries[condition]
	e.missing--
	if o.status != "" && e.outcome.status != metav1.ConditionFalse {
		e.outcome = o
	}
	l.stopped = l.stopped || o.stop
	l.after = sooner(l.after, o.after)
	if o.err != nil {
		l.errs = append(l.errs, o.err)
		if o.status == "" {
			e.missing++ // a step that failed without an opinion has not reported
			e.refuse(o.err)
		}
	}
	if o.extra != nil {
		l.extras = append(l.extras, o.extra)
	}
}

// refuse keeps an error that will not pass by itself. Others would come and go in the status.
func (e *entry) refuse(err error) {
	if e.refused == "" && apply.IsRefused(err) {
		e.refused = ": " + StableText(err)
	}
}

func (l *ledger) err() error { return errors.Join(l.errs...) }

// write turns the outcomes into the object's conditions and returns the events that their transitions raise.
func (l *ledger) write(obj Object) []announcement {
	var events []announcement
	conditions, generation := obj.StatusConditions(), obj.GetGeneration()
	for i, e := range l.entries {
		if e.outcome.status == "" || (e.outcome.status == metav1.ConditionTrue && e.missing > 0) {
			continue
		}
		if e.outcome.status == metav1.ConditionFalse {
			e.outcome.message = stable(e.outcome.message) // steps pass on the words of others
		}
		if event, ok := transition(*conditions, l.conditions[i], e.outcome); ok {
			events = append(events, event)
		}
		meta.SetStatusCondition(conditions, metav1.Condition{
			Type: l.conditions[i], Status: e.outcome.status, Reason: e.outcome.reason, Message: e.outcome.message,
			ObservedGeneration: generation,
		})
	}
	for _, x := range l.extras {
		events = append(events, x.events...)
		for _, c := range x.advice {
			c.ObservedGeneration = generation
			meta.SetStatusCondition(conditions, c)
		}
	}
	meta.SetStatusCondition(conditions, l.aggregate(*conditions, generation))
	obj.SetObservedGeneration(generation)
	return events
}

func transition(before []metav1.Condition, condition string, o Outcome) (announcement, bool) {
	if o.transition == "" {
		return announcement{}, false
	}
	was := meta.FindStatusCondition(before, condition)
	changed := was == nil || was.Status != o.status || was.Reason != o.reason
	return announcement{o.transition, o.reason, o.message}, changed
}

// aggregate is True when every condition is True at the object's generation.
func (l *ledger) aggregate(all []metav1.Condition, generation int64) metav1.Condition {
	ready := metav1.Condition{
		Type: api.ConditionReady, Status: metav1.ConditionTrue, Reason: api.ReasonAllReady, Message: "All conditions are True",
		ObservedGeneration: generation,
	}
	var unmet []string
	for i, m := range l.conditions {
		refused := l.entries[i].refused
		switch c := meta.FindStatusCondition(all, m); {
		case c == nil:
			unmet = append(unmet, m+" (not reported yet"+refused+")")
		case c.Status != metav1.ConditionTrue:
			unmet = append(unmet, fmt.Sprintf("%s (%s)", m, c.Reason))
		case c.ObservedGeneration != generation:
			unmet = append(unmet, m+" (not reported for the current generation"+refused+")")
		}
	}
	if len(unmet) > 0 {
		ready.Status, ready.Reason = metav1.ConditionFalse, api.ReasonNotAllReady
		ready.Message = bounded("Not True: " + strings.Join(unmet, ", "))
	}
	return ready
}

// persisted runs what waited for the status to be written.
func (l *ledger) persisted(err error) {
	for _, x := range l.extras {
		for _, f := range x.persisted {
			f(err)
		}
	}
}
