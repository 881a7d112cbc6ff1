// SPDX-License-Identifier: Apache-2.0

package target

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// AbandonAfter is how long a deletion waits for a cluster that does not resolve.
const AbandonAfter = 5 * time.Minute

// Patience decides when the children on a lost cluster are given up. The zero value is ready to use. A restarted
// process starts to count anew, so that a registration that is read late costs nobody his clean-up.
type Patience struct {
	Clock clock.PassiveClock // nil stands for the wall clock

	mu    sync.Mutex
	since map[string]time.Time
}

// Lost notes that the cluster did not resolve and says whether to give up on an object that has been terminating
// since then: both the deletion and this process's first failure must be older than AbandonAfter.
func (p *Patience) Lost(cluster string, terminating time.Time) bool {
	now := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.since == nil {
		p.since = map[string]time.Time{}
	}
	first, known := p.since[cluster]
	if !known {
		p.since[cluster], first = now, now
	}
	return now.Sub(first) >= AbandonAfter && now.Sub(terminating) >= AbandonAfter
}

// Found notes that the cluster resolves.
func (p *Patience) Found(cluster string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.since, cluster)
}

func (p *Patience) now() time.Time {
	if p.Clock == nil {
		return time.Now()
	}
	return p.Clock.Now()
}
