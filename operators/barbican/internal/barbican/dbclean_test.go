// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// TestCleanVerdict is the order of priority of DBCleanReady.
func TestCleanVerdict(t *testing.T) {
	t.Parallel()
	failed := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "run-1"},
		Status:     batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: "True"}}},
	}
	complete := &batchv1.Job{Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: "True"}}}}
	for name, c := range map[string]struct {
		suspend   bool
		converged bool
		database  string // reason of DatabaseReady, False
		last      *batchv1.Job
		want      string
		message   string
	}{
		"never ran":                       {converged: true, want: "True/DBCleanScheduled", message: "Scheduled at 1 0 * * *"},
		"ran":                             {converged: true, last: complete, want: "True/DBCleanScheduled"},
		"failed":                          {converged: true, last: failed, want: "False/DBCleanJobFailed", message: "Job run-1"},
		"paused by the user":              {suspend: true, converged: true, want: "True/DBCleanSuspended", message: "spec.dbClean.suspend"},
		"paused by the user, failed":      {suspend: true, converged: true, last: failed, want: "True/DBCleanSuspended", message: "Job run-1, had failed"},
		"paused by the user, refused":     {suspend: true, database: api.ReasonUpgradePathInvalid, want: "True/DBCleanSuspended"},
		"a migration is ahead":            {want: "True/DBCleanSuspended", message: "until the schema"},
		"a migration is ahead, failed":    {last: failed, want: "True/DBCleanSuspended"},
		"a migration is running":          {database: api.ReasonDBSyncInProgress, want: "True/DBCleanSuspended"},
		"the release cannot be read":      {database: api.ReasonVersionParseError, want: "False/DBCleanBlocked"},
		"the release is older":            {database: api.ReasonDowngradeNotSupported, want: "False/DBCleanBlocked"},
		"the release is no next one":      {database: api.ReasonUpgradePathInvalid, want: "False/DBCleanBlocked"},
		"the image is of another release": {database: api.ReasonImageReleaseMismatch, want: "False/DBCleanBlocked", message: "spec.image"},
		"refused, but converged":          {converged: true, database: api.ReasonImageReleaseMismatch, want: "True/DBCleanScheduled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := minimal()
			if c.database != "" {
				b.Status.Conditions = []metav1.Condition{{Type: api.ConditionDatabaseReady, Status: metav1.ConditionFalse, Reason: c.database}}
			}
			settings := (&v1alpha1.DBCleanSpec{Suspend: c.suspend}).WithDefaults()
			o := cleanVerdict(b, settings, c.converged, c.last)
			if got := string(o.Status()) + "/" + o.Reason(); got != c.want || !strings.Contains(o.Message(), c.message) {
				t.Errorf("verdict is %s: %q, want %s: %q", got, o.Message(), c.want, c.message)
			}
		})
	}
}

// cleanUp adds a finished run of the CronJob.
func (w *world) cleanUp(name string, started time.Time, how batchv1.JobConditionType) {
	w.Helper()
	cron := get(w, &batchv1.CronJob{}, "barbican-db-clean")
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: w.newUID(), Labels: cron.Spec.JobTemplate.Labels, CreationTimestamp: metav1.NewTime(started),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cron, batchv1.SchemeGroupVersion.WithKind("CronJob"))},
	}}
	w.create(j)
	w.finish(j, how)
}

// TestCleanUpRuns follows the runs of the CronJob: each counts once, and the newest decides.
func TestCleanUpRuns(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.ready()
	midnight := time.Now().Truncate(time.Hour)
	w.cleanUp("run-1", midnight, batchv1.JobFailed)
	w.pass()
	w.expect("DBCleanReady=False/DBCleanJobFailed", "Ready=False/NotAllReady", "DeploymentReady=True/DeploymentReady")
	w.expectEvents("Warning DBCleanJobFailed")
	w.pass()
	w.restart()
	w.pass()
	w.expectEvents()
	w.expectCount("barbican_operator_db_clean_total", "failed", 1)

	w.cleanUp("run-2", midnight.Add(24*time.Hour), batchv1.JobComplete)
	w.pass()
	w.expect("DBCleanReady=True/DBCleanScheduled", "Ready=True/AllReady")
	w.expectCount("barbican_operator_db_clean_total", "succeeded", 1)

	// A run of somebody else's that looks like ours, and one that is only older, decide nothing.
	foreign := get(w, &batchv1.Job{}, "run-1").DeepCopy()
	foreign.Name, foreign.UID, foreign.ResourceVersion, foreign.OwnerReferences = "foreign", "foreign", "", nil
	foreign.CreationTimestamp = metav1.NewTime(midnight.Add(48 * time.Hour))
	w.create(foreign)
	w.cleanUp("run-0", midnight.Add(-24*time.Hour), batchv1.JobFailed)
	w.pass()
	w.expect("DBCleanReady=True/DBCleanScheduled")
	w.expectCount("barbican_operator_db_clean_total", "failed", 1)
	w.expectEvents()
}

func TestCleanUpCountedLater(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.ready()
	w.cleanUp("run-1", time.Now(), batchv1.JobComplete)
	w.fault = func(verb string, _ client.Object) error {
		if verb == "status" {
			return errBroken
		}
		return nil
	}
	w.pass()
	w.expectEvents("Warning DBCleanMetricEmissionDeferred")
	w.expectCount("barbican_operator_db_clean_total", "succeeded", 0)
	w.fault = nil
	w.pass()
	w.expectEvents()
	w.expectCount("barbican_operator_db_clean_total", "succeeded", 1)
}

func TestCleanUpName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"barbican":                     "barbican-db-clean",
		strings.Repeat("a", 43):        strings.Repeat("a", 43) + "-db-clean",
		strings.Repeat("a", 44):        strings.Repeat("a", 34) + "-16849877-db-clean",
		strings.Repeat("a-", 22) + "b": strings.Repeat("a-", 16) + "a-043b90ac-db-clean",
	} {
		b := minimal()
		b.Name = name
		if got := dbCleanName(b); got != want || len(got) > cronJobNameLimit {
			t.Errorf("the CronJob of %s is named %s, want %s", name, got, want)
		}
	}
}

// TestCleanUpWaitsForASchema is about an object without a release, which no schema would let pass.
func TestCleanUpWaitsForASchema(t *testing.T) {
	t.Parallel()
	w := begin(t, func(b *v1alpha1.Barbican) { b.Spec.OpenStackRelease = "" })
	w.pass()
	w.expect("DBCleanReady=True/DBCleanSuspended")
	if !*get(w, &batchv1.CronJob{}, "barbican-db-clean").Spec.Suspend {
		t.Error("the clean-up runs on a schema that was never installed")
	}
}
