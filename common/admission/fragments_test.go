// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/c5c3/cobaltcore/common/admission"
	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/oslo"
)

var at = field.NewPath("spec", "x")

var owned = oslo.NewOwnedKeys(
	oslo.OwnedKey{Option: oslo.Option{Section: "auth", Key: "password"}, Owner: "spec.user", Rejected: true},
	oslo.OwnedKey{Option: oslo.Option{Section: "auth", Key: "url"}, Owner: "spec.url"},
)

func named(name string) *corev1.LocalObjectReference { return &corev1.LocalObjectReference{Name: name} }

// TestFragments holds a row for every way a fragment can be wrong, and some for how it can just be right. Violations are compared
// by their field and words; an empty list accepts.
func TestFragments(t *testing.T) {
	t.Parallel()
	const breaks = "must not contain line breaks or other control characters"
	for _, test := range []struct {
		name string
		got  field.ErrorList
		want []string
	}{
		{"text", admission.Text(at, "Zürich, 100 %"), nil},
		{"text with a line break", admission.Text(at, "a\nb"), []string{"spec.x: Invalid", breaks}},
		{"text with a C1 control", admission.Text(at, "a\u0085b"), []string{breaks}},
		{"text that is not UTF-8", admission.Text(at, "a\xff"), []string{"must be valid UTF-8"}},
		{"name at the limit", admission.MaxLength(at, "12345", 5), nil},
		{"name over the limit", admission.MaxLength(at, "123456", 5), []string{"may not be more than 5"}},

		{"URL", admission.URL(at, "https://host:5000/v3"), nil},
		{"URL with an IPv6 host", admission.URL(at, "http://[::1]:5000"), nil},
		{"URL empty", admission.URL(at, ""), []string{"Required"}},
		{"URL unset where it may be", admission.OptionalURL(at, ""), nil},
		{"URL set where it may be unset", admission.OptionalURL(at, "host"), []string{"must be an http or https URL with a host"}},
		{"URL unparsable", admission.URL(at, "http://host:port"), []string{"must be an http or https URL with a host"}},
		{"URL with another scheme", admission.URL(at, "ftp://host"), []string{"must be an http or https URL with a host"}},
		{"URL without a host", admission.URL(at, "https://:5000"), []string{"must be an http or https URL with a host"}},
		{"URL with a line break", admission.URL(at, "https://host/\n"), []string{"must be an http or https URL with a host"}},

		{"image by tag", admission.Image(at, api.ImageSpec{Tag: "1"}), nil},
		{"image by digest", admission.Image(at, api.ImageSpec{Digest: "sha256:0"}), nil},
		{"image by both", admission.Image(at, api.ImageSpec{Tag: "1", Digest: "sha256:0"}), []string{"Forbidden: exactly one of tag and digest"}},
		{"image by none", admission.Image(at, api.ImageSpec{}), []string{"Required value: exactly one of tag and digest"}},

		{"database managed", admission.Database(at, api.DatabaseSpec{ClusterRef: named("db"), CredentialsMode: api.DynamicCredentials}), nil},
		{"database brownfield", admission.Database(at, api.DatabaseSpec{Host: "db"}), nil},
		{"database twice", admission.Database(at, api.DatabaseSpec{ClusterRef: named("db"), Host: "db"}), []string{"Forbidden: exactly one of clusterRef and host"}},
		{"database nowhere", admission.Database(at, api.DatabaseSpec{}), []string{"Required value: exactly one of clusterRef and host"}},
		{"database unnamed", admission.Database(at, api.DatabaseSpec{ClusterRef: named("")}), []string{"spec.x.clusterRef.name: Required"}},
		{"database dynamic without cluster", admission.Database(at, api.DatabaseSpec{Host: "db", CredentialsMode: api.DynamicCredentials}),
			[]string{"spec.x.credentialsMode", "credentialsMode Dynamic needs clusterRef"}},

		{"cache by reference", admission.Cache(at, api.CacheSpec{ClusterRef: named("cache")}), nil},
		{"cache by servers", admission.Cache(at, api.CacheSpec{Servers: []string{"a:1", "b:2"}}), nil},
		{"cache twice", admission.Cache(at, api.CacheSpec{ClusterRef: named("cache"), Servers: []string{"a:1"}}), []string{"Forbidden: exactly one of clusterRef and servers"}},
		{"cache nowhere", admission.Cache(at, api.CacheSpec{}), []string{"Required value: exactly one of clusterRef and servers"}},
		{"cache unnamed", admission.Cache(at, api.CacheSpec{ClusterRef: named("")}), []string{"spec.x.clusterRef.name: Required"}},
		{"cache name with a line break", admission.Cache(at, api.CacheSpec{ClusterRef: named("a\rb")}), []string{"spec.x.clusterRef.name", breaks}},
		{"cache server with a line break", admission.Cache(at, api.CacheSpec{Servers: []string{"a:1", "b\n:2"}}), []string{"spec.x.servers[1]", breaks}},

		{"secret store unset", admission.SecretStoreRef(at, nil), nil},
		{"secret store without a kind", admission.SecretStoreRef(at, &api.SecretStoreRef{Name: "s"}), nil},
		{"secret store unnamed", admission.SecretStoreRef(at, &api.SecretStoreRef{}), []string{"spec.x.name: Required"}},
		{"secret store of an unknown kind", admission.SecretStoreRef(at, &api.SecretStoreRef{Kind: "Vault", Name: "s"}), []string{"spec.x.kind: Unsupported value"}},

		{"target cluster unset", admission.TargetClusterRef(at, nil), nil},
		{"target cluster unnamed", admission.TargetClusterRef(at, &api.TargetClusterRef{}), []string{"spec.x.name: Required"}},
		{"target cluster kept", admission.TargetClusterUnchanged(at, &api.TargetClusterRef{Name: "a"}, &api.TargetClusterRef{Name: "a"}), nil},
		{"target cluster never set", admission.TargetClusterUnchanged(at, nil, nil), nil},
		{"target cluster added", admission.TargetClusterUnchanged(at, nil, &api.TargetClusterRef{Name: "a"}), []string{"targetClusterRef is immutable: "}},
		{"target cluster removed", admission.TargetClusterUnchanged(at, &api.TargetClusterRef{Name: "a"}, nil), []string{"targetClusterRef is immutable: "}},
		{"target cluster renamed", admission.TargetClusterUnchanged(at, &api.TargetClusterRef{Name: "a"}, &api.TargetClusterRef{Name: "b"}), []string{"targetClusterRef is immutable: "}},

		{"number at the limit", admission.AtLeast(at, int32(1), 1), nil},
		{"number below the limit", admission.AtLeast(at, int64(0), 1), []string{"must be at least 1"}},
		{"shutdown by default", admission.Shutdown(at, api.DeploymentSpec{}), nil},
		{"shutdown just in time", admission.Shutdown(at, stopping(10, 9)), nil},
		{"grace too short", admission.Shutdown(at, stopping(9, 0)), []string{"spec.x.terminationGracePeriodSeconds", "must be at least 10"}},
		{"sleep negative", admission.Shutdown(at, stopping(30, -1)), []string{"spec.x.preStopSleepSeconds", "must be at least 0"}},
		{"sleep as long as the grace", admission.Shutdown(at, stopping(10, 10)), []string{"must be below terminationGracePeriodSeconds"}},
		{"sleep as long as the default grace", admission.Shutdown(at, api.DeploymentSpec{PreStopSleepSeconds: new(int64(30))}), []string{"must be below terminationGracePeriodSeconds"}},
		{"strategy unset", admission.Strategy(at, nil), nil},
		{"strategy Recreate", admission.Strategy(at, &appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}), nil},
		{"strategy Recreate that rolls", admission.Strategy(at, &appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{}}),
			[]string{"spec.x.rollingUpdate: Forbidden"}},
		{"resources unset", admission.Resources(at, nil), nil},
		{"request at the limit", admission.Resources(at, resources("1", "1000m")), nil},
		{"request above the limit", admission.Resources(at, resources("1", "999m")), []string{"spec.x.requests[cpu]", "must not exceed the limit of 999m"}},
		{"request without limit", admission.Resources(at, &corev1.ResourceRequirements{Requests: resources("1", "1").Requests}), nil},

		{"spread over the own pods", admission.TopologySpread(at, spread(&metav1.LabelSelector{MatchLabels: map[string]string{"a": "1", "b": "2"}}), map[string]string{"b": "2", "a": "1"}), nil},
		{"spread without selector", admission.TopologySpread(at, spread(nil), nil), []string{"spec.x[0].labelSelector: Required"}},
		{"spread over other pods", admission.TopologySpread(at, spread(&metav1.LabelSelector{MatchLabels: map[string]string{"a": "1"}}), map[string]string{"b": "2", "a": "1"}),
			[]string{"spec.x[0].labelSelector.matchLabels", "must be exactly a=1 and b=2"}},
		{"spread with expressions", admission.TopologySpread(at, spread(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpExists}}}), nil),
			[]string{"spec.x[0].labelSelector.matchExpressions: Forbidden"}},

		{"autoscaling unset", admission.Autoscaling(at, nil, 3), nil},
		{"autoscaling", admission.Autoscaling(at, &api.AutoscalingSpec{MaxReplicas: 3, TargetCPUUtilization: new(int32(1))}, 3), nil},
		{"autoscaling below replicas with a minimum", admission.Autoscaling(at, &api.AutoscalingSpec{MinReplicas: new(int32(1)), MaxReplicas: 2, TargetMemoryUtilization: new(int32(100))}, 3), nil},
		{"autoscaling to nothing", admission.Autoscaling(at, &api.AutoscalingSpec{TargetCPUUtilization: new(int32(1))}, 0), []string{"spec.x.maxReplicas", "must be at least 1"}},
		{"autoscaling from nothing", admission.Autoscaling(at, &api.AutoscalingSpec{MinReplicas: new(int32(0)), MaxReplicas: 2, TargetCPUUtilization: new(int32(1))}, 3), []string{"spec.x.minReplicas", "must be at least 1"}},
		{"autoscaling range inverted", admission.Autoscaling(at, &api.AutoscalingSpec{MinReplicas: new(int32(3)), MaxReplicas: 2, TargetCPUUtilization: new(int32(1))}, 3), []string{"minReplicas must not exceed maxReplicas"}},
		{"autoscaling below replicas", admission.Autoscaling(at, &api.AutoscalingSpec{MaxReplicas: 2, TargetCPUUtilization: new(int32(1))}, 3), []string{"must not be below deployment.replicas"}},
		{"autoscaling without target", admission.Autoscaling(at, &api.AutoscalingSpec{MaxReplicas: 3}, 3), []string{"at least one of targetCPUUtilization and targetMemoryUtilization"}},
		{"autoscaling target too low", admission.Autoscaling(at, &api.AutoscalingSpec{MaxReplicas: 3, TargetCPUUtilization: new(int32(0))}, 3), []string{"spec.x.targetCPUUtilization", "must be between 1 and 100"}},
		{"autoscaling target too high", admission.Autoscaling(at, &api.AutoscalingSpec{MaxReplicas: 3, TargetMemoryUtilization: new(int32(101))}, 3), []string{"spec.x.targetMemoryUtilization", "must be between 1 and 100"}},

		{"uWSGI unset", admission.UWSGI(at, nil, api.DeploymentSpec{}), nil},
		{"harakiri just in time", admission.UWSGI(at, &api.UWSGISpec{Harakiri: new(int32(24))}, api.DeploymentSpec{}), nil},
		{"harakiri too late by default", admission.UWSGI(at, &api.UWSGISpec{Harakiri: new(int32(25))}, api.DeploymentSpec{}), []string{"spec.x.harakiri", "must be below"}},
		{"harakiri too late", admission.UWSGI(at, &api.UWSGISpec{Harakiri: new(int32(50))}, stopping(60, 10)), []string{"spec.x.harakiri"}},
		{"keep-alive time-out", admission.UWSGI(at, &api.UWSGISpec{HTTPKeepAliveTimeout: new(int32(5))}, api.DeploymentSpec{}), nil},
		{"keep-alive time-out without keep-alive", admission.UWSGI(at, &api.UWSGISpec{HTTPKeepAlive: new(false), HTTPKeepAliveTimeout: new(int32(5))}, api.DeploymentSpec{}), []string{"httpKeepAliveTimeout needs httpKeepAlive"}},

		{"gateway unset", admission.Gateway(at, nil), nil},
		{"gateway empty", admission.Gateway(at, &api.GatewaySpec{}), []string{"spec.x.hostname: Required", "spec.x.parentRef.name: Required"}},
		{"gateway hostname with a line break", admission.Gateway(at, &api.GatewaySpec{Hostname: "a\nb", ParentRef: api.GatewayParentRef{Name: "g"}}), []string{"spec.x.hostname", breaks}},
		{"network policy unset", admission.NetworkPolicy(at, nil), nil},
		{"network policy with a source", admission.NetworkPolicy(at, &api.NetworkPolicySpec{Ingress: make([]api.IngressSource, 1)}), nil},
		{"network policy without source", admission.NetworkPolicy(at, &api.NetworkPolicySpec{}), []string{"spec.x.ingress: Required"}},

		{"service user", admission.ServiceUser(at, api.ServiceUserSpec{Username: "u"}), nil},
		{"service user with line breaks", admission.ServiceUser(at, api.ServiceUserSpec{Username: "\n", ProjectName: "\r", UserDomainName: "\x00", ProjectDomainName: "\x1b"}),
			[]string{"spec.x.username", "spec.x.projectName", "spec.x.userDomainName", "spec.x.projectDomainName"}},
		{"logging unset", admission.Logging(at, nil), nil},
		{"logging empty", admission.Logging(at, &api.LoggingSpec{}), nil},
		{"logging unknown", admission.Logging(at, &api.LoggingSpec{Format: "xml", Level: "TRACE"}), []string{`spec.x.format: Unsupported value: "xml"`, `spec.x.level: Unsupported value: "TRACE"`}},
		{"logger unnamed", admission.Logging(at, &api.LoggingSpec{PerLoggerLevels: map[string]string{"": "INFO"}}), []string{"spec.x.perLoggerLevels[]: Required"}},
		{"logger level unknown", admission.Logging(at, &api.LoggingSpec{PerLoggerLevels: map[string]string{"a": ""}}), []string{"spec.x.perLoggerLevels[a]: Unsupported"}},
		{"logger name with a line break", admission.Logging(at, &api.LoggingSpec{PerLoggerLevels: map[string]string{"a\nb": "INFO"}}), []string{`spec.x.perLoggerLevels["a\nb"]`, breaks}},

		{"policy unset", admission.PolicyOverrides(at, nil), nil},
		{"policy from a ConfigMap", admission.PolicyOverrides(at, &api.PolicyOverrides{ConfigMapRef: named("p")}), nil},
		{"policy empty", admission.PolicyOverrides(at, &api.PolicyOverrides{}), []string{"rules or configMapRef must be set"}},
		{"policy rule unnamed", admission.PolicyOverrides(at, &api.PolicyOverrides{Rules: map[string]string{"": "@"}}), []string{"must have a name"}},
		{"policy rule empty", admission.PolicyOverrides(at, &api.PolicyOverrides{Rules: map[string]string{"a": ""}}), []string{"spec.x.rules[a]", "must not be empty"}},
		{"policy rule with a line break", admission.PolicyOverrides(at, &api.PolicyOverrides{Rules: map[string]string{"a": "b\nc"}}), []string{breaks}},

		{"middleware", admission.Middleware(at, []api.Middleware{filter("a"), filter("b")}), nil},
		{"middleware unnamed", admission.Middleware(at, []api.Middleware{filter("")}), []string{"needs a name"}},
		{"middleware twice", admission.Middleware(at, []api.Middleware{filter("a"), filter("a")}), []string{"listed twice"}},

		{"plugins", admission.Plugins(at, []api.Plugin{plugin("a", nil), plugin("b", nil)}, owned), nil},
		{"plugin that overrides an owned option", admission.Plugins(at, []api.Plugin{plugin("auth", map[string]string{"url": "x"})}, owned), nil},
		{"plugin section empty", admission.Plugins(at, []api.Plugin{plugin(" ", nil)}, owned), []string{"spec.x[0].configSection", "must not be empty"}},
		{"plugin sections that are one", admission.Plugins(at, []api.Plugin{plugin("a", nil), plugin(" A", nil)}, owned), []string{"spec.x[1].configSection: Duplicate value"}},
		{"plugin value with a line break", admission.Plugins(at, []api.Plugin{plugin("a", map[string]string{"k": "secret\n"})}, owned), []string{"spec.x[0].config[k]", breaks}},
		{"plugin with a rejected option", admission.Plugins(at, []api.Plugin{plugin(" AUTH ", map[string]string{" password": "secret"})}, owned),
			[]string{"spec.x[0].config[password]: Forbidden: [auth] password must not be set: it comes from spec.user"}},

		{"extraConfig", admission.ExtraConfig(at, map[string]map[string]string{"a": {"k": "v"}, "auth": {"url": "x"}}, owned), nil},
		{"extraConfig section empty", admission.ExtraConfig(at, map[string]map[string]string{"": nil}, owned), []string{"spec.x[]", "section name must not be empty"}},
		{"extraConfig section with a line break", admission.ExtraConfig(at, map[string]map[string]string{"a\n[b": nil}, owned), []string{`spec.x["a\n[b"]`, "printable ASCII"}},
		{"extraConfig key empty", admission.ExtraConfig(at, map[string]map[string]string{"a": {"": "v"}}, owned), []string{"option name must not be empty"}},
		{"extraConfig key that assigns", admission.ExtraConfig(at, map[string]map[string]string{"a": {"k = v": "v"}}, owned), []string{"spec.x[a][k = v]"}},
		{"extraConfig value with a line break", admission.ExtraConfig(at, map[string]map[string]string{"a": {"k": "secret\n"}}, owned), []string{"spec.x[a][k]", breaks}},
		{"extraConfig with a rejected option", admission.ExtraConfig(at, map[string]map[string]string{"Auth": {"password": ""}}, owned), []string{"spec.x[auth][password]: Forbidden"}},
		{"options", admission.Options(at, "a", map[string]string{"k": "v"}), nil},
		{"option value with a line break", admission.Options(at, "a", map[string]string{"k": "secret\n"}), []string{"spec.x[k]", breaks}},

		{"schedule unset", admission.Schedule(at, ""), nil},
		{"schedule", admission.Schedule(at, "*/5 1-3 * * mon,fri"), nil},
		{"schedule by descriptor", admission.Schedule(at, "@weekly"), nil},
		{"schedule with seconds", admission.Schedule(at, "0 1 0 * * *"), []string{"must be a cron schedule"}},
		{"schedule out of range", admission.Schedule(at, "60 0 * * *"), []string{"must be a cron schedule"}},
		{"schedule with a bare time zone", admission.Schedule(at, "TZ=0"), []string{"must not name a time zone"}},
		{"schedule with a cron time zone", admission.Schedule(at, "CRON_TZ=UTC 1 0 * * *"), []string{"must not name a time zone"}},
		{"schedule with a line break", admission.Schedule(at, "1 0 * * *\n1 0 * * *"), []string{"must be a cron schedule"}},
		{"schedule by interval", admission.Schedule(at, " @every 1h"), []string{"must not use @every"}},
		{"time zone unset", admission.TimeZone(at, nil), nil},
		{"time zone", admission.TimeZone(at, new("Europe/Berlin")), nil},
		{"time zone empty", admission.TimeZone(at, new("")), []string{"must be the IANA name"}},
		{"time zone of the machine", admission.TimeZone(at, new("local")), []string{"must be the IANA name"}},
		{"time zone unknown", admission.TimeZone(at, new("../etc/passwd")), []string{"must be the IANA name"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			text := ""
			for _, violation := range test.got {
				text += violation.Error() + "\n"
			}
			if len(test.want) == 0 && text != "" {
				t.Errorf("want no violation, got %s", text)
			}
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("want a violation with %q, got %q", want, text)
				}
			}
			if strings.Contains(text, "secret") {
				t.Errorf("a violation repeats a value that may be a credential: %q", text)
			}
		})
	}
}

func TestPriorityClass(t *testing.T) {
	t.Parallel()
	known := fake.NewClientBuilder().WithObjects(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "known"}}).Build()
	broken := interceptor.NewClient(known, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("no connection")
		},
	})
	for _, test := range []struct {
		name   string
		reader client.Reader
		class  *string
		want   field.ErrorType
	}{
		{"unset", broken, nil, ""},
		{"empty", broken, new(""), ""},
		{"known", known, new("known"), ""},
		{"unknown", known, new("unknown"), field.ErrorTypeNotFound},
		{"not to be looked up", broken, new("known"), field.ErrorTypeInternal},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := admission.PriorityClass(t.Context(), test.reader, at, test.class)
			if test.want == "" && len(got) > 0 || test.want != "" && (len(got) != 1 || got[0].Type != test.want) {
				t.Errorf("want %q, got %v", test.want, got)
			}
		})
	}
}

func stopping(grace, sleep int64) api.DeploymentSpec {
	return api.DeploymentSpec{TerminationGracePeriodSeconds: &grace, PreStopSleepSeconds: &sleep}
}

func resources(request, limit string) *corev1.ResourceRequirements {
	return &corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(request)},
		Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(limit)},
	}
}

func spread(selector *metav1.LabelSelector) []corev1.TopologySpreadConstraint {
	return []corev1.TopologySpreadConstraint{{LabelSelector: selector}}
}

func filter(name string) api.Middleware {
	return api.Middleware{Name: name, FilterFactory: "module:factory", Position: api.MiddlewareBefore}
}

func plugin(section string, config map[string]string) api.Plugin {
	return api.Plugin{Name: "p", ConfigSection: section, Config: config}
}
