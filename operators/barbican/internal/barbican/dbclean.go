// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/job"
	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/common/reconcile/release"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// refusals are the reasons that keep a migration from ever starting, as the last pass left them.
var refusals = []string{
	api.ReasonVersionParseError, api.ReasonDowngradeNotSupported, api.ReasonUpgradePathInvalid, api.ReasonImageReleaseMismatch,
}

// dbClean schedules the clean-up and reports its newest run. It is paused until the schema is at the requested release,
// since its bulk deletes would contend with a migration for locks.
func (s *steps) dbClean(ctx context.Context, p *pass) reconcile.Outcome {
	b := p.Object
	if p.Values.mounts.configSecret == "" {
		return reconcile.NotReady(v1alpha1.ReasonWaitingForSecretStores, "The clean-up waits for a first configuration: see SecretStoresReady")
	}
	settings := b.Spec.DBClean.WithDefaults()
	converged, err := atRelease(ctx, p)
	if err != nil {
		return reconcile.Error(err)
	}
	cron := cleanUpJob(b, settings, settings.Suspend || !converged, p.Values.mounts.configSecret)
	if err := p.Children.Writer.Apply(ctx, b, cron); err != nil {
		return reconcile.Blame(v1alpha1.ReasonDBCleanBlocked, err)
	}
	last, err := job.LastRun(ctx, p.Children, cron, instance(b).Labels())
	if err != nil {
		return reconcile.Error(err)
	}
	tally := job.Tally{Metrics: s.Metrics.DBClean, Recorder: s.Recorder, Deferred: v1alpha1.EventDBCleanMetricEmissionDeferred}
	return tally.Count(cleanVerdict(b, settings, converged, last), b, last, &b.Status.LastDBCleanJobUID)
}

// atRelease says whether the schema is at the requested release. A migration that has succeeded counts before the Database
// row promotes its release, or each installation would take one pass and one write of the status more.
func atRelease(ctx context.Context, p *pass) (bool, error) {
	b, requested := p.Object, p.Object.Spec.OpenStackRelease
	if b.Status.InstalledRelease == requested || b.Status.SchemaRelease != requested {
		return b.Status.InstalledRelease == requested && requested != "", nil
	}
	var sync batchv1.Job
	err := p.Children.Client.Get(ctx, types.NamespacedName{Namespace: b.Namespace, Name: dbSyncName(b)}, &sync, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading Job %s: %w", dbSyncName(b), err)
	}
	result, ended := job.ResultOf(&sync)
	return ended && result.Succeeded && sync.Annotations[job.AnnotationKey] == syncKey(b) && p.Children.Writer.Controls(b, &sync), nil
}

// cleanVerdict is the first that applies.
func cleanVerdict(b *v1alpha1.Barbican, settings v1alpha1.DBCleanSpec, converged bool, last *batchv1.Job) reconcile.Outcome {
	result, ended := job.ResultOf(last)
	failed := ended && !result.Succeeded
	database := meta.FindStatusCondition(b.Status.Conditions, api.ConditionDatabaseReady)
	switch {
	case settings.Suspend && failed:
		return reconcile.Ready(v1alpha1.ReasonDBCleanSuspended, "spec.dbClean.suspend is set; the last run, Job "+result.Name+", had failed")
	case settings.Suspend:
		return reconcile.Ready(v1alpha1.ReasonDBCleanSuspended, "spec.dbClean.suspend is set")
	case !converged && database != nil && database.Status == metav1.ConditionFalse && slices.Contains(refusals, database.Reason):
		return reconcile.NotReady(v1alpha1.ReasonDBCleanBlocked,
			"Paused for a migration that is refused: correct spec.openStackRelease or spec.image, see DatabaseReady")
	case !converged:
		return reconcile.Ready(v1alpha1.ReasonDBCleanSuspended, "Paused until the schema is at the requested release")
	case failed:
		return reconcile.NotReady(v1alpha1.ReasonDBCleanJobFailed, fmt.Sprintf(
			"The last run failed: see the logs of Job %s; the next run follows the schedule", result.Name)).Warn()
	}
	return reconcile.Ready(v1alpha1.ReasonDBCleanScheduled, "Scheduled at "+settings.Schedule)
}

func cleanUpJob(b *v1alpha1.Barbican, settings v1alpha1.DBCleanSpec, suspend bool, configSecret string) *batchv1.CronJob {
	command := []string{"barbican-manage", "db", "clean", "--min-days", strconv.Itoa(int(*settings.RetentionDays))}
	if *settings.SoftDeleteExpiredSecrets {
		command = append(command, "--soft-delete-expired-secrets")
	}
	if *settings.CleanUnassociatedProjects {
		command = append(command, "--clean-unassociated-projects")
	}
	template := databaseTemplate(b, componentDBClean, configSecret, command...)
	template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	template.Spec.Containers[0].Image = cleanUpImage(b)
	return &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: dbCleanName(b), Labels: instance(b).Labels()},
		Spec: batchv1.CronJobSpec{
			Schedule: settings.Schedule, TimeZone: settings.TimeZone, Suspend: &suspend,
			ConcurrencyPolicy: batchv1.ForbidConcurrent,
			JobTemplate: batchv1.JobTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: instance(b).Labels()},
				Spec:       batchv1.JobSpec{ActiveDeadlineSeconds: settings.ActiveDeadlineSeconds, Template: template},
			},
		},
	}
}

// cleanUpImage is the one of the spec unless that is refused: programs that must not touch the schema must not delete its
// rows either.
func cleanUpImage(b *v1alpha1.Barbican) string {
	if release.Check(change(b)).Step == release.Refused && b.Status.InstalledImage != "" {
		return b.Status.InstalledImage
	}
	return b.Spec.Image.Reference()
}
