// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"os"
	"runtime/debug"
	"strings"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/go-logr/logr"
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
