// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/samber/lo"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/cobaltcore/common/kubetest"
	"github.com/c5c3/cobaltcore/common/manager"
)

const (
	folder    = "../../charts/barbican-operator"
	release   = "barbican-operator"
	authority = "LS0tLS1CRUdJTg=="
)

var env *kubetest.Environment

func TestMain(m *testing.M) {
	kubetest.Main(m, &env, kubetest.Options{CRDs: []string{folder + "/crds"}})
}

// renderings are sets of values that between them reach all of the templates.
var renderings = map[string][]string{
	"all namespaces":              nil,
	"one replica":                 {"replicas=1"},
	"one namespace, no webhooks":  {"watchNamespace=openstack", "webhook.enabled=false"},
	"one namespace, webhooks":     {"watchNamespace=openstack"},
	"a certificate that is given": {"webhook.certificate.source=secret", "webhook.certificate.secretName=mine", "webhook.certificate.caBundle=" + authority},
	"cert-manager":                {"webhook.certificate.source=certManager"},
	"cert-manager with an issuer": {
		"webhook.certificate.source=certManager", "webhook.certificate.issuerRef.name=ours", "webhook.certificate.issuerRef.kind=ClusterIssuer",
	},
	"secure metrics": {"metrics.secure=true"},
	"no Service":     {"metrics.enabled=false", "webhook.enabled=false"},
	"placement": {
		"nodeSelector.disk=ssd", "tolerations[0].operator=Exists", "priorityClassName=system-cluster-critical", "imagePullSecrets[0].name=pull",
		"affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key=zone",
		"affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator=Exists",
		"image.repository=registry.example.org/operator", "image.tag=dev", "image.pullPolicy=Never", "serviceAccount.annotations.a=b",
		"logging.level=3", "extraArgs[0]=--call-timeout=3s", "resources.limits.cpu=null", "nameOverride=operator", "fullnameOverride=keys",
	},
}

// renderer is the pinned one.
var renderer = sync.OnceValues(func() (string, error) {
	home, err := exec.CommandContext(context.Background(), "../../hack/pinned", "chart").Output()
	return filepath.Join(strings.TrimSpace(string(home)), "chart"), err
})

// render returns the objects of a release, by kind/name.
func render(t *testing.T, namespace string, values ...string) map[string]*unstructured.Unstructured {
	t.Helper()
	return renderIn(t, "", namespace, values...)
}

// renderIn lets the templates look into a cluster.
func renderIn(t *testing.T, kubeconfig, namespace string, values ...string) map[string]*unstructured.Unstructured {
	t.Helper()
	g := NewWithT(t)
	out, err := tryRender(t, kubeconfig, namespace, values...)
	g.Expect(err).NotTo(HaveOccurred())
	objects := map[string]*unstructured.Unstructured{}
	for documents := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(out), 4096); ; {
		o := &unstructured.Unstructured{}
		if err := documents.Decode(&o.Object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, out)
		}
		id := o.GetKind() + "/" + o.GetName()
		g.Expect(objects).NotTo(HaveKey(id))
		objects[id] = o
	}
	return objects
}

func tryRender(t *testing.T, kubeconfig, namespace string, values ...string) ([]byte, error) {
	t.Helper()
	program, err := renderer()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{release, folder, "-n", namespace, "--kubeconfig", kubeconfig}
	for _, value := range values {
		args = append(args, "--set", value)
	}
	out, err := exec.CommandContext(t.Context(), program, args...).Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		err = errors.New(string(failed.Stderr))
	}
	return out, err
}

// as is an object of a kind, converted; there is exactly one.
func as[T any](t *testing.T, objects map[string]*unstructured.Unstructured, kind string) *T {
	t.Helper()
	g := NewWithT(t)
	found := lo.PickBy(objects, func(_ string, o *unstructured.Unstructured) bool { return o.GetKind() == kind })
	g.Expect(found).To(HaveLen(1), kind)
	into := new(T)
	for _, o := range found {
		g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, into, true)).To(Succeed())
	}
	return into
}

func admin(t *testing.T) client.Client {
	t.Helper()
	c, err := client.New(env.Agent("chart-test"), client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestChartIsTracked makes the files of the chart inputs of these tests, whose results go test would keep otherwise.
func TestChartIsTracked(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			_, err = os.ReadFile(path)
		}
		return err
	})).To(Succeed())
}

func TestTheAPIServerTakesEveryObject(t *testing.T) {
	t.Parallel()
	for name, values := range renderings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, c := NewWithT(t), admin(t)
			namespace := kubetest.NewNamespace(t, c, kubetest.Restricted)
			if slices.Contains(values, "watchNamespace=openstack") {
				values = append(values, "watchNamespace="+namespace)
			}
			objects := render(t, namespace, values...)
			for id, o := range objects {
				if o.GroupVersionKind().Group == "cert-manager.io" {
					continue // its kinds are not there
				}
				err := c.Create(t.Context(), o.DeepCopy(), client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
				g.Expect(err).NotTo(HaveOccurred(), id)
			}
			pod := podOf(t, objects)
			pod.Namespace = namespace
			g.Expect(c.Create(t.Context(), pod, client.DryRunAll)).To(Succeed(), "a pod under the restricted Pod Security level")
		})
	}
}

// podOf is what the Deployment would start.
func podOf(t *testing.T, objects map[string]*unstructured.Unstructured) *corev1.Pod {
	t.Helper()
	template := as[appsv1.Deployment](t, objects, "Deployment").Spec.Template
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Name = "operator"
	return pod
}

func TestTheOperatorKnowsItsFlags(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for name, values := range renderings { // no subtests: --kubeconfig is a variable of the process
		var f manager.Flags
		set := flag.NewFlagSet(name, flag.ContinueOnError)
		f.Bind(set)
		objects := render(t, "barbican-system", values...)
		deployment := as[appsv1.Deployment](t, objects, "Deployment")
		g.Expect(set.Parse(deployment.Spec.Template.Spec.Containers[0].Args)).To(Succeed(), name)
		g.Expect(set.Args()).To(BeEmpty(), name)
		g.Expect(f.LeaderElect).To(BeTrue(), name)
		g.Expect(f.Namespace).To(Equal(lo.Ternary(slices.Contains(values, "watchNamespace=openstack"), "openstack", "")), name)
		g.Expect(f.Webhooks).To(Equal(!slices.Contains(values, "webhook.enabled=false")), name)
		g.Expect(f.MetricsSecure).To(Equal(slices.Contains(values, "metrics.secure=true")), name)
		g.Expect(f.MetricsAddress).To(Equal(lo.Ternary(slices.Contains(values, "metrics.enabled=false"), "0", ":8080")), name)
	}
}

func TestTheServiceLeadsToThePortsOfTheFlags(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	objects := render(t, "barbican-system")
	service, pod := as[corev1.Service](t, objects, "Service"), podOf(t, objects)
	ports := map[int32]int32{}
	for _, p := range service.Spec.Ports {
		for _, q := range pod.Spec.Containers[0].Ports {
			if p.TargetPort.String() == q.Name {
				ports[p.Port] = q.ContainerPort
			}
		}
	}
	g.Expect(ports).To(Equal(map[int32]int32{443: 9443, 8080: 8080}))
	for key, value := range service.Spec.Selector {
		g.Expect(pod.Labels).To(HaveKeyWithValue(key, value))
	}
	g.Expect(pod.Spec.Containers[0].Args).To(ContainElements("--webhook-port=9443", "--metrics-bind-address=:8080", "--health-probe-bind-address=:8081"))
	g.Expect(render(t, "barbican-system", renderings["no Service"]...)).NotTo(HaveKey("Service/" + release))
}

func TestWhatDependsOnReplicas(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	several, one := render(t, "barbican-system", "replicas=3"), render(t, "barbican-system", "replicas=1")
	g.Expect(several).To(HaveKey("PodDisruptionBudget/" + release))
	g.Expect(podOf(t, several).Spec.TopologySpreadConstraints).To(HaveLen(1))
	g.Expect(one).NotTo(HaveKey("PodDisruptionBudget/" + release))
	g.Expect(podOf(t, one).Spec.TopologySpreadConstraints).To(BeEmpty())
}

// may is a question about what the operator may do.
type may struct {
	verb, group, resource, namespace string
}

func (q may) String() string {
	return fmt.Sprintf("%s %s.%s in %q", q.verb, q.resource, q.group, q.namespace)
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	c := admin(t)
	own, other, home := kubetest.NewNamespace(t, c), kubetest.NewNamespace(t, c), kubetest.NewNamespace(t, c)
	var (
		everywhere = []may{
			{"list", "", "secrets", other}, {"watch", "barbican.openstack.c5c3.io", "barbicans", ""}, {"list", "", "pods", other},
			{"list", "external-secrets.io", "clustersecretstores", ""},
		}
		inOne = []may{
			{"list", "", "secrets", own}, {"watch", "barbican.openstack.c5c3.io", "barbicans", own}, {"patch", "batch", "jobs", own},
			{"list", "", "pods", own},
		}
		never    = []may{{"delete", "barbican.openstack.c5c3.io", "barbicans", own}, {"create", "", "pods", own}, {"get", "", "nodes", ""}}
		leases   = []may{{"create", "coordination.k8s.io", "leases", home}, {"update", "coordination.k8s.io", "leases", home}}
		noLeases = []may{{"create", "coordination.k8s.io", "leases", own}}
		classes  = []may{{"get", "scheduling.k8s.io", "priorityclasses", ""}}
		reviews  = []may{{"create", "authentication.k8s.io", "tokenreviews", ""}, {"create", "authorization.k8s.io", "subjectaccessreviews", ""}}
	)
	for _, tc := range []struct {
		name     string
		values   []string
		yes, not [][]may
	}{
		{"all namespaces", nil, [][]may{everywhere, inOne, leases, classes}, [][]may{never, noLeases, reviews}},
		{"secure metrics", []string{"metrics.secure=true"}, [][]may{everywhere, reviews}, [][]may{never}},
		{
			"one namespace", []string{"watchNamespace=" + own, "webhook.enabled=false"},
			[][]may{inOne, leases}, [][]may{everywhere, never, noLeases, classes, reviews},
		},
		{
			"one namespace with webhooks", []string{"watchNamespace=" + own},
			[][]may{inOne, leases, classes}, [][]may{everywhere, never, noLeases, reviews},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			name := kubetest.NewNamespace(t, c) // roles of all cases live side by side
			objects := render(t, home, append(tc.values, "fullnameOverride="+name)...)
			for id, o := range objects {
				if o.GroupVersionKind().Group == "rbac.authorization.k8s.io" {
					g.Expect(c.Create(t.Context(), o)).To(Succeed(), id)
				}
			}
			account := as[appsv1.Deployment](t, objects, "Deployment").Spec.Template.Spec.ServiceAccountName
			g.Expect(objects).To(HaveKey("ServiceAccount/" + account))
			user := "system:serviceaccount:" + home + ":" + account
			allowed := func(q may) func(context.Context) (bool, error) {
				return func(ctx context.Context) (bool, error) {
					review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
						User: user, Groups: []string{"system:serviceaccounts", "system:authenticated"},
						ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: q.verb, Group: q.group, Resource: q.resource, Namespace: q.namespace},
					}}
					err := c.Create(ctx, review)
					return review.Status.Allowed, err
				}
			}
			for _, q := range slices.Concat(tc.yes...) {
				g.Eventually(allowed(q)).WithContext(t.Context()).WithTimeout(10*time.Second).Should(BeTrue(), q.String()) // the authoriser watches
			}
			for _, q := range slices.Concat(tc.not...) {
				g.Expect(allowed(q)(t.Context())).To(BeFalse(), q.String())
			}
		})
	}
}

func TestOneNamespaceTakesNothingClusterWide(t *testing.T) {
	t.Parallel()
	g, c := NewWithT(t), admin(t)
	for id, o := range render(t, "barbican-system", renderings["one namespace, no webhooks"]...) {
		namespaced, err := c.IsObjectNamespaced(o)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(namespaced).To(BeTrue(), id)
	}
}

// webhooks are all those of both configurations.
type webhook struct {
	config   admissionregistrationv1.WebhookClientConfig
	selector *metav1.LabelSelector
}

func webhooks(t *testing.T, objects map[string]*unstructured.Unstructured) []webhook {
	t.Helper()
	var all []webhook
	for _, w := range as[admissionregistrationv1.MutatingWebhookConfiguration](t, objects, "MutatingWebhookConfiguration").Webhooks {
		all = append(all, webhook{w.ClientConfig, w.NamespaceSelector})
	}
	for _, w := range as[admissionregistrationv1.ValidatingWebhookConfiguration](t, objects, "ValidatingWebhookConfiguration").Webhooks {
		all = append(all, webhook{w.ClientConfig, w.NamespaceSelector})
	}
	return all
}

func TestTheSelfSignedCertificateIsTrusted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	objects := render(t, "somewhere", "fullnameOverride=keys")
	secret := as[corev1.Secret](t, objects, "Secret")
	block, _ := pem.Decode(secret.Data["tls.crt"])
	certificate, err := x509.ParseCertificate(block.Bytes)
	g.Expect(err).NotTo(HaveOccurred())
	all := webhooks(t, objects)
	g.Expect(all).To(HaveLen(4))
	for _, w := range all {
		roots := x509.NewCertPool()
		g.Expect(roots.AppendCertsFromPEM(w.config.CABundle)).To(BeTrue())
		_, err := certificate.Verify(x509.VerifyOptions{Roots: roots, DNSName: w.config.Service.Name + "." + w.config.Service.Namespace + ".svc"})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(w.config.Service.Name).To(Equal(as[corev1.Service](t, objects, "Service").Name))
		g.Expect(w.config.Service.Namespace).To(Equal("somewhere"))
		g.Expect(w.config.Service.Path).To(HaveValue(ContainSubstring("barbican-openstack-c5c3-io")))
	}
	g.Expect(podOf(t, objects).Spec.Volumes[0].Secret.SecretName).To(Equal(secret.Name))
}

func TestAnUpgradeKeepsTheSelfSignedCertificate(t *testing.T) {
	t.Parallel()
	g, c := NewWithT(t), admin(t)
	namespace := kubetest.NewNamespace(t, c)
	first := renderIn(t, env.KubeConfig, namespace)
	g.Expect(c.Create(t.Context(), as[corev1.Secret](t, first, "Secret"))).To(Succeed())
	second := renderIn(t, env.KubeConfig, namespace)
	g.Expect(as[corev1.Secret](t, second, "Secret").Data).To(Equal(as[corev1.Secret](t, first, "Secret").Data))
	g.Expect(webhooks(t, second)).To(Equal(webhooks(t, first)))
}

func TestOtherCertificates(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)

	given := render(t, "barbican-system", renderings["a certificate that is given"]...)
	g.Expect(podOf(t, given).Spec.Volumes[0].Secret.SecretName).To(Equal("mine"))
	g.Expect(given).NotTo(HaveKey(HavePrefix("Secret/")))
	for _, w := range webhooks(t, given) {
		g.Expect(base64.StdEncoding.EncodeToString(w.config.CABundle)).To(Equal(authority))
	}

	made := render(t, "barbican-system", renderings["cert-manager"]...)
	g.Expect(made).To(HaveKey("Issuer/barbican-operator-selfsigned"))
	certificate := made["Certificate/barbican-operator-webhook"]
	g.Expect(certificate.Object["spec"]).To(Equal(map[string]any{
		"secretName": podOf(t, made).Spec.Volumes[0].Secret.SecretName,
		"dnsNames":   []any{"barbican-operator.barbican-system.svc", "barbican-operator.barbican-system.svc.cluster.local"},
		"issuerRef":  map[string]any{"kind": "Issuer", "name": "barbican-operator-selfsigned"},
	}))
	for _, kind := range []string{"Mutating", "Validating"} {
		configuration := made[kind+"WebhookConfiguration/barbican-operator-"+strings.ToLower(kind)]
		g.Expect(configuration.GetAnnotations()).To(HaveKeyWithValue("cert-manager.io/inject-ca-from", "barbican-system/"+certificate.GetName()))
	}

	ours := render(t, "barbican-system", renderings["cert-manager with an issuer"]...)
	g.Expect(ours).NotTo(HaveKey(HavePrefix("Issuer/")))
	issuer, _, err := unstructured.NestedStringMap(ours["Certificate/barbican-operator-webhook"].Object, "spec", "issuerRef")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(issuer).To(Equal(map[string]string{"kind": "ClusterIssuer", "name": "ours"}))
}

func TestWebhooksOfOneNamespaceLeaveOthersAlone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, w := range webhooks(t, render(t, "barbican-system", "watchNamespace=openstack")) {
		g.Expect(w.selector).To(Equal(&metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: "openstack"}}))
	}
	for _, w := range webhooks(t, render(t, "barbican-system")) {
		g.Expect(w.selector).To(BeNil())
	}
}

func TestValuesAreRefused(t *testing.T) {
	t.Parallel()
	for value, complaint := range map[string]string{
		"replicaCount=2":                    "replicaCount",
		"replicas=0":                        "replicas",
		"image.pullPolicy=Sometimes":        "pullPolicy",
		"webhook.certificate.source=magic":  "source",
		"webhook.certificate.source=secret": "secretName",
		"webhook.certificate.caBundle=AAAA": "caBundle",
		"watchNamespace=Open Stack":         "watchNamespace",
		"logging.level=loud":                "level",
		"extraArgs[0]=leader-elect":         "extraArgs",
	} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			_, err := tryRender(t, "", "barbican-system", value)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(complaint)))
		})
	}
}

// schema is what a JSON schema says about the keys of an object.
type schema struct {
	Properties map[string]schema `json:"properties"`
	Additional any               `json:"additionalProperties"`
}

func TestTheSchemaHasTheKeysOfTheValues(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var s schema
	content, err := os.ReadFile(folder + "/values.schema.json")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(json.Unmarshal(content, &s)).To(Succeed())
	values := map[string]any{}
	content, err = os.ReadFile(folder + "/values.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(yaml.Unmarshal(content, &values)).To(Succeed())
	values["global"] = map[string]any{} // Helm adds it
	compare(t, "", s, values)
}

// compare goes down as long as the schema closes the object and the values fill it.
func compare(t *testing.T, at string, s schema, values map[string]any) {
	t.Helper()
	NewWithT(t).Expect(lo.Keys(values)).To(ConsistOf(lo.Keys(s.Properties)), "below %q", at)
	for key, below := range s.Properties {
		if in, ok := values[key].(map[string]any); ok && below.Additional == false && len(in) > 0 && key != "resources" {
			compare(t, at+"/"+key, below, in)
		}
	}
}
