// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/cobaltcore/common/job"
)

func TestAFinishedJobMakesWayForNewWork(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	template := p.pod("image")
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	desired := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.service.Namespace, Name: "one-db-sync", Labels: p.instance.Component("db-sync")},
		Spec:       batchv1.JobSpec{BackoffLimit: new(int32(4)), ActiveDeadlineSeconds: new(int64(60)), Template: template},
	}
	run := func(key string) job.Run {
		t.Helper()
		r, err := job.Runner{}.Run(t.Context(), p.Cluster, p.service, desired, key)
		check(t, err)
		return r
	}
	live := func() *batchv1.Job {
		j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: desired.Name}}
		p.get(t, j)
		return j
	}
	run("one")
	first := live()
	if r := run("two"); r.State != job.Running || live().UID != first.UID {
		t.Errorf("a Job that runs was replaced: %+v", r)
	}
	now := metav1.Now()
	first.Status = batchv1.JobStatus{Succeeded: 1, StartTime: &now, CompletionTime: &now, Conditions: []batchv1.JobCondition{
		{Type: batchv1.JobSuccessCriteriaMet, Status: "True", LastTransitionTime: now}, {Type: batchv1.JobComplete, Status: "True", LastTransitionTime: now}}}
	check(t, p.Client.Status().Update(t.Context(), first))
	if r := run("one"); r.State != job.Succeeded || live().UID != first.UID {
		t.Errorf("the same work: %+v", r)
	}
	if r := run("two"); r.State != job.Running || live().UID == first.UID || live().Annotations[job.AnnotationKey] != "two" {
		t.Errorf("new work: %+v on %s", r, live().UID)
	}
}
