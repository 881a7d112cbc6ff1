// SPDX-License-Identifier: Apache-2.0

package suite

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/database"
	"github.com/c5c3/cobaltcore/common/kubetest"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

var _ = Describe("A Barbican that is deleted", func() {
	It("takes everything with it", func() {
		w := converged(func(w *world) { withEverything(w.b) })
		w.start()
		Expect(get(w.b).Finalizers).To(Equal([]string{v1alpha1.Finalizer}))
		Expect(admin.Delete(ctx, w.b)).To(Succeed())
		Eventually(live(w.b)).Should(kubetest.BeGone())
		Eventually(w.children).Should(ConsistOf("SecretStore/Secret keys-approle"))
		Eventually(live(w.s)).Should(kubetest.HaveCondition("CredentialsReady", metav1.ConditionFalse, "WaitingForParent"))
		for _, event := range []string{"FinalizingDatabase", "DatabaseFinalized"} {
			Eventually(func() int { return w.eventsOf("Barbican", event) }).Should(Equal(1), event)
		}
		Expect(admin.Delete(ctx, w.s)).To(Succeed())
		Eventually(live(w.s)).Should(kubetest.BeGone())
		Eventually(w.children).Should(BeEmpty())
	})

	DescribeTable("decides about the schema by its deletion policy:", func(before, at api.DatabaseDeletionPolicy, installed, want database.CleanupPolicy) {
		w := converged(func(w *world) { w.b.Spec.Database.DeletionPolicy = before })
		schema := get(&database.Database{ObjectMeta: w.meta("barbican")})
		Expect(schema.Spec.CleanupPolicy).To(Equal(installed))
		// mariadb-operator holds what it has not cleaned up yet.
		edit(schema, func(d *database.Database) { d.Finalizers = []string{"example.org/mariadb-operator"} })
		// Nobody has seen the last edit when the deletion comes.
		edit(w.b, func(b *barbican) { b.Spec.Database.DeletionPolicy = at })
		Expect(admin.Delete(ctx, w.b)).To(Succeed())
		w.start()
		Eventually(live(w.b)).Should(kubetest.BeGone(), "a schema that cannot be dropped yet must not hold the Barbican")
		Expect(get(schema).DeletionTimestamp).NotTo(BeNil())
		Expect(schema.Spec.CleanupPolicy).To(Equal(want))
		edit(schema, func(d *database.Database) { d.Finalizers = nil })
		Eventually(live(schema)).Should(kubetest.BeGone())
	},
		Entry("it stays unless somebody says otherwise", api.DatabaseDeletionPolicy(""), api.DatabaseDeletionPolicy(""), database.CleanupSkip, database.CleanupSkip),
		Entry("Delete drops it", api.DeleteDatabase, api.DeleteDatabase, database.CleanupDelete, database.CleanupDelete),
		Entry("the last word counts", api.DeleteDatabase, api.RetainDatabase, database.CleanupDelete, database.CleanupSkip),
	)
})

var _ = Describe("A Barbican for a cluster that nobody knows", func() {
	It("waits without a finalizer or a child, and can be deleted", func() {
		w := world{place: newPlace()}
		w.b, w.s = w.barbican(withEverything), w.managed()
		w.b.Spec.TargetClusterRef = &api.TargetClusterRef{Name: "far-away"}
		w.create(w.b, w.s)
		o := w.start()
		Eventually(live(w.b)).Should(kubetest.HaveCondition("SecretsReady", metav1.ConditionFalse, "TargetClusterUnavailable").Saying("far-away"))
		Eventually(live(w.s)).Should(kubetest.HaveCondition("CredentialsReady", metav1.ConditionFalse, "TargetClusterUnavailable").Saying("far-away"))
		o.settle()
		Expect(get(w.b).Finalizers).To(BeEmpty())
		Expect(get(w.s).Finalizers).To(BeEmpty())
		Expect(w.children()).To(BeEmpty())
		Expect(w.bao.AllCalls()).To(BeEmpty())
		Expect(w.events()).To(BeEmpty())
		Expect(admin.Delete(ctx, w.s)).To(Succeed())
		Expect(admin.Delete(ctx, w.b)).To(Succeed())
		Eventually(live(w.b)).Should(kubetest.BeGone())
		Eventually(live(w.s)).Should(kubetest.BeGone())
	})
})

var _ = Describe("A store without a Barbican", func() {
	It("waits for it and converges with it", func() {
		p := newPlace()
		s := p.managed()
		p.create(s)
		p.start()
		Eventually(live(s)).Should(kubetest.HaveCondition("CredentialsReady", metav1.ConditionFalse, "WaitingForParent"))
		Expect(p.children()).To(BeEmpty())
		b := p.barbican()
		p.create(b)
		Eventually(live(b)).Should(kubetest.BeReady())
		Eventually(live(s)).Should(kubetest.BeReady())
		Expect(admin.Delete(ctx, s)).To(Succeed())
		Eventually(live(s)).Should(kubetest.BeGone())
		Eventually(live(b)).Should(kubetest.HaveCondition("SecretStoresReady", metav1.ConditionFalse, "NoDefaultSecretStore"))
		Expect(p.children()).To(ContainElement("/Deployment barbican"), "the pods go on")
	})
})
