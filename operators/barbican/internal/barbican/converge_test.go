// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/database"
)

// TestColdConverge gates what a converge with nothing optional may cost.
func TestColdConverge(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.converge()
	w.expect("Ready=True/AllReady")
	want := []string{
		"patch Barbican", // the finalizer
		"create Secret",  // the DSN
		"create Secret",  // the configuration
		"apply CronJob", "apply Database", "apply User", "apply Grant",
		"status Barbican",
		"create Job",
		"status Barbican",
		"apply CronJob", // no longer suspended
		"apply Deployment", "apply Service", "apply PodDisruptionBudget",
		"status Barbican",
		"status Barbican",
	}
	if diff := cmp.Diff(want, w.taken()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	w.expectEvents("Normal DatabaseSynced")
}

// TestColdConvergeStepByStep gates the same when a pass is woken by each child that becomes ready.
func TestColdConvergeStepByStep(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.pass()
	for _, o := range []client.Object{&database.Database{}, &database.User{}, &database.Grant{}} {
		w.makeReady(get(w, o, "barbican"))
		w.pass()
	}
	w.pass() // the Job runs
	w.finish(syncOf(w), batchv1.JobComplete)
	w.pass()
	for ready := range int32(3) {
		w.observed(func(d *appsv1.Deployment) {
			d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.ReadyReplicas = 3, 3, ready
		})
		w.pass()
	}
	w.rollOut()
	w.pass()
	w.expect("Ready=True/AllReady")
	requests := w.taken()
	written := 0
	for _, r := range requests {
		if r == "status Barbican" {
			written++
		}
	}
	if written > 4 || len(requests) > 16 {
		t.Errorf("%d writes of the status among %d requests: %q", written, len(requests), requests)
	}
}

// TestConvergedPass gates that a pass which changes nothing asks nobody, tells nobody and comes back in a minute.
func TestConvergedPass(t *testing.T) {
	t.Parallel()
	for name, restarted := range map[string]bool{"by the same process": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t, full)
			w.converge()
			w.acceptRoute()
			w.ready()
			if restarted {
				w.restart()
			}
			for range 3 {
				result, err := w.reconcile()
				if err != nil {
					t.Fatal(err)
				}
				if result.RequeueAfter < time.Minute || result.RequeueAfter > 66*time.Second {
					t.Errorf("comes back after %s", result.RequeueAfter)
				}
			}
			if requests := w.taken(); len(requests) > 0 {
				t.Errorf("requests: %q", requests)
			}
			w.expectEvents()
		})
	}
}

// allocations is what a pass that changes nothing may allocate. Together with a store's, which takes some 65, it may be 670.
const allocations = 600

func BenchmarkConvergedPass(b *testing.B) {
	w := begin(b)
	w.ready()
	w.freezeAll()
	for b.Loop() {
		if _, err := w.reconcile(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
}

func TestConvergedPassAllocates(t *testing.T) { //nolint:paralleltest // to count allocations it must run alone
	w := begin(t)
	w.ready()
	w.freezeAll()
	pass := func() {
		if _, err := w.reconcile(); err != nil {
			t.Fatal(err)
		}
	}
	pass()
	got := testing.AllocsPerRun(100, pass)
	t.Logf("%.0f allocations", got)
	if got > allocations {
		t.Errorf("a pass allocates %.0f times, want at most %d", got, allocations)
	}
	if requests := w.taken(); slices.ContainsFunc(requests, func(r string) bool { return !strings.HasPrefix(r, "read") }) {
		t.Errorf("requests: %q", requests)
	}
}
