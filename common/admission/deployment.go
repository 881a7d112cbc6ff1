// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/samber/lo"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
)

// Shutdown wants a grace period of at least ten seconds and a preStop sleep that ends before it. It looks at these two alone.
func Shutdown(path *field.Path, deployment api.DeploymentSpec) field.ErrorList {
	var violations field.ErrorList
	sleep := path.Child("preStopSleepSeconds")
	if grace := deployment.TerminationGracePeriodSeconds; grace != nil {
		violations = append(violations, AtLeast(path.Child("terminationGracePeriodSeconds"), *grace, api.MinGracePeriodSeconds)...)
	}
	if deployment.PreStopSleepSeconds != nil {
		violations = append(violations, AtLeast(sleep, *deployment.PreStopSleepSeconds, 0)...)
	}
	if deployment.EffectivePreStopSeconds() >= deployment.EffectiveGracePeriodSeconds() {
		violations = append(violations, field.Invalid(sleep, deployment.EffectivePreStopSeconds(),
			"preStopSleepSeconds (default 5) must be below terminationGracePeriodSeconds (default 30)"))
	}
	return violations
}

// Strategy wants no rollingUpdate beside Recreate.
func Strategy(path *field.Path, strategy *appsv1.DeploymentStrategy) field.ErrorList {
	if strategy == nil || strategy.Type != appsv1.RecreateDeploymentStrategyType || strategy.RollingUpdate == nil {
		return nil
	}
	return field.ErrorList{field.Forbidden(path.Child("rollingUpdate"), "strategy.rollingUpdate must not be set with type Recreate")}
}

// Resources wants no request above its limit.
func Resources(path *field.Path, resources *corev1.ResourceRequirements) field.ErrorList {
	if resources == nil {
		return nil
	}
	var violations field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(resources.Requests)) {
		request := resources.Requests[name]
		if limit, ok := resources.Limits[name]; ok && request.Cmp(limit) > 0 {
			violations = append(violations, field.Invalid(path.Child("requests").Key(string(name)), request.String(),
				"must not exceed the limit of "+limit.String()))
		}
	}
	return violations
}

// PriorityClass wants the class to exist.
func PriorityClass(ctx context.Context, reader client.Reader, path *field.Path, name *string) field.ErrorList {
	if name == nil || *name == "" {
		return nil
	}
	err := reader.Get(ctx, client.ObjectKey{Name: *name}, &schedulingv1.PriorityClass{})
	switch {
	case apierrors.IsNotFound(err):
		return field.ErrorList{field.NotFound(path, *name)}
	case err != nil:
		return field.ErrorList{field.InternalError(path, err)}
	}
	return nil
}

// TopologySpread wants every constraint to select exactly the pods of the Deployment: another selector would count others' pods,
// or none.
func TopologySpread(path *field.Path, constraints []corev1.TopologySpreadConstraint, pods map[string]string) field.ErrorList {
	var violations field.ErrorList
	for i := range constraints {
		selector, at := constraints[i].LabelSelector, path.Index(i).Child("labelSelector")
		switch {
		case selector == nil:
			violations = append(violations, field.Required(at, "must select the pods of this object"))
		case len(selector.MatchExpressions) > 0:
			violations = append(violations, field.Forbidden(at.Child("matchExpressions"), "must not be set"))
		case !maps.Equal(selector.MatchLabels, pods):
			violations = append(violations, field.Invalid(at.Child("matchLabels"), selector.MatchLabels, "must be exactly "+labelText(pods)))
		}
	}
	return violations
}

func labelText(labels map[string]string) string {
	pairs := lo.MapToSlice(labels, func(key, value string) string { return key + "=" + value })
	slices.Sort(pairs)
	return strings.Join(pairs, " and ")
}

// Autoscaling wants a range of pods, a target to scale by, and room for the replicas that are the minimum by default.
func Autoscaling(path *field.Path, autoscaling *api.AutoscalingSpec, replicas int32) field.ErrorList {
	if autoscaling == nil {
		return nil
	}
	most := path.Child("maxReplicas")
	violations := AtLeast(most, autoscaling.MaxReplicas, 1)
	if least := autoscaling.MinReplicas; least != nil {
		violations = append(violations, AtLeast(path.Child("minReplicas"), *least, 1)...)
		if *least > autoscaling.MaxReplicas {
			violations = append(violations, field.Invalid(path.Child("minReplicas"), *least, "minReplicas must not exceed maxReplicas"))
		}
	} else if autoscaling.MaxReplicas < replicas {
		violations = append(violations, field.Invalid(most, autoscaling.MaxReplicas,
			"autoscaling.maxReplicas must not be below deployment.replicas (default 3) while autoscaling.minReplicas is unset"))
	}
	return append(violations, targets(path, autoscaling)...)
}

func targets(path *field.Path, autoscaling *api.AutoscalingSpec) field.ErrorList {
	cpu, memory := autoscaling.TargetCPUUtilization, autoscaling.TargetMemoryUtilization
	if cpu == nil && memory == nil {
		return field.ErrorList{field.Required(path, "at least one of targetCPUUtilization and targetMemoryUtilization must be set")}
	}
	return append(percentage(path.Child("targetCPUUtilization"), cpu), percentage(path.Child("targetMemoryUtilization"), memory)...)
}

func percentage(path *field.Path, value *int32) field.ErrorList {
	if value == nil || (*value >= 1 && *value <= 100) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, *value, "must be between 1 and 100")}
}

// UWSGI wants requests to end before their pod does, and keep-alive where a time-out for it is set.
func UWSGI(path *field.Path, uwsgi *api.UWSGISpec, deployment api.DeploymentSpec) field.ErrorList {
	if uwsgi == nil {
		return nil
	}
	var violations field.ErrorList
	left := deployment.EffectiveGracePeriodSeconds() - deployment.EffectivePreStopSeconds()
	if uwsgi.Harakiri != nil && int64(*uwsgi.Harakiri) >= left {
		violations = append(violations, field.Invalid(path.Child("harakiri"), *uwsgi.Harakiri,
			"harakiri must be below terminationGracePeriodSeconds (default 30) minus preStopSleepSeconds (default 5)"))
	}
	if uwsgi.HTTPKeepAliveTimeout != nil && !*uwsgi.WithDefaults().HTTPKeepAlive {
		violations = append(violations, field.Forbidden(path.Child("httpKeepAliveTimeout"), "httpKeepAliveTimeout needs httpKeepAlive"))
	}
	return violations
}
