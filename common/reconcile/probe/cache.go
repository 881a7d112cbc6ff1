// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/utils/clock"
)

// Cache asks slow questions in the background and remembers the verdicts. Asking never holds a worker longer than the
// patience: whoever finds no verdict is woken when it is there.
type Cache[K comparable, V any] struct {
	patience time.Duration
	clock    clock.PassiveClock
	slots    *semaphore.Weighted
	wake     func(K)

	mu      sync.Mutex
	entries map[K]*entry[V]
}

// Options of a Cache. Zero values are replaced by the defaults named.
type Options struct {
	Patience   time.Duration      // how long Get waits for an answer; 200 ms
	Concurrent int64              // how many questions are asked at the same time; 32
	Clock      clock.PassiveClock // the wall clock
}

// undeliveredFor bounds the age of a verdict that is handed out once although it holds no longer: a question whose
// verdicts hold for no time must not be asked again for each wake-up that its own answer causes.
const undeliveredFor = 30 * time.Second

type entry[V any] struct {
	asked       string // what the verdict, or the question under way, is about
	verdict     V
	known       bool // the verdict is about what was asked
	until       time.Time
	undelivered time.Time     // until when the verdict may still be delivered for the first time
	running     chan struct{} // closed when the question under way is answered; nil if none is
	waiting     bool          // somebody went away without an answer
}

// NewCache returns a Cache that calls wake, from a goroutine of its own, for a key whose answer somebody did not wait for.
func NewCache[K comparable, V any](wake func(K), o Options) *Cache[K, V] {
	c := &Cache[K, V]{patience: o.Patience, clock: o.Clock, wake: wake, entries: map[K]*entry[V]{}}
	if c.patience == 0 {
		c.patience = 200 * time.Millisecond
	}
	if o.Concurrent == 0 {
		o.Concurrent = 32
	}
	if c.clock == nil {
		c.clock = clock.RealClock{}
	}
	c.slots = semaphore.NewWeighted(o.Concurrent)
	return c
}

// Question is what Get asks when it knows no answer.
type Question[V any] struct {
	// About tells questions of one key apart: a verdict about something else counts for nothing.
	About string
	// Ask finds the verdict and says for how long it holds. Its context is not the pass's; it must end by itself.
	Ask func(context.Context) (verdict V, holds time.Duration)
	// Meanwhile lets the last verdict stand while the question is asked again and the answer takes longer than the patience.
	Meanwhile bool
}

// Get returns the verdict that holds, or the one that arrives within the patience. Otherwise known is false, the
// question goes on in the background and wake is called with its end. One question at a time is asked for a key.
func (c *Cache[K, V]) Get(ctx context.Context, key K, q Question[V]) (verdict V, known bool) {
	verdict, running := c.look(ctx, key, q)
	if running == nil {
		return verdict, true
	}
	patience, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	for running != nil {
		select {
		case <-running:
		case <-patience.Done():
			if last, known, left := c.leave(key, running, q); left {
				return last, known
			}
		}
		verdict, running = c.look(ctx, key, q)
	}
	return verdict, true
}

// look returns the verdict that holds, or what to wait for, starting the question unless one is under way.
func (c *Cache[K, V]) look(ctx context.Context, key K, q Question[V]) (verdict V, running <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key]
	if e == nil {
		e = &entry[V]{}
		c.entries[key] = e
	}
	if e.running != nil {
		return verdict, e.running
	}
	now := c.clock.Now()
	if e.known && e.asked == q.About && (now.Before(e.until) || now.Before(e.undelivered)) {
		e.undelivered = time.Time{}
		return e.verdict, nil
	}
	e.known = e.known && e.asked == q.About
	e.asked, e.running = q.About, make(chan struct{})
	go c.ask(context.WithoutCancel(ctx), key, e, q)
	return verdict, e.running
}

// leave asks to be woken at the end of the question, and says what stands until then. It says no if the end has come.
func (c *Cache[K, V]) leave(key K, running <-chan struct{}, q Question[V]) (last V, known, left bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key]
	if e == nil || e.running != running {
		return last, false, false
	}
	e.waiting = true
	if q.Meanwhile && e.known && e.asked == q.About {
		return e.verdict, true, true
	}
	return last, false, true
}

// ask runs one question. A panic is left to end the process: nobody could be told of it.
func (c *Cache[K, V]) ask(ctx context.Context, key K, e *entry[V], q Question[V]) {
	_ = c.slots.Acquire(ctx, 1) // this context is never done
	verdict, holds := q.Ask(ctx)
	c.slots.Release(1)

	c.mu.Lock()
	now := c.clock.Now()
	e.verdict, e.known, e.until, e.undelivered = verdict, true, now.Add(holds), now.Add(undeliveredFor)
	waiting := e.waiting && c.entries[key] == e
	close(e.running)
	e.running, e.waiting = nil, false
	c.mu.Unlock()
	if waiting {
		c.wake(key)
	}
}

// Forget drops the verdict of a key. A question under way wakes nobody.
func (c *Cache[K, V]) Forget(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, key)
}
