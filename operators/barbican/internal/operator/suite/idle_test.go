// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/kubetest"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/operator"
)

var _ = Describe("A converged Barbican", Ordered, func() {
	var (
		w world
		o *process
	)
	BeforeAll(func() {
		w = newWorld()
		o = w.start(func(_ *process, _ *rest.Config, options *operator.Options) { options.SyncPeriod = time.Second })
		w.unharmed("at first")
	})
	BeforeEach(func() { o.settle() })

	touched := func(touch client.Object, step string) {
		GinkgoHelper()
		before := o.passes(step)
		edit(touch, func(t client.Object) { t.SetAnnotations(map[string]string{"example.org/touched": time.Now().String()}) })
		Eventually(func() uint64 { return o.passes(step) }).Should(BeNumerically(">", before))
		Consistently(func() kubetest.Requests { return calls(o.requests.Requests()) }, "300ms").Should(BeEmpty())
	}
	It("costs no request when it is touched", func() { touched(w.b, lastOfBarbican) })
	It("costs no request when its store is touched", func() {
		w.bao.ForgetCalls()
		touched(w.s, lastOfStore)
		Expect(w.bao.AllCalls()).To(BeEmpty())
	})
	It("costs no request in a resync", func() {
		Consistently(func() kubetest.Requests { return calls(o.requests.Requests()) }, "2500ms").Should(BeEmpty())
	})
	It("costs no request when the status of its Deployment changes", func() {
		before := o.passes(lastOfBarbican)
		d := get(&appsv1.Deployment{ObjectMeta: w.meta("barbican")})
		was := d.DeepCopy()
		d.Status.Conditions[0].LastUpdateTime.Time = d.Status.Conditions[0].LastUpdateTime.Add(-time.Minute)
		Expect(admin.Status().Patch(ctx, d, client.MergeFrom(was))).To(Succeed())
		Eventually(func() uint64 { return o.passes(lastOfBarbican) }).Should(BeNumerically(">", before))
		Consistently(func() kubetest.Requests { return calls(o.requests.Requests()) }, "300ms").Should(BeEmpty())
	})
	It("sleeps through a status that no step reads", func() {
		before := o.passes(lastOfBarbican)
		budget := get(&policyv1.PodDisruptionBudget{ObjectMeta: w.meta("barbican")})
		budget.Status.ObservedGeneration, budget.Status.CurrentHealthy = 1, 3
		Expect(admin.Status().Update(ctx, budget)).To(Succeed())
		scaler := get(&autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: w.meta("barbican")})
		scaler.Status.CurrentReplicas, scaler.Status.DesiredReplicas = 3, 3
		Expect(admin.Status().Update(ctx, scaler)).To(Succeed())
		service := get(&corev1.Service{ObjectMeta: w.meta("barbican")})
		service.Status.LoadBalancer.Ingress = nil
		Expect(admin.Status().Update(ctx, service)).To(Succeed())
		Expect(get(&networkingv1.NetworkPolicy{ObjectMeta: w.meta("barbican")}).Generation).To(BeEquivalentTo(1))
		Consistently(func() uint64 { return o.passes(lastOfBarbican) }, "500ms").Should(Equal(before))
	})
})
