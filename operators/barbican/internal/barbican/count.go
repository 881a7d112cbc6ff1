// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/cobaltcore/common/job"
	"github.com/c5c3/cobaltcore/common/observe"
	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// count records how a Job ended in the metrics, once for each Job. An event tells of one that could not be noted in the
// status; the next pass tries again.
func (s *steps) count(
	o reconcile.Outcome, b *v1alpha1.Barbican, j *batchv1.Job, counted *string, jobs *observe.Jobs, deferred string,
) reconcile.Outcome {
	return job.Once(o, j, counted, func(result job.Result, err error) {
		if err != nil {
			s.Recorder.Event(b, corev1.EventTypeWarning, deferred, "Job "+result.Name+" is counted later: the status could not be written")
			return
		}
		jobs.Record(b.Namespace, b.Name, result.Succeeded, result.Duration)
	})
}
