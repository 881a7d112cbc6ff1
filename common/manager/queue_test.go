// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

func TestQueueGathers(t *testing.T) {
	t.Parallel()
	const most = gatherTime + gatherTime/10
	high := 1
	for name, tt := range map[string]struct {
		add     func(q priorityqueue.PriorityQueue[string])
		earlier time.Duration // before which nothing is handed out
		passes  int
	}{
		"one event": {func(q priorityqueue.PriorityQueue[string]) { q.Add("a") }, gatherTime, 1},
		"events of one moment": {func(q priorityqueue.PriorityQueue[string]) {
			q.Add("a")
			<-time.After(gatherTime / 3)
			q.AddWithOpts(priorityqueue.AddOpts{}, "a")
			<-time.After(gatherTime / 3)
			q.AddWithOpts(priorityqueue.AddOpts{Priority: &high}, "a")
		}, gatherTime, 1},
		"events of two moments": {func(q priorityqueue.PriorityQueue[string]) {
			q.Add("a")
			<-time.After(2 * gatherTime)
			q.Add("a")
		}, gatherTime, 2},
		"an event before a resync is due": {func(q priorityqueue.PriorityQueue[string]) {
			q.AddAfter("a", time.Hour)
			q.Add("a")
		}, gatherTime, 1},
		"a retry": {func(q priorityqueue.PriorityQueue[string]) { q.AddRateLimited("a") }, time.Millisecond, 1},
		"a delay": {func(q priorityqueue.PriorityQueue[string]) { q.AddAfter("a", time.Millisecond) }, time.Millisecond, 1},
		"a chosen delay": {func(q priorityqueue.PriorityQueue[string]) {
			q.AddWithOpts(priorityqueue.AddOpts{After: time.Millisecond}, "a")
		}, time.Millisecond, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Millisecond, time.Second)
				q := newQueue("test", limiter).(priorityqueue.PriorityQueue[string])
				defer q.ShutDown()
				var passes []time.Duration
				start := time.Now()
				go func() {
					for {
						item, down := q.Get()
						if down {
							return
						}
						passes = append(passes, time.Since(start))
						q.Done(item)
					}
				}()
				tt.add(q)
				<-time.After(10 * gatherTime)
				synctest.Wait()
				if len(passes) != tt.passes {
					t.Fatalf("handed out after %v, %d times wanted", passes, tt.passes)
				}
				if first := passes[0]; first < tt.earlier || first > tt.earlier+most {
					t.Errorf("first handed out after %v, wanted after %v", first, tt.earlier)
				}
			})
		})
	}
}
