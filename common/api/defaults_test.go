// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/c5c3/cobaltcore/common/api"
)

func TestImageReference(t *testing.T) {
	t.Parallel()
	for want, image := range map[string]api.ImageSpec{
		"reg:5000/a/b:2026.1": {Repository: "reg:5000/a/b", Tag: "2026.1"},
		"a/b@sha256:0":        {Repository: "a/b", Digest: "sha256:0"},
		"a/b@sha256:1":        {Repository: "a/b", Tag: "both", Digest: "sha256:1"},
	} {
		if got := image.Reference(); got != want {
			t.Errorf("want %s, got %s", want, got)
		}
	}
}

func TestDatabaseDefaults(t *testing.T) {
	t.Parallel()
	tls := func(mode api.DatabaseTLSMode) *api.DatabaseTLSSpec { return &api.DatabaseTLSSpec{Mode: mode} }
	for _, test := range []struct {
		name     string
		spec     api.DatabaseSpec
		port     int32
		mode     api.DatabaseTLSMode
		tls      bool
		retained bool
	}{
		{"empty", api.DatabaseSpec{}, 3306, api.DatabaseTLSDisabled, false, true},
		{"port", api.DatabaseSpec{Port: 1}, 1, api.DatabaseTLSDisabled, false, true},
		{"TLS without a mode", api.DatabaseSpec{TLS: tls("")}, 3306, api.DatabaseTLSRequire, true, true},
		{"TLS disabled", api.DatabaseSpec{TLS: tls(api.DatabaseTLSDisabled)}, 3306, api.DatabaseTLSDisabled, false, true},
		{"TLS verified", api.DatabaseSpec{TLS: tls(api.DatabaseTLSVerifyFull)}, 3306, api.DatabaseTLSVerifyFull, true, true},
		{"deletion policy unknown", api.DatabaseSpec{DeletionPolicy: "delete"}, 3306, api.DatabaseTLSDisabled, false, true},
		{"deletion policy Delete", api.DatabaseSpec{DeletionPolicy: api.DeleteDatabase}, 3306, api.DatabaseTLSDisabled, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := test.spec
			if s.EffectivePort() != test.port || s.TLSMode() != test.mode || s.TLSEnabled() != test.tls || s.Retained() != test.retained {
				t.Errorf("got port %d, mode %s, TLS %v, retained %v", s.EffectivePort(), s.TLSMode(), s.TLSEnabled(), s.Retained())
			}
		})
	}
}

func TestCacheAddresses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		spec api.CacheSpec
		want []string
	}{
		{api.CacheSpec{}, nil},
		{api.CacheSpec{ClusterRef: &corev1.LocalObjectReference{Name: "memcached"}}, []string{"memcached:11211"}},
		{api.CacheSpec{Servers: []string{"b:1", "a:2"}}, []string{"b:1", "a:2"}},
	} {
		if diff := cmp.Diff(test.want, test.spec.Addresses()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestDeploymentDefaults(t *testing.T) {
	t.Parallel()
	var empty api.DeploymentSpec
	if empty.EffectiveReplicas() != 3 || empty.EffectiveGracePeriodSeconds() != 30 || empty.EffectivePreStopSeconds() != 5 {
		t.Errorf("got %d, %d, %d", empty.EffectiveReplicas(), empty.EffectiveGracePeriodSeconds(), empty.EffectivePreStopSeconds())
	}
	set := api.DeploymentSpec{Replicas: 1, TerminationGracePeriodSeconds: new(int64(60)), PreStopSleepSeconds: new(int64(0))}
	if set.EffectiveReplicas() != 1 || set.EffectiveGracePeriodSeconds() != 60 || set.EffectivePreStopSeconds() != 0 {
		t.Errorf("got %d, %d, %d", set.EffectiveReplicas(), set.EffectiveGracePeriodSeconds(), set.EffectivePreStopSeconds())
	}
}

func TestEffectiveResources(t *testing.T) {
	t.Parallel()
	memory := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}
	claims := []corev1.ResourceClaim{{Name: "device"}}
	defaults := api.DeploymentSpec{}.EffectiveResources()
	for _, test := range []struct {
		name string
		spec *corev1.ResourceRequirements
		want corev1.ResourceRequirements
	}{
		{"nil", nil, defaults},
		{"empty", &corev1.ResourceRequirements{Requests: corev1.ResourceList{}}, defaults},
		{"claims only", &corev1.ResourceRequirements{Claims: claims}, corev1.ResourceRequirements{Requests: defaults.Requests, Limits: defaults.Limits, Claims: claims}},
		{"limits only", &corev1.ResourceRequirements{Limits: memory}, corev1.ResourceRequirements{Limits: memory}},
	} {
		if diff := cmp.Diff(test.want, api.DeploymentSpec{Resources: test.spec}.EffectiveResources()); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
	if defaults.Requests.Cpu().String() != "100m" || defaults.Limits.Memory().String() != "512Mi" {
		t.Errorf("got %v", defaults)
	}
}

func TestPods(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name        string
		autoscaling *api.AutoscalingSpec
		least, most int32
	}{
		{"no autoscaling", nil, 2, 2},
		{"minimum by default", &api.AutoscalingSpec{MaxReplicas: 9}, 2, 9},
		{"minimum", &api.AutoscalingSpec{MinReplicas: new(int32(1)), MaxReplicas: 9}, 1, 9},
	} {
		deployment := api.DeploymentSpec{Replicas: 2}
		if least, most := api.MinPods(deployment, test.autoscaling), api.MaxPods(deployment, test.autoscaling); least != test.least || most != test.most {
			t.Errorf("%s: got %d to %d", test.name, least, most)
		}
	}
}

func TestBlocksWithDefaults(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		got, want any
	}{
		{"uWSGI nil", (*api.UWSGISpec)(nil).WithDefaults(), api.UWSGISpec{Processes: 2, Threads: 1, HTTPKeepAlive: new(true)}},
		{
			"uWSGI out of range", (&api.UWSGISpec{Processes: -1, Threads: -1, HTTPKeepAlive: new(false)}).WithDefaults(),
			api.UWSGISpec{Processes: 2, Threads: 1, HTTPKeepAlive: new(false)},
		},
		{"logging nil", (*api.LoggingSpec)(nil).WithDefaults(), api.LoggingSpec{Format: api.TextLog, Level: api.LogInfo, Debug: new(false)}},
		{
			"logging set", (&api.LoggingSpec{Format: api.JSONLog, Level: api.LogError, Debug: new(true)}).WithDefaults(),
			api.LoggingSpec{Format: api.JSONLog, Level: api.LogError, Debug: new(true)},
		},
		{"secret store nil", (*api.SecretStoreRef)(nil).WithDefaults(), api.SecretStoreRef{Kind: api.ClusterSecretStoreKind, Name: "openbao-cluster-store"}},
		{"secret store without a kind", (&api.SecretStoreRef{Name: "s"}).WithDefaults(), api.SecretStoreRef{Kind: api.ClusterSecretStoreKind, Name: "s"}},
		{"secret store", (&api.SecretStoreRef{Kind: api.NamespacedSecretStoreKind, Name: "s"}).WithDefaults(), api.SecretStoreRef{Kind: api.NamespacedSecretStoreKind, Name: "s"}},
		{
			"service user", api.ServiceUserSpec{SecretRef: api.SecretRef{Name: "s"}}.WithDefaults("keys"),
			api.ServiceUserSpec{Username: "keys", ProjectName: "service", UserDomainName: "Default", ProjectDomainName: "Default", SecretRef: api.SecretRef{Name: "s", Key: "password"}},
		},
		{"path unset", api.GatewaySpec{}.EffectivePath(), "/"},
		{"path without a slash", api.GatewaySpec{Path: "keys"}.EffectivePath(), "/keys"},
		{"path", api.GatewaySpec{Path: "/keys"}.EffectivePath(), "/keys"},
		{"cluster nil", (*api.TargetClusterRef)(nil).ClusterName(), ""},
		{"cluster", (&api.TargetClusterRef{Name: "east"}).ClusterName(), "east"},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}
