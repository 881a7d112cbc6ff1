// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/database"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// bump asks for a release and the image of that name.
func bump(release string) func(*v1alpha1.Barbican) {
	return func(b *v1alpha1.Barbican) { b.Spec.OpenStackRelease, b.Spec.Image.Tag = release, release }
}

func syncOf(w *world) *batchv1.Job {
	w.Helper()
	return get(w, &batchv1.Job{}, "barbican-db-sync")
}

func imageOf(pod corev1.PodTemplateSpec) string { return pod.Spec.Containers[0].Image }

func TestProvisioning(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		objects []client.Object
		reason  string
		message string
	}{
		"no MariaDB":           {nil, api.ReasonClusterNotReady, `MariaDB "mariadb" does not exist`},
		"MariaDB is not ready": {[]client.Object{mariaDB(metav1.ConditionFalse)}, api.ReasonClusterNotReady, `MariaDB "mariadb" is not Ready`},
		"nothing is ready":     {[]client.Object{mariaDB(metav1.ConditionTrue)}, api.ReasonWaitingForDatabase, "mariadb-operator"},
		"a foreign Database": {
			[]client.Object{mariaDB(metav1.ConditionTrue), &database.Database{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}},
			api.ReasonWaitingForDatabase, "Database keys/barbican exists and is not controlled by",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t)
			w.remove(get(w, &database.MariaDB{}, "mariadb"))
			for _, o := range c.objects {
				w.create(o)
			}
			result, err := w.reconcile()
			if foreign := strings.Contains(c.message, "controlled"); foreign != (err != nil) || !foreign && result.RequeueAfter != 30*time.Second {
				t.Errorf("the pass ends with %+v, %v", result, err)
			}
			b := w.barbican()
			w.expect("DatabaseReady=False/"+c.reason, "DeploymentReady", "Ready=False/NotAllReady")
			if got := message(b, api.ConditionDatabaseReady); !strings.Contains(got, c.message) {
				t.Errorf("message %q lacks %q", got, c.message)
			}
			if exists(w, &batchv1.Job{}, "barbican-db-sync") {
				t.Error("the migration was started")
			}
		})
	}
}

// TestReleaseGate is about changes of a running 2025.2.
func TestReleaseGate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit   func(*v1alpha1.Barbican)
		reason string
		event  string
		passes bool // by itself once the other half of the edit comes
	}{
		"the release before": {edit: bump("2025.1"), reason: api.ReasonDowngradeNotSupported, event: "Warning DowngradeNotSupported"},
		"two releases on":    {edit: bump("2026.2"), reason: api.ReasonUpgradePathInvalid, event: "Warning UpgradePathInvalid"},
		"no release": {
			edit:   func(b *v1alpha1.Barbican) { b.Spec.OpenStackRelease = "zed" },
			reason: api.ReasonVersionParseError, event: "Warning VersionParseError",
		},
		"the release without its image": {
			edit:   func(b *v1alpha1.Barbican) { b.Spec.OpenStackRelease = "2026.1" },
			reason: api.ReasonImageReleaseMismatch, passes: true,
		},
		"the image without its release": {
			edit:   func(b *v1alpha1.Barbican) { b.Spec.Image.Tag = "2026.1-p1" },
			reason: api.ReasonImageReleaseMismatch, passes: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t)
			w.ready()
			w.edit(c.edit)
			result, err := w.reconcile()
			if c.passes != (err == nil) || c.passes && result.RequeueAfter != 30*time.Second {
				t.Errorf("the pass ends with %+v, %v", result, err)
			}
			w.expect("DatabaseReady=False/"+c.reason, "Ready=False/NotAllReady")
			var events []string
			if c.event != "" {
				events = []string{c.event}
			}
			w.expectEvents(events...)
			w.pass() // the clean-up looks at the verdict of the last pass
			want := "DBCleanReady=False/DBCleanBlocked"
			if w.barbican().Spec.OpenStackRelease == "2025.2" {
				want = "DBCleanReady=True/DBCleanScheduled" // nothing is waited for
			}
			w.expect(want)
			w.expectEvents()
			if image := imageOf(get(w, &appsv1.Deployment{}, "barbican").Spec.Template); image != "registry/barbican:2025.2" {
				t.Errorf("the pods run %s", image)
			}
			if image := imageOf(syncOf(w).Spec.Template); image != "registry/barbican:2025.2" {
				t.Errorf("a migration with %s was started", image)
			}
			if image := imageOf(get(w, &batchv1.CronJob{}, "barbican-db-clean").Spec.JobTemplate.Spec.Template); image != "registry/barbican:2025.2" {
				t.Errorf("the clean-up runs %s", image)
			}
		})
	}
}

func TestSameDigestForTwoReleases(t *testing.T) {
	t.Parallel()
	w := begin(t, func(b *v1alpha1.Barbican) {
		b.Spec.Image = api.ImageSpec{Repository: "registry/barbican", Digest: "sha256:" + strings.Repeat("0", 64)}
	})
	w.ready()
	w.edit(func(b *v1alpha1.Barbican) { b.Spec.OpenStackRelease = "2026.1" })
	w.pass()
	w.expect("DatabaseReady=False/ImageReleaseMismatch")
	w.expectEvents("Warning ImageReleaseMismatch")
}

// TestUpgrade follows one release to the next.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.ready()
	first := syncOf(w).UID
	w.edit(bump("2026.1"))

	// The record comes before the Job (R21).
	result, err := w.reconcile()
	if err != nil || result.RequeueAfter != time.Second {
		t.Errorf("the pass ends with %+v, %v; want it back in a second", result, err)
	}
	b := w.barbican()
	if b.Status.TargetRelease != "2026.1" || b.Status.SchemaRelease != "2026.1" || b.Status.InstalledRelease != "2025.2" {
		t.Errorf("status is %+v", b.Status)
	}
	if image := imageOf(syncOf(w).Spec.Template); image != "registry/barbican:2025.2" {
		t.Error("the Job was there before the record")
	}
	w.expect("DatabaseReady=False/DBSyncInProgress", "DBCleanReady=True/DBCleanSuspended")

	w.pass()
	if image := imageOf(syncOf(w).Spec.Template); image != "registry/barbican:2026.1" {
		t.Errorf("the migration runs %s", image)
	}
	if image := imageOf(get(w, &appsv1.Deployment{}, "barbican").Spec.Template); image != "registry/barbican:2025.2" {
		t.Errorf("the pods run %s before the schema is there", image)
	}
	if !*get(w, &batchv1.CronJob{}, "barbican-db-clean").Spec.Suspend {
		t.Error("the clean-up runs beside the migration")
	}

	b = w.converge()
	w.expect("Ready=True/AllReady", "DBCleanReady=True/DBCleanScheduled")
	want := v1alpha1.BarbicanStatus{InstalledRelease: "2026.1", InstalledImage: "registry/barbican:2026.1", SchemaRelease: "2026.1"}
	if b.Status.InstalledRelease != want.InstalledRelease || b.Status.InstalledImage != want.InstalledImage ||
		b.Status.TargetRelease != "" || b.Status.SchemaRelease != want.SchemaRelease {
		t.Errorf("status is %+v", b.Status)
	}
	if *get(w, &batchv1.CronJob{}, "barbican-db-clean").Spec.Suspend {
		t.Error("the clean-up is still suspended")
	}
	w.expectEvents("Normal DatabaseSynced")
	if first == "" {
		t.Error("the first migration had no UID")
	}
}

// TestCleanUpGoesOnAfterAnUpgrade that was interrupted before its last record, in the pass that makes up for it: there is
// no rollout that would wake the Barbican for another one.
func TestCleanUpGoesOnAfterAnUpgrade(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.ready()
	w.edit(bump("2026.1"))
	w.ready()
	b := w.barbican()
	b.Status.InstalledRelease, b.Status.InstalledImage, b.Status.TargetRelease = "2025.2", "registry/barbican:2025.2", "2026.1"
	if err := w.live.Status().Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	w.restart()
	w.pass()
	w.expect("DBCleanReady=True/DBCleanScheduled", "DatabaseReady=True/DatabaseSynced", "Ready=True/AllReady")
	if *get(w, &batchv1.CronJob{}, "barbican-db-clean").Spec.Suspend {
		t.Error("the clean-up is still suspended")
	}
}

// TestNoWayBack is R21: once a migration has started, the release of before is refused, whatever became of it.
func TestNoWayBack(t *testing.T) {
	t.Parallel()
	for name, consents := range map[string]bool{"without consent": false, "with consent": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t)
			w.ready()
			w.edit(bump("2026.1"))
			w.pass() // the record; the Job does not even exist
			w.edit(func(b *v1alpha1.Barbican) {
				bump("2025.2")(b)
				if consents {
					b.Annotations = map[string]string{v1alpha1.AnnotationAllowSchemaRollback: "2025.2"}
				}
			})
			if !consents {
				b := w.pass()
				w.expect("DatabaseReady=False/UpgradePathInvalid")
				if got := message(b, api.ConditionDatabaseReady); !strings.Contains(got, v1alpha1.AnnotationAllowSchemaRollback) {
					t.Errorf("message %q does not name the way out", got)
				}
				w.expectEvents("Warning UpgradePathInvalid")
				return
			}
			b := w.converge()
			w.expect("Ready=True/AllReady")
			if b.Status.TargetRelease != "" || b.Status.SchemaRelease != "2025.2" {
				t.Errorf("status is %+v", b.Status)
			}
		})
	}
}

// TestSyncRunsAgain is R12: what makes the migration run again, and what does not.
func TestSyncRunsAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit  func(*v1alpha1.Barbican)
		again bool
	}{
		"another patch of the image": {func(b *v1alpha1.Barbican) { b.Spec.Image.Tag = "2025.2-p1" }, true},
		"another repository":         {func(b *v1alpha1.Barbican) { b.Spec.Image.Repository = "mirror/barbican" }, true},
		"another schema":             {func(b *v1alpha1.Barbican) { b.Spec.Database.Database = "other" }, true},
		"another port":               {func(b *v1alpha1.Barbican) { b.Spec.Database.Port = 3307 }, true},
		"another server": {func(b *v1alpha1.Barbican) {
			b.Spec.Database.ClusterRef, b.Spec.Database.Host = nil, "db.example.org"
		}, true},
		"the default port, spelled out": {func(b *v1alpha1.Barbican) { b.Spec.Database.Port = 3306 }, false},
		"another option": {func(b *v1alpha1.Barbican) {
			b.Spec.ExtraConfig = map[string]map[string]string{"quotas": {"quota_secrets": "10"}}
		}, false},
		"more pods":     {func(b *v1alpha1.Barbican) { b.Spec.Deployment.Replicas = 5 }, false},
		"logging":       {func(b *v1alpha1.Barbican) { b.Spec.Logging = &api.LoggingSpec{Level: api.LogDebug} }, false},
		"another user":  {func(b *v1alpha1.Barbican) { b.Spec.ServiceUser.Username = "other" }, false},
		"the clean-up":  {func(b *v1alpha1.Barbican) { b.Spec.DBClean = &v1alpha1.DBCleanSpec{Schedule: "@daily"} }, false},
		"another cache": {func(b *v1alpha1.Barbican) { b.Spec.Cache.ClusterRef.Name = "other" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t)
			w.ready()
			w.edit(c.edit)
			w.pass()
			requests := w.taken()
			if got := slices.Contains(requests, "create Job"); got != c.again {
				t.Errorf("runs again: %v, want %v; requests: %q", got, c.again, requests)
			}
			w.converge()
			w.expect("Ready=True/AllReady")
		})
	}
}

func TestFailedSync(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.pass()
	w.simulate()
	w.pass()
	w.finish(syncOf(w), batchv1.JobFailed)
	for range 2 {
		if _, err := w.reconcile(); err == nil {
			t.Error("a failed migration does not back off")
		}
	}
	w.expect("DatabaseReady=False/DBSyncFailed", "DeploymentReady")
	w.expectEvents("Warning DBSyncFailed")
	w.expectCount("barbican_operator_db_sync_total", "failed", 1)
	if got := message(w.barbican(), api.ConditionDatabaseReady); !strings.Contains(got, `"barbican-db-sync" failed (as the test wants it)`) {
		t.Errorf("message is %q", got)
	}

	w.edit(func(b *v1alpha1.Barbican) { b.Spec.Image.Tag = "2025.2-p1" })
	w.converge()
	w.expect("Ready=True/AllReady")
	w.expectCount("barbican_operator_db_sync_total", "failed", 1)
	w.expectCount("barbican_operator_db_sync_total", "succeeded", 1)
}

// expectCount looks at a counter of this Barbican.
func (w *world) expectCount(metric, result string, want float64) {
	w.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		w.Fatal(err)
	}
	got := 0.0
	for _, f := range families {
		for _, m := range f.Metric {
			if f.GetName() == metric && slices.ContainsFunc(m.Label, func(l *dto.LabelPair) bool { return l.GetValue() == result }) {
				got = m.Counter.GetValue()
			}
		}
	}
	if got != want {
		w.Errorf("%s{result=%q} is %v, want %v", metric, result, got, want)
	}
}

// TestOutage is R10: while no store is valid nothing migrates, and what runs is kept in shape.
func TestOutage(t *testing.T) {
	t.Parallel()
	outage := says(api.ConditionCredentialsReady, metav1.ConditionFalse, v1alpha1.ReasonInvalidCredentials)
	t.Run("a new release waits", func(t *testing.T) {
		t.Parallel()
		w := begin(t)
		w.ready()
		w.editStore("main", outage)
		w.edit(bump("2026.1"))
		w.pass()
		w.expect("DatabaseReady=False/WaitingForSecretStores", "DBCleanReady=True/DBCleanSuspended")
		if b := w.barbican(); b.Status.TargetRelease != "" || b.Status.SchemaRelease != "2025.2" {
			t.Errorf("status is %+v", b.Status)
		}
		if image := imageOf(syncOf(w).Spec.Template); image != "registry/barbican:2025.2" {
			t.Errorf("a migration with %s was started", image)
		}
		if image := imageOf(get(w, &appsv1.Deployment{}, "barbican").Spec.Template); image != "registry/barbican:2025.2" {
			t.Errorf("the pods run %s", image)
		}

		w.editStore("main", says(api.ConditionCredentialsReady, metav1.ConditionTrue, v1alpha1.ReasonCredentialsAvailable))
		w.converge()
		w.expect("Ready=True/AllReady")
	})
	t.Run("another size is applied", func(t *testing.T) {
		t.Parallel()
		w := begin(t)
		w.ready()
		w.editStore("main", outage)
		w.edit(func(b *v1alpha1.Barbican) { b.Spec.Deployment.Replicas = 5 })
		if result, err := w.reconcile(); err != nil || result.RequeueAfter != 10*time.Second {
			t.Errorf("the pass ends with %+v, %v; want the rollout polled", result, err)
		}
		w.converge()
		w.expect("DeploymentReady=False/WaitingForSecretStores", "DatabaseReady=True/DatabaseSynced", "BarbicanAPIReady=True/APIHealthy")
		if got := *get(w, &appsv1.Deployment{}, "barbican").Spec.Replicas; got != 5 {
			t.Errorf("%d replicas", got)
		}
		if got := get(w, &database.User{}, "barbican").Spec.MaxUserConnections; got != 14 {
			t.Errorf("%d connections", got)
		}
	})
}

func TestEachJobCountsOnce(t *testing.T) {
	t.Parallel()
	w := begin(t)
	w.pass()
	w.simulate()
	w.pass()
	w.simulate()
	w.fault = func(verb string, _ client.Object) error {
		if verb == "status" {
			return errBroken
		}
		return nil
	}
	for range 2 {
		if _, err := w.reconcile(); err == nil {
			t.Error("the status could be written")
		}
	}
	w.expectCount("barbican_operator_db_sync_total", "succeeded", 0)
	w.expectEvents("Warning DBSyncMetricEmissionDeferred", "Warning DBSyncMetricEmissionDeferred")
	w.fault = nil
	w.ready()
	w.restart()
	w.pass()
	w.expectCount("barbican_operator_db_sync_total", "succeeded", 1)
	if n := testutil.CollectAndCount(w.registry, "barbican_operator_db_sync_duration_seconds"); n != 1 {
		t.Errorf("%d series of durations", n)
	}
}
