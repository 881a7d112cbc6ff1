// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/go-logr/logr"
	toolscache "k8s.io/client-go/tools/cache"
)

const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// garbage is how much the heap may grow, in percent of what is in use, before it is collected. An operator has more time
// than memory: a quarter of Go's default. Between two bursts nearly all of the growth would stay resident, since what is cached lies
// scattered among it.
const garbage = 25

// memoryShare of the container's limit is left to the Go heap; the rest is for what the runtime does not count.
const memoryShare = 0.9

// OperatorNamespace is the namespace that the process runs in, empty outside of a cluster. POD_NAMESPACE goes first.
func OperatorNamespace() string { return operatorNamespace(os.Getenv("POD_NAMESPACE"), namespaceFile) }

func operatorNamespace(variable, file string) string {
	if variable != "" {
		return variable
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}

// LimitMemory keeps the heap small, the more so as it comes near to the memory limit of the container. GOGC and
// GOMEMLIMIT go first.
func LimitMemory(log logr.Logger) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
	limit, err := memlimit.SetGoMemLimitWithOpts(memlimit.WithRatio(memoryShare))
	switch {
	case err != nil:
		log.Info("Memory limit of the container not known, the Go heap is not limited", "cause", err.Error())
	case limit > 0:
		log.V(1).Info("Go heap limited", "bytes", limit)
	}
}

// A burst is that many objects that came into the caches, and it is over when none has come for a while.
const (
	burstObjects = 200
	burstOver    = time.Second
)

// burst gives memory back to the operating system at the end of a burst, the first fill of the caches or the converge of many
// objects. The runtime would keep what the passes used for the next one, which may be days away.
type burst struct {
	giveBack func()

	mu   sync.Mutex
	seen int
	over *time.Timer
}

func newBurst(giveBack func()) *burst { return &burst{giveBack: giveBack} }

// before counts what goes through a transform.
func (b *burst) before(next toolscache.TransformFunc) toolscache.TransformFunc {
	return func(in any) (any, error) {
		b.count()
		return next(in)
	}
}

func (b *burst) count() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen++; b.seen < burstObjects {
		return
	}
	if b.over == nil {
		b.over = time.AfterFunc(burstOver, b.end)
	}
	b.over.Reset(burstOver)
}

func (b *burst) end() {
	b.mu.Lock()
	b.seen = 0
	b.mu.Unlock()
	b.giveBack()
}
