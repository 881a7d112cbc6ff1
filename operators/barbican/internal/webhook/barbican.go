// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/admission"
	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/naming"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

type barbican = *v1alpha1.Barbican

var (
	nameAt       = field.NewPath("metadata", "name")
	spec         = field.NewPath("spec")
	deploymentAt = spec.Child("deployment")
	dbCleanAt    = spec.Child("dbClean")
)

func barbicanRules(reader client.Reader) []admission.Rule[barbican] {
	rules := []admission.Rule[barbican]{
		admission.On(nameAt, name[barbican], maxLength(v1alpha1.MaxNameLength)),
		admission.On(spec.Child("image"), image, admission.Image),
		admission.On(spec.Child("database"), database, admission.Database),
		admission.On(spec.Child("cache"), cache, admission.Cache),
		admission.On(spec.Child("secretStoreRef"), secretStoreRef, admission.SecretStoreRef),
		admission.On(spec.Child("targetClusterRef"), targetClusterRef, admission.TargetClusterRef),
		admission.OnUpdate(targetClusterRef, targetClusterUnchanged),
		admission.On(spec.Child("keystoneEndpoint"), keystoneEndpoint, admission.URL),
		admission.On(spec.Child("keystonePublicEndpoint"), keystonePublicEndpoint, admission.OptionalURL),
		admission.On(spec.Child("region"), region, admission.Text),
		admission.On(spec.Child("serviceUser"), serviceUser, admission.ServiceUser),
		admission.On(spec.Child("gateway"), gateway, admission.Gateway),
		admission.On(spec.Child("networkPolicy"), networkPolicy, admission.NetworkPolicy),
		admission.On(spec.Child("logging"), logging, admission.Logging),
		admission.On(spec.Child("policyOverrides"), policyOverrides, admission.PolicyOverrides),
		admission.On(spec.Child("autoscaling"), scale, autoscaling),
		admission.On(spec.Child("apiServer", "uwsgi"), server, uwsgi),
	}
	rules = append(rules, deploymentRules(reader)...)
	rules = append(rules, dbCleanRules()...)
	return append(rules, configRules()...)
}

func deploymentRules(reader client.Reader) []admission.Rule[barbican] {
	return []admission.Rule[barbican]{
		admission.On(deploymentAt.Child("replicas"), replicas, atLeastOne),
		admission.On(deploymentAt, shutdown, admission.Shutdown),
		admission.On(deploymentAt.Child("strategy"), strategy, admission.Strategy),
		admission.On(deploymentAt.Child("resources"), resources, admission.Resources),
		admission.On(deploymentAt.Child("topologySpreadConstraints"), spread, topologySpread),
		admission.Ask(priorityClass, func(ctx context.Context, name *string) admission.Findings {
			at := deploymentAt.Child("priorityClassName")
			return admission.Findings{Violations: admission.PriorityClass(ctx, reader, at, name)}
		}),
	}
}

func dbCleanRules() []admission.Rule[barbican] {
	return []admission.Rule[barbican]{
		admission.On(dbCleanAt.Child("retentionDays"), retentionDays, atLeastOne),
		admission.On(dbCleanAt.Child("schedule"), schedule, admission.Schedule),
		admission.On(dbCleanAt.Child("timeZone"), timeZone, admission.TimeZone),
		admission.OnUpdate(retentionDays, retentionReduced),
		firstCleanUp,
	}
}

func name[T client.Object](object T) string { return object.GetName() }

func maxLength(limit int) func(*field.Path, string) field.ErrorList {
	return func(at *field.Path, value string) field.ErrorList { return admission.MaxLength(at, value, limit) }
}

func atLeastOne(at *field.Path, value int32) field.ErrorList { return admission.AtLeast(at, value, 1) }

func image(b barbican) api.ImageSpec                    { return b.Spec.Image }
func database(b barbican) api.DatabaseSpec              { return b.Spec.Database }
func cache(b barbican) api.CacheSpec                    { return b.Spec.Cache }
func secretStoreRef(b barbican) *api.SecretStoreRef     { return b.Spec.SecretStoreRef }
func targetClusterRef(b barbican) *api.TargetClusterRef { return b.Spec.TargetClusterRef }
func keystoneEndpoint(b barbican) string                { return b.Spec.KeystoneEndpoint }
func keystonePublicEndpoint(b barbican) string          { return b.Spec.KeystonePublicEndpoint }
func region(b barbican) string                          { return b.Spec.Region }
func serviceUser(b barbican) api.ServiceUserSpec        { return b.Spec.ServiceUser }
func gateway(b barbican) *api.GatewaySpec               { return b.Spec.Gateway }
func networkPolicy(b barbican) *api.NetworkPolicySpec   { return b.Spec.NetworkPolicy }
func logging(b barbican) *api.LoggingSpec               { return b.Spec.Logging }
func policyOverrides(b barbican) *api.PolicyOverrides   { return b.Spec.PolicyOverrides }
func replicas(b barbican) int32                         { return b.Spec.Deployment.Replicas }
func strategy(b barbican) *appsv1.DeploymentStrategy    { return b.Spec.Deployment.Strategy }
func resources(b barbican) *corev1.ResourceRequirements { return b.Spec.Deployment.Resources }
func priorityClass(b barbican) *string                  { return b.Spec.Deployment.PriorityClassName }
func retentionDays(b barbican) int32                    { return *b.Spec.DBClean.WithDefaults().RetentionDays }
func schedule(b barbican) string                        { return b.Spec.DBClean.WithDefaults().Schedule }
func timeZone(b barbican) *string                       { return b.Spec.DBClean.WithDefaults().TimeZone }

func targetClusterUnchanged(before, after *api.TargetClusterRef) admission.Findings {
	return admission.Findings{Violations: admission.TargetClusterUnchanged(spec.Child("targetClusterRef"), before, after)}
}

// shutdown are the times of a stopping pod, without the rest of the block.
func shutdown(b barbican) api.DeploymentSpec {
	return api.DeploymentSpec{
		TerminationGracePeriodSeconds: b.Spec.Deployment.TerminationGracePeriodSeconds,
		PreStopSleepSeconds:           b.Spec.Deployment.PreStopSleepSeconds,
	}
}

type scaleInput struct {
	Autoscaling *api.AutoscalingSpec
	Replicas    int32
}

func scale(b barbican) scaleInput {
	return scaleInput{b.Spec.Autoscaling, b.Spec.Deployment.EffectiveReplicas()}
}

func autoscaling(at *field.Path, in scaleInput) field.ErrorList {
	return admission.Autoscaling(at, in.Autoscaling, in.Replicas)
}

type serverInput struct {
	UWSGI    *api.UWSGISpec
	Shutdown api.DeploymentSpec
}

func server(b barbican) serverInput {
	in := serverInput{Shutdown: shutdown(b)}
	if b.Spec.APIServer != nil {
		in.UWSGI = b.Spec.APIServer.UWSGI
	}
	return in
}

func uwsgi(at *field.Path, in serverInput) field.ErrorList {
	return admission.UWSGI(at, in.UWSGI, in.Shutdown)
}

type spreadInput struct {
	Constraints []corev1.TopologySpreadConstraint
	Name        string
}

func spread(b barbican) spreadInput {
	return spreadInput{b.Spec.Deployment.TopologySpreadConstraints, b.Name}
}

func topologySpread(at *field.Path, in spreadInput) field.ErrorList {
	pods := naming.Instance{App: "barbican", Name: in.Name}
	return admission.TopologySpread(at, in.Constraints, pods.Selector())
}
