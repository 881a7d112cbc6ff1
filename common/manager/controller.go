// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
)

const (
	defaultConcurrency = 2
	firstRetry         = 5 * time.Millisecond
	lastRetry          = 30 * time.Second
)

// ControllerOptions are those of every controller of a binary. What fails backs off by itself: there is no bucket of
// tokens, in which one dead server would hold up everybody.
func ControllerOptions[R comparable](f Flags) controller.TypedOptions[R] {
	concurrency := f.Concurrency
	if concurrency <= 0 {
		concurrency = defaultConcurrency
	}
	return controller.TypedOptions[R]{
		MaxConcurrentReconciles: concurrency,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[R](firstRetry, lastRetry),
		NewQueue:                newQueue[R],
	}
}
