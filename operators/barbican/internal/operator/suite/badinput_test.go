// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/samber/lo"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/database"
	"github.com/c5c3/cobaltcore/common/kubetest"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// verdict is the condition that answers bad input, with a part of its message; the zero value is Ready.
type verdict struct{ condition, reason, text string }

func (v verdict) matcher() *kubetest.ConditionMatcher {
	if v.condition == "" {
		return kubetest.BeReady()
	}
	return kubetest.HaveCondition(v.condition, metav1.ConditionFalse, v.reason).Saying(v.text).Current()
}

// few is what passes that back off from 5 ms on may ask again of the API server in the window: one write each, and the status.
const (
	few    = 16
	window = "1500ms"
)

// calmly says that the operator repeats only a few requests in a while. What a first converge still has to do, it does once, however late.
func (o *process) calmly(name string) {
	GinkgoHelper()
	o.requests.Reset()
	repeats := func() int {
		all := calls(o.requests.Requests())
		return len(all) - len(lo.Uniq(all))
	}
	Consistently(repeats, window).Should(BeNumerically("<=", few), func() string {
		return fmt.Sprintf("%s is tried too often: %s", name, calls(o.requests.Requests()))
	})
}

// unguarded are the fixtures that only the webhook refuses.
func unguarded() map[string]*barbican {
	GinkgoHelper()
	files, err := filepath.Glob("../../../../../tests/fixtures/invalid/barbican-*.yaml")
	Expect(err).NotTo(HaveOccurred())
	found := map[string]*barbican{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		Expect(err).NotTo(HaveOccurred())
		if !strings.Contains(string(text), "# by: webhook\n") {
			continue
		}
		b := &barbican{}
		Expect(yaml.UnmarshalStrict(text, b)).To(Succeed(), file)
		found[strings.TrimSuffix(filepath.Base(file), ".yaml")] = b
	}
	Expect(len(found)).To(BeNumerically(">", 30))
	return found
}

// harmless is what Barbican or Kubernetes make something of, whatever it is.
var harmless = []string{
	"barbican-extra-config-option-dashed", "barbican-extra-config-option-of-newer-release", "barbican-extra-config-option-of-older-release",
	"barbican-extra-config-option-unknown", "barbican-extra-config-section-unknown", "barbican-schedule-every",
	"barbican-topology-spread-other-instance",
	"barbican-priority-class-missing", // the simulated pods need none
}

func verdictOn(fixture string) verdict {
	switch {
	case lo.Contains(harmless, fixture):
		return verdict{}
	case strings.HasPrefix(fixture, "barbican-schedule-"):
		return verdict{"DBCleanReady", "DBCleanBlocked", "spec.schedule"}
	case strings.HasPrefix(fixture, "barbican-time-zone-"):
		return verdict{"DBCleanReady", "DBCleanBlocked", "spec.timeZone"}
	case strings.HasPrefix(fixture, "barbican-resources-"):
		return verdict{"DeploymentReady", "WaitingForDeployment", "must be less than or equal to cpu limit"}
	}
	return verdict{"SecretsReady", "ConfigError", "spec."}
}

var _ = Describe("Bad input that no webhook has seen", func() {
	It("is answered by a condition, calmly, for every fixture that the webhook refuses", func() {
		fixtures := unguarded()
		together(lo.Keys(fixtures), func(name string) {
			p, b := newPlace(), fixtures[name]
			b.Namespace, b.Spec.Database.SecretRef.Name, b.Spec.ServiceUser.SecretRef.Name = p.namespace, "db", "service-user"
			p.create(b, p.managed())
			o := p.start()
			Eventually(live(b)).Should(verdictOn(name).matcher(), name)
			o.calmly(name)
			Expect(live(b)()).To(verdictOn(name).matcher(), name)
		})
	})

	It("is answered by a condition, calmly, when what a Barbican refers to is missing or broken", func() {
		together(brokenReferences(), func(row brokenReference) {
			w := world{place: newPlace()}
			w.b, w.s = w.barbican(), w.managed()
			row.prepare(&w)
			w.create(w.b, w.s)
			o := w.start()
			Eventually(live(w.b)).Should(row.want.matcher(), row.name)
			o.calmly(row.name)
			Expect(live(w.b)()).To(row.want.matcher(), row.name)
		})
	})

	It("is answered by a condition, calmly, when it stands in a store", func() {
		together(brokenStores(), func(row brokenReference) {
			w := world{place: newPlace()}
			w.b, w.s = w.barbican(), w.brownfield()
			w.create(w.given())
			row.prepare(&w)
			w.create(w.b, w.s)
			o := w.start()
			told := lo.Ternary[client.Object](row.want.condition == "SecretStoresReady", w.b, w.s)
			Eventually(live(told)).Should(row.want.matcher(), row.name)
			o.calmly(row.name)
			Expect(live(told)()).To(row.want.matcher(), row.name)
		})
	})
})

type brokenReference struct {
	name    string
	prepare func(*world)
	want    verdict
}

// remove deletes an object of the place.
func (p *place) remove(o client.Object) {
	GinkgoHelper()
	Expect(admin.Delete(ctx, o)).To(Succeed())
}

func brokenReferences() []brokenReference {
	policy := func(w *world, content ...string) {
		w.b.Spec.PolicyOverrides = &api.PolicyOverrides{ConfigMapRef: &corev1.LocalObjectReference{Name: "policy"}}
		if len(content) > 0 {
			w.create(&corev1.ConfigMap{ObjectMeta: w.meta("policy"), Data: map[string]string{content[0]: content[1]}})
		}
	}
	return []brokenReference{
		{"no database Secret", func(w *world) { w.remove(w.secret("db")) }, verdict{"SecretsReady", "WaitingForDBCredentials", `Secret "db" does not exist`}},
		{"half a database Secret", func(w *world) { w.put("db", "password", "") }, verdict{"SecretsReady", "WaitingForDBCredentials", `no value for the key "password"`}},
		{"no service user", func(w *world) { w.remove(w.secret("service-user")) }, verdict{"SecretsReady", "WaitingForServiceUserCredentials", `Secret "service-user" does not exist`}},
		{"a password that needs the place of a foreign Secret", func(w *world) {
			w.put("service-user", "password", "pa$$word")
			w.create(w.secret("barbican-authtoken", "password", "theirs"))
		}, verdict{"SecretsReady", "WaitingForServiceUserCredentials", "barbican-authtoken exists and is not controlled"}},
		{"another key of the service user", func(w *world) { w.b.Spec.ServiceUser.SecretRef.Key = "other" }, verdict{"SecretsReady", "WaitingForServiceUserCredentials", `no value for the key "other"`}},
		{"no External Secrets store", func(w *world) {
			w.b.Spec.SecretStoreRef = &api.SecretStoreRef{Kind: api.NamespacedSecretStoreKind, Name: "nowhere"}
		}, verdict{"SecretsReady", "SecretStoreNotReady", `SecretStore "nowhere" does not exist`}},
		{"no MariaDB", func(w *world) { w.remove(&database.MariaDB{ObjectMeta: w.meta("mariadb")}) }, verdict{"DatabaseReady", "ClusterNotReady", `MariaDB "mariadb" does not exist`}},
		{"no TLS Secrets", func(w *world) {
			w.b.Spec.Database.TLS = &api.DatabaseTLSSpec{CABundleSecretRef: api.SecretRef{Name: "db-ca"}, ClientCertSecretRef: api.SecretRef{Name: "db-cert"}}
		}, verdict{"SecretsReady", "WaitingForDBCredentials", `Secret "db-ca" does not exist`}},
		{"no policy", func(w *world) { policy(w) }, verdict{"SecretsReady", "ConfigError", "policy"}},
		{"policy under another key", func(w *world) { policy(w, "policy.json", "{}") }, verdict{"SecretsReady", "ConfigError", "policy.yaml of ConfigMap policy"}},
		{"policy that is a list", func(w *world) { policy(w, "policy.yaml", "- a") }, verdict{"SecretsReady", "ConfigError", "policy.yaml of ConfigMap policy"}},
		{"policy with a line break in a rule", func(w *world) { policy(w, "policy.yaml", `{"secret:get": "a\nb"}`) }, verdict{"SecretsReady", "ConfigError", "control characters"}},
		{"another release's image", func(w *world) { w.b.Spec.Image.Tag = "2026.1" }, verdict{"DatabaseReady", "ImageReleaseMismatch", "set both to the same release"}},
		{"a release that has not been", func(w *world) { w.b.Spec.OpenStackRelease, w.b.Spec.Image.Tag = "2031.1", "2031.1" }, verdict{}},
		{"a huge map", func(w *world) {
			w.b.Spec.ExtraConfig = map[string]map[string]string{"DEFAULT": {"debug": strings.Repeat("x", 1_100_000)}}
		}, verdict{"SecretsReady", "ConfigError", "Too long"}},
		{"many keys", func(w *world) {
			keys := map[string]string{}
			for i := range 10_000 {
				keys["option_"+strings.Repeat("x", i%50)+string(rune('a'+i%26))] = "value"
			}
			w.b.Spec.ExtraConfig = map[string]map[string]string{"DEFAULT": keys}
		}, verdict{}},
		{"an overridden option of the operator", func(w *world) {
			w.b.Spec.ExtraConfig = map[string]map[string]string{"DEFAULT": {"host_href": "http://elsewhere"}}
		}, verdict{"ExtraConfigHealthy", "OwnedKeysOverridden", "host_href"}},
		{"a gateway that is not there", func(w *world) {
			simulation.HTTPRoutes.In(w.namespace).Do(kubetest.Fail("", ""))
			withEverything(w.b)
		}, verdict{"HTTPRouteReady", "HTTPRouteNotAccepted", "does not accept the route"}},
		{"pods that do not start", func(w *world) { simulation.Deployments.In(w.namespace).Do(kubetest.ExceedDeadline()) },
			verdict{"DeploymentReady", "WaitingForDeployment", "ProgressDeadlineExceeded"}},
		{"an API that nobody serves", func(w *world) { w.services.Forget(client.ObjectKey{}, 9311) }, verdict{"BarbicanAPIReady", "EndpointNotReady", "does not resolve"}},
	}
}

func brokenStores() []brokenReference {
	instance := schema.GroupVersionKind{Group: "openbao.org", Version: "v1alpha1", Kind: "OpenBaoCluster"}
	second := func(w *world, isDefault bool) {
		other := w.s.DeepCopy()
		other.Name, other.Spec.IsDefault = "other", isDefault
		w.create(other)
	}
	server := func(w *world) *v1alpha1.OpenBaoServer { return w.s.Spec.OpenBao.Server }
	waiting := func(text string) verdict { return verdict{"CredentialsReady", "WaitingForCredentials", text} }
	unreachable := func(text string) verdict { return verdict{"CredentialsReady", "OpenBaoUnreachable", text} }
	return []brokenReference{
		{"no credentials", func(w *world) { server(w).CredentialsSecretRef.Name = "nowhere" }, waiting("nowhere")},
		{"half the credentials", func(w *world) { w.put("given", "secret-id", "") }, waiting("secret-id")},
		{"credentials with a line break", func(w *world) { w.put("given", "secret-id", "a\nb") }, waiting("line break")},
		{"wrong credentials", func(w *world) { w.put("given", "secret-id", "wrong") }, verdict{"CredentialsReady", "InvalidCredentials", "wrong, expired or used up"}},
		{"no CA", func(w *world) { server(w).CABundleSecretRef.Name = "nowhere" }, waiting("nowhere")},
		{"a CA that is none", func(w *world) { w.put("bao-tls-ca", "ca.crt", "no certificate") }, unreachable("")},
		{"the CA of another server", func(w *world) {
			server(w).CABundleSecretRef = nil
		}, unreachable("certificate")},
		{"a URL that leads nowhere", func(w *world) { server(w).URL = "https://nowhere.example.org" }, unreachable("the name of the server does not resolve")},
		{"a mount with a control character", func(w *world) { w.s.Spec.OpenBao.KVMountpoint = "bar\x01bican" }, verdict{"CredentialsReady", "InsufficientCapabilities", ""}},
		{"an option with a line break", func(w *world) { w.s.Spec.ExtraOptions = map[string]string{"timeout": "1\n2"} }, verdict{"SecretStoresReady", "WaitingForSecretStores", "cannot stand in a configuration file"}},
		{"no default", func(w *world) { w.s.Spec.IsDefault = false }, verdict{"SecretStoresReady", "NoDefaultSecretStore", "isDefault: true"}},
		{"two defaults", func(w *world) { second(w, true) }, verdict{"SecretStoresReady", "NoDefaultSecretStore", "More than one"}},
		{"two of a kind", func(w *world) { second(w, false) }, verdict{"SecretStoresReady", "MultipleOpenBaoStores", "delete all but one of keys, other"}},
		{"too few capabilities", func(w *world) { w.bao.WritePolicy("barbican", map[string][]string{"barbican/data/*": {"read"}}) }, verdict{"CredentialsReady", "InsufficientCapabilities", "create, delete"}},
		{"another namespace", func(w *world) { w.s.Spec.OpenBao.Namespace = "nowhere" }, unreachable("")},
		{"no instance", func(w *world) {
			w.s = w.managed()
			w.remove(object(instance, w.meta("bao")))
		}, verdict{"ProvisioningReady", "InstanceNotFound", "OpenBaoCluster bao does not exist"}},
		{"an instance that is sealed", func(w *world) {
			w.s = w.managed()
			simulation.OpenBaoClusters.In(w.namespace).Do(kubetest.Fail("", ""))
		}, verdict{"ProvisioningReady", "WaitingForInstance", "OpenBaoCluster bao is not Available"}},
		{"no provisioner", func(w *world) {
			w.s = w.managed()
			w.remove(&corev1.ServiceAccount{ObjectMeta: w.meta("bao-provisioner")})
		}, verdict{"ProvisioningReady", "WaitingForInstance", "bao-provisioner"}},
		{"no CA of the instance", func(w *world) {
			w.s = w.managed()
			w.remove(w.secret("bao-tls-ca"))
		}, verdict{"ProvisioningReady", "WaitingForInstanceTLS", "bao-tls-ca"}},
		{"an instance without the AppRole", func(w *world) {
			w.s = w.managed()
			w.bao.DropAppRole("barbican")
		}, verdict{"ProvisioningReady", "InstanceNotProvisioned", "barbican_approle_role"}},
		{"an instance that denies", func(w *world) {
			w.s = w.managed()
			w.bao.Deny("auth/approle/role/barbican/secret-id")
		}, verdict{"CredentialsReady", "ProvisioningDenied", "secret-id"}},
	}
}
