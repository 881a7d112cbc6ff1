// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"net/http"
	"os"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/samber/lo"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/kubetest"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/operator"
)

// shipped is the file of the chart that says what the operator may do.
const shipped = "../../../../../charts/barbican-operator/files/rules.yaml"

// rules are those that the chart grants in a namespace: what every converge needs, and what accidents may.
type rules struct{ Always, Sometimes []rbacv1.PolicyRule }

func shippedRules() rules {
	GinkgoHelper()
	content, err := os.ReadFile(shipped)
	Expect(err).NotTo(HaveOccurred())
	var r rules
	Expect(yaml.Unmarshal(content, &r)).To(Succeed())
	Expect(r.Always).NotTo(BeEmpty())
	return r
}

// allow makes a ServiceAccount that may do in the place what the chart grants and nothing else, and returns how to be it.
func (p *place) allow(granted rules) setting {
	GinkgoHelper()
	role := &rbacv1.Role{ObjectMeta: p.meta("operator"), Rules: slices.Concat(granted.Always, granted.Sometimes)}
	p.create(&corev1.ServiceAccount{ObjectMeta: p.meta("operator")}, role, &rbacv1.RoleBinding{
		ObjectMeta: p.meta("operator"),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "operator"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: p.namespace, Name: "operator"}},
	})
	return func(_ *process, config *rest.Config, _ *operator.Options) {
		config.Impersonate = rest.ImpersonationConfig{
			UserName: "system:serviceaccount:" + p.namespace + ":operator",
			Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + p.namespace, "system:authenticated"},
		}
	}
}

// used are the verbs of requests, by group/resource.
func used(all kubetest.Requests) map[string][]string {
	verbs := map[string][]string{}
	for _, q := range all.Except("selfsubjectaccessreviews") {
		what := q.Group + "/" + q.Resource
		if !slices.Contains(verbs[what], q.Verb) {
			verbs[what] = append(verbs[what], q.Verb)
		}
	}
	return lo.MapValues(verbs, func(v []string, _ string) []string { slices.Sort(v); return v })
}

var _ = Describe("An operator of one namespace", func() {
	It("lives on a Role with the verbs that it uses", func() {
		w := world{place: newPlace()}
		w.create(object(schema.GroupVersionKind{Group: "external-secrets.io", Version: "v1", Kind: "SecretStore"}, w.meta("local")))
		w.b, w.s = w.barbican(withEverything), w.managed()
		w.b.Spec.SecretStoreRef = &api.SecretStoreRef{Kind: api.NamespacedSecretStoreKind, Name: "local"}
		granted := shippedRules()
		account := w.allow(granted)
		w.create(w.b, w.s)
		o := w.start(account)
		w.ready()

		By("living through what may happen")
		w.put("db", "password", "rotated")
		w.ready()
		for i := range 6 { // more configurations than are kept
			edit(w.b, func(b *barbican) { b.Spec.Region = strings.Repeat("r", i+1) })
			w.ready()
		}
		w.put("service-user", "password", "pa$$word")
		w.ready()
		w.put("service-user", "password", "plain")
		w.ready()
		w.request("2025.2")
		w.ready()
		edit(w.b, func(b *barbican) { b.Spec.Autoscaling, b.Spec.NetworkPolicy, b.Spec.Gateway = nil, nil, nil })
		w.ready()
		w.remove(w.secret("db"))
		Eventually(live(w.b)).Should(kubetest.HaveCondition("SecretsReady", metav1.ConditionFalse, "WaitingForDBCredentials").Saying("no ExternalSecret"))
		Expect(admin.Delete(ctx, w.b)).To(Succeed())
		Expect(admin.Delete(ctx, w.s)).To(Succeed())
		Eventually(live(w.b)).Should(kubetest.BeGone())
		Eventually(live(w.s)).Should(kubetest.BeGone())

		for _, q := range o.requests.Requests() {
			Expect(q.Code).NotTo(Equal(http.StatusForbidden), "%+v", q)
		}
		seen := used(o.requests.Requests())
		for _, rule := range granted.Always {
			for _, resource := range rule.Resources {
				verbs := seen[rule.APIGroups[0]+"/"+resource]
				for _, verb := range rule.Verbs {
					implied := verb == "list" && slices.Contains(verbs, "watch") || verb == "create" && slices.Contains(verbs, "patch")
					if !implied {
						Expect(verbs).To(ContainElement(verb), "nothing needs the right to %s %s", verb, resource)
					}
				}
			}
		}
	})
})
