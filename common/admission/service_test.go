// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/c5c3/cobaltcore/common/admission"
	"github.com/c5c3/cobaltcore/common/api"
)

// wrong has a mistake in every part.
func wrong() admission.Service {
	much, little := corev1.ResourceList{"cpu": resource.MustParse("2")}, corev1.ResourceList{"cpu": resource.MustParse("1")}
	return admission.Service{
		Deployment: api.DeploymentSpec{
			Replicas: -1, PreStopSleepSeconds: new(int64(90)), Resources: &corev1.ResourceRequirements{Requests: much, Limits: little},
			Strategy:                  &appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{}},
			TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{}},
		},
		SecretStoreRef: &api.SecretStoreRef{Kind: "Vault"}, TargetClusterRef: &api.TargetClusterRef{},
		KeystoneEndpoint: "keystone", KeystonePublicEndpoint: "ftp://keystone", Region: "a\nb", ServiceUser: api.ServiceUserSpec{Username: "a\nb"},
		UWSGI: &api.UWSGISpec{Harakiri: new(int32(600))}, Gateway: &api.GatewaySpec{}, NetworkPolicy: &api.NetworkPolicySpec{},
		Autoscaling: &api.AutoscalingSpec{}, Logging: &api.LoggingSpec{Level: "LOUD"},
		PolicyOverrides: &api.PolicyOverrides{Rules: map[string]string{"": ""}},
	}
}

func judged(t *testing.T, change admission.Change[*corev1.ConfigMap], of func(*corev1.ConfigMap) admission.Service) []string {
	t.Helper()
	var paths []string
	for _, rule := range admission.ServiceRules("app", nil, of) {
		for _, violation := range rule(t.Context(), change).Violations {
			paths = append(paths, violation.Field)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

func TestServiceRulesReachEveryPart(t *testing.T) {
	t.Parallel()
	change := admission.Change[*corev1.ConfigMap]{New: &corev1.ConfigMap{}, Created: true}
	got := judged(t, change, func(*corev1.ConfigMap) admission.Service { return wrong() })
	want := []string{
		"spec.apiServer.uwsgi.harakiri", "spec.autoscaling", "spec.autoscaling.maxReplicas", "spec.cache", "spec.database",
		"spec.deployment.preStopSleepSeconds", "spec.deployment.replicas", "spec.deployment.resources.requests[cpu]",
		"spec.deployment.strategy.rollingUpdate", "spec.deployment.topologySpreadConstraints[0].labelSelector",
		"spec.gateway.hostname", "spec.gateway.parentRef.name", "spec.image", "spec.keystoneEndpoint", "spec.keystonePublicEndpoint",
		"spec.logging.level", "spec.networkPolicy.ingress", "spec.policyOverrides.rules[]", "spec.region", "spec.secretStoreRef.kind",
		"spec.secretStoreRef.name", "spec.serviceUser.username", "spec.targetClusterRef.name",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}

// What was wrong before a rule existed does not block a change of something else.
func TestServiceRulesJudgeWhatChanged(t *testing.T) {
	t.Parallel()
	before, after := &corev1.ConfigMap{}, &corev1.ConfigMap{}
	got := judged(t, admission.Change[*corev1.ConfigMap]{Old: before, New: after}, func(c *corev1.ConfigMap) admission.Service {
		s := wrong()
		if c == after {
			s.Region, s.TargetClusterRef = "b\nb", &api.TargetClusterRef{Name: "far"}
		}
		return s
	})
	if diff := cmp.Diff([]string{"spec.region", "spec.targetClusterRef"}, got); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}
