// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/cobaltcore/common/api"
)

// UserID is the user and group that every container runs as.
const UserID int64 = 42424

const volumeTemp = "tmp"

// Pod is a pod of one container.
type Pod struct {
	Labels      map[string]string
	Annotations map[string]string
	Preparation *Preparation     // nil: there is nothing to prepare
	Container   corev1.Container // without resources it gets the defaults of an API
	Volumes     []corev1.Volume
}

// Preparation is a program that must have ended well before the container starts. It is run from the container's image, with
// its variables, mounts and resources.
type Preparation struct {
	Name    string
	Command []string
}

// What all templates share. It is not to be changed in place.
var (
	unprivileged = &corev1.PodSecurityContext{FSGroup: new(UserID)}
	restricted   = &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		RunAsNonRoot:             new(true),
		RunAsUser:                new(UserID),
		RunAsGroup:               new(UserID),
		ReadOnlyRootFilesystem:   new(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	off              = new(false)
	temp             = corev1.Volume{Name: volumeTemp, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
	defaultResources = api.DeploymentSpec{}.EffectiveResources()
)

// Template is the hardened pod template: it passes the restricted Pod Security level, holds no token of the API server,
// and can write nothing but /tmp. The container's mounts are extended, its security context is replaced.
func (p Pod) Template() corev1.PodTemplateSpec {
	container := p.Container
	container.SecurityContext = restricted
	container.VolumeMounts = append(slices.Clip(container.VolumeMounts), corev1.VolumeMount{Name: volumeTemp, MountPath: "/tmp"})
	if len(container.Resources.Requests)+len(container.Resources.Limits) == 0 {
		container.Resources.Requests, container.Resources.Limits = defaultResources.Requests, defaultResources.Limits
	}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: p.Labels, Annotations: p.Annotations},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: off,
			EnableServiceLinks:           off,
			SecurityContext:              unprivileged,
			InitContainers:               p.Preparation.containers(container),
			Containers:                   []corev1.Container{container},
			Volumes:                      append(slices.Clip(p.Volumes), temp),
		},
	}
}

func (p *Preparation) containers(of corev1.Container) []corev1.Container {
	if p == nil {
		return nil
	}
	return []corev1.Container{{
		Name: p.Name, Command: p.Command,
		Image: of.Image, Env: of.Env, Resources: of.Resources, VolumeMounts: of.VolumeMounts, SecurityContext: of.SecurityContext,
	}}
}

// SecretEnv is a variable whose value stands in a Secret. The pod does not start without it.
func SecretEnv(name, secret, key string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: key,
	}}}
}

// SecretVolume is a volume with the files of a Secret.
func SecretVolume(name, secret string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}}}
}
