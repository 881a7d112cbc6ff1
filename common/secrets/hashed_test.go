// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/samber/lo"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/apply"
)

func hashed(content string) *corev1.Secret {
	return Hashed(service(), "svc-config", map[string]string{"app": "svc"}, map[string][]byte{"svc.conf": []byte(content)})
}

func TestHashed(t *testing.T) {
	t.Parallel()
	labels := map[string]string{"app": "svc"}
	one, other := hashed("one"), hashed("other")
	if one.Name == other.Name || one.Name != hashed("one").Name || !strings.HasPrefix(one.Name, "svc-config-") || len(one.Name) != len("svc-config-")+8 {
		t.Errorf("names %s and %s", one.Name, other.Name)
	}
	if !*one.Immutable || one.Namespace != "ns" || one.Type != corev1.SecretTypeOpaque {
		t.Errorf("Hashed() = %+v", one)
	}
	if want := map[string]string{"app": "svc", LabelBase: "svc-config"}; !maps.Equal(one.Labels, want) {
		t.Errorf("labels = %v, want %v", one.Labels, want)
	}
	long := Hashed(service(), strings.Repeat("x", 200), labels, nil)
	if v := long.Labels[LabelBase]; len(v) > 63 {
		t.Errorf("a label of %d characters is refused", len(v))
	}
	if len(labels) != 1 {
		t.Error("the labels of the caller changed")
	}
}

func TestEnsure(t *testing.T) {
	t.Parallel()
	forged := hashed("one")
	forged.Data = map[string][]byte{"svc.conf": []byte("forged")}
	unseen := interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return apierrors.NewNotFound(corev1.Resource("secrets"), "x")
	}}
	refusing := func(err error) interceptor.Funcs {
		return interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return err }}
	}
	for _, tt := range []struct {
		name   string
		there  client.Object
		hooks  interceptor.Funcs
		reason string
		fails  bool
		says   string
	}{
		{name: "created"},
		{name: "there", there: ownedBy(service(), hashed("one"))},
		{name: "there, but not in the cache yet", there: ownedBy(service(), hashed("one")), hooks: unseen},
		{name: "other content", there: ownedBy(service(), forged.DeepCopy()), reason: api.ReasonConfigError, fails: true, says: "other content"},
		{name: "other content, outside of the cache", there: ownedBy(service(), forged.DeepCopy()), hooks: unseen, reason: api.ReasonConfigError, fails: true, says: "other content"},
		{name: "of another owner", there: ownedBy(stranger(), hashed("one")), reason: api.ReasonConfigError, fails: true, says: "not controlled by ConfigMap ns/svc"},
		{name: "of nobody", there: hashed("one"), hooks: unseen, reason: api.ReasonConfigError, fails: true, says: "not controlled by"},
		{name: "over quota", hooks: refusing(apierrors.NewForbidden(corev1.Resource("secrets"), "x", errors.New("exceeded quota"))), reason: api.ReasonConfigError, fails: true, says: "exceeded quota"},
		{name: "API server down", hooks: refusing(errors.New("connection refused")), fails: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var objects []client.Object
			if tt.there != nil {
				objects = append(objects, tt.there)
			}
			c := world(t, tt.hooks, objects...)
			got := Ensure(t.Context(), c, service(), hashed("one"))
			expect(t, got, tt.reason, tt.fails)
			if !strings.Contains(got.Message(), tt.says) {
				t.Errorf("message = %q, want it to say %q", got.Message(), tt.says)
			}
			live := &corev1.Secret{}
			if err := c.Reader.Get(t.Context(), client.ObjectKeyFromObject(hashed("one")), live); err != nil && !tt.fails {
				t.Fatal(err)
			}
			if got.Done() && (string(live.Data["svc.conf"]) != "one" || !c.Writer.Controls(service(), live)) {
				t.Errorf("the Secret is %+v", live)
			}
		})
	}
}

func TestEnsureRestoresWhatTellsWhoseItIs(t *testing.T) {
	t.Parallel()
	c := world(t, interceptor.Funcs{})
	expect(t, Ensure(t.Context(), c, service(), hashed("one")), "", false)
	lost := &corev1.Secret{}
	if err := c.Client.Get(t.Context(), client.ObjectKeyFromObject(hashed("one")), lost); err != nil {
		t.Fatal(err)
	}
	lost.Labels, lost.OwnerReferences = map[string]string{"theirs": "1"}, nil
	if err := c.Client.Update(t.Context(), lost); err != nil {
		t.Fatal(err)
	}
	expect(t, Ensure(t.Context(), c, service(), hashed("one")), "", false)
	live := &corev1.Secret{}
	if err := c.Client.Get(t.Context(), client.ObjectKeyFromObject(lost), live); err != nil {
		t.Fatal(err)
	}
	if !c.Writer.Controls(service(), live) || live.Labels[LabelBase] != "svc-config" || live.Labels["theirs"] != "1" {
		t.Errorf("restored: %+v", live.ObjectMeta)
	}
}

func TestEnsureCostsNothingOnceTheSecretIsThere(t *testing.T) {
	t.Parallel()
	c := world(t, interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
		return errors.New("unexpected write")
	}, Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
		return errors.New("unexpected write")
	}}, marked(hashed("one")))
	c.Reader = nil
	expect(t, Ensure(t.Context(), c, service(), hashed("one")), "", false)
}

// marked is a Secret that the service has created.
func marked(s *corev1.Secret) *corev1.Secret {
	s.Annotations = map[string]string{apply.AnnotationOwnerUID: "uid-svc"}
	return ownedBy(service(), s)
}

// version is a config Secret that is so many hours old.
func version(name string, age int) *corev1.Secret {
	s := ownedBy(service(), secret(name, nil))
	s.Labels = map[string]string{LabelBase: "svc-config"}
	s.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 1, 24-age, 0, 0, 0, time.UTC))
	return s
}

// mounting is a pod that needs the oldest version.
var mounting = corev1.PodTemplateSpec{Spec: corev1.PodSpec{Volumes: []corev1.Volume{
	{VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "v5"}}},
}}}

func TestPrune(t *testing.T) {
	t.Parallel()
	pods := map[string]string{"app": "svc"}
	labelled := metav1.ObjectMeta{Namespace: "ns", Name: "svc", Labels: pods}
	named := func(name string) metav1.ObjectMeta {
		m := *labelled.DeepCopy()
		m.Name = name
		return m
	}
	foreign := ownedBy(stranger(), version("v9-foreign", 20))
	elsewhere := version("v9-elsewhere", 20)
	elsewhere.Labels[LabelBase] = "other-config"
	history := []client.Object{version("v0", 1), version("v1", 2), version("v2", 3), version("v3", 4), version("v4", 5), version("v5", 6), foreign, elsewhere}
	kept := []string{"v0", "v1", "v2", "v3", "v9-elsewhere", "v9-foreign"}
	finished := batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: "True"}}}
	for _, tt := range []struct {
		name    string
		current string
		using   client.Object
		kept    []string
	}{
		{"the current one and three more", "v0", nil, kept},
		{"an older one is current again", "v5", nil, []string{"v0", "v1", "v2", "v5", "v9-elsewhere", "v9-foreign"}},
		{"nothing without a current one", "", nil, []string{"v0", "v1", "v2", "v3", "v4", "v5", "v9-elsewhere", "v9-foreign"}},
		{"what the Deployment mounts", "v0", &appsv1.Deployment{ObjectMeta: labelled, Spec: appsv1.DeploymentSpec{Template: mounting}}, append([]string{"v5"}, kept...)},
		{"what a ReplicaSet with pods mounts", "v0", &appsv1.ReplicaSet{ObjectMeta: labelled, Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(0)), Template: mounting}, Status: appsv1.ReplicaSetStatus{Replicas: 1}}, append([]string{"v5"}, kept...)},
		{"what a ReplicaSet that waits for pods mounts", "v0", &appsv1.ReplicaSet{ObjectMeta: labelled, Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(1)), Template: mounting}}, append([]string{"v5"}, kept...)},
		{"not what a scaled-down ReplicaSet mounts", "v0", &appsv1.ReplicaSet{ObjectMeta: labelled, Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(0)), Template: mounting}}, kept},
		{"what the CronJob mounts", "v0", &batchv1.CronJob{ObjectMeta: labelled, Spec: batchv1.CronJobSpec{JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: mounting}}}}, append([]string{"v5"}, kept...)},
		{"what a running Job mounts", "v0", &batchv1.Job{ObjectMeta: labelled, Spec: batchv1.JobSpec{Template: mounting}}, append([]string{"v5"}, kept...)},
		{"not what a finished Job mounts", "v0", &batchv1.Job{ObjectMeta: labelled, Spec: batchv1.JobSpec{Template: mounting}, Status: finished}, kept},
		{"not what another service mounts", "v0", &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x"}, Spec: batchv1.JobSpec{Template: mounting}}, kept},
		{"what an environment reads", "v0", &appsv1.Deployment{ObjectMeta: named("y"), Spec: appsv1.DeploymentSpec{Template: readingEnv("v4", "v5")}}, append([]string{"v4", "v5"}, kept...)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			objects := copies(history)
			if tt.using != nil {
				objects = append(objects, tt.using)
			}
			c := world(t, interceptor.Funcs{}, objects...)
			if err := Prune(t.Context(), c, service(), History{Base: "svc-config", Current: tt.current, Pods: pods}); err != nil {
				t.Fatal(err)
			}
			left := &corev1.SecretList{}
			if err := c.Reader.List(t.Context(), left); err != nil {
				t.Fatal(err)
			}
			names := lo.Map(left.Items, func(s corev1.Secret, _ int) string { return s.Name })
			want := slices.Sorted(slices.Values(tt.kept))
			if diff := cmp.Diff(want, names); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
		})
	}
}

func readingEnv(fromKey, whole string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: whole}}}}}},
		Containers: []corev1.Container{{Env: []corev1.EnvVar{{ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: fromKey}}}}}}},
	}}
}

// copies are deep, since each world changes its objects.
func copies(objects []client.Object) []client.Object {
	return lo.Map(objects, func(o client.Object, _ int) client.Object { return o.DeepCopyObject().(client.Object) })
}

func TestPruneKeepsEverythingWhenItCannotSeeWhatIsInUse(t *testing.T) {
	t.Parallel()
	var history []client.Object
	for i := range 6 {
		history = append(history, version(fmt.Sprintf("v%d", i), i))
	}
	c := world(t, interceptor.Funcs{}, history...)
	c.Reader = interceptor.NewClient(c.Reader.(client.WithWatch), interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return errors.New("replicasets is forbidden")
	}})
	if err := Prune(t.Context(), c, service(), History{Base: "svc-config", Current: "v0"}); err == nil || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("Prune() = %v", err)
	}
	left := &corev1.SecretList{}
	if err := c.Client.List(t.Context(), left); err != nil || len(left.Items) != 6 {
		t.Errorf("%d of 6 Secrets are left, %v", len(left.Items), err)
	}
}
