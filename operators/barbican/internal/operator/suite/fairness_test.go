// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/kubetest"
	"github.com/c5c3/cobaltcore/common/kubetest/openbao"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// blackHole takes requests and never answers.
func blackHole() string {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	finally(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.Listener.Addr().String()
}

// tenant is one of several Barbicans in a place, with a key store of its own.
type tenant struct {
	bao *openbao.Server
	b   *barbican
	s   *v1alpha1.BarbicanSecretStore
}

func (p *place) tenant(i int) tenant {
	GinkgoHelper()
	name := fmt.Sprintf("tenant-%d", i)
	t := tenant{b: p.barbican(), s: p.managed()}
	t.b.Name, t.s.Name, t.s.Spec.BarbicanRef.Name, t.s.Spec.OpenBao.InstanceRef.Name = name, name, name, name
	var err error
	t.bao, err = openbao.Start(openbao.Options{})
	Expect(err).NotTo(HaveOccurred())
	finally(t.bao.Close)
	t.bao.Provision("barbican")
	p.services.Serve(client.ObjectKey{Namespace: p.namespace, Name: name}, 8200, t.bao.Address())
	instance := object(schema.GroupVersionKind{Group: "openbao.org", Version: "v1alpha1", Kind: "OpenBaoCluster"}, p.meta(name))
	instance.Object["spec"] = map[string]any{"version": "2.6.1"}
	p.create(instance, &corev1.ServiceAccount{ObjectMeta: p.meta(name + "-provisioner")}, p.secret(name+"-tls-ca", "ca.crt", string(t.bao.CA())))
	return t
}

// quick is how long eight Barbicans with two workers may take; one call of a dead server takes ten seconds.
const quick = 9 * time.Second

var _ = Describe("Servers that do not answer", func() {
	DescribeTable("delay nobody else:", func(silence func(*place, tenant), says *kubetest.ConditionMatcher) {
		p := newPlace()
		var tenants []tenant
		for i := range 8 {
			t := p.tenant(i)
			if i%2 == 0 {
				silence(p, t)
			}
			tenants = append(tenants, t)
		}
		p.start()
		for _, t := range tenants {
			p.create(t.b, t.s)
		}
		for i, t := range tenants {
			if i%2 == 1 {
				Eventually(live(t.b)).WithTimeout(quick).Should(kubetest.BeReady())
				Eventually(live(t.s)).WithTimeout(quick).Should(kubetest.BeReady())
			}
		}
		for i, t := range tenants {
			if i%2 == 0 {
				Eventually(live(t.b)).Should(says)
			}
		}
	},
		Entry("key stores", func(_ *place, t tenant) { t.bao.BlackHole() },
			kubetest.HaveCondition("SecretStoresReady", metav1.ConditionFalse, "NoDefaultSecretStore")),
		Entry("APIs", func(p *place, t tenant) {
			p.services.Serve(client.ObjectKey{Namespace: p.namespace, Name: t.b.Name}, 9311, blackHole())
		}, kubetest.HaveCondition("BarbicanAPIReady", metav1.ConditionFalse, "HealthCheckTimeout")),
	)
})
