// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Values of the label result.
const (
	resultSucceeded = "succeeded"
	resultFailed    = "failed"
)

var jobBuckets = []float64{1, 5, 10, 30, 60, 120, 300, 600}

// Jobs counts how the Jobs of one phase ended and how long they took, by the object they ran for. The caller sees to it
// that each Job is recorded once.
type Jobs struct {
	total   *Counter
	seconds *prometheus.HistogramVec
}

// Jobs adds the metrics of one phase, for example "db_sync", whose Jobs run for objects of a kind, for example "barbican".
func (m *Metrics) Jobs(phase, kind string) *Jobs {
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: m.prefix + "_" + phase + "_duration_seconds", Buckets: jobBuckets,
		Help: "Time from the creation of a " + phase + " Job to its end, in seconds.",
	}, []string{kind, labelNamespace})
	m.collectors = append(m.collectors, seconds)
	return &Jobs{
		total:   m.Counter(phase+"_total", "Finished "+phase+" Jobs by result.", kind, "result"),
		seconds: seconds,
	}
}

// Record notes the end of a Job.
func (j *Jobs) Record(namespace, name string, succeeded bool, took time.Duration) {
	result := resultFailed
	if succeeded {
		result = resultSucceeded
	}
	j.total.Add(namespace, name, result)
	j.seconds.WithLabelValues(name, namespace).Observe(max(0, took).Seconds())
}

// Forget drops the series of an object that is gone.
func (j *Jobs) Forget(namespace, name string) {
	j.total.Forget(namespace, name)
	j.seconds.DeleteLabelValues(name, namespace)
}

// Counter counts something that happens to objects of one kind, told apart by one further label.
type Counter struct {
	vector *prometheus.CounterVec
	kind   string
}

// Counter adds a counter. Its labels are the kind (the object's name), namespace and the further label.
func (m *Metrics) Counter(name, help, kind, further string) *Counter {
	vector := prometheus.NewCounterVec(prometheus.CounterOpts{Name: m.prefix + "_" + name, Help: help},
		[]string{kind, labelNamespace, further})
	m.collectors = append(m.collectors, vector)
	return &Counter{vector: vector, kind: kind}
}

// Add counts one; value is that of the further label.
func (c *Counter) Add(namespace, name, value string) {
	c.vector.WithLabelValues(name, namespace, value).Inc()
}

// Forget drops the series of an object that is gone.
func (c *Counter) Forget(namespace, name string) {
	c.vector.DeletePartialMatch(prometheus.Labels{c.kind: name, labelNamespace: namespace})
}
