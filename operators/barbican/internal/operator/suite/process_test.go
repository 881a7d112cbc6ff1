// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"net/http"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/c5c3/cobaltcore/common/kubetest"
	"github.com/c5c3/cobaltcore/common/manager"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/operator"
)

// process is a running operator of one namespace.
type process struct {
	requests kubetest.Recorder
	registry *prometheus.Registry
	kill     context.CancelFunc
	ended    sync.WaitGroup
}

// setting changes how a process is started.
type setting func(*process, *rest.Config, *operator.Options)

// through puts a fault injector between the operator and the API server.
func through(transport func(http.RoundTripper) http.RoundTripper) setting {
	return func(_ *process, config *rest.Config, _ *operator.Options) { config.Wrap(transport) }
}

// start runs an operator for the namespace until the end of the spec.
func (p *place) start(settings ...setting) *process {
	GinkgoHelper()
	o := &process{registry: prometheus.NewRegistry()}
	flags := manager.DefaultFlags()
	flags.Namespace, flags.MetricsAddress, flags.ProbeAddress, flags.Webhooks = p.namespace, "0", "0", false
	options := operator.Options{
		Flags: flags, Registry: o.registry, OneOfMany: true, HTTP: p.services.Transport(), Dial: p.services.Dial,
	}
	config := env.Agent("barbican-operator")
	config.Wrap(o.requests.Transport)
	life, kill := context.WithCancel(ctx)
	o.kill = kill
	for _, set := range settings {
		set(o, config, &options)
	}
	m, err := operator.New(life, config, options)
	Expect(err).NotTo(HaveOccurred())
	o.ended.Go(func() {
		defer GinkgoRecover()
		Expect(m.Start(life)).To(Succeed())
	})
	finally(o.stop)
	return o
}

// stop ends the process and waits for its end.
func (o *process) stop() {
	o.kill()
	o.ended.Wait()
}

// calls are the requests of passes, without those of caches, elections, events and the questions of the start.
func calls(all kubetest.Requests) kubetest.Requests {
	return all.Verbs("get", "list", "create", "update", "patch", "delete", "deletecollection").
		Except("leases", "events", "selfsubjectaccessreviews")
}

// settle waits until nothing is asked of the API server any more, and starts counting anew.
func (o *process) settle() {
	GinkgoHelper()
	Eventually(func() kubetest.Requests { return calls(o.requests.Reset()) }).WithPolling(500 * time.Millisecond).Should(BeEmpty())
}

// passes is how often a step has run.
func (o *process) passes(step string) uint64 {
	GinkgoHelper()
	families, err := o.registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	for _, family := range families {
		if family.GetName() != "barbican_operator_reconcile_duration_seconds" {
			continue
		}
		for _, m := range family.GetMetric() {
			if m.GetLabel()[0].GetValue() == step {
				return m.GetHistogram().GetSampleCount()
			}
		}
	}
	return 0
}

// The last steps of the two tables: a pass that was counted here is through.
const (
	lastOfBarbican = "NetworkPolicy"
	lastOfStore    = "Projection"
)
