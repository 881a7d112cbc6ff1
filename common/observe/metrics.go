// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"cmp"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// labelNamespace goes with a label that is named after the kind of the object.
const labelNamespace = "namespace"

// unknownCondition labels the errors of a step that reports no condition.
const unknownCondition = "UNKNOWN"

var stepBuckets = []float64{0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}

// Metrics are the metrics of one binary. It implements the engine's Observer.
type Metrics struct {
	prefix     string
	steps      *prometheus.HistogramVec
	errors     *prometheus.CounterVec
	collectors []prometheus.Collector
}

var _ prometheus.Collector = (*Metrics)(nil)

// New returns the step metrics of an operator; prefix starts the name of each of its metrics, for example
// "barbican_operator". Further ones are added before it is registered.
func New(prefix string) *Metrics {
	m := &Metrics{
		prefix: prefix,
		steps: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "_reconcile_duration_seconds", Buckets: stepBuckets,
			Help: "Time that one run of a step of the reconcile took, in seconds.",
		}, []string{"sub_reconciler"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "_reconcile_errors_total",
			Help: "Runs of a step of the reconcile that ended in an error, by the condition that the step reports.",
		}, []string{"sub_reconciler", "condition_type"}),
	}
	m.collectors = []prometheus.Collector{m.steps, m.errors}
	return m
}

// Step returns what is called after every run of a step; it allocates nothing. Both series of the step exist from here on.
func (m *Metrics) Step(name, condition string) func(took time.Duration, err error) {
	seconds := m.steps.WithLabelValues(name)
	failures := m.errors.WithLabelValues(name, cmp.Or(condition, unknownCondition))
	return func(took time.Duration, err error) {
		seconds.Observe(took.Seconds())
		if err != nil {
			failures.Inc()
		}
	}
}

// Register adds all metrics to a registry. It fails, and adds none, if one of the names is taken.
func (m *Metrics) Register(r prometheus.Registerer) error {
	if err := r.Register(m); err != nil {
		return fmt.Errorf("registering the metrics %s_*: %w", m.prefix, err)
	}
	return nil
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(descriptions chan<- *prometheus.Desc) {
	for _, c := range m.collectors {
		c.Describe(descriptions)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(metrics chan<- prometheus.Metric) {
	for _, c := range m.collectors {
		c.Collect(metrics)
	}
}
