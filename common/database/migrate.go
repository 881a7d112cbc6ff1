// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/job"
	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/common/reconcile/release"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

// Admit turns the verdict on a release into an outcome: the zero Outcome when the schema may go there. A refusal raises a
// Warning event, unless another edit of the same change will lift it.
func Admit(v release.Verdict) reconcile.Outcome {
	switch {
	case v.Step != release.Refused:
		return reconcile.Outcome{}
	case v.Passing:
		return reconcile.Wait(Retry, v.Reason, v.Message)
	default:
		return reconcile.Fail(v.Reason, errors.New(v.Message)).Warn()
	}
}

// Migration is the work that brings a schema to a release.
type Migration struct {
	Release string
	Key     string       // changes when the work must be done again
	Sync    *batchv1.Job // migrates the schema
	Check   *batchv1.Job // compares the schema with the release afterwards; nil for services that cannot
}

// Migrate runs the Jobs of a migration one after the other, each once for a key. Its last outcome is DatabaseSynced. The
// run is that of the Sync Job.
func Migrate(ctx context.Context, r job.Runner, c target.Cluster, owner client.Object, m Migration) (job.Run, reconcile.Outcome) {
	run, err := r.Run(ctx, c, owner, m.Sync, m.Key)
	if o := judge(m.Sync.Name, run, err, api.ReasonDBSyncInProgress, api.ReasonDBSyncFailed); !o.Done() {
		return run, o
	}
	if m.Check != nil {
		check, err := r.Run(ctx, c, owner, m.Check, m.Key)
		if o := judge(m.Check.Name, check, err, api.ReasonSchemaCheckInProgress, api.ReasonSchemaDriftDetected); !o.Done() {
			return run, o
		}
	}
	return run, reconcile.Ready(api.ReasonDatabaseSynced, "The schema is at release "+m.Release).Note()
}

func judge(name string, run job.Run, err error, running, failed string) reconcile.Outcome {
	switch {
	case apply.IsRefused(err):
		return reconcile.Fail(failed, err).Warn()
	case err != nil:
		return reconcile.Error(err)
	case run.State == job.Failed:
		return reconcile.Fail(failed, fmt.Errorf(
			"job %q failed (%s): read the logs of its pods; it runs again when its image, command or database changes, or once the Job is deleted", name, run.Detail)).Warn()
	case run.State == job.Running && run.Detail != "":
		return reconcile.Wait(Retry, running, fmt.Sprintf("Job %q does not start: %s", name, run.Detail))
	case run.State == job.Running:
		return reconcile.Wait(Retry, running, fmt.Sprintf("Job %q is running", name))
	}
	return reconcile.Outcome{}
}
