// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/c5c3/cobaltcore/common/reconcile"
)

func TestResultOf(t *testing.T) {
	t.Parallel()
	early := migration("k", ended(batchv1.JobComplete))
	early.CreationTimestamp = metav1.NewTime(start.Add(time.Hour))
	for _, tt := range []struct {
		name  string
		job   *batchv1.Job
		ended bool
		want  Result
	}{
		{"none", nil, false, Result{}},
		{"running", migration("k", batchv1.JobStatus{Active: 1}), false, Result{}},
		{"complete", migration("k", ended(batchv1.JobComplete)), true, Result{UID: "uid-old", Name: "svc-db-sync", Succeeded: true, Duration: 90 * time.Second}},
		{"failed", migration("k", ended(batchv1.JobFailed)), true, Result{UID: "uid-old", Name: "svc-db-sync", Duration: 90 * time.Second, Detail: "because"}},
		{"clocks apart", early, true, Result{UID: "uid-old", Name: "svc-db-sync", Succeeded: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, over := ResultOf(tt.job); got != tt.want || over != tt.ended {
				t.Errorf("ResultOf() = %+v, %v, want %+v", got, over, tt.want)
			}
		})
	}
}

func TestOnceMarksAJobOnlyWhenItHasEnded(t *testing.T) {
	t.Parallel()
	counted := "uid-before"
	never := func(Result, error) { t.Error("recorded") }
	Once(reconcile.Outcome{}, nil, &counted, never)
	Once(reconcile.Outcome{}, migration("k", batchv1.JobStatus{}), &counted, never)
	if counted != "uid-before" {
		t.Errorf("counted = %q", counted)
	}
	done := migration("k", ended(batchv1.JobComplete))
	Once(reconcile.Outcome{}, done, &counted, never) // nothing is recorded before the status is written
	if counted != "uid-old" {
		t.Errorf("counted = %q", counted)
	}
}

func TestLastRun(t *testing.T) {
	t.Parallel()
	cron := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "svc-db-clean", UID: "uid-cron"}}
	run := func(name string, age time.Duration, status batchv1.JobStatus) *batchv1.Job {
		j := migration("", status)
		j.Name, j.UID, j.CreationTimestamp = name, types.UID(name), metav1.NewTime(start.Add(-age))
		j.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", Name: cron.Name, UID: cron.UID, Controller: new(true)}}
		return j
	}
	other := run("other", 0, ended(batchv1.JobFailed))
	other.OwnerReferences[0].UID = "uid-of-another-cron"
	unlabelled := run("unlabelled", 0, ended(batchv1.JobFailed))
	unlabelled.Labels = nil
	manual := migration("", ended(batchv1.JobFailed))
	for _, tt := range []struct {
		name string
		jobs []client.Object
		want string
	}{
		{"none yet", []client.Object{other, unlabelled, manual}, ""},
		{"none has ended", []client.Object{run("a", 0, batchv1.JobStatus{Active: 1})}, ""},
		{"the newest that has ended", []client.Object{run("a", 3*time.Hour, ended(batchv1.JobFailed)), run("b", 2*time.Hour, ended(batchv1.JobComplete)), run("c", time.Hour, batchv1.JobStatus{Active: 1}), other, manual}, "b"},
		{"two of one second", []client.Object{run("a", time.Hour, ended(batchv1.JobFailed)), run("b", time.Hour, ended(batchv1.JobComplete))}, "b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var copies []client.Object
			for _, j := range tt.jobs {
				copies = append(copies, j.DeepCopyObject().(client.Object))
			}
			got, err := LastRun(t.Context(), world(t, interceptor.Funcs{}, interceptor.Funcs{}, copies...), cron, map[string]string{"app": "svc"})
			if err != nil {
				t.Fatal(err)
			}
			if (got == nil) != (tt.want == "") || (got != nil && got.Name != tt.want) {
				t.Errorf("LastRun() = %v, want %q", got, tt.want)
			}
		})
	}
	errDown := errors.New("connection refused")
	broken := interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return errDown
	}}
	if _, err := LastRun(t.Context(), world(t, broken, interceptor.Funcs{}), cron, nil); !errors.Is(err, errDown) {
		t.Errorf("LastRun() = %v", err)
	}
}
