// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/naming"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

// blocker says what keeps a Job from starting; empty when a pod runs, has run, or is about to. It reads the API server:
// what it says decides whether a Job may be deleted, and a stale answer could interrupt a migration.
func blocker(ctx context.Context, c target.Cluster, j *batchv1.Job) (string, error) {
	pods := &corev1.PodList{}
	err := c.Reader.List(ctx, pods, client.InNamespace(j.Namespace), client.MatchingLabels{naming.LabelJobName: j.Name})
	if apierrors.IsForbidden(err) {
		return "", nil // who may not look at pods waits
	}
	if err != nil {
		return "", fmt.Errorf("listing the pods of Job %s/%s: %w", j.Namespace, j.Name, err)
	}
	if len(pods.Items) == 0 {
		return "no pod could be created; see the events of the Job", nil
	}
	reason := ""
	for i := range pods.Items {
		if reason = podBlocker(&pods.Items[i]); reason == "" {
			return "", nil
		}
	}
	return reason, nil
}

// podBlocker says why no container of a pod has ever run.
func podBlocker(p *corev1.Pod) string {
	if p.Status.Phase != corev1.PodPending {
		return ""
	}
	statuses := slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses)
	if slices.ContainsFunc(statuses, hasRun) {
		return ""
	}
	for _, s := range statuses {
		if w := s.State.Waiting; w != nil && stuck[w.Reason] != "" {
			return fmt.Sprintf("%s (container %s, image %s)", stuck[w.Reason], s.Name, s.Image)
		}
	}
	for _, condition := range p.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return "no node takes its pod; see the events of the pod"
		}
	}
	return ""
}

const (
	noImage     = "its image cannot be pulled; check spec.image and the node's access to the registry"
	noContainer = "its container cannot be created; see the events of the pod"
)

// stuck explains the states of a waiting container that do not pass by themselves. The kubelet exports no constants for
// them; those between which it alternates share a text, so that the condition stays as it is.
var stuck = map[string]string{
	"ErrImagePull": noImage, "ImagePullBackOff": noImage, "InvalidImageName": noImage, "ErrImageNeverPull": noImage,
	"ImageInspectError": noImage, "RegistryUnavailable": noImage, "SignatureValidationFailed": noImage,
	"CreateContainerConfigError": noContainer, "CreateContainerError": noContainer,
}

func hasRun(s corev1.ContainerStatus) bool {
	return s.State.Running != nil || s.State.Terminated != nil || s.LastTerminationState.Terminated != nil || s.RestartCount > 0
}
