// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	testclock "k8s.io/utils/clock/testing"
)

// Everything below runs in bubbles of synctest: time passes when all goroutines wait, so nothing sleeps for real, and a
// goroutine that is left over fails the test.

type asker struct {
	*Cache[string, int]
	clock *testclock.FakePassiveClock
	woken atomic.Int32
	asked atomic.Int32
}

func newAsker(o Options) *asker {
	a := &asker{clock: testclock.NewFakePassiveClock(time.Unix(1e9, 0))}
	o.Clock = a.clock
	a.Cache = NewCache[string, int](func(string) { a.woken.Add(1) }, o)
	return a
}

// question is answered after took; its verdict counts the questions.
func (a *asker) question(about string, took, holds time.Duration) Question[int] {
	return Question[int]{About: about, Ask: func(context.Context) (int, time.Duration) {
		n := a.asked.Add(1)
		time.Sleep(took) //nolint:forbidigo // of the bubble: no time passes
		return int(n), holds
	}}
}

func (a *asker) expect(t *testing.T, q Question[int], want int, known bool) {
	t.Helper()
	if got, ok := a.Get(t.Context(), "key", q); got != want || ok != known {
		t.Fatalf("Get() = %d, %v, want %d, %v", got, ok, want, known)
	}
}

func (a *asker) expectWoken(t *testing.T, want int) {
	t.Helper()
	synctest.Wait()
	if got := int(a.woken.Load()); got != want {
		t.Fatalf("woken %d times, want %d", got, want)
	}
}

func TestAQuickAnswerIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsker(Options{})
		a.expect(t, a.question("x", 199*time.Millisecond, time.Minute), 1, true)
		a.expectWoken(t, 0)
	})
}

func TestASlowAnswerHoldsNobodyAndWakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsker(Options{Patience: time.Second})
		start := time.Now()
		slow := a.question("x", time.Hour, time.Minute)
		a.expect(t, slow, 0, false)
		a.expect(t, slow, 0, false) // the same question goes on
		if held := time.Since(start); held != 2*time.Second {
			t.Errorf("held for %s", held)
		}
		a.expectWoken(t, 0)
		time.Sleep(time.Hour) //nolint:forbidigo // of the bubble
		a.expectWoken(t, 1)
		a.expect(t, slow, 1, true)
		if a.asked.Load() != 1 {
			t.Errorf("asked %d times", a.asked.Load())
		}
	})
}

func TestACallerThatIsCancelledLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsker(Options{Patience: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		q := Question[int]{Ask: func(ctx context.Context) (int, time.Duration) {
			time.Sleep(time.Second) //nolint:forbidigo // of the bubble
			if ctx.Err() != nil {
				t.Error("the question is cancelled with the pass that asked it")
			}
			return 7, time.Minute
		}}
		cancel()
		if _, known := a.Get(ctx, "key", q); known {
			t.Error("answered")
		}
		time.Sleep(time.Second) //nolint:forbidigo // of the bubble
		a.expectWoken(t, 1)
		a.expect(t, q, 7, true)
	})
}

func TestAVerdictHoldsForItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsker(Options{})
		q := a.question("x", 0, time.Minute)
		a.expect(t, q, 1, true)
		a.clock.SetTime(a.clock.Now().Add(time.Minute - 1))
		a.expect(t, q, 1, true)
		a.clock.SetTime(a.clock.Now().Add(1))
		a.expect(t, q, 2, true)
		a.expect(t, a.question("y", 0, time.Minute), 3, true)
		a.expect(t, q, 4, true) // what was known about x is gone
		a.expectWoken(t, 0)
	})
}

// A verdict that holds for no time reaches whoever was woken for it, once and not too late.
func TestAVerdictIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsker(Options{})
		slow := a.question("x", time.Second, 0)
		arrive := func() {
			a.expect(t, slow, 0, false)
			time.Sleep(time.Second) //nolint:forbidigo // of the bubble
			synctest.Wait()
		}
		arrive()
		a.expect(t, slow, 1, true)
		arrive() // asked again
		a.clock.SetTime(a.clock.Now().Add(undeliveredFor))
		arrive() // the second verdict is too old
		a.expect(t, slow, 3, true)
		a.expectWoken(t, 3)
	})
}

func TestALastVerdictStandsMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsker(Options{})
		about := func(what string, took time.Duration) Question[int] {
			q := a.question(what, took, time.Minute)
			q.Meanwhile = true
			return q
		}
		a.expect(t, about("x", time.Second), 0, false) // there is none yet
		time.Sleep(time.Second)                        //nolint:forbidigo // of the bubble
		a.expect(t, about("x", time.Second), 1, true)
		a.clock.SetTime(a.clock.Now().Add(time.Hour))
		a.expect(t, about("x", time.Second), 1, true)
		a.expect(t, a.question("x", 0, 0), 0, false) // who does not want the last one waits
		time.Sleep(time.Second)                      //nolint:forbidigo // of the bubble
		a.expectWoken(t, 2)
		a.expect(t, about("x", time.Second), 2, true)
		a.expect(t, about("y", time.Second), 0, false)
		time.Sleep(time.Second) //nolint:forbidigo // of the bubble
		synctest.Wait()
	})
}

// While a question is under way, one about something else waits for its turn, within the patience.
func TestOneQuestionAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsker(Options{Patience: time.Second})
		a.expect(t, a.question("x", 90*time.Second, time.Hour), 0, false)
		start := time.Now()
		a.expect(t, a.question("y", time.Hour, time.Hour), 0, false)
		if held := time.Since(start); held != time.Second || a.asked.Load() != 1 {
			t.Errorf("held for %s, asked %d", held, a.asked.Load())
		}
		time.Sleep(90 * time.Second) //nolint:forbidigo // of the bubble
		a.expectWoken(t, 1)
		a.expect(t, a.question("y", 0, time.Hour), 2, true)
	})
}

func TestForgetWhileAQuestionIsUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAsker(Options{Patience: time.Second})
		slow := a.question("x", time.Minute, time.Hour)
		a.expect(t, slow, 0, false)
		a.Forget("key")
		time.Sleep(time.Minute) //nolint:forbidigo // of the bubble
		a.expectWoken(t, 0)
		if len(a.entries) > 0 {
			t.Error("a forgotten key is remembered")
		}

		// Somebody still waits when the key is forgotten: not longer than his patience.
		var waiting sync.WaitGroup
		start := time.Now()
		waiting.Go(func() { a.expect(t, slow, 0, false) })
		synctest.Wait()
		a.Forget("key")
		waiting.Wait()
		if held := time.Since(start); held != time.Second {
			t.Errorf("held for %s", held)
		}
		time.Sleep(2 * time.Minute) //nolint:forbidigo // of the bubble
		a.expectWoken(t, 1)
	})
}

func TestQuestionsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const keys, bound = 50, 4
		var running, most, woken atomic.Int32
		c := NewCache[int, int](func(int) { woken.Add(1) }, Options{Concurrent: bound})
		for key := range keys {
			c.Get(t.Context(), key, Question[int]{About: fmt.Sprint(key), Ask: func(context.Context) (int, time.Duration) {
				most.Store(max(most.Load(), running.Add(1)))
				time.Sleep(time.Minute) //nolint:forbidigo // of the bubble
				running.Add(-1)
				return 0, time.Hour
			}})
		}
		time.Sleep(time.Hour) //nolint:forbidigo // of the bubble
		if most.Load() != bound || woken.Load() != keys {
			t.Errorf("%d questions at once, %d wake-ups", most.Load(), woken.Load())
		}
	})
}
