// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Values of the label result.
const (
	resultSucceeded = "succeeded"
	resultFailed    = "failed"
)

const jobBuckets = 8

// jobBounds are inclusive.
var jobBounds = [jobBuckets]float64{1, 5, 10, 30, 60, 120, 300, 600}

// durations is a histogram of its own for each object. It keeps nothing but the counts; a HistogramVec keeps ten times as
// much, and most objects have a Job once.
type durations struct {
	description *prometheus.Desc
	mu          sync.Mutex
	series      map[seriesKey]*series
}

type seriesKey struct{ name, namespace string }

type series struct {
	sum     float64
	buckets [jobBuckets + 1]uint32 // each for itself, the last one for what is above all bounds
}

func (d *durations) observe(key seriesKey, seconds float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.series[key]
	if s == nil {
		s = &series{}
		d.series[key] = s
	}
	bucket, _ := slices.BinarySearch(jobBounds[:], seconds)
	s.buckets[bucket]++
	s.sum += seconds
}

func (d *durations) forget(key seriesKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.series, key)
}

// Describe implements prometheus.Collector.
func (d *durations) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- d.description }

// Collect implements prometheus.Collector.
func (d *durations) Collect(metrics chan<- prometheus.Metric) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, s := range d.series {
		upTo, count := make(map[float64]uint64, jobBuckets), uint64(0)
		for i, bound := range jobBounds {
			count += uint64(s.buckets[i])
			upTo[bound] = count
		}
		count += uint64(s.buckets[jobBuckets])
		metrics <- prometheus.MustNewConstHistogram(d.description, count, s.sum, upTo, key.name, key.namespace)
	}
}

// Jobs counts how the Jobs of one phase ended and how long they took, by the object they ran for. The caller sees to it
// that each Job is recorded once.
type Jobs struct {
	total   *Counter
	seconds *durations
}

// Jobs adds the metrics of one phase, for example "db_sync", whose Jobs run for objects of a kind, for example "barbican".
func (m *Metrics) Jobs(phase, kind string) *Jobs {
	seconds := &durations{
		description: prometheus.NewDesc(m.prefix+"_"+phase+"_duration_seconds",
			"Time from the creation of a "+phase+" Job to its end, in seconds.", []string{kind, labelNamespace}, nil),
		series: map[seriesKey]*series{},
	}
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
	j.seconds.observe(seriesKey{name, namespace}, max(0, took).Seconds())
}

// Forget drops the series of an object that is gone.
func (j *Jobs) Forget(namespace, name string) {
	j.total.Forget(namespace, name)
	j.seconds.forget(seriesKey{name, namespace})
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
