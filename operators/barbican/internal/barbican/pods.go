// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/c5c3/cobaltcore/common/database"
	"github.com/c5c3/cobaltcore/common/naming"
	"github.com/c5c3/cobaltcore/common/workload"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/config"
)

const (
	// wsgiModule names the application in the one form that every supported release has.
	wsgiModule = "barbican.api.app:get_api_wsgi_script()"
	apiName    = "barbican-api"
	healthPath = "/healthcheck"

	databaseTLSPath = "/etc/barbican-db-tls/"
)

// apiTemplate is the pod that serves the API. What it takes from Secrets is digested into annotations, so that a
// change rolls the pods.
func apiTemplate(b *v1alpha1.Barbican, v handoff) corev1.PodTemplateSpec {
	mounts, volumes := databaseMounts(b, v.mounts.configSecret)
	if v.mounts.caSecret != "" {
		volume := workload.SecretVolume(volumeStoreCA, v.mounts.caSecret)
		volume.Secret.DefaultMode = new(int32(0o444))
		volume.Secret.Items = []corev1.KeyToPath{{Key: v1alpha1.CABundleKey, Path: v1alpha1.CABundleKey}}
		volumes = append(volumes, volume)
		mounts = append(mounts, corev1.VolumeMount{Name: volumeStoreCA, MountPath: config.CADirectory, ReadOnly: true})
	}
	return workload.Pod{
		Labels:      instance(b).Component(naming.ComponentAPI),
		Annotations: templateDigests(v),
		Volumes:     volumes,
		// Every worker of uWSGI writes the rows that are missing when it starts; two at a time fail, and end a pod that is ready.
		Preparation: &workload.Preparation{Name: "secret-stores", Command: []string{"barbican-manage", "db", "sync_secret_stores"}},
		Container: corev1.Container{
			Name:    apiName,
			Image:   b.Spec.Image.Reference(),
			Command: workload.UWSGI{Bind: ":" + strconv.Itoa(int(v1alpha1.Port)), Module: wsgiModule, Knobs: b.Spec.EffectiveUWSGI()}.Command(),
			Ports:   []corev1.ContainerPort{{Name: apiName, ContainerPort: v1alpha1.Port, Protocol: corev1.ProtocolTCP}},
			Env: []corev1.EnvVar{
				dsnEnv(b),
				workload.SecretEnv(envServicePassword, v.password.Name, v.password.Key),
				workload.SecretEnv(envSecretID, v.mounts.credentialsSecret, v1alpha1.SecretIDKey),
				userEnv,
			},
			Resources:    b.Spec.Deployment.EffectiveResources(),
			VolumeMounts: mounts,
			Lifecycle:    workload.PreStop(b.Spec.Deployment.EffectivePreStopSeconds()),
			// The workers that answer probes answer requests as well: one that is busy is not dead.
			StartupProbe:   healthProbe(corev1.Probe{PeriodSeconds: 10, TimeoutSeconds: 8, FailureThreshold: 30}),
			LivenessProbe:  healthProbe(corev1.Probe{InitialDelaySeconds: 15, PeriodSeconds: 20, TimeoutSeconds: 10}),
			ReadinessProbe: healthProbe(corev1.Probe{InitialDelaySeconds: 10, PeriodSeconds: 15, TimeoutSeconds: 10, FailureThreshold: 3}),
		},
	}.Template()
}

// templateDigests leaves out what is unknown in this pass, so that a pass that could not read it rolls nothing.
func templateDigests(v handoff) map[string]string {
	digests := make(map[string]string, 5)
	for key, digest := range map[string]string{
		v1alpha1.AnnotationDBConnectionHash:           v.dbConnectionHash,
		v1alpha1.AnnotationDBTLSHash:                  v.dbTLSHash,
		v1alpha1.AnnotationAuthTokenHash:              v.authTokenHash,
		v1alpha1.AnnotationSecretStoreCredentialsHash: v.mounts.credentialsHash,
		v1alpha1.AnnotationSecretStoreCAHash:          v.mounts.caHash,
	} {
		if digest != "" {
			digests[key] = digest
		}
	}
	return digests
}

func healthProbe(p corev1.Probe) *corev1.Probe {
	p.HTTPGet = &corev1.HTTPGetAction{Path: healthPath, Port: intstr.FromInt32(v1alpha1.Port)}
	return &p
}

// databaseTemplate is the pod of a Job that works on the database.
func databaseTemplate(b *v1alpha1.Barbican, component, configSecret string, command ...string) corev1.PodTemplateSpec {
	mounts, volumes := databaseMounts(b, configSecret)
	return workload.Pod{
		Labels:  instance(b).Component(component),
		Volumes: volumes,
		Container: corev1.Container{
			Name: component, Image: b.Spec.Image.Reference(), Command: command,
			Env: []corev1.EnvVar{dsnEnv(b), userEnv}, Resources: jobResources(), VolumeMounts: mounts,
		},
	}.Template()
}

// userEnv is what the database driver asks for before it looks into the image's passwd file, which may lack our user.
var userEnv = corev1.EnvVar{Name: "USER", Value: "openstack"}

func dsnEnv(b *v1alpha1.Barbican) corev1.EnvVar {
	return workload.SecretEnv(envDSN, connectionSecretName(b), database.ConnectionKey)
}

func databaseMounts(b *v1alpha1.Barbican, configSecret string) ([]corev1.VolumeMount, []corev1.Volume) {
	mounts := []corev1.VolumeMount{{Name: volumeConfig, MountPath: config.Directory, ReadOnly: true}}
	volumes := []corev1.Volume{workload.SecretVolume(volumeConfig, configSecret)}
	if b.Spec.Database.TLSEnabled() {
		volumes = append(volumes, database.TLSVolume(volumeDBTLS, *b.Spec.Database.TLS))
		mounts = append(mounts, corev1.VolumeMount{Name: volumeDBTLS, MountPath: databaseTLSPath, ReadOnly: true})
	}
	return mounts, volumes
}

var (
	jobRequests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi")}
	jobLimits   = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("512Mi")}
)

func jobResources() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: jobRequests, Limits: jobLimits}
}
