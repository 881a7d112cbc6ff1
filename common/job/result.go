// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

// Result is how a Job ended.
type Result struct {
	UID       types.UID
	Name      string
	Succeeded bool
	Duration  time.Duration // from the creation of the Job to its end
	Detail    string        // why it failed; may be empty
}

// ResultOf returns how a Job ended, and whether it has. A nil Job has not. Failed wins over Complete.
func ResultOf(j *batchv1.Job) (Result, bool) {
	if j == nil {
		return Result{}, false
	}
	end := condition(j, batchv1.JobFailed)
	succeeded := end == nil
	if succeeded {
		end = condition(j, batchv1.JobComplete)
	}
	if end == nil {
		return Result{}, false
	}
	result := Result{
		UID: j.UID, Name: j.Name, Succeeded: succeeded,
		Duration: max(0, end.LastTransitionTime.Sub(j.CreationTimestamp.Time)),
	}
	if !succeeded {
		result.Detail = end.Message
	}
	return result, true
}

func condition(j *batchv1.Job, of batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range j.Status.Conditions {
		if c := &j.Status.Conditions[i]; c.Type == of && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

func runOf(j *batchv1.Job) Run {
	switch result, ended := ResultOf(j); {
	case !ended:
		return Run{State: Running, Job: j}
	case result.Succeeded:
		return Run{State: Succeeded, Job: j}
	default:
		return Run{State: Failed, Job: j, Detail: result.Detail}
	}
}

// Once calls record for a Job that ended, one time for each Job: counted is a field of the owner's status that remembers
// the UID, and record runs after that is written. It is told of a status that could not be written; the next pass
// calls it again.
func Once(o reconcile.Outcome, j *batchv1.Job, counted *string, record func(Result, error)) reconcile.Outcome {
	result, ended := ResultOf(j)
	if !ended || *counted == string(result.UID) {
		return o
	}
	*counted = string(result.UID)
	return o.Persisted(func(err error) { record(result, err) })
}

// LastRun is the newest Job of a CronJob that has ended, nil when there is none. labels are those of its Jobs. The Job is
// shared with the cache.
func LastRun(ctx context.Context, c target.Cluster, cron *batchv1.CronJob, labels map[string]string) (*batchv1.Job, error) {
	jobs := &batchv1.JobList{}
	err := c.Client.List(ctx, jobs, client.InNamespace(cron.Namespace), client.MatchingLabels(labels), client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("listing the Jobs of CronJob %s/%s: %w", cron.Namespace, cron.Name, err)
	}
	var last *batchv1.Job
	for i := range jobs.Items {
		j := &jobs.Items[i]
		if _, ended := ResultOf(j); ended && metav1.IsControlledBy(j, cron) && (last == nil || newer(j, last)) {
			last = j
		}
	}
	return last, nil
}

func newer(a, b *batchv1.Job) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.Name > b.Name
	}
	return b.CreationTimestamp.Before(&a.CreationTimestamp)
}
