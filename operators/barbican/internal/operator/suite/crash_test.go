// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/c5c3/cobaltcore/common/kubetest"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/operator"
)

var _ = Describe("An operator", func() {
	killed := func(answered bool) {
		fired := make([]bool, width)
		for first := 1; !slices.Contains(fired, false) || first == 1; first += width {
			rows := make([]int, width)
			for i := range rows {
				rows[i] = i
			}
			together(rows, func(i int) {
				w, death := newWorld(), &kubetest.Crash{At: first + i, Answered: answered}
				victim := w.start(func(o *process, config *rest.Config, _ *operator.Options) {
					death.Kill = o.kill
					config.Wrap(death.Transport)
				})
				Eventually(func(g Gomega) {
					if !death.Fired() {
						g.Expect(live(w.b)()).To(kubetest.BeReady())
						g.Expect(live(w.s)()).To(kubetest.BeReady())
					}
				}).Should(Succeed())
				fired[i] = death.Fired()
				victim.stop()
				w.start()
				w.unharmed(fmt.Sprintf("killed at write %d", first+i))
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
