// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestTemplateIsRestricted(t *testing.T) {
	t.Parallel()
	spec := Pod{Container: corev1.Container{Name: "c", SecurityContext: &corev1.SecurityContext{Privileged: new(true)}}}.Template().Spec
	if *spec.AutomountServiceAccountToken || *spec.EnableServiceLinks {
		t.Error("the pod gets a token or the variables of Services")
	}
	if diff := cmp.Diff(&corev1.PodSecurityContext{FSGroup: new(int64(42424))}, spec.SecurityContext); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
	want := &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), RunAsNonRoot: new(true), RunAsUser: new(int64(42424)), RunAsGroup: new(int64(42424)),
		ReadOnlyRootFilesystem: new(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile: &corev1.SeccompProfile{Type: "RuntimeDefault"},
	}
	if diff := cmp.Diff(want, spec.Containers[0].SecurityContext); diff != "" {
		t.Errorf("container (-want +got):\n%s", diff)
	}
}

func TestTemplateAddsToWhatItIsGiven(t *testing.T) {
	t.Parallel()
	mounts := append(make([]corev1.VolumeMount, 0, 8), corev1.VolumeMount{Name: "config", MountPath: "/etc/svc"})
	volumes := append(make([]corev1.Volume, 0, 8), SecretVolume("config", "svc-config"))
	pod := Pod{Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"a": "2"}, Volumes: volumes, Container: corev1.Container{VolumeMounts: mounts}}
	one, two := pod.Template(), pod.Template()
	one.Spec.Volumes[1].Name, one.Spec.Containers[0].VolumeMounts[1].Name = "changed", "changed"
	for _, mount := range two.Spec.Containers[0].VolumeMounts {
		if mount.Name == "changed" {
			t.Error("two templates share their mounts")
		}
	}
	if v := two.Spec.Volumes; len(v) != 2 || v[0].Secret.SecretName != "svc-config" || v[1].Name != "tmp" || v[1].EmptyDir == nil {
		t.Errorf("volumes = %+v", v)
	}
	if m := two.Spec.Containers[0].VolumeMounts; len(m) != 2 || m[1] != (corev1.VolumeMount{Name: "tmp", MountPath: "/tmp"}) {
		t.Errorf("mounts = %+v", m)
	}
	if two.Labels["l"] != "1" || two.Annotations["a"] != "2" || len(pod.Container.VolumeMounts) != 1 {
		t.Errorf("template = %+v", two.ObjectMeta)
	}
}

func TestPreparationIsLikeTheContainer(t *testing.T) {
	t.Parallel()
	container := corev1.Container{
		Name: "server", Image: "image", Command: []string{"serve"}, Env: []corev1.EnvVar{{Name: "USER", Value: "svc"}},
		VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/svc"}},
		Ports:        []corev1.ContainerPort{{ContainerPort: 1}}, Lifecycle: PreStop(5), LivenessProbe: &corev1.Probe{},
	}
	spec := Pod{Container: container, Preparation: &Preparation{Name: "ready", Command: []string{"prepare"}}}.Template().Spec
	want := spec.Containers[0]
	want.Name, want.Command, want.Ports, want.Lifecycle, want.LivenessProbe = "ready", []string{"prepare"}, nil, nil, nil
	if diff := cmp.Diff([]corev1.Container{want}, spec.InitContainers); diff != "" {
		t.Errorf("init containers (-want +got):\n%s", diff)
	}
	if without := (Pod{Container: container}).Template().Spec.InitContainers; without != nil {
		t.Errorf("without a preparation there are %+v", without)
	}
}

func TestTemplateHasResources(t *testing.T) {
	t.Parallel()
	cpu := func(milli int64) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(milli, resource.DecimalSI)}
	}
	for name, tt := range map[string]struct {
		given            corev1.ResourceRequirements
		requests, limits int64
	}{
		"none":     {corev1.ResourceRequirements{}, 100, 500},
		"both":     {corev1.ResourceRequirements{Requests: cpu(7), Limits: cpu(8)}, 7, 8},
		"requests": {corev1.ResourceRequirements{Requests: cpu(7)}, 7, 0},
		"limits":   {corev1.ResourceRequirements{Limits: cpu(8)}, 0, 8},
	} {
		got := Pod{Container: corev1.Container{Resources: tt.given}}.Template().Spec.Containers[0].Resources
		if got.Requests.Cpu().MilliValue() != tt.requests || got.Limits.Cpu().MilliValue() != tt.limits {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestSecretEnvIsRequired(t *testing.T) {
	t.Parallel()
	ref := SecretEnv("OS_DATABASE__CONNECTION", "svc-db-connection", "connection").ValueFrom.SecretKeyRef
	if ref.Name != "svc-db-connection" || ref.Key != "connection" || ref.Optional != nil {
		t.Errorf("reference = %+v: without the Secret the pod must not start", ref)
	}
}
