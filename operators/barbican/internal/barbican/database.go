// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"context"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/database"
	"github.com/c5c3/cobaltcore/common/job"
	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/common/reconcile/release"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

const (
	// syncAttempts and syncDeadline end a migration that does not come to an end. An unreachable database takes one
	// attempt close to two minutes.
	syncAttempts int32 = 4
	syncDeadline int64 = 3600

	// recordRetry comes back at once: a status write alone wakes nobody.
	recordRetry = time.Second
)

// database provides the schema, then brings it to the requested release by a Job. Everything that speaks against the
// release is said before that Job exists.
func (s *steps) database(ctx context.Context, p *pass) reconcile.Outcome {
	b := p.Object
	if o := database.Provision(ctx, p.Children, b, schemaOf(b)); !o.Done() {
		return o
	}
	if o := awaitConfig(p); !o.Done() {
		return o
	}
	verdict := release.Check(change(b))
	if o := database.Admit(verdict); !o.Done() {
		return o
	}
	switch {
	case verdict.Step == release.Upgrade && b.Status.SchemaRelease != b.Spec.OpenStackRelease:
		// The way back is closed before the migration starts, so the record must be stored before the Job is.
		b.Status.TargetRelease, b.Status.SchemaRelease = b.Spec.OpenStackRelease, b.Spec.OpenStackRelease
		return reconcile.Wait(recordRetry, api.ReasonDBSyncInProgress, "Starting the migration to release "+b.Spec.OpenStackRelease)
	case verdict.Step == release.Install:
		b.Status.SchemaRelease = b.Spec.OpenStackRelease
	}
	if b.Status.InstalledImage != b.Spec.Image.Reference() {
		// The pods of a migration are subject to the policy, which its own row is too late for.
		if policy := s.networkPolicy(ctx, p); policy.Err() != nil {
			return reconcile.Blame(api.ReasonDBSyncFailed, policy.Err())
		}
	}
	return s.migrate(ctx, p)
}

func schemaOf(b *v1alpha1.Barbican) database.Schema {
	return database.Schema{Spec: b.Spec.Database, Labels: instance(b).Labels(), MaxConnections: connectionLimit(b.Spec)}
}

func connectionLimit(spec v1alpha1.BarbicanSpec) int32 {
	uwsgi := spec.EffectiveUWSGI()
	return database.MaxConnections(spec.MaxPods(), uwsgi.Processes, uwsgi.Threads)
}

// awaitConfig stops the table short of a migration while the configuration is not valid: an outage of the key store is
// no time for an upgrade. On a first install it carries on to the rows that say what else is missing.
func awaitConfig(p *pass) reconcile.Outcome {
	b := p.Object
	switch {
	case p.Values.mounts.configSecret == "":
		return reconcile.Poll(database.Retry, v1alpha1.ReasonWaitingForSecretStores, "The migration waits for a first configuration: see SecretStoresReady")
	case !p.Values.stores.valid && b.Status.InstalledRelease != b.Spec.OpenStackRelease:
		return reconcile.Wait(database.Retry, v1alpha1.ReasonWaitingForSecretStores,
			"The migration to release "+b.Spec.OpenStackRelease+" waits for a valid configuration: see SecretStoresReady")
	}
	return reconcile.Outcome{}
}

func change(b *v1alpha1.Barbican) release.Change {
	return release.Change{
		Installed: b.Status.InstalledRelease, InstalledImage: b.Status.InstalledImage, Started: b.Status.SchemaRelease,
		Requested: b.Spec.OpenStackRelease, Image: b.Spec.Image.Reference(), Tag: tag(b.Spec.Image),
		Rollback:     b.Annotations[v1alpha1.AnnotationAllowSchemaRollback],
		RollbackHint: ", or vouch for the older one with the annotation " + v1alpha1.AnnotationAllowSchemaRollback,
	}
}

// tag is what names the image's release; a digest names none.
func tag(image api.ImageSpec) string {
	if image.Digest != "" {
		return ""
	}
	return image.Tag
}

// migrate runs the Job. It is a no-op on a schema that is at its release, so it runs for every new image.
func (s *steps) migrate(ctx context.Context, p *pass) reconcile.Outcome {
	b := p.Object
	run, o := database.Migrate(ctx, s.jobs, p.Children, b, database.Migration{
		Release: b.Spec.OpenStackRelease, Key: syncKey(b), Sync: syncJob(b, p.Values.mounts.configSecret),
	})
	if o.Done() {
		b.Status.InstalledRelease, b.Status.InstalledImage = b.Spec.OpenStackRelease, b.Spec.Image.Reference()
		b.Status.SchemaRelease, b.Status.TargetRelease = b.Spec.OpenStackRelease, ""
	}
	tally := job.Tally{Metrics: s.Metrics.DBSync, Recorder: s.Recorder, Deferred: v1alpha1.EventDBSyncMetricEmissionDeferred}
	return tally.Count(o, b, run.Job, &b.Status.LastDBSyncJobUID)
}

func syncJob(b *v1alpha1.Barbican, configSecret string) *batchv1.Job {
	template := databaseTemplate(b, componentDBSync, configSecret, syncCommand...)
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: b.Namespace, Name: dbSyncName(b), Labels: instance(b).Component(componentDBSync),
		},
		Spec: batchv1.JobSpec{BackoffLimit: new(syncAttempts), ActiveDeadlineSeconds: new(syncDeadline), Template: template},
	}
}

var syncCommand = []string{"barbican-manage", "db", "upgrade"}

// syncKey names the work: another image, command or database is other work, another configuration file is not.
func syncKey(b *v1alpha1.Barbican) string {
	d := b.Spec.Database
	cluster := ""
	if d.ClusterRef != nil {
		cluster = d.ClusterRef.Name
	}
	return apply.Digest([]string{
		b.Spec.Image.Reference(), strings.Join(syncCommand, " "), cluster, d.Host, fmt.Sprint(d.EffectivePort()), d.Database,
	})
}
