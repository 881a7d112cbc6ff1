// SPDX-License-Identifier: Apache-2.0

package job

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// at is a Runner so long after the Jobs of the tests were created.
func at(d time.Duration) Runner { return Runner{Clock: clocktesting.NewFakePassiveClock(start.Add(d))} }

// service stands for a custom resource that owns children.
func service() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "svc", UID: "uid-svc"}}
}

func stranger() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "stranger", UID: "uid-stranger"}}
}

func ownedBy(owner *corev1.ConfigMap, j *batchv1.Job) *batchv1.Job {
	j.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, Controller: new(true), BlockOwnerDeletion: new(true)},
	}
	return j
}

// world is a cluster whose cached and live client the hooks see.
func world(t *testing.T, cached, live interceptor.Funcs, objects ...client.Object) target.Cluster {
	t.Helper()
	api := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(objects...).Build()
	c, l := interceptor.NewClient(api, cached), interceptor.NewClient(api, live)
	return target.Cluster{Client: c, Reader: l, Writer: apply.NewWriter(c, l)}
}

// migration is a Job that was created at start to do the work of a key.
func migration(key string, status batchv1.JobStatus) *batchv1.Job {
	j := ownedBy(service(), desired("old"))
	j.UID, j.CreationTimestamp, j.Status = "uid-old", metav1.NewTime(start), status
	j.Annotations = map[string]string{AnnotationKey: key, apply.AnnotationOwnerUID: "uid-svc"}
	return j
}

func desired(image string) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "svc-db-sync", Labels: map[string]string{"app": "svc"}},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "db-sync", Image: image}},
		}}},
	}
}

func ended(kinds ...batchv1.JobConditionType) batchv1.JobStatus {
	var s batchv1.JobStatus
	for _, kind := range kinds {
		s.Conditions = append(s.Conditions, batchv1.JobCondition{
			Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start.Add(90 * time.Second)), Message: "because",
		})
	}
	return s
}
