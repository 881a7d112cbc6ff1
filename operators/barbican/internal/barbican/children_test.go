// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/database"
	"github.com/c5c3/cobaltcore/common/kubetest/golden"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// TestChildren compares everything that is created with testdata.
func TestChildren(t *testing.T) {
	t.Parallel()
	t.Run("minimal", func(t *testing.T) {
		t.Parallel()
		w := begin(t)
		w.ready()
		golden.Check(t, "testdata/minimal.yaml", w.children())
	})
	t.Run("maximal", func(t *testing.T) {
		t.Parallel()
		w := beginMaximal(t)
		w.converge()
		w.acceptRoute()
		w.ready()
		golden.Check(t, "testdata/maximal.yaml", w.children())
	})
}

// beginMaximal starts a world with a Barbican that says all there is to say.
func beginMaximal(t *testing.T) *world {
	t.Helper()
	return beginWith(t, maximal(), clusterStore(corev1.ConditionTrue),
		secret("db-credentials", "username", "from-secret", "password", "db-password"),
		secret("db-ca", "ca.crt", "CA"), secret("db-client", "tls.crt", "certificate", "tls.key", "key"),
		secret("service-user", "secret", "keystone-password"),
		store("main", onServer, func(s *v1alpha1.BarbicanSecretStore) {
			s.Spec.OpenBao.Server.CABundleSecretRef = &v1alpha1.SecretNameRef{Name: "bao-ca"}
		}),
		secret("given", "role-id", pair.RoleID, "secret-id", pair.SecretID), secret("bao-ca", "ca.crt", "the CA"))
}

func maximal() *v1alpha1.Barbican {
	b := minimal()
	b.Spec.Image = api.ImageSpec{Repository: "registry/barbican", Digest: "sha256:" + strings.Repeat("0", 64)}
	b.Spec.Database = api.DatabaseSpec{
		Host: "db.example.org", Port: 3307, Database: "keys", SecretRef: api.SecretRef{Name: "db-credentials"},
		TLS: &api.DatabaseTLSSpec{
			Mode: api.DatabaseTLSVerifyFull, CABundleSecretRef: api.SecretRef{Name: "db-ca"}, ClientCertSecretRef: api.SecretRef{Name: "db-client"},
		},
	}
	b.Spec.Cache = api.CacheSpec{Servers: []string{"cache-0:11212", "cache-1", "cache-2:11212"}}
	b.Spec.KeystoneEndpoint = "https://keystone.example.org/v3"
	b.Spec.ServiceUser.SecretRef.Key = "secret"
	b.Spec.Deployment = api.DeploymentSpec{
		Replicas: 4, TerminationGracePeriodSeconds: new(int64(90)), PreStopSleepSeconds: new(int64(0)), PriorityClassName: new("high"),
		Resources: &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
		Strategy:  &appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}, TopologySpreadConstraints: []corev1.TopologySpreadConstraint{},
	}
	b.Spec.APIServer = &v1alpha1.APIServerSpec{UWSGI: &api.UWSGISpec{
		Processes: 3, Threads: 2, HTTPKeepAlive: new(true), HTTPKeepAliveTimeout: new(int32(15)), Harakiri: new(int32(60)),
	}}
	b.Spec.DBClean = &v1alpha1.DBCleanSpec{
		RetentionDays: new(int32(30)), Schedule: "@daily", TimeZone: new("Europe/Berlin"), SoftDeleteExpiredSecrets: new(false),
		CleanUnassociatedProjects: new(true), ActiveDeadlineSeconds: new(int64(600)),
	}
	b.Spec.Gateway = &api.GatewaySpec{
		ParentRef: api.GatewayParentRef{Name: "gateway", Namespace: "edge", SectionName: "https"}, Hostname: "keys.example.org", Path: "keys",
		Annotations: map[string]string{"example.org/team": "keys"},
	}
	b.Spec.Autoscaling = &api.AutoscalingSpec{
		MinReplicas: new(int32(1)), MaxReplicas: 6, TargetCPUUtilization: new(int32(70)), TargetMemoryUtilization: new(int32(80)),
	}
	b.Spec.NetworkPolicy = &api.NetworkPolicySpec{
		Ingress: []api.IngressSource{{
			NamespaceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"team": "apps"}},
			PodSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{"uses": "keys"}},
		}},
		AdditionalEgress: []networkingv1.NetworkPolicyEgressRule{{Ports: []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromInt32(4444))}}}},
	}
	return b
}

// children are all objects that the Barbican controls, as YAML without what only a server says. Of Secrets it tells the keys.
func (w *world) children() []byte {
	w.Helper()
	routes := &unstructured.UnstructuredList{}
	routes.SetGroupVersionKind(routeKind)
	lists := []client.ObjectList{
		&appsv1.DeploymentList{}, &corev1.ServiceList{}, &policyv1.PodDisruptionBudgetList{}, &autoscalingv2.HorizontalPodAutoscalerList{},
		&networkingv1.NetworkPolicyList{}, routes, &batchv1.JobList{}, &batchv1.CronJobList{}, &corev1.SecretList{},
		&database.DatabaseList{}, &database.UserList{}, &database.GrantList{},
	}
	var all [][]byte
	owner := w.barbican()
	for _, list := range lists {
		if err := w.live.List(w.Context(), list); err != nil {
			w.Fatal(err)
		}
		items, _ := meta.ExtractList(list)
		for _, item := range items {
			if o := item.(client.Object); metav1.IsControlledBy(o, owner) {
				all = append(all, w.yaml(o))
			}
		}
	}
	return hashes.ReplaceAll(bytes.Join(all, []byte("---\n")), []byte("$1<hash>"))
}

var hashes = regexp.MustCompile(`(barbican-config-|-hash: )[0-9a-f]{8,}`)

func (w *world) yaml(o client.Object) []byte {
	w.Helper()
	if s, ok := o.(*corev1.Secret); ok {
		for key := range s.Data {
			s.Data[key] = []byte{}
		}
	}
	kinds, _, err := known().ObjectKinds(o)
	if err != nil {
		w.Fatal(err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		w.Fatal(err)
	}
	content["apiVersion"], content["kind"] = kinds[0].ToAPIVersionAndKind()
	delete(content, "status")
	metadata := content["metadata"].(map[string]any)
	for _, key := range []string{"managedFields", "resourceVersion", "creationTimestamp", "generation", "uid", "ownerReferences"} {
		delete(metadata, key)
	}
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		delete(annotations, apply.AnnotationApplied)
	}
	text, err := yaml.Marshal(content)
	if err != nil {
		w.Fatal(err)
	}
	lines := slices.DeleteFunc(strings.SplitAfter(string(text), "\n"), func(l string) bool { return strings.HasSuffix(l, ": null\n") })
	return []byte(strings.Join(lines, ""))
}
