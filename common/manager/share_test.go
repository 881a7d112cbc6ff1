// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/secrets"
)

// workload is decoded anew with each call, as it were: two of them share nothing but literals.
func workload(name string) *appsv1.Deployment {
	text := func(s string) string { return strings.Clone(s) }
	labels := func() map[string]string {
		return map[string]string{text("app"): text("svc"), text("part"): text("api")}
	}
	conditions := make([]appsv1.DeploymentCondition, 1, 4)
	conditions[0] = appsv1.DeploymentCondition{Type: appsv1.DeploymentAvailable, LastUpdateTime: metav1.NewTime(time.Unix(7e8, 0)), Message: text("as it should be")}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: labels()},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](3),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels()},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: text("api"), Image: text("image of ") + name, Command: []string{text("run"), text("api")},
					Resources:     corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}},
					LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: text("/healthcheck"), Port: intstr.FromInt32(80)}}},
				}}},
			},
		},
		Status: appsv1.DeploymentStatus{Conditions: conditions},
	}
}

func TestSharingChangesNothing(t *testing.T) {
	t.Parallel()
	common := newSharer()
	cpu := func(o *appsv1.Deployment, text string) {
		o.Spec.Template.Spec.Containers[0].Resources.Limits[corev1.ResourceCPU] = resource.MustParse(text)
	}
	for name, change := range map[string]func(*appsv1.Deployment){
		"nothing":          func(*appsv1.Deployment) {},
		"a number":         func(o *appsv1.Deployment) { o.Spec.Replicas = ptr.To[int32](4) },
		"a quantity":       func(o *appsv1.Deployment) { cpu(o, "200m") },
		"its notation":     func(o *appsv1.Deployment) { cpu(o, "0.1") },
		"a text":           func(o *appsv1.Deployment) { o.Spec.Template.Spec.Containers[0].Command[1] = "other" },
		"an order":         func(o *appsv1.Deployment) { o.Spec.Template.Spec.Containers[0].Command = []string{"api", "run"} },
		"a label":          func(o *appsv1.Deployment) { o.Labels["part"] = "other" },
		"two that swapped": func(o *appsv1.Deployment) { o.Labels["app"], o.Labels["part"] = "api", "svc" },
		"an empty map":     func(o *appsv1.Deployment) { o.Labels = map[string]string{} },
		"an empty list":    func(o *appsv1.Deployment) { o.Spec.Template.Spec.Containers[0].Args = []string{} },
		"a time":           func(o *appsv1.Deployment) { o.Status.Conditions[0].LastUpdateTime = metav1.NewTime(time.Unix(8e8, 0)) },
		"a port": func(o *appsv1.Deployment) {
			o.Spec.Template.Spec.Containers[0].LivenessProbe.HTTPGet.Port = intstr.FromString("http")
		},
	} {
		for range 2 {
			in := workload("one")
			change(in)
			got := in.DeepCopy()
			if common.share(got); !reflect.DeepEqual(in, got) {
				t.Errorf("%s (-want +got):\n%s", name, cmp.Diff(in, got))
			}
		}
	}
}

func TestShare(t *testing.T) {
	t.Parallel()
	common := newSharer()
	one, other := workload("one"), workload("other")
	common.share(one)
	common.share(other)
	a, b := one.Spec.Template.Spec.Containers[0], other.Spec.Template.Spec.Containers[0]
	for what, same := range map[string]bool{
		"labels":                address(one.Labels) == address(other.Labels),
		"labels of a template":  address(one.Labels) == address(one.Spec.Template.Labels),
		"resources":             reflect.ValueOf(a.Resources.Limits).Pointer() == reflect.ValueOf(b.Resources.Limits).Pointer(),
		"probes":                a.LivenessProbe == b.LivenessProbe,
		"lists of texts":        &a.Command[0] == &b.Command[0],
		"numbers":               one.Spec.Replicas == other.Spec.Replicas,
		"texts":                 unsafe.StringData(a.Name) == unsafe.StringData(b.Name),
		"messages of a list":    &one.Status.Conditions[0] == &other.Status.Conditions[0],
		"what is not the same":  &one.Spec.Template.Spec.Containers[0] != &other.Spec.Template.Spec.Containers[0],
		"the room of a list":    cap(one.Status.Conditions) == 1,
		"the image of each one": a.Image == "image of one" && b.Image == "image of other",
	} {
		if !same {
			t.Errorf("%s take memory twice, or are mixed up", what)
		}
	}
}

// What is shared outlives its object, so passwords are not.
func TestPasswordsAreNotShared(t *testing.T) {
	t.Parallel()
	common := newSharer()
	shared := func(labels map[string]string) bool {
		var data [2]*byte
		for i := range data {
			s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Data: map[string][]byte{"key": []byte("value")}}
			common.share(s)
			data[i] = &s.Data["key"][0]
		}
		return data[0] == data[1]
	}
	if shared(map[string]string{"app": "svc"}) {
		t.Error("the data of a Secret is kept beside it")
	}
	if !shared(map[string]string{secrets.LabelBase: "svc-config"}) {
		t.Error("equal configurations take memory twice")
	}
}

func TestWhatHasNoFixedTypeIsLeftAlone(t *testing.T) {
	t.Parallel()
	want := map[string]any{"spec": map[string]any{"size": int64(3), "list": []any{"a", nil}}}
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": int64(3), "list": []any{"a", nil}}}}
	newSharer().share(obj)
	if diff := cmp.Diff(want, obj.Object); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Many objects that have nothing in common must not drive out what all have.
func TestWhatIsCommonStays(t *testing.T) {
	t.Parallel()
	common := newSharer()
	copies := map[*corev1.Probe]bool{}
	const objects = 1000
	for i := range objects {
		o := workload(fmt.Sprintf("deployment-%d", i))
		common.share(o)
		copies[o.Spec.Template.Spec.Containers[0].LivenessProbe] = true
	}
	if len(copies) > objects/10 {
		t.Errorf("%d objects have %d copies of one probe", objects, len(copies))
	}
}

func BenchmarkShare(b *testing.B) {
	common := newSharer()
	var o client.Object = workload("one")
	b.ReportAllocs()
	for b.Loop() {
		common.share(o)
	}
}

func address(m map[string]string) uintptr { return reflect.ValueOf(m).Pointer() }
