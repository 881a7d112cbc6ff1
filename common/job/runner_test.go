// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/naming"
)

// pod is one of the migration's Job.
func pod(name string, phase corev1.PodPhase, state corev1.ContainerState, conditions ...corev1.PodCondition) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{naming.LabelJobName: "svc-db-sync"}},
		Status: corev1.PodStatus{Phase: phase, Conditions: conditions, ContainerStatuses: []corev1.ContainerStatus{
			{Name: "db-sync", Image: "old", State: state},
		}},
	}
}

func waiting(reason string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
}

func TestRun(t *testing.T) {
	t.Parallel()
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	unpulled := pod("p1", corev1.PodPending, waiting("ImagePullBackOff"))
	unscheduled := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes"}
	crashed := pod("p2", corev1.PodPending, waiting("CreateContainerError"))
	crashed.Status.ContainerStatuses[0].RestartCount = 1
	active := batchv1.JobStatus{Active: 1}
	for _, tt := range []struct {
		name     string
		there    *batchv1.Job
		pods     []client.Object
		after    time.Duration
		key      string
		state    State
		replaced bool
		says     string
	}{
		{name: "never run", key: "k1", state: Running, replaced: true},
		{name: "just created", there: migration("k1", batchv1.JobStatus{}), key: "k1", state: Running},
		{name: "done", there: migration("k1", ended(batchv1.JobSuccessCriteriaMet, batchv1.JobComplete)), key: "k1", state: Succeeded},
		{name: "done, and there is new work", there: migration("k1", ended(batchv1.JobComplete)), key: "k2", state: Running, replaced: true},
		{name: "failed", there: migration("k1", ended(batchv1.JobFailed)), key: "k1", state: Failed, says: "because"},
		{name: "failed and complete", there: migration("k1", ended(batchv1.JobComplete, batchv1.JobFailed)), key: "k1", state: Failed},
		{name: "failed, and there is new work", there: migration("k1", ended(batchv1.JobFailed)), key: "k2", state: Running, replaced: true},
		{name: "about to fail", there: migration("k1", ended(batchv1.JobFailureTarget)), key: "k1", state: Running},
		{name: "suspended", there: migration("k1", ended(batchv1.JobSuspended)), key: "k1", state: Running},
		{name: "runs with a former key", there: migration("k1", batchv1.JobStatus{Active: 1, Ready: new(int32(1))}), pods: []client.Object{unpulled}, after: time.Hour, key: "k2", state: Running},
		{name: "ran with a former key", there: migration("k1", batchv1.JobStatus{Active: 1, Failed: 1}), pods: []client.Object{unpulled}, after: time.Hour, key: "k2", state: Running},
		{name: "starts with a former key", there: migration("k1", active), pods: []client.Object{unpulled}, after: lookAfter - time.Second, key: "k2", state: Running},
		{name: "image cannot be pulled", there: migration("k1", active), pods: []client.Object{unpulled}, after: lookAfter, key: "k1", state: Running, says: "image cannot be pulled"},
		{name: "image could not be pulled, and there is another", there: migration("k1", active), pods: []client.Object{unpulled}, after: lookAfter, key: "k2", state: Running, replaced: true},
		{name: "no node, and there is new work", there: migration("k1", active), pods: []client.Object{pod("p1", corev1.PodPending, corev1.ContainerState{}, unscheduled)}, after: time.Minute, key: "k2", state: Running, replaced: true},
		{name: "no node", there: migration("k1", active), pods: []client.Object{pod("p1", corev1.PodPending, corev1.ContainerState{}, unscheduled)}, after: time.Minute, key: "k1", state: Running, says: "no node takes its pod"},
		{name: "no pod at all", there: migration("k1", batchv1.JobStatus{}), after: time.Minute, key: "k1", state: Running, says: "no pod could be created"},
		{name: "no pod at all, and there is new work", there: migration("k1", batchv1.JobStatus{}), after: time.Minute, key: "k2", state: Running, replaced: true},
		{name: "one of two pods runs", there: migration("k1", active), pods: []client.Object{unpulled, pod("p2", corev1.PodRunning, running)}, after: time.Hour, key: "k2", state: Running},
		{name: "a pod ran and is started again", there: migration("k1", active), pods: []client.Object{crashed}, after: time.Hour, key: "k2", state: Running},
		{name: "pod is being created", there: migration("k1", active), pods: []client.Object{pod("p1", corev1.PodPending, waiting("ContainerCreating"))}, after: time.Hour, key: "k2", state: Running},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var objects []client.Object
			if tt.there != nil {
				objects = append(objects, tt.there.DeepCopy())
			}
			for _, p := range tt.pods {
				objects = append(objects, p.DeepCopyObject().(client.Object))
			}
			c := world(t, interceptor.Funcs{}, interceptor.Funcs{}, objects...)
			got, err := at(tt.after).Run(t.Context(), c, service(), desired("new"), tt.key)
			if err != nil || got.State != tt.state || !strings.Contains(got.Detail, tt.says) {
				t.Errorf("Run() = %+v, %v; want state %d, detail with %q", got, err, tt.state, tt.says)
			}
			live := &batchv1.Job{}
			if err := c.Reader.Get(t.Context(), client.ObjectKeyFromObject(desired("")), live); err != nil {
				t.Fatal(err)
			}
			image := live.Spec.Template.Spec.Containers[0].Image
			if (image == "new") != tt.replaced || (tt.replaced && live.Annotations[AnnotationKey] != tt.key) || !c.Writer.Controls(service(), live) {
				t.Errorf("the Job has image %s, annotations %v, owners %v", image, live.Annotations, live.OwnerReferences)
			}
		})
	}
}

func TestRunRefusesAForeignJob(t *testing.T) {
	t.Parallel()
	unseen := interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return apierrors.NewNotFound(batchv1.Resource("jobs"), "x")
	}}
	for name, cached := range map[string]interceptor.Funcs{"in the cache": {}, "not in the cache": unseen} {
		for who, j := range map[string]*batchv1.Job{"another owner": ownedBy(stranger(), migration("k1", ended(batchv1.JobComplete))), "nobody": desired("old")} {
			t.Run(name+", of "+who, func(t *testing.T) {
				t.Parallel()
				c := world(t, cached, interceptor.Funcs{}, j.DeepCopy())
				if _, err := at(time.Hour).Run(t.Context(), c, service(), desired("new"), "k2"); !apply.IsForeign(err) {
					t.Errorf("Run() = %v", err)
				}
				live := &batchv1.Job{}
				if err := c.Reader.Get(t.Context(), client.ObjectKeyFromObject(j), live); err != nil || live.Spec.Template.Spec.Containers[0].Image != "old" {
					t.Errorf("the foreign Job is %+v, %v", live, err)
				}
			})
		}
	}
}

func TestRunWithACacheThatLagsBehind(t *testing.T) {
	t.Parallel()
	t.Run("our Job is not in it yet", func(t *testing.T) {
		t.Parallel()
		unseen := interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return apierrors.NewNotFound(batchv1.Resource("jobs"), "x")
		}}
		c := world(t, unseen, interceptor.Funcs{}, migration("k1", batchv1.JobStatus{}))
		got, err := at(0).Run(t.Context(), c, service(), desired("new"), "k1")
		if err != nil || got.State != Running || got.Job == nil {
			t.Errorf("Run() = %+v, %v", got, err)
		}
	})
	t.Run("it shows the Job that was replaced", func(t *testing.T) {
		t.Parallel()
		conflict := interceptor.Funcs{Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			return apierrors.NewConflict(batchv1.Resource("jobs"), "svc-db-sync", errors.New("UID in precondition"))
		}}
		c := world(t, conflict, interceptor.Funcs{}, migration("k1", ended(batchv1.JobComplete)))
		got, err := at(0).Run(t.Context(), c, service(), desired("new"), "k2")
		if err != nil || got.State != Running || got.Job != nil {
			t.Errorf("Run() = %+v, %v", got, err)
		}
	})
}

func TestRunPassesErrorsOn(t *testing.T) {
	t.Parallel()
	down := errors.New("connection refused")
	for name, hooks := range map[string][2]interceptor.Funcs{
		"reading": {{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return down
		}}, {}},
		"deleting":        {{Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return down }}, {}},
		"creating":        {{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return down }}, {}},
		"looking at pods": {{}, {List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return down }}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status := ended(batchv1.JobComplete)
			if name == "looking at pods" {
				status = batchv1.JobStatus{Active: 1}
			}
			c := world(t, hooks[0], hooks[1], migration("k1", status))
			if _, err := at(time.Hour).Run(t.Context(), c, service(), desired("new"), "k2"); !errors.Is(err, down) {
				t.Errorf("Run() = %v", err)
			}
		})
	}
}

func TestAJobWithoutItsLabelsIsKnownAgain(t *testing.T) {
	t.Parallel()
	lost := migration("k1", ended(batchv1.JobComplete))
	lost.Labels, lost.OwnerReferences = nil, nil
	c := world(t, interceptor.Funcs{Get: func(ctx context.Context, next client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
		err := next.Get(ctx, key, obj, opts...)
		if j, ok := obj.(*batchv1.Job); ok {
			j.Spec, j.Status = batchv1.JobSpec{}, batchv1.JobStatus{} // as the cache shows it
		}
		return err
	}}, interceptor.Funcs{}, lost)
	got, err := at(time.Hour).Run(t.Context(), c, service(), desired("old"), "k1")
	if err != nil || got.State != Succeeded {
		t.Errorf("Run() = %+v, %v", got, err)
	}
	live := &batchv1.Job{}
	if err := c.Reader.Get(t.Context(), client.ObjectKeyFromObject(lost), live); err != nil || live.Labels["app"] != "svc" || !c.Writer.Controls(service(), live) {
		t.Errorf("the Job is %+v, %v", live.ObjectMeta, err)
	}
}

func TestAFinishedJobCostsNoRequest(t *testing.T) {
	t.Parallel()
	c := world(t, interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
		return errors.New("unexpected write")
	}}, interceptor.Funcs{}, migration("k1", ended(batchv1.JobComplete)))
	c.Reader = nil
	c.Writer = apply.NewWriter(c.Client, nil)
	if got, err := at(time.Hour).Run(t.Context(), c, service(), desired("old"), "k1"); err != nil || got.State != Succeeded {
		t.Errorf("Run() = %+v, %v", got, err)
	}
}
