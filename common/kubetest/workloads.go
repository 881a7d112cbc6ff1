// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// playDeployment is the script of the Deployment controller and its pods, as far as the status shows them.
func playDeployment(object client.Object, o Outcome, due bool) {
	d := object.(*appsv1.Deployment)
	if !due {
		if rolledOut := d.Status.ObservedGeneration == d.Generation && finished(&d.Status); !rolledOut || o.verdict != succeed {
			rollOut(d, false)
		}
		return
	}
	switch o.verdict {
	case succeed:
		rollOut(d, true)
	case exceedDeadline:
		rollOut(d, false)
		_, message := o.or("", fmt.Sprintf("ReplicaSet %q has timed out progressing.", d.Name+"-5d8c7b9f6d"))
		setDeploymentCondition(d, appsv1.DeploymentProgressing, corev1.ConditionFalse, "ProgressDeadlineExceeded", message)
	case fail:
		rollOut(d, false)
		reason, message := o.or("FailedCreate", "pods are forbidden")
		setDeploymentCondition(d, appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, reason, message)
	default:
		rollOut(d, false)
	}
}

// rollOut writes the status of a finished rollout, or of one that has begun: old pods serve on, a new one is not ready yet.
func rollOut(d *appsv1.Deployment, done bool) {
	desired := ptr.Deref(d.Spec.Replicas, 1)
	s := &d.Status
	served := s.AvailableReplicas > 0
	if !done && s.ObservedGeneration == d.Generation && !finished(s) {
		return
	}
	s.ObservedGeneration = d.Generation
	switch {
	case done:
		s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, s.AvailableReplicas, s.UnavailableReplicas = desired, desired, desired, desired, 0
	case served:
		s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, s.AvailableReplicas, s.UnavailableReplicas = desired+1, 1, desired, desired, 1
	default:
		s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, s.AvailableReplicas, s.UnavailableReplicas = desired, desired, 0, 0, desired
	}
	s.Conditions = slices.DeleteFunc(s.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == appsv1.DeploymentReplicaFailure })
	if done || served {
		setDeploymentCondition(d, appsv1.DeploymentAvailable, corev1.ConditionTrue, "MinimumReplicasAvailable", "Deployment has minimum availability.")
	} else {
		setDeploymentCondition(d, appsv1.DeploymentAvailable, corev1.ConditionFalse, "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
	}
	reason := "ReplicaSetUpdated"
	if done {
		reason = "NewReplicaSetAvailable"
	}
	setDeploymentCondition(d, appsv1.DeploymentProgressing, corev1.ConditionTrue, reason, "ReplicaSet is progressing.")
}

func finished(s *appsv1.DeploymentStatus) bool {
	return slices.ContainsFunc(s.Conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentProgressing && c.Reason == "NewReplicaSetAvailable"
	})
}

func setDeploymentCondition(d *appsv1.Deployment, t appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason, message string) {
	c := appsv1.DeploymentCondition{Type: t, Status: status, Reason: reason, Message: message, LastTransitionTime: now(), LastUpdateTime: now()}
	i := slices.IndexFunc(d.Status.Conditions, func(old appsv1.DeploymentCondition) bool { return old.Type == t })
	if i < 0 {
		d.Status.Conditions = append(d.Status.Conditions, c)
		return
	}
	old := d.Status.Conditions[i]
	if old.Status == status && old.Reason == reason && old.Message == message {
		return
	}
	if old.Status == status {
		c.LastTransitionTime = old.LastTransitionTime
	}
	d.Status.Conditions[i] = c
}

// playJob is the script of the Job controller. The API server checks that a Job's status tells one consistent story.
func playJob(object client.Object, o Outcome, due bool) {
	job := object.(*batchv1.Job)
	if job.Status.CompletionTime != nil || failed(job) || ptr.Deref(job.Spec.Suspend, false) {
		return
	}
	if job.Status.StartTime == nil {
		job.Status.StartTime = new(now())
	}
	if !due || o.verdict == hang {
		job.Status.Active = ptr.Deref(job.Spec.Parallelism, 1)
		if !due {
			job.Status.Ready = new(job.Status.Active)
		} else {
			job.Status.Ready = new(int32(0))
		}
		return
	}
	job.Status.Active, job.Status.Ready, job.Status.Terminating = 0, new(int32(0)), new(int32(0))
	job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	if o.verdict == succeed {
		job.Status.Succeeded = ptr.Deref(job.Spec.Completions, 1)
		job.Status.CompletionTime = new(now())
		addJobConditions(job, "CompletionsReached", "Reached expected number of succeeded pods", batchv1.JobSuccessCriteriaMet, batchv1.JobComplete)
		return
	}
	reason, message := "BackoffLimitExceeded", "Job has reached the specified backoff limit"
	if o.verdict == exceedDeadline {
		reason, message = "DeadlineExceeded", "Job was active longer than specified deadline"
	}
	reason, message = o.or(reason, message)
	job.Status.Failed = ptr.Deref(job.Spec.BackoffLimit, 6) + 1
	addJobConditions(job, reason, message, batchv1.JobFailureTarget, batchv1.JobFailed)
}

func failed(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobFailed })
}

func addJobConditions(job *batchv1.Job, reason, message string, conditionTypes ...batchv1.JobConditionType) {
	for _, t := range conditionTypes {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
			Type: t, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastProbeTime: now(), LastTransitionTime: now(),
		})
	}
}

// jobOf is the n-th Job that the CronJob controller would make.
func jobOf(cronJob *batchv1.CronJob, n int64) *batchv1.Job {
	job := &batchv1.Job{ObjectMeta: *cronJob.Spec.JobTemplate.ObjectMeta.DeepCopy(), Spec: *cronJob.Spec.JobTemplate.Spec.DeepCopy()}
	job.Name, job.Namespace = fmt.Sprintf("%s-%d", cronJob.Name, n), cronJob.Namespace
	job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(cronJob, batchv1.SchemeGroupVersion.WithKind("CronJob"))}
	return job
}

// playPod is the script of a node: pods of Jobs run to their end, others run on.
func playPod(object client.Object, o Outcome, due bool) {
	pod := object.(*corev1.Pod)
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return
	}
	owner := metav1.GetControllerOf(pod)
	ofJob := owner != nil && owner.Kind == "Job"
	switch {
	case !due:
		return
	case o.verdict == succeed && ofJob:
		endPod(pod, corev1.PodSucceeded, 0)
	case o.verdict == succeed:
		runPod(pod)
	case o.verdict == fail && ofJob:
		endPod(pod, corev1.PodFailed, 1)
	default:
		pod.Status.Phase = corev1.PodPending
		reason, message := o.or("ImagePullBackOff", "Back-off pulling image")
		setContainers(pod, false, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}})
	}
}

func runPod(pod *corev1.Pod) {
	if pod.Status.Phase == corev1.PodRunning {
		return
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.StartTime = new(now())
	setContainers(pod, true, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now()}})
	pod.Status.Conditions = nil
	for _, t := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: t, Status: corev1.ConditionTrue, LastTransitionTime: now()})
	}
}

func endPod(pod *corev1.Pod, phase corev1.PodPhase, code int32) {
	pod.Status.Phase = phase
	pod.Status.StartTime = new(now())
	setContainers(pod, false, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, StartedAt: now(), FinishedAt: now()}})
}

func setContainers(pod *corev1.Pod, ready bool, state corev1.ContainerState) {
	pod.Status.ContainerStatuses = nil
	for _, container := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, Image: container.Image, Ready: ready, Started: new(ready), State: state,
		})
	}
}
