// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// gatherTime is short for whoever edits an object, and long for children that become ready at once.
const gatherTime = 100 * time.Millisecond

// gathering holds what is added for gatherTime, so that one pass looks at everything that happens together, and one status write
// tells of it. The time runs from the first addition: more of them postpone nothing. A delay that is asked for is kept.
type gathering[R comparable] struct {
	priorityqueue.PriorityQueue[R]
}

func newQueue[R comparable](name string, limiter workqueue.TypedRateLimiter[R]) workqueue.TypedRateLimitingInterface[R] {
	return gathering[R]{priorityqueue.New(name, func(o *priorityqueue.Opts[R]) { o.RateLimiter = limiter })}
}

// Add is AddWithOpts without options.
func (q gathering[R]) Add(item R) {
	q.AddWithOpts(priorityqueue.AddOpts{}, item)
}

// AddWithOpts is what event handlers and controllers call.
func (q gathering[R]) AddWithOpts(o priorityqueue.AddOpts, items ...R) {
	if o.After == 0 && !o.RateLimited {
		o.After = gatherTime
	}
	q.PriorityQueue.AddWithOpts(o, items...)
}
