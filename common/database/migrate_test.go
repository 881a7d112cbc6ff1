// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/job"
	"github.com/c5c3/cobaltcore/common/reconcile/release"
)

func TestAdmit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		verdict release.Verdict
		reason  string
		fails   bool
		after   time.Duration
	}{
		{"upgrade", release.Verdict{Step: release.Upgrade}, "", false, 0},
		{"same", release.Verdict{Step: release.Same}, "", false, 0},
		{"unreadable", release.Verdict{Reason: api.ReasonVersionParseError}, api.ReasonVersionParseError, true, 0},
		{"downgrade", release.Verdict{Reason: api.ReasonDowngradeNotSupported}, api.ReasonDowngradeNotSupported, true, 0},
		{"jump", release.Verdict{Reason: api.ReasonUpgradePathInvalid}, api.ReasonUpgradePathInvalid, true, 0},
		{"unchanged image", release.Verdict{Reason: api.ReasonImageReleaseMismatch}, api.ReasonImageReleaseMismatch, true, 0},
		{"tag behind the release", release.Verdict{Reason: api.ReasonImageReleaseMismatch, Passing: true}, api.ReasonImageReleaseMismatch, false, Retry},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Admit(tt.verdict)
			expect(t, got, tt.reason, tt.fails)
			if got.Done() != (tt.reason == "") || got.ComesBack() != tt.after {
				t.Errorf("Admit() = %+v", got)
			}
		})
	}
}

func work(name string) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: batchv1.JobSpec{
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}}}
}

func past(name string, kind batchv1.JobConditionType) *batchv1.Job {
	j := ownedBy(service(), work(name))
	j.Annotations = map[string]string{job.AnnotationKey: "k"}
	j.UID = types.UID("uid-" + name)
	j.CreationTimestamp = metav1.Now()
	if kind != "" {
		j.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue, Message: "backoff limit"}}
	}
	return j
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	stuck := past("svc-db-sync", "")
	stuck.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Hour))
	for _, tt := range []struct {
		name    string
		objects []client.Object
		check   bool
		hooks   interceptor.Funcs
		reason  string
		fails   bool
		says    string
	}{
		{name: "started", reason: api.ReasonDBSyncInProgress, says: `Job "svc-db-sync" is running`},
		{name: "running", objects: []client.Object{past("svc-db-sync", "")}, reason: api.ReasonDBSyncInProgress},
		{name: "does not start", objects: []client.Object{stuck}, reason: api.ReasonDBSyncInProgress, says: "does not start: no pod could be created"},
		{name: "failed", objects: []client.Object{past("svc-db-sync", batchv1.JobFailed)}, reason: api.ReasonDBSyncFailed, fails: true, says: "backoff limit"},
		{name: "foreign", objects: []client.Object{ownedBy(stranger(), past("svc-db-sync", batchv1.JobComplete))}, reason: api.ReasonDBSyncFailed, fails: true, says: "not controlled by"},
		{name: "API server down", hooks: interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return errors.New("connection refused")
		}}, fails: true},
		{name: "done", objects: []client.Object{past("svc-db-sync", batchv1.JobComplete)}, reason: api.ReasonDatabaseSynced, says: "2026.1"},
		{name: "check started", check: true, objects: []client.Object{past("svc-db-sync", batchv1.JobComplete)}, reason: api.ReasonSchemaCheckInProgress},
		{name: "check found something", check: true, objects: []client.Object{past("svc-db-sync", batchv1.JobComplete), past("svc-schema-check", batchv1.JobFailed)}, reason: api.ReasonSchemaDriftDetected, fails: true},
		{name: "check done", check: true, objects: []client.Object{past("svc-db-sync", batchv1.JobComplete), past("svc-schema-check", batchv1.JobComplete)}, reason: api.ReasonDatabaseSynced},
		{name: "no check before the migration", check: true, reason: api.ReasonDBSyncInProgress},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := Migration{Release: "2026.1", Key: "k", Sync: work("svc-db-sync")}
			if tt.check {
				m.Check = work("svc-schema-check")
			}
			run, got := Migrate(t.Context(), job.Runner{}, world(t, tt.hooks, tt.objects...), service(), m)
			expect(t, got, tt.reason, tt.fails)
			if !strings.Contains(got.Message(), tt.says) {
				t.Errorf("message = %q, want it to say %q", got.Message(), tt.says)
			}
			if got.Done() != (tt.reason == api.ReasonDatabaseSynced) || (run.Job != nil && run.Job.Name != "svc-db-sync") {
				t.Errorf("run = %+v", run)
			}
		})
	}
}
