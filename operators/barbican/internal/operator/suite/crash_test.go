// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/samber/lo"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/c5c3/cobaltcore/common/kubetest"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/operator"
)

// course is something that an operator does by several writes.
type course struct {
	begin  func() world        // before it starts
	end    func(Gomega, world) // what an undisturbed one comes to
	intact func(world, string) // what must be true in the end, whatever happened
}

func converge() course {
	return course{newWorld, func(g Gomega, w world) {
		g.Expect(live(w.b)()).To(kubetest.BeReady())
		g.Expect(live(w.s)()).To(kubetest.BeReady())
	}, world.unharmed}
}

func upgrade() course {
	return course{func() world {
		w := converged()
		w.request("2025.2")
		return w
	}, func(g Gomega, w world) {
		g.Expect(live(w.b)()).To(kubetest.BeReady())
		g.Expect(w.deployment().Spec.Template.Spec.Containers[0].Image).To(HaveSuffix(":2025.2"))
	}, func(w world, when string) {
		status := get(w.b).Status
		Expect(status.InstalledRelease+" "+status.SchemaRelease+" "+status.TargetRelease).To(Equal("2025.2 2025.2 "), when)
		Expect(status.InstalledImage).To(HaveSuffix(":2025.2"), when)
		Expect(w.migration().Spec.Template.Spec.Containers[0].Image).To(HaveSuffix(":2025.2"), when)
		Eventually(w.cronJob).Should(HaveField("Spec.Suspend", HaveValue(BeFalse())), when)
		Expect(w.children()).To(ConsistOf(append([]string{"SecretStore/Secret keys-approle"}, smallest...)), when)
		Expect(w.eventsOf("Barbican", "DatabaseSynced")).To(BeNumerically("<=", 2), when)
	}}
}

func renewal() course {
	return course{func() world {
		w := converged()
		w.age(25 * 24 * time.Hour)
		return w
	}, func(g Gomega, w world) {
		g.Expect(live(w.b)()).To(kubetest.BeReady())
		g.Expect(live(w.s)()).To(kubetest.BeReady())
		minted, err := time.Parse(time.RFC3339, w.approle().Annotations[v1alpha1.AnnotationSecretIDMintedAt])
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(time.Since(minted)).To(BeNumerically("<", time.Hour))
		g.Expect(w.deployment().Spec.Template.Annotations[v1alpha1.AnnotationSecretStoreCredentialsHash]).To(Equal(get(w.s).Status.CredentialsHash))
	}, func(w world, when string) {
		Expect(w.bao.SecretIDs("barbican")).To(HaveKey(w.approle().Annotations[v1alpha1.AnnotationSecretIDAccessor]), when)
		Expect(w.deployment().Generation).To(BeNumerically("<=", 3), when)
	}}
}

func deletion() course {
	return course{func() world {
		w := converged(func(w *world) { withEverything(w.b) })
		Expect(admin.Delete(ctx, w.b)).To(Succeed())
		return w
	}, func(g Gomega, w world) {
		g.Expect(live(w.b)()).To(kubetest.BeGone())
		g.Expect(w.children()).To(Equal([]string{"SecretStore/Secret keys-approle"}))
	}, func(w world, when string) {
		for event, times := range w.events() {
			Expect(times).To(BeNumerically("<=", 1), "%s: %s", when, event)
		}
	}}
}

// interrupted goes through a course time and again, killed at each write in turn, until one is over before its turn comes.
func interrupted(c course, answered bool) {
	GinkgoHelper()
	for first := 1; ; first += width {
		fired := make([]bool, width)
		together(lo.Range(width), func(i int) {
			w, death := c.begin(), &kubetest.Crash{At: first + i, Answered: answered}
			victim := w.start(func(o *process, config *rest.Config, _ *operator.Options) {
				death.Kill = o.kill
				config.Wrap(death.Transport)
			})
			Eventually(func(g Gomega) {
				if !death.Fired() {
					c.end(g, w)
				}
			}).Should(Succeed())
			fired[i] = death.Fired()
			victim.stop()
			w.start()
			when := fmt.Sprintf("killed at write %d", first+i)
			Eventually(func(g Gomega) { c.end(g, w) }).Should(Succeed(), when)
			c.intact(w, when)
		})
		if slices.Contains(fired, false) {
			return
		}
	}
}

var _ = Describe("An operator", func() {
	DescribeTable("may die before any write of", func(c func() course) { interrupted(c(), false) },
		Entry("a converge", converge), Entry("an upgrade", upgrade), Entry("a renewal of credentials", renewal), Entry("a deletion", deletion))
	DescribeTable("may die after any write, before it hears the answer, of", func(c func() course) { interrupted(c(), true) },
		Entry("a converge", converge), Entry("an upgrade", upgrade), Entry("a renewal of credentials", renewal), Entry("a deletion", deletion))

	It("is not thrown off by a refusal of any first write", func() {
		type refusal struct {
			resource string
			err      error
		}
		var all []refusal
		for _, resource := range []string{
			"barbicans", "barbicans/status", "barbicansecretstores/status", "secrets", "serviceaccounts/token", "databases", "users", "grants", "jobs",
			"cronjobs", "deployments", "services", "poddisruptionbudgets", "horizontalpodautoscalers", "networkpolicies", "httproutes",
		} {
			gr := schema.GroupResource{Resource: resource}
			all = append(all,
				refusal{resource, apierrors.NewConflict(gr, "it", fmt.Errorf("another was faster"))},
				refusal{resource, fmt.Errorf("connection reset by peer")},
			)
		}
		together(all, func(r refusal) {
			w, refuser := newWorld(), &kubetest.Refusal{}
			refuser.Refuse(2, r.err, r.resource, "create", "update", "patch")
			w.start(through(refuser.Transport))
			w.unharmed(fmt.Sprintf("%s answered by %v", r.resource, r.err))
		})
	})
})

var _ = Describe("An operator that starts anew", func() {
	It("writes nothing, and reads each referenced Secret once", func() {
		w := newWorld()
		o := w.start()
		w.unharmed("at first")
		o.settle()
		o.stop()

		o = w.start()
		Eventually(func() uint64 { return o.passes(lastOfBarbican) }).ShouldNot(BeZero())
		Eventually(func() uint64 { return o.passes(lastOfStore) }).ShouldNot(BeZero())
		var all kubetest.Requests
		Eventually(func() kubetest.Requests {
			latest := calls(o.requests.Reset())
			all = append(all, latest...)
			return latest
		}).WithPolling(500 * time.Millisecond).Should(BeEmpty())
		Expect(all.Writes().Except("serviceaccounts/token")).To(BeEmpty(), "%s", all)
		read := map[string]int{}
		for _, q := range all.Reads().Of("secrets").Verbs("get") {
			read[q.Name]++
		}
		Expect(read).To(Equal(map[string]int{"db": 1, "service-user": 1, "bao-tls-ca": 1}))
		Expect(all.Verbs("get").Except("secrets")).To(BeEmpty())
	})
})
