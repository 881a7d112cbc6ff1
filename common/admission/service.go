// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/naming"
)

// Service is what the spec of every service holds, under the names that the fields have there.
type Service struct {
	Image      api.ImageSpec
	Deployment api.DeploymentSpec
	Database   api.DatabaseSpec
	Cache      api.CacheSpec

	SecretStoreRef   *api.SecretStoreRef
	TargetClusterRef *api.TargetClusterRef

	KeystoneEndpoint       string
	KeystonePublicEndpoint string
	Region                 string
	ServiceUser            api.ServiceUserSpec

	UWSGI           *api.UWSGISpec // of apiServer
	Gateway         *api.GatewaySpec
	NetworkPolicy   *api.NetworkPolicySpec
	Autoscaling     *api.AutoscalingSpec
	Logging         *api.LoggingSpec
	PolicyOverrides *api.PolicyOverrides
}

var (
	specAt       = field.NewPath("spec")
	deploymentAt = specAt.Child("deployment")
)

// ServiceRules judge what of finds in the spec of a service. app is the service's name in labels; reader looks up
// what the spec refers to.
func ServiceRules[T client.Object](app string, reader client.Reader, of func(T) Service) []Rule[T] {
	rules := []Rule[T]{
		On(specAt.Child("image"), part(of, func(s Service) api.ImageSpec { return s.Image }), Image),
		On(specAt.Child("database"), part(of, func(s Service) api.DatabaseSpec { return s.Database }), Database),
		On(specAt.Child("cache"), part(of, func(s Service) api.CacheSpec { return s.Cache }), Cache),
		On(specAt.Child("secretStoreRef"), part(of, func(s Service) *api.SecretStoreRef { return s.SecretStoreRef }), SecretStoreRef),
		On(specAt.Child("targetClusterRef"), part(of, targetCluster), TargetClusterRef),
		OnUpdate(part(of, targetCluster), func(before, after *api.TargetClusterRef) Findings {
			return Findings{Violations: TargetClusterUnchanged(specAt.Child("targetClusterRef"), before, after)}
		}),
		On(specAt.Child("keystoneEndpoint"), part(of, func(s Service) string { return s.KeystoneEndpoint }), URL),
		On(specAt.Child("keystonePublicEndpoint"), part(of, func(s Service) string { return s.KeystonePublicEndpoint }), OptionalURL),
		On(specAt.Child("region"), part(of, func(s Service) string { return s.Region }), Text),
		On(specAt.Child("serviceUser"), part(of, func(s Service) api.ServiceUserSpec { return s.ServiceUser }), ServiceUser),
		On(specAt.Child("gateway"), part(of, func(s Service) *api.GatewaySpec { return s.Gateway }), Gateway),
		On(specAt.Child("networkPolicy"), part(of, func(s Service) *api.NetworkPolicySpec { return s.NetworkPolicy }), NetworkPolicy),
		On(specAt.Child("logging"), part(of, func(s Service) *api.LoggingSpec { return s.Logging }), Logging),
		On(specAt.Child("policyOverrides"), part(of, func(s Service) *api.PolicyOverrides { return s.PolicyOverrides }), PolicyOverrides),
		On(specAt.Child("autoscaling"), part(of, scaling), func(at *field.Path, s Service) field.ErrorList {
			return Autoscaling(at, s.Autoscaling, s.Deployment.Replicas)
		}),
		On(specAt.Child("apiServer", "uwsgi"), part(of, serving), func(at *field.Path, s Service) field.ErrorList {
			return UWSGI(at, s.UWSGI, s.Deployment)
		}),
	}
	return append(rules, deploymentRules(app, reader, of)...)
}

func deploymentRules[T client.Object](app string, reader client.Reader, of func(T) Service) []Rule[T] {
	return []Rule[T]{
		On(deploymentAt.Child("replicas"), part(of, func(s Service) int32 { return s.Deployment.Replicas }), atLeastOne),
		On(deploymentAt, part(of, func(s Service) api.DeploymentSpec { return shutdown(s.Deployment) }), Shutdown),
		On(deploymentAt.Child("strategy"), part(of, func(s Service) *appsv1.DeploymentStrategy { return s.Deployment.Strategy }), Strategy),
		On(deploymentAt.Child("resources"), part(of, func(s Service) *corev1.ResourceRequirements { return s.Deployment.Resources }), Resources),
		Ask(func(o T) spread { return spread{of(o).Deployment.TopologySpreadConstraints, o.GetName()} },
			func(_ context.Context, in spread) Findings {
				pods := naming.Instance{App: app, Name: in.Instance}.Selector()
				return Findings{Violations: TopologySpread(deploymentAt.Child("topologySpreadConstraints"), in.Constraints, pods)}
			}),
		Ask(part(of, func(s Service) *string { return s.Deployment.PriorityClassName }), func(ctx context.Context, name *string) Findings {
			return Findings{Violations: PriorityClass(ctx, reader, deploymentAt.Child("priorityClassName"), name)}
		}),
	}
}

// part is the input of a rule that looks at a part of the service.
func part[T client.Object, I any](of func(T) Service, get func(Service) I) func(T) I {
	return func(o T) I { return get(of(o)) }
}

func targetCluster(s Service) *api.TargetClusterRef { return s.TargetClusterRef }

// scaling leaves of a service what an autoscaler is judged by.
func scaling(s Service) Service {
	return Service{Autoscaling: s.Autoscaling, Deployment: api.DeploymentSpec{Replicas: s.Deployment.EffectiveReplicas()}}
}

// serving leaves of a service what its server is judged by.
func serving(s Service) Service { return Service{UWSGI: s.UWSGI, Deployment: shutdown(s.Deployment)} }

// shutdown leaves of a deployment the times of a stopping pod.
func shutdown(d api.DeploymentSpec) api.DeploymentSpec {
	return api.DeploymentSpec{TerminationGracePeriodSeconds: d.TerminationGracePeriodSeconds, PreStopSleepSeconds: d.PreStopSleepSeconds}
}

type spread struct {
	Constraints []corev1.TopologySpreadConstraint
	Instance    string
}

func atLeastOne(at *field.Path, value int32) field.ErrorList { return AtLeast(at, value, 1) }
