// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/samber/lo"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

// keptVersions is how many former versions stay for a look back, on top of those in use.
const keptVersions = 3

// History is what is known of the versions of a Hashed Secret.
type History struct {
	Base    string            // as it was given to Hashed
	Current string            // name of the newest version; empty while there is none, then nothing is pruned
	Pods    map[string]string // labels of the workloads whose pods may use a version
}

// Prune deletes the versions that owner wrote and that nothing uses any more: neither the current one, nor the newest
// former ones, nor any that a workload mounts. As long as there are few, it costs a look into the cache.
func Prune(ctx context.Context, c target.Cluster, owner client.Object, h History) error {
	old, err := formerVersions(ctx, c, owner, h)
	if err != nil || len(old) <= keptVersions || h.Current == "" {
		return err
	}
	used, err := InUse(ctx, c, owner.GetNamespace(), h.Pods)
	if err != nil {
		return fmt.Errorf("pruning Secrets %s-*: %w", h.Base, err)
	}
	var failures []error
	for i := range old[keptVersions:] {
		version := &old[keptVersions+i]
		if _, ok := used[version.Name]; ok {
			continue
		}
		_, err := c.Writer.Delete(ctx, owner, version)
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// formerVersions are the versions that owner wrote before the current one, newest first.
func formerVersions(ctx context.Context, c target.Cluster, owner client.Object, h History) ([]corev1.Secret, error) {
	list := &corev1.SecretList{}
	err := c.Client.List(ctx, list, client.InNamespace(owner.GetNamespace()),
		client.MatchingLabels{LabelBase: baseLabel(h.Base)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("listing Secrets %s-*: %w", h.Base, err)
	}
	old := slices.DeleteFunc(list.Items, func(s corev1.Secret) bool {
		return s.Name == h.Current || !c.Writer.Controls(owner, &s)
	})
	slices.SortFunc(old, func(a, b corev1.Secret) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(b.Name, a.Name))
	})
	return old, nil
}

// InUse names the Secrets that pods of the selected workloads refer to: pods that run, and pods that a Deployment, a
// CronJob, a ReplicaSet with replicas or an unfinished Job may still start. ReplicaSets are read from the API server.
func InUse(ctx context.Context, c target.Cluster, namespace string, selected map[string]string) (map[string]struct{}, error) {
	var (
		deployments appsv1.DeploymentList
		cronJobs    batchv1.CronJobList
		jobs        batchv1.JobList
		replicaSets appsv1.ReplicaSetList
	)
	selection := []client.ListOption{client.InNamespace(namespace), client.MatchingLabels(selected)}
	cached := append(slices.Clone(selection), client.UnsafeDisableDeepCopy)
	if err := errors.Join(
		c.Client.List(ctx, &deployments, cached...),
		c.Client.List(ctx, &cronJobs, cached...),
		c.Client.List(ctx, &jobs, cached...),
		c.Reader.List(ctx, &replicaSets, selection...),
	); err != nil {
		return nil, fmt.Errorf("finding the Secrets in use: %w", err)
	}
	used := map[string]struct{}{}
	for _, d := range deployments.Items {
		collect(used, d.Spec.Template.Spec)
	}
	for _, j := range cronJobs.Items {
		collect(used, j.Spec.JobTemplate.Spec.Template.Spec)
	}
	for _, j := range jobs.Items {
		if !finished(j) {
			collect(used, j.Spec.Template.Spec)
		}
	}
	for _, r := range replicaSets.Items {
		if r.Status.Replicas > 0 || r.Spec.Replicas == nil || *r.Spec.Replicas > 0 {
			collect(used, r.Spec.Template.Spec)
		}
	}
	return used, nil
}

func finished(j batchv1.Job) bool {
	return lo.ContainsBy(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed)
	})
}

// collect adds the names of the Secrets that a pod refers to.
func collect(used map[string]struct{}, pod corev1.PodSpec) {
	for _, v := range pod.Volumes {
		if v.Secret != nil {
			used[v.Secret.SecretName] = struct{}{}
		}
		if v.Projected == nil {
			continue
		}
		for _, source := range v.Projected.Sources {
			if source.Secret != nil {
				used[source.Secret.Name] = struct{}{}
			}
		}
	}
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		for _, from := range container.EnvFrom {
			if from.SecretRef != nil {
				used[from.SecretRef.Name] = struct{}{}
			}
		}
		for _, e := range container.Env {
			if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
				used[e.ValueFrom.SecretKeyRef.Name] = struct{}{}
			}
		}
	}
}
