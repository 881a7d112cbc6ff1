// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Outcome is what becomes of an object, and when.
type Outcome struct {
	verdict verdict
	reason  string
	message string
	delay   time.Duration
}

type verdict int

const (
	succeed verdict = iota
	fail
	hang
	ignore
	exceedDeadline
	leaveRefsUnresolved
	acceptElsewhere
)

// Succeed makes the object ready, complete, rolled out or accepted.
func Succeed() Outcome { return Outcome{verdict: succeed} }

// Fail makes the object report failure, an unready state or a refusal; empty texts stand for the usual ones of its kind.
func Fail(reason, message string) Outcome {
	return Outcome{verdict: fail, reason: reason, message: message}
}

// Hang begins and never ends: a Deployment whose pods do not get ready, a Job whose pod does not start (say its image cannot be
// pulled), and nothing at all from the kinds that only report a condition.
func Hang() Outcome { return Outcome{verdict: hang} }

// Ignore leaves the objects to somebody else, say the test itself or kube-controller-manager.
func Ignore() Outcome { return Outcome{verdict: ignore} }

// ExceedDeadline is a Deployment that reports ProgressDeadlineExceeded, or a Job that fails with DeadlineExceeded.
func ExceedDeadline() Outcome { return Outcome{verdict: exceedDeadline} }

// LeaveRefsUnresolved is a route that is accepted with ResolvedRefs False.
func LeaveRefsUnresolved() Outcome { return Outcome{verdict: leaveRefsUnresolved} }

// AcceptElsewhere is a route that another parent than the one it names has accepted.
func AcceptElsewhere() Outcome { return Outcome{verdict: acceptElsewhere} }

// After delays the outcome, counted from the object's creation, its last change of spec, or the change of the outcome.
func (o Outcome) After(delay time.Duration) Outcome {
	o.delay = delay
	return o
}

// or fills in the usual words of a kind.
func (o Outcome) or(reason, message string) (string, string) {
	if o.reason != "" {
		reason = o.reason
	}
	if o.message != "" {
		message = o.message
	}
	return reason, message
}

// script edits the status of an object; due is false while the outcome is delayed.
type script func(object client.Object, o Outcome, due bool)

// Actor plays the controller of one kind.
type Actor struct {
	kind       client.Object
	play       script
	before     func(context.Context, client.Object) error // what success needs beside a status
	simulation *Simulation

	mu      sync.Mutex
	scopes  map[client.ObjectKey]scoped
	changes int
	known   map[client.ObjectKey]struct{}
	started map[types.UID]start
}

// scoped is an outcome for an object, for a namespace (no name) or for all (neither).
type scoped struct {
	outcome Outcome
	change  int
}

type start struct {
	generation int64
	change     int
	at         time.Time
}

func newActor(kind client.Object, o Outcome, play script) *Actor {
	return &Actor{
		kind: kind, play: play,
		scopes:  map[client.ObjectKey]scoped{{}: {outcome: o}},
		known:   map[client.ObjectKey]struct{}{},
		started: map[types.UID]start{},
	}
}

// Scope is some of an actor's objects.
type Scope struct {
	actor *Actor
	key   client.ObjectKey
}

// In is the objects in a namespace.
func (a *Actor) In(namespace string) Scope { return Scope{a, client.ObjectKey{Namespace: namespace}} }

// For is one object, which need not exist yet.
func (a *Actor) For(object client.Object) Scope { return Scope{a, client.ObjectKeyFromObject(object)} }

// Do gives all objects another outcome from now on, except those with an outcome of their own or of their namespace.
func (a *Actor) Do(o Outcome) { Scope{actor: a}.Do(o) }

// Do gives the objects of the scope another outcome from now on. The narrowest scope wins.
func (s Scope) Do(o Outcome) {
	a := s.actor
	a.mu.Lock()
	defer a.mu.Unlock()
	a.changes++
	a.scopes[s.key] = scoped{outcome: o, change: a.changes}
	for key := range a.known {
		if s.has(key) {
			a.simulation.queue.Add(cue{a, key})
		}
	}
}

func (s Scope) has(key client.ObjectKey) bool {
	return (s.key.Namespace == "" || s.key.Namespace == key.Namespace) && (s.key.Name == "" || s.key.Name == key.Name)
}

func (a *Actor) outcome(key client.ObjectKey) scoped {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, k := range []client.ObjectKey{key, {Namespace: key.Namespace}, {}} {
		if s, ok := a.scopes[k]; ok {
			return s
		}
	}
	return scoped{}
}

// since is when the current outcome of the object's current spec began.
func (a *Actor) since(object client.Object, change int) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.started[object.GetUID()]
	if s.at.IsZero() || s.generation != object.GetGeneration() || s.change != change {
		s = start{generation: object.GetGeneration(), change: change, at: time.Now()}
		a.started[object.GetUID()] = s
	}
	return s.at
}

func (a *Actor) noticed(object client.Object) {
	key := client.ObjectKeyFromObject(object)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known[key] = struct{}{}
	a.simulation.queue.Add(cue{a, key})
}

func (a *Actor) forget(object client.Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.known, client.ObjectKeyFromObject(object))
	delete(a.started, object.GetUID())
}

// look plays one object, and tells when to look again.
func (a *Actor) look(ctx context.Context, s *Simulation, key client.ObjectKey) (time.Duration, error) {
	current := a.outcome(key)
	if current.outcome.verdict == ignore {
		return 0, nil
	}
	live := a.kind.DeepCopyObject().(client.Object)
	if err := s.cache.Get(ctx, key, live); err != nil || live.GetDeletionTimestamp() != nil {
		return 0, err
	}
	wait := time.Until(a.since(live, current.change).Add(current.outcome.delay))
	due := wait <= 0
	if due && current.outcome.verdict == succeed && a.before != nil {
		if err := a.before(ctx, live); err != nil {
			return 0, err
		}
	}
	played := live.DeepCopyObject().(client.Object)
	a.play(played, current.outcome, due)
	if !equality.Semantic.DeepEqual(live, played) {
		if err := s.client.Status().Patch(ctx, played, client.MergeFrom(live)); err != nil {
			return 0, err
		}
	}
	return max(wait, 0), nil
}
