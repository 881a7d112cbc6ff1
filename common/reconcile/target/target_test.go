// SPDX-License-Identifier: Apache-2.0

package target

import (
	"errors"
	"fmt"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
)

func TestLocalKnowsTheManagementClusterOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	local := Local{Cluster: Cluster{Writer: w.Writer}}
	c, err := local.Resolve(t.Context(), "")
	if err != nil || c.Writer != w.Writer || c.Remote() {
		t.Errorf("Resolve() = %+v, %v", c, err)
	}
	_, err = local.Resolve(t.Context(), "far")
	var unknown *UnknownError
	if !errors.As(fmt.Errorf("resolving: %w", err), &unknown) || unknown.Name != "far" ||
		err.Error() != `target cluster "far" is not available: target clusters are switched off` {
		t.Errorf("Resolve(far) = %v", err)
	}
	if !w.Remote() {
		t.Error("a named cluster is not remote")
	}
}

func TestPatience(t *testing.T) {
	t.Parallel()
	start := time.Unix(1e9, 0)
	clock := testclock.NewFakePassiveClock(start)
	p := Patience{Clock: clock}
	expect := func(at time.Duration, terminating time.Time, want bool) {
		t.Helper()
		clock.SetTime(start.Add(at))
		if got := p.Lost("far", terminating); got != want {
			t.Errorf("after %s: %v, want %v", at, got, want)
		}
	}
	long := start.Add(-time.Hour)
	expect(0, long, false) // a restarted process starts to count anew
	expect(AbandonAfter-1, long, false)
	expect(AbandonAfter, long, true)
	expect(AbandonAfter, start.Add(1), false) // lost for long, but not terminating for as long
	if p.Lost("other", long) {
		t.Error("another cluster shares the patience")
	}
	p.Found("far")
	expect(AbandonAfter+1, long, false)
	expect(0, long, false) // a clock that steps back asks for more patience, not less
	expect(2*AbandonAfter, long, false)
	expect(2*AbandonAfter+1, long, true)
}

func TestPatienceByTheWallClock(t *testing.T) {
	t.Parallel()
	var p Patience
	if p.Lost("far", time.Now().Add(-time.Hour)) {
		t.Error("the first failure is the last")
	}
}
