// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// fillTimeout is how long the first lists may take. A list that is forbidden is tried for ever, so somebody has to tell.
const fillTimeout = 2 * time.Minute

var errUnfilled = errors.New("no first list")

// Start runs everything that was added until ctx is done. It must be called from a process that ends with it.
func (m *Manager) Start(ctx context.Context) error { return m.start(ctx, fillTimeout) }

func (m *Manager) start(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(patience, func() {
		if kinds := m.unfilled(); len(kinds) > 0 {
			cancel(fmt.Errorf("%w after %s: %s; the log has the reason, most often an account that may not list and watch them",
				errUnfilled, patience, strings.Join(kinds, ", ")))
		}
	})
	defer timer.Stop()
	m.views.ending = ctx.Done()
	err := m.process.Start(ctx)
	if cause := context.Cause(ctx); errors.Is(cause, errUnfilled) {
		return cause
	}
	return err
}

// addChecks makes the process alive while it answers, and ready once its caches are filled and its webhooks are served.
func (m *Manager) addChecks() error {
	filled := &started{}
	errs := []error{
		m.Add(filled),
		m.AddHealthzCheck("ping", healthz.Ping),
		m.AddReadyzCheck("caches", func(*http.Request) error {
			if filled.Load() {
				return nil
			}
			return fmt.Errorf("not filled yet: %s", strings.Join(m.unfilled(), ", "))
		}),
	}
	if m.Options.Webhooks {
		errs = append(errs, m.AddReadyzCheck("webhooks", m.GetWebhookServer().StartedChecker()))
	}
	return errors.Join(errs...)
}

// started runs as soon as the caches are filled, on every replica.
type started struct{ atomic.Bool }

var (
	_ manager.Runnable               = (*started)(nil)
	_ manager.LeaderElectionRunnable = (*started)(nil)
)

// Start implements manager.Runnable.
func (s *started) Start(context.Context) error {
	s.Store(true)
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (s *started) NeedLeaderElection() bool { return false }
