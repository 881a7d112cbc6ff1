// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/cobaltcore/common/apply"
)

// Outcome is what a step found. The zero Outcome carries on without an opinion.
type Outcome struct {
	status  metav1.ConditionStatus // empty: no opinion
	reason  string
	message string

	stop  bool
	after time.Duration // zero: nothing to come back for
	err   error

	transition string // event type that a transition of the step's condition raises; empty: none
	extra      *extra
}

// extra holds what few outcomes carry.
type extra struct {
	events    []announcement
	advice    []metav1.Condition
	persisted []func(error)
}

type announcement struct{ eventType, reason, message string }

// Ready says True and carries on.
func Ready(reason, message string) Outcome {
	return Outcome{status: metav1.ConditionTrue, reason: reason, message: message}
}

// NotReady says False and carries on.
func NotReady(reason, message string) Outcome {
	return Outcome{status: metav1.ConditionFalse, reason: reason, message: message}
}

// Poll says False, carries on and comes back after d.
func Poll(d time.Duration, reason, message string) Outcome {
	return NotReady(reason, message).After(d)
}

// Wait says False, stops the table and comes back after d. Waiting is not an error.
func Wait(d time.Duration, reason, message string) Outcome {
	o := Poll(d, reason, message)
	o.stop = true
	return o
}

// Hold says False and stops the table until a watch wakes the object.
func Hold(reason, message string) Outcome {
	o := NotReady(reason, message)
	o.stop = true
	return o
}

// Fail says False with the text of err, stops the table and backs off.
func Fail(reason string, err error) Outcome {
	o := NotReady(reason, StableText(err))
	o.stop, o.err = true, err
	return o
}

// Error has no opinion, stops the table and backs off. A nil error is the zero Outcome.
func Error(err error) Outcome {
	return Outcome{stop: err != nil, err: err}
}

// Blame is Fail for what somebody has to mend, such as a foreign object of a child's name, and Error for a fault that passes
// by itself, which has no say in a condition.
func Blame(reason string, err error) Outcome {
	if apply.IsRefused(err) {
		return Fail(reason, err)
	}
	return Error(err)
}

// Warn also raises a Warning event with the condition's reason when the condition changes to this status and reason.
func (o Outcome) Warn() Outcome {
	o.transition = corev1.EventTypeWarning
	return o
}

// Note is Warn with a Normal event.
func (o Outcome) Note() Outcome {
	o.transition = corev1.EventTypeNormal
	return o
}

// Announce raises an event once this pass's status is written. The step itself has seen a transition.
func (o Outcome) Announce(eventType, reason, message string) Outcome {
	o.extra = o.extra.clone()
	o.extra.events = append(o.extra.events, announcement{eventType, reason, message})
	return o
}

// Advise also sets c, a condition that Ready ignores.
func (o Outcome) Advise(c metav1.Condition) Outcome {
	o.extra = o.extra.clone()
	o.extra.advice = append(o.extra.advice, c)
	return o
}

// After comes back after d, or sooner if something else wants to.
func (o Outcome) After(d time.Duration) Outcome {
	o.after = sooner(o.after, d)
	return o
}

// Persisted calls f once this pass's status is written, or with the error that kept it from being written. What must
// happen at most once is recorded in the status by the step and done by f.
func (o Outcome) Persisted(f func(error)) Outcome {
	o.extra = o.extra.clone()
	o.extra.persisted = append(o.extra.persisted, f)
	return o
}

// Done says whether the next building block may run: the outcome is no wait, no failure and not False.
func (o Outcome) Done() bool {
	return !o.stop && o.err == nil && o.status != metav1.ConditionFalse
}

// Err is the error that the outcome backs off with.
func (o Outcome) Err() error { return o.err }

// Reason is the condition's reason, empty without an opinion.
func (o Outcome) Reason() string { return o.reason }

// Message is the condition's message, empty without an opinion.
func (o Outcome) Message() string { return o.message }

// Status is the condition's status, empty without an opinion.
func (o Outcome) Status() metav1.ConditionStatus { return o.status }

// Stops says whether the steps below are kept from running.
func (o Outcome) Stops() bool { return o.stop }

// ComesBack is after how long the pass is repeated, zero if nothing asks for it.
func (o Outcome) ComesBack() time.Duration { return o.after }

// Advice are the conditions set beside the step's own.
func (o Outcome) Advice() []metav1.Condition {
	if o.extra == nil {
		return nil
	}
	return o.extra.advice
}

func (e *extra) clone() *extra {
	if e == nil {
		return &extra{}
	}
	return &extra{events: slices.Clip(e.events), advice: slices.Clip(e.advice), persisted: slices.Clip(e.persisted)}
}

// sooner is the shorter of two delays, of which zero is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return cmp.Or(a, b)
	}
	return min(a, b)
}
