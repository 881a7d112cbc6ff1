// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/kubetest"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/operator"
)

// everyChild is what a Barbican with everything and a managed store own.
var everyChild = append([]string{
	"/HorizontalPodAutoscaler barbican", "/NetworkPolicy barbican", "/HTTPRoute barbican", "SecretStore/Secret keys-approle",
}, smallest...)

// crash is one run of a converge that does not go undisturbed.
type crash struct {
	*place
	b *barbican
	s *v1alpha1.BarbicanSecretStore
}

func newCrash() crash {
	GinkgoHelper()
	c := crash{place: newPlace()}
	c.b, c.s = c.barbican(withEverything), c.managed()
	c.create(c.b, c.s)
	return c
}

// unharmed says that both became Ready and nothing is lost, left over or told twice.
func (c crash) unharmed(when string) {
	GinkgoHelper()
	Eventually(live(c.b)).Should(kubetest.BeReady(), when)
	Eventually(live(c.s)).Should(kubetest.BeReady(), when)
	Expect(c.children()).To(ConsistOf(everyChild), when)
	Expect(get(c.b).Status.InstalledRelease).To(Equal("2025.1"), when)
	Expect(c.b.Status.TargetRelease).To(BeEmpty(), when)

	minted := get(&corev1.Secret{ObjectMeta: c.meta("keys-approle")})
	valid := c.bao.SecretIDs("barbican")
	Expect(valid).To(HaveKey(minted.Annotations[v1alpha1.AnnotationSecretIDAccessor]), when)
	Expect(len(valid)).To(BeNumerically("<=", 2), "%s: secret IDs were minted for nobody", when)

	for event, times := range c.events() {
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

var _ = Describe("An operator", func() {
	killed := func(answered bool) {
		fired := make([]bool, width)
		for first := 1; !slices.Contains(fired, false) || first == 1; first += width {
			rows := make([]int, width)
			for i := range rows {
				rows[i] = i
			}
			together(rows, func(i int) {
				c, death := newCrash(), &kubetest.Crash{At: first + i, Answered: answered}
				victim := c.start(func(o *process, config *rest.Config, _ *operator.Options) {
					death.Kill = o.kill
					config.Wrap(death.Transport)
				})
				Eventually(func(g Gomega) {
					if !death.Fired() {
						g.Expect(live(c.b)()).To(kubetest.BeReady())
						g.Expect(live(c.s)()).To(kubetest.BeReady())
					}
				}).Should(Succeed())
				fired[i] = death.Fired()
				victim.stop()
				c.start()
				c.unharmed(fmt.Sprintf("killed at write %d", first+i))
			})
		}
	}
	It("may die before any write of a converge", func() { killed(false) })
	It("may die after any write of a converge, before it hears the answer", func() { killed(true) })

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
			c, refuser := newCrash(), &kubetest.Refusal{}
			refuser.Refuse(2, r.err, r.resource, "create", "update", "patch")
			c.start(through(refuser.Transport))
			c.unharmed(fmt.Sprintf("%s answered by %v", r.resource, r.err))
		})
	})
})

var _ = Describe("An operator that starts anew", func() {
	It("writes nothing, and reads each referenced Secret once", func() {
		c := newCrash()
		o := c.start()
		c.unharmed("at first")
		o.settle()
		o.stop()

		o = c.start()
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
