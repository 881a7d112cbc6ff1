// SPDX-License-Identifier: Apache-2.0

package job

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/observe"
	"github.com/c5c3/cobaltcore/common/reconcile"
)

// Tally counts the Jobs of one kind in the metrics.
type Tally struct {
	Metrics  *observe.Jobs
	Recorder reconcile.Recorder
	Deferred string // reason of the event that tells of a Job which could not be noted in the status, and is counted later
}

// Count records how a Job ended, once for each Job. counted is the field of owner's status that remembers it.
func (t Tally) Count(o reconcile.Outcome, owner client.Object, j *batchv1.Job, counted *string) reconcile.Outcome {
	return Once(o, j, counted, func(result Result, err error) {
		if err != nil {
			t.Recorder.Event(owner, corev1.EventTypeWarning, t.Deferred, "Job "+result.Name+" is counted later: the status could not be written")
			return
		}
		t.Metrics.Record(owner.GetNamespace(), owner.GetName(), result.Succeeded, result.Duration)
	})
}
