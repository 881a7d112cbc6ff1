// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"net/http"
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

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/kubetest"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/operator"
)

// needed are the verbs that the operator uses in a namespace, by group and resource. A watch needs list as well, for API servers that
// cannot stream the first list; an apply that makes an object needs create.
var needed = map[string]string{
	"barbican.openstack.c5c3.io/barbicans":                       "list patch watch",
	"barbican.openstack.c5c3.io/barbicans/finalizers":            "update",
	"barbican.openstack.c5c3.io/barbicans/status":                "patch",
	"barbican.openstack.c5c3.io/barbicansecretstores":            "list watch",
	"barbican.openstack.c5c3.io/barbicansecretstores/finalizers": "update",
	"barbican.openstack.c5c3.io/barbicansecretstores/status":     "patch",
	"/configmaps":                          "list watch",
	"/events":                              "create patch",
	"/secrets":                             "create delete get list update watch",
	"/serviceaccounts/token":               "create",
	"/services":                            "create get list patch watch",
	"apps/deployments":                     "create delete get list patch watch",
	"apps/replicasets":                     "list",
	"autoscaling/horizontalpodautoscalers": "create delete list patch watch",
	"batch/cronjobs":                       "create list patch watch",
	"batch/jobs":                           "create delete list watch",
	"external-secrets.io/externalsecrets":  "get",
	"external-secrets.io/secretstores":     "list watch",
	"gateway.networking.k8s.io/httproutes": "create delete list patch watch",
	"k8s.mariadb.com/databases":            "create delete get list patch watch",
	"k8s.mariadb.com/grants":               "create delete get list patch watch",
	"k8s.mariadb.com/mariadbs":             "list watch",
	"k8s.mariadb.com/users":                "create delete get list patch watch",
	"networking.k8s.io/networkpolicies":    "create delete list patch watch",
	"openbao.org/openbaoclusters":          "list watch",
	"policy/poddisruptionbudgets":          "create list patch watch",
}

// rare are those that the spec has no use for, and what needs them.
var rare = map[string]string{
	"update barbican.openstack.c5c3.io/barbicans/finalizers":            "owner references that block deletion",
	"update barbican.openstack.c5c3.io/barbicansecretstores/finalizers": "owner references that block deletion",
	"patch /events":           "an event that repeats",
	"get /services":           "a Service whose selector narrows",
	"delete apps/deployments": "a Deployment with another selector",
}

// allow makes a ServiceAccount that may do what is needed in the place and nothing else, and returns how to be it.
func (p *place) allow() setting {
	GinkgoHelper()
	role := &rbacv1.Role{ObjectMeta: p.meta("operator")}
	for what, verbs := range needed {
		group, resource, _ := strings.Cut(what, "/")
		role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: strings.Fields(verbs)})
	}
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

// used are the verbs of requests, in the form of needed.
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
		account := w.allow()
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
		for what, verbs := range needed {
			for verb := range strings.FieldsSeq(verbs) {
				seen := used(o.requests.Requests())[what]
				implied := verb == "list" && slices.Contains(seen, "watch") || verb == "create" && slices.Contains(seen, "patch")
				if rare[verb+" "+what] == "" && !implied {
					Expect(seen).To(ContainElement(verb), "nothing needs the right to %s %s", verb, what)
				}
			}
		}
	})
})
