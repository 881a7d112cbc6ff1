// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"fmt"
	"maps"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

// AnnotationKey holds the key of the work that a Job does.
const AnnotationKey = "cobaltcore.c5c3.io/pod-spec-hash"

// lookAfter is how long a Job may take to start before its pods are looked at.
const lookAfter = 30 * time.Second

// State is how far a run has come.
type State int

// The states of a run.
const (
	Running State = iota
	Succeeded
	Failed
)

// Run is what is known of a piece of work.
type Run struct {
	State State
	// Job is the Job as it was last seen, shared with the cache; nil when it was created just now.
	Job *batchv1.Job
	// Detail says why the Job failed or does not start; may be empty.
	Detail string
}

// Runner runs Jobs. The zero value is ready to use.
type Runner struct {
	Clock clock.PassiveClock // nil stands for the wall clock
}

// Run sees to it that the work with this key is done by a Job like desired. A Job that did other work makes way for it:
// when it has finished, or when none of its pods can start. One that runs is waited for.
func (r Runner) Run(ctx context.Context, c target.Cluster, owner client.Object, desired *batchv1.Job, key string) (Run, error) {
	live := &batchv1.Job{}
	err := c.Client.Get(ctx, client.ObjectKeyFromObject(desired), live, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return r.create(ctx, c, owner, desired, key)
	}
	if err != nil {
		return Run{}, fmt.Errorf("reading Job %s: %w", client.ObjectKeyFromObject(desired), err)
	}
	// A cache keeps of a Job without our labels no more than its metadata: nothing is known before they are back.
	if err := c.Writer.Restore(ctx, owner, live, desired.Labels); err != nil {
		return Run{}, err
	}
	run := runOf(live)
	if run.State == Running && run.Job.DeletionTimestamp.IsZero() && r.isSlow(live) {
		blocked, err := blocker(ctx, c, live)
		if err != nil {
			return Run{}, err
		}
		run.Detail = blocked
	}
	if live.Annotations[AnnotationKey] == key || (run.State == Running && run.Detail == "") {
		return run, nil
	}
	return r.replace(ctx, c, owner, live, desired, key)
}

// create starts the work. A Job that the cache does not show yet counts as running.
func (r Runner) create(ctx context.Context, c target.Cluster, owner client.Object, desired *batchv1.Job, key string) (Run, error) {
	fresh := desired.DeepCopy()
	fresh.Annotations = maps.Clone(fresh.Annotations)
	if fresh.Annotations == nil {
		fresh.Annotations = map[string]string{}
	}
	fresh.Annotations[AnnotationKey] = key
	err := c.Writer.Create(ctx, owner, fresh)
	if !apierrors.IsAlreadyExists(err) {
		return Run{}, err
	}
	live := &batchv1.Job{}
	if err := c.Reader.Get(ctx, client.ObjectKeyFromObject(desired), live); err != nil {
		return Run{}, client.IgnoreNotFound(err)
	}
	if err := c.Writer.Restore(ctx, owner, live, desired.Labels); err != nil {
		return Run{}, err
	}
	return Run{Job: live}, nil
}

func (r Runner) replace(
	ctx context.Context, c target.Cluster, owner client.Object, live, desired *batchv1.Job, key string,
) (Run, error) {
	_, err := c.Writer.Delete(ctx, owner, live)
	if apierrors.IsConflict(err) {
		return Run{}, nil // it was replaced already, and the cache does not know
	}
	if err != nil {
		return Run{}, err
	}
	return r.create(ctx, c, owner, desired, key)
}

// isSlow says whether a Job has had time to start a pod, and none has run.
func (r Runner) isSlow(j *batchv1.Job) bool {
	s := j.Status
	ran := s.Failed > 0 || s.Succeeded > 0 || (s.Ready != nil && *s.Ready > 0)
	return !ran && r.now().Sub(j.CreationTimestamp.Time) >= lookAfter
}

func (r Runner) now() time.Time {
	if r.Clock == nil {
		return time.Now()
	}
	return r.Clock.Now()
}
