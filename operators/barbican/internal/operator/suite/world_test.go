// SPDX-License-Identifier: Apache-2.0

package suite

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/kubetest"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// everyChild is what a Barbican with everything and a managed store own.
var everyChild = append([]string{
	"/HorizontalPodAutoscaler barbican", "/NetworkPolicy barbican", "/HTTPRoute barbican", "SecretStore/Secret keys-approle",
}, smallest...)

// world is a place with a Barbican that asks for everything and its managed store.
type world struct {
	*place
	b *barbican
	s *v1alpha1.BarbicanSecretStore
}

func newWorld() world {
	GinkgoHelper()
	w := world{place: newPlace()}
	w.b, w.s = w.barbican(withEverything), w.managed()
	w.create(w.b, w.s)
	return w
}

// converged is one that runs, with an operator that does not. Its Barbican is the smallest unless edited.
func converged(edits ...func(*world)) world {
	GinkgoHelper()
	w := world{place: newPlace()}
	w.b, w.s = w.barbican(), w.managed()
	for _, edit := range edits {
		edit(&w)
	}
	w.create(w.b, w.s)
	o := w.start()
	w.ready()
	o.settle()
	o.stop()
	return w
}

func (w world) ready() {
	GinkgoHelper()
	Eventually(live(w.b)).Should(kubetest.BeReady())
	Eventually(live(w.s)).Should(kubetest.BeReady())
}

// unharmed says that both became Ready and nothing is lost, left over or told twice.
func (w world) unharmed(when string) {
	GinkgoHelper()
	Eventually(live(w.b)).Should(kubetest.BeReady(), when)
	Eventually(live(w.s)).Should(kubetest.BeReady(), when)
	Expect(w.children()).To(ConsistOf(everyChild), when)
	Expect(get(w.b).Status.InstalledRelease).To(Equal("2025.1"), when)
	Expect(w.b.Status.TargetRelease).To(BeEmpty(), when)

	minted := get(&corev1.Secret{ObjectMeta: w.meta("keys-approle")})
	valid := w.bao.SecretIDs("barbican")
	Expect(valid).To(HaveKey(minted.Annotations[v1alpha1.AnnotationSecretIDAccessor]), when)
	Expect(len(valid)).To(BeNumerically("<=", 2), "%s: secret IDs were minted for nobody", when)

	for event, times := range w.events() {
		Expect(times).To(BeNumerically("<=", 1), "%s: %s", when, event)
	}
}

// events counts those of the namespace by object and reason.
func (p *place) events() map[string]int {
	GinkgoHelper()
	list := &corev1.EventList{}
	Expect(admin.List(ctx, list, client.InNamespace(p.namespace))).To(Succeed())
	counts := map[string]int{}
	for _, e := range list.Items {
		counts[e.InvolvedObject.Kind+" "+e.Type+" "+e.Reason+": "+e.Message] += max(1, int(e.Count))
	}
	return counts
}
