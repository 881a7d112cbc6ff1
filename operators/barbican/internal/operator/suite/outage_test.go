// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/kubetest"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/operator"
)

const (
	mint = "auth/approle/role/barbican/secret-id"

	// patience of an operator with a key store that does not answer.
	patience = time.Second

	// byItself is when a store that waits has come back.
	byItself = soon + 30*time.Second
)

func impatient(_ *process, _ *rest.Config, o *operator.Options) { o.CallTimeout = patience }

// outage is a way in which a key store may be away.
type outage struct {
	name        string
	begin, stop func(*place)
}

func outages() []outage {
	bao := func(p *place) client.ObjectKey { return client.ObjectKey{Namespace: p.namespace, Name: "bao"} }
	return []outage{
		{"sealed", func(p *place) { p.bao.Seal() }, func(p *place) { p.bao.Unseal() }},
		{"standby", func(p *place) { p.bao.StandBy() }, func(p *place) { p.bao.Activate() }},
		{"silent", func(p *place) { p.bao.BlackHole() }, func(p *place) { p.bao.Answer() }},
		{"gone", func(p *place) { p.services.Forget(bao(p), 8200) }, func(p *place) { p.services.Serve(bao(p), 8200, p.bao.Address()) }},
	}
}

var _ = Describe("A key store that is away, or has lost its mount", func() {
	// Each of them waits for the retry of its store, so they all wait together.
	It("leaves the pods as they are and is told of; all goes on by itself afterwards", func() {
		var all []func()
		for _, o := range outages() {
			all = append(all, func() { endure(o) }, func() { endureElsewhere(o) })
		}
		all = append(all, func() { endureLostMount("managed") }, func() { endureLostMount("brownfield") })
		together(all, func(f func()) { f() })
	})
})

func endure(o outage) {
	w := converged()
	before, minted := w.deployment(), w.bao.Calls("POST", mint)
	job := get(&batchv1.Job{ObjectMeta: w.meta("barbican-db-sync")})

	By(o.name + ": an operator that starts in an outage reports it")
	o.begin(w.place)
	w.start(impatient)
	Eventually(live(w.s)).Should(kubetest.HaveCondition("ProvisioningReady", metav1.ConditionFalse, "OpenBaoUnreachable"), o.name)
	Expect(live(w.s)()).To(kubetest.HaveCondition("CredentialsReady", metav1.ConditionTrue, "CredentialsAvailable"), o.name)

	By(o.name + ": the Barbican can be changed meanwhile")
	edit(w.b, func(b *barbican) { b.Spec.Deployment.Replicas = 4 })
	Eventually(live(w.b)).Should(kubetest.BeReady(), o.name)
	Expect(w.deployment().Spec.Replicas).To(HaveValue(BeEquivalentTo(4)))
	Expect(w.deployment().Spec.Template).To(Equal(before.Spec.Template), o.name)

	By(o.name + ": with its credentials lost, the Deployment is kept in shape")
	Expect(admin.Delete(ctx, &corev1.Secret{ObjectMeta: w.meta("keys-approle")})).To(Succeed())
	Eventually(live(w.b)).Should(kubetest.HaveCondition("SecretStoresReady", metav1.ConditionFalse, "WaitingForSecretStores"), o.name)
	edit(w.b, func(b *barbican) { b.Spec.Deployment.Replicas = 5 })
	Eventually(w.deployment).Should(HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(5))), o.name)
	Expect(live(w.b)()).To(kubetest.HaveCondition("DeploymentReady", metav1.ConditionFalse, "WaitingForSecretStores"), o.name)

	By(o.name + ": no upgrade begins")
	edit(w.b, func(b *barbican) { b.Spec.OpenStackRelease, b.Spec.Image.Tag = "2025.2", "2025.2" })
	Eventually(live(w.b)).Should(kubetest.HaveCondition("DatabaseReady", metav1.ConditionFalse, "WaitingForSecretStores").Current(), o.name)
	Expect(get(&batchv1.Job{ObjectMeta: w.meta("barbican-db-sync")}).UID).To(Equal(job.UID), o.name)
	Expect(w.deployment().Spec.Template).To(Equal(before.Spec.Template), o.name)
	Expect(w.bao.Calls("POST", mint)).To(Equal(minted), "%s: the silent server was asked to mint", o.name)

	By(o.name + ": it passes")
	o.stop(w.place)
	Eventually(live(w.s)).WithTimeout(byItself).Should(kubetest.BeReady(), o.name)
	Eventually(live(w.b)).Should(kubetest.BeReady(), o.name)
	Expect(get(w.b).Status.InstalledRelease).To(Equal("2025.2"), o.name)
	Expect(w.deployment().Spec.Template.Spec.Containers[0].Image).To(Equal("ghcr.io/c5c3/barbican:2025.2"), o.name)
}

// endureElsewhere is an outage of a server that others run: there the store itself says that it cannot be reached.
func endureElsewhere(o outage) {
	w := converged(func(w *world) {
		w.s = w.brownfield()
		w.create(w.given())
	})
	before := w.deployment()
	o.begin(w.place)
	w.start(impatient)
	Eventually(live(w.s)).Should(kubetest.HaveCondition("CredentialsReady", metav1.ConditionFalse, "OpenBaoUnreachable"), o.name)
	edit(w.b, func(b *barbican) { b.Spec.Deployment.Replicas = 4 })
	Eventually(live(w.b)).Should(kubetest.BeReady(), o.name)
	Expect(live(w.b)()).To(kubetest.HaveCondition("SecretStoresReady", metav1.ConditionTrue, "AllStoresProjected"), o.name)
	Expect(w.deployment().Spec.Replicas).To(HaveValue(BeEquivalentTo(4)), o.name)
	Expect(w.deployment().Spec.Template).To(Equal(before.Spec.Template), o.name)
	o.stop(w.place)
	Eventually(live(w.s)).WithTimeout(byItself).Should(kubetest.BeReady(), o.name)
	Expect(w.deployment().Spec.Template).To(Equal(before.Spec.Template), o.name)
}

func endureLostMount(mode string) {
	w := converged(func(w *world) {
		if mode == "brownfield" {
			w.s = w.brownfield()
			w.create(w.given())
		}
	})
	before := w.deployment()

	w.bao.DropMount("barbican")
	w.start()
	Eventually(live(w.s)).Should(kubetest.HaveCondition("CredentialsReady", metav1.ConditionFalse, "InsufficientCapabilities"), mode)
	if mode == "managed" {
		Expect(live(w.s)()).To(kubetest.HaveCondition("ProvisioningReady", metav1.ConditionFalse, "InstanceNotProvisioned"))
	}
	Eventually(live(w.b)).Should(kubetest.HaveCondition("SecretStoresReady", metav1.ConditionFalse, "NoDefaultSecretStore"), mode)
	Eventually(live(w.b)).Should(kubetest.HaveCondition("DeploymentReady", metav1.ConditionFalse, "WaitingForSecretStores"), mode)
	for _, kind := range []string{"Barbican", "BarbicanSecretStore"} {
		Eventually(func() int { return w.eventsOf(kind, "SecretsMayBeLost") }).Should(Equal(1), "%s: %s", mode, kind)
	}
	Expect(w.deployment().Spec).To(Equal(before.Spec), mode)

	w.bao.EnableKV("barbican", 2)
	Eventually(live(w.s)).WithTimeout(byItself).Should(kubetest.BeReady(), mode)
	Eventually(live(w.b)).Should(kubetest.BeReady(), mode)
	Expect(w.deployment().Spec).To(Equal(before.Spec), mode)
	Expect(w.eventsOf("BarbicanSecretStore", "SecretsMayBeLost")).To(Equal(1), mode)
}

// eventsOf counts those of an object's kind with the reason.
func (p *place) eventsOf(kind, reason string) int {
	GinkgoHelper()
	list := &corev1.EventList{}
	Expect(admin.List(ctx, list, client.InNamespace(p.namespace))).To(Succeed())
	n := 0
	for _, e := range list.Items {
		if e.InvolvedObject.Kind == kind && e.Reason == reason {
			n += max(1, int(e.Count))
		}
	}
	return n
}
