// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/kubetest"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

func (p *place) deployment() *appsv1.Deployment {
	GinkgoHelper()
	return get(&appsv1.Deployment{ObjectMeta: p.meta("barbican")})
}

// approle is the Secret of the managed store.
func (p *place) approle() *corev1.Secret {
	GinkgoHelper()
	return get(&corev1.Secret{ObjectMeta: p.meta("keys-approle")})
}

// put gives a Secret other values, in turn with their keys.
func (p *place) put(name string, content ...string) {
	GinkgoHelper()
	edit(&corev1.Secret{ObjectMeta: p.meta(name)}, func(s *corev1.Secret) { s.StringData = p.secret("", content...).StringData })
}

// age makes the credentials of the managed store look older than they are.
func (p *place) age(by time.Duration) {
	GinkgoHelper()
	edit(&corev1.Secret{ObjectMeta: p.meta("keys-approle")}, func(s *corev1.Secret) {
		s.Annotations[v1alpha1.AnnotationSecretIDMintedAt] = time.Now().Add(-by).UTC().Format(time.RFC3339)
	})
}

// remints is how often a credential was minted anew, by trigger.
func (o *process) remints() map[string]float64 {
	GinkgoHelper()
	families, err := o.registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	counts := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "barbican_operator_secretstore_remints_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() == "trigger" {
					counts[label.GetValue()] += m.GetCounter().GetValue()
				}
			}
		}
	}
	return counts
}

var _ = Describe("What pods take from a Secret", Ordered, func() {
	var (
		w world
		o *process
	)
	BeforeAll(func() {
		w = world{place: newPlace()}
		w.b, w.s = w.barbican(func(b *barbican) {
			b.Spec.Database.TLS = &api.DatabaseTLSSpec{CABundleSecretRef: api.SecretRef{Name: "db-ca"}, ClientCertSecretRef: api.SecretRef{Name: "db-cert"}}
		}), w.managed()
		w.create(w.secret("db-ca", "ca.crt", "CA"), w.secret("db-cert", "tls.crt", "certificate", "tls.key", "key"), w.b, w.s)
		o = w.start()
		Eventually(live(w.b)).Should(kubetest.BeReady())
		Eventually(live(w.s)).Should(kubetest.BeReady())
		o.settle()
	})

	DescribeTable("rolls the pods once when it is rotated:", func(annotation string, rotate func()) {
		before := w.deployment()
		rotate()
		Eventually(w.deployment).Should(HaveField("Spec.Template.Annotations", HaveKeyWithValue(annotation, Not(Equal(before.Spec.Template.Annotations[annotation])))))
		o.settle()
		after := w.deployment()
		Expect(after.Generation-before.Generation).To(BeEquivalentTo(1), "%s", before.Spec.Template.Annotations)
		for other, value := range before.Spec.Template.Annotations {
			if other != annotation {
				Expect(after.Spec.Template.Annotations).To(HaveKeyWithValue(other, value))
			}
		}
		Expect(live(w.b)()).To(kubetest.BeReady())
		Expect(live(w.s)()).To(kubetest.BeReady())
	},
		Entry("the service user's password", v1alpha1.AnnotationAuthTokenHash, func() { w.put("service-user", "password", "rotated") }),
		Entry("to one that oslo.config would interpolate", v1alpha1.AnnotationAuthTokenHash, func() { w.put("service-user", "password", "pa$$word") }),
		Entry("and back", v1alpha1.AnnotationAuthTokenHash, func() { w.put("service-user", "password", "plain") }),
		Entry("the database password", v1alpha1.AnnotationDBConnectionHash, func() { w.put("db", "password", "rotated") }),
		Entry("the CA of the database", v1alpha1.AnnotationDBTLSHash, func() { w.put("db-ca", "ca.crt", "another CA") }),
		Entry("the client certificate", v1alpha1.AnnotationDBTLSHash, func() { w.put("db-cert", "tls.crt", "renewed", "tls.key", "renewed") }),
		Entry("the CA of the key store", v1alpha1.AnnotationSecretStoreCAHash, func() { w.put("bao-tls-ca", "ca.crt", string(w.bao.CA())+"\n") }),
		Entry("a secret ID whose life comes to an end", v1alpha1.AnnotationSecretStoreCredentialsHash, func() { w.age(25 * 24 * time.Hour) }),
		Entry("a secret ID that the server does not know any more", v1alpha1.AnnotationSecretStoreCredentialsHash, func() {
			w.bao.DestroySecretID(w.approle().Annotations[v1alpha1.AnnotationSecretIDAccessor])
			w.age(11 * time.Minute)
		}),
	)

	It("was minted anew for either trigger once, and the replaced secret IDs are destroyed", func() {
		Expect(o.remints()).To(Equal(map[string]float64{"proactive": 1, "reactive": 1}))
		Eventually(func() any { return w.bao.SecretIDs("barbican") }).Should(HaveLen(1))
		Expect(w.bao.SecretIDs("barbican")).To(HaveKey(w.approle().Annotations[v1alpha1.AnnotationSecretIDAccessor]))
	})
	It("reaches the pods unescaped in the end", func() {
		Eventually(live(&corev1.Secret{ObjectMeta: w.meta("barbican-authtoken")})).Should(kubetest.BeGone())
		Expect(string(get(&corev1.Secret{ObjectMeta: w.meta("barbican-db-connection")}).Data["connection"])).To(ContainSubstring(":rotated@"))
	})
})

var _ = Describe("A rotated pair of credentials that the server refuses", func() {
	It("does not reach the pods before one is valid, not even through a restart", func() {
		p := newPlace()
		b, s := p.barbican(), p.brownfield()
		p.create(p.given(), b, s)
		o := p.start()
		Eventually(live(b)).Should(kubetest.BeReady())
		Eventually(live(s)).Should(kubetest.BeReady())
		o.settle()
		before := p.deployment()

		p.put("given", "secret-id", "wrong")
		Eventually(live(s)).Should(kubetest.HaveCondition("CredentialsReady", metav1.ConditionFalse, "InvalidCredentials"))
		o.settle()
		Expect(p.deployment().Spec).To(Equal(before.Spec))
		o.stop()
		o = p.start()
		Eventually(func() uint64 { return o.passes(lastOfBarbican) }).ShouldNot(BeZero())
		o.settle()
		Expect(p.deployment().Spec).To(Equal(before.Spec))
		Expect(live(b)()).To(kubetest.HaveCondition("DeploymentReady", metav1.ConditionFalse, "WaitingForSecretStores"))

		id, _ := p.bao.MintSecretID("barbican")
		p.put("given", "secret-id", id)
		Eventually(live(s)).Should(kubetest.BeReady())
		Eventually(live(b)).Should(kubetest.BeReady())
		o.settle()
		Expect(p.deployment().Generation - before.Generation).To(BeEquivalentTo(1))
		Expect(p.deployment().Spec.Template.Annotations[v1alpha1.AnnotationSecretStoreCredentialsHash]).To(Equal(get(s).Status.CredentialsHash))
	})
})
