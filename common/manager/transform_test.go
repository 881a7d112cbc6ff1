// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/naming"
)

func TestTransform(t *testing.T) {
	t.Parallel()
	kept := metav1.ObjectMeta{
		Name: "x", Namespace: "keys", UID: "1", ResourceVersion: "7", Annotations: map[string]string{"a": "b"},
		OwnerReferences: []metav1.OwnerReference{{Name: "owner"}},
	}
	marked := *kept.DeepCopy()
	marked.Labels = map[string]string{naming.LabelManagedBy: "app-operator"}
	foreign := *kept.DeepCopy()
	foreign.Labels = map[string]string{naming.LabelManagedBy: "Helm"}

	tests := map[string]struct{ in, want client.Object }{
		"a child of ours stays whole":          {deployment(marked), deployment(marked)},
		"a child of others is a husk":          {deployment(foreign), &appsv1.Deployment{ObjectMeta: foreign}},
		"so is one without labels":             {deployment(kept), &appsv1.Deployment{ObjectMeta: kept}},
		"a finished Job needs no pod template": {job(marked, batchv1.JobComplete), &batchv1.Job{ObjectMeta: marked, Status: job(marked, batchv1.JobComplete).Status}},
		"nor does one that failed":             {job(marked, batchv1.JobFailed), &batchv1.Job{ObjectMeta: marked, Status: job(marked, batchv1.JobFailed).Status}},
		"one that is paused may run again":     {job(marked, batchv1.JobSuspended), job(marked, batchv1.JobSuspended)},
		"no child, stays whole": {
			&corev1.ConfigMap{ObjectMeta: foreign, Data: map[string]string{"policy.yaml": "a: '!'", "k": "v"}, BinaryData: map[string][]byte{"b": {1}}},
			&corev1.ConfigMap{ObjectMeta: foreign, Data: map[string]string{"policy.yaml": "a: '!'"}},
		},
		"metadata": {&metav1.PartialObjectMetadata{ObjectMeta: foreign}, &metav1.PartialObjectMetadata{ObjectMeta: foreign}},
	}
	slim := transform("app-operator", []client.Object{&appsv1.Deployment{}, &batchv1.Job{}})
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := tt.in.DeepCopyObject().(client.Object)
			in.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kubectl"}})
			in.SetAnnotations(map[string]string{"a": "b", corev1.LastAppliedConfigAnnotation: "{}"})
			got, err := slim(in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTransformPassesWhatIsNoObject(t *testing.T) {
	t.Parallel()
	in := toolscache.DeletedFinalStateUnknown{Key: "keys/x"}
	if got, err := transform("app-operator", nil)(in); err != nil || got != any(in) {
		t.Errorf("got %v, %v", got, err)
	}
}

func job(meta metav1.ObjectMeta, condition batchv1.JobConditionType) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: meta, Spec: batchv1.JobSpec{BackoffLimit: ptr.To[int32](3)},
		Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: condition, Status: corev1.ConditionTrue}}},
	}
}

func deployment(meta metav1.ObjectMeta) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](3)}, Status: appsv1.DeploymentStatus{ReadyReplicas: 3},
	}
}
