// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/kubetest"
)

var env *kubetest.Environment

func TestMain(m *testing.M) { kubetest.Main(m, &env, kubetest.Options{}) }

// kinds are the children that service operators apply, as their builders fill them in.
var kinds = map[string]func() client.Object{
	"Deployment": func() client.Object { return deployment() },
	"Service": func() client.Object {
		return &corev1.Service{ObjectMeta: childMeta(), Spec: corev1.ServiceSpec{
			Selector: labels(), Type: corev1.ServiceTypeClusterIP,
			Ports: []corev1.ServicePort{{Name: "http", Port: 9311, TargetPort: intstr.FromString("http"), Protocol: corev1.ProtocolTCP}},
		}}
	},
	"PodDisruptionBudget": func() client.Object {
		return &policyv1.PodDisruptionBudget{ObjectMeta: childMeta(), Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: new(intstr.FromInt32(0)), Selector: &metav1.LabelSelector{MatchLabels: labels()},
		}}
	},
	"HorizontalPodAutoscaler": func() client.Object {
		return &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: childMeta(), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "child"},
			MinReplicas:    new(int32(2)), MaxReplicas: 5,
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name:   corev1.ResourceCPU,
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: new(int32(80))},
			}}},
		}}
	},
	"NetworkPolicy": func() client.Object {
		return &networkingv1.NetworkPolicy{ObjectMeta: childMeta(), Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: labels()},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{Ports: []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromInt32(9311))}}}},
			Egress: []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{
				{NamespaceSelector: &metav1.LabelSelector{}},
				{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8", Except: []string{"10.1.0.0/16"}}},
			}}},
		}}
	},
	"Job": func() client.Object {
		return &batchv1.Job{ObjectMeta: childMeta(), Spec: batchv1.JobSpec{
			BackoffLimit: new(int32(4)), ActiveDeadlineSeconds: new(int64(600)), Template: podTemplate(corev1.RestartPolicyOnFailure),
		}}
	},
	"CronJob": func() client.Object {
		return &batchv1.CronJob{ObjectMeta: childMeta(), Spec: batchv1.CronJobSpec{
			Schedule: "1 0 * * *", Suspend: new(true), ConcurrencyPolicy: batchv1.ForbidConcurrent,
			JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: podTemplate(corev1.RestartPolicyNever)}},
		}}
	},
	"Secret": func() client.Object {
		return &corev1.Secret{ObjectMeta: childMeta(), Type: corev1.SecretTypeOpaque, Data: map[string][]byte{"password": []byte("s3cr3t")}}
	},
	"ConfigMap": func() client.Object {
		return &corev1.ConfigMap{ObjectMeta: childMeta(), Data: map[string]string{"service.conf": "[DEFAULT]\n"}}
	},
	"HTTPRoute": func() client.Object {
		return &httpRoute{ObjectMeta: childMeta(), Spec: httpRouteSpec{
			ParentRefs: []routeRef{{Name: "gateway", Namespace: "gateways", SectionName: "https"}}, Hostnames: []string{"keys.example.com"},
			Rules: []routeRule{{
				Matches:     []routeMatch{{Path: routePath{Type: "PathPrefix", Value: "/"}}},
				BackendRefs: []routeRef{{Name: "child", Port: new(int32(9311))}},
			}},
		}}
	},
	"Database": func() client.Object {
		return &database{ObjectMeta: childMeta(), Spec: databaseSpec{
			MariaDBRef: databaseRef{Name: "mariadb"}, Name: "keys", CharacterSet: "utf8mb4", CleanupPolicy: "Skip",
			RetryInterval: &metav1.Duration{Duration: 30e9},
		}}
	},
}

func childMeta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: "child", Namespace: "default", Labels: labels(), Annotations: map[string]string{"example.com/ours": "yes"}}
}

func labels() map[string]string {
	return map[string]string{"app.kubernetes.io/name": "keys", "app.kubernetes.io/instance": "keys-1"}
}

func deployment() *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: childMeta(), Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: labels()}, Template: podTemplate(""),
		Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
			MaxUnavailable: new(intstr.FromInt32(0)), MaxSurge: new(intstr.FromString("50%")),
		}},
	}}
	pod := &d.Spec.Template.Spec
	pod.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector: &metav1.LabelSelector{MatchLabels: labels()},
	}}
	probe := func(path string) *corev1.Probe {
		return &corev1.Probe{PeriodSeconds: 10, TimeoutSeconds: 8, FailureThreshold: 3, ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("http")},
		}}
	}
	api := &pod.Containers[0]
	api.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 9311, Protocol: corev1.ProtocolTCP}}
	api.LivenessProbe, api.ReadinessProbe, api.StartupProbe = probe("/"), probe("/healthcheck"), probe("/healthcheck")
	api.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 5}}}
	return d
}

func podTemplate(restart corev1.RestartPolicy) corev1.PodTemplateSpec {
	resources := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.5"), corev1.ResourceMemory: resource.MustParse("512Mi")}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels(), Annotations: map[string]string{"example.com/config-hash": "abc"}},
		Spec: corev1.PodSpec{
			RestartPolicy: restart, AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false),
			TerminationGracePeriodSeconds: new(int64(40)), PriorityClassName: "system-cluster-critical",
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), RunAsUser: new(int64(42424)), FSGroup: new(int64(42424)),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			NodeSelector: map[string]string{"zone": "a"},
			Tolerations:  []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}},
			Containers: []corev1.Container{{
				Name: "api", Image: "registry.example.com/keys:1", Command: []string{"uwsgi"}, Args: []string{"--ini", "/etc/keys/uwsgi.ini"},
				Env: []corev1.EnvVar{
					{Name: "DSN", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
						LocalObjectReference: corev1.LocalObjectReference{Name: "dsn"}, Key: "connection", Optional: new(false),
					}}},
					{Name: "NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}},
					{Name: "EMPTY"},
				},
				Resources: corev1.ResourceRequirements{Requests: resources, Limits: resources},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
				VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/keys", ReadOnly: true}, {Name: "tmp", MountPath: "/tmp"}},
			}},
			Volumes: []corev1.Volume{
				{Name: "config", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "config", DefaultMode: new(int32(0o440))}}},
				{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse("64Mi"))}}},
			},
		},
	}
}

// The third parties' kinds belong to other packages; these views have the shapes that matter.

type httpRoute struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              httpRouteSpec `json:"spec"`
}

type httpRouteSpec struct {
	ParentRefs []routeRef  `json:"parentRefs,omitempty"`
	Hostnames  []string    `json:"hostnames,omitempty"`
	Rules      []routeRule `json:"rules,omitempty"`
}

type routeRule struct {
	Matches     []routeMatch `json:"matches,omitempty"`
	BackendRefs []routeRef   `json:"backendRefs,omitempty"`
}

type routeMatch struct {
	Path routePath `json:"path"`
}

type routePath struct {
	Type  string `json:"type,omitempty"`
	Value string `json:"value,omitempty"`
}

type routeRef struct {
	Group       *string `json:"group,omitempty"`
	Kind        *string `json:"kind,omitempty"`
	Name        string  `json:"name"`
	Namespace   string  `json:"namespace,omitempty"`
	SectionName string  `json:"sectionName,omitempty"`
	Port        *int32  `json:"port,omitempty"`
	Weight      *int32  `json:"weight,omitempty"`
}

func (r *httpRoute) DeepCopyObject() runtime.Object { return deepCopy(r) }

type database struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              databaseSpec `json:"spec"`
	Status            struct {
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status,omitzero"`
}

type databaseSpec struct {
	MariaDBRef    databaseRef      `json:"mariaDbRef"`
	Name          string           `json:"name,omitempty"`
	CharacterSet  string           `json:"characterSet,omitempty"`
	Collate       string           `json:"collate,omitempty"`
	CleanupPolicy string           `json:"cleanupPolicy,omitempty"`
	RetryInterval *metav1.Duration `json:"retryInterval,omitempty"`
}

type databaseRef struct {
	Name      string `json:"name"`
	WaitForIt bool   `json:"waitForIt,omitempty"`
}

func (d *database) DeepCopyObject() runtime.Object { return deepCopy(d) }

func deepCopy[T any](in *T) *T {
	text, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	out := new(T)
	if err := json.Unmarshal(text, out); err != nil {
		panic(err)
	}
	return out
}

var scheme = newScheme()

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(s); err != nil {
		panic(err)
	}
	gateway := schema.GroupVersion{Group: "gateway.networking.k8s.io", Version: "v1"}
	mariadb := schema.GroupVersion{Group: "k8s.mariadb.com", Version: "v1alpha1"}
	s.AddKnownTypeWithName(gateway.WithKind("HTTPRoute"), &httpRoute{})
	s.AddKnownTypeWithName(mariadb.WithKind("Database"), &database{})
	metav1.AddToGroupVersion(s, gateway)
	metav1.AddToGroupVersion(s, mariadb)
	return s
}

func newClient(t *testing.T) client.Client {
	t.Helper()
	c, err := client.New(env.Agent("apply"), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
