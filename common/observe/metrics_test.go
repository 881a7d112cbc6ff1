// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/samber/lo"
)

func TestStepMetrics(t *testing.T) {
	t.Parallel()
	m, registry := registered(t)
	config := m.Step("Config", "SecretsReady")
	config(300*time.Millisecond, nil)
	config(20*time.Second, errors.New("no"))
	m.Step("Nameless", "")(time.Second, errors.New("no"))

	expect(t, registry, "app_operator_reconcile_errors_total", `
# HELP app_operator_reconcile_errors_total Runs of a step of the reconcile that ended in an error, by the condition that the step reports.
# TYPE app_operator_reconcile_errors_total counter
app_operator_reconcile_errors_total{condition_type="SecretsReady",sub_reconciler="Config"} 1
app_operator_reconcile_errors_total{condition_type="UNKNOWN",sub_reconciler="Nameless"} 1
`)
	durations := family(t, registry, "app_operator_reconcile_duration_seconds")
	histogram := durations.GetMetric()[0].GetHistogram()
	if diff := cmp.Diff([]float64{0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}, bounds(histogram)); diff != "" {
		t.Errorf("buckets (-want +got):\n%s", diff)
	}
	if histogram.GetSampleCount() != 2 || histogram.GetSampleSum() != 20.3 {
		t.Errorf("got %d samples that sum up to %v s, want the failed run as well", histogram.GetSampleCount(), histogram.GetSampleSum())
	}
	if diff := cmp.Diff([]string{"sub_reconciler"}, labels(durations)); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

func TestStepAllocatesNothing(t *testing.T) { //nolint:paralleltest // AllocsPerRun counts what others allocate
	observed := New("app_operator").Step("Config", "SecretsReady")
	failure := errors.New("no")
	if n := testing.AllocsPerRun(100, func() { observed(time.Second, failure) }); n != 0 {
		t.Errorf("an observation allocates %v times", n)
	}
}

func TestJobs(t *testing.T) {
	t.Parallel()
	m := New("app_operator")
	jobs, registry := m.Jobs("db_sync", "app"), prometheus.NewRegistry()
	if err := m.Register(registry); err != nil {
		t.Fatal(err)
	}
	jobs.Record("one", "a", true, 7*time.Second)
	jobs.Record("one", "a", false, -time.Second) // the clocks of two machines may disagree
	jobs.Record("two", "a", true, time.Second)

	const help = `
# HELP app_operator_db_sync_total Finished db_sync Jobs by result.
# TYPE app_operator_db_sync_total counter
`
	expect(t, registry, "app_operator_db_sync_total", help+`app_operator_db_sync_total{app="a",namespace="one",result="failed"} 1
app_operator_db_sync_total{app="a",namespace="one",result="succeeded"} 1
app_operator_db_sync_total{app="a",namespace="two",result="succeeded"} 1
`)
	durations := family(t, registry, "app_operator_db_sync_duration_seconds")
	histogram := durations.GetMetric()[0].GetHistogram()
	if diff := cmp.Diff([]float64{1, 5, 10, 30, 60, 120, 300, 600}, bounds(histogram)); diff != "" {
		t.Errorf("buckets (-want +got):\n%s", diff)
	}
	if histogram.GetSampleCount() != 2 || histogram.GetSampleSum() != 7 {
		t.Errorf("got %d samples that sum up to %v s, want 2 and 7", histogram.GetSampleCount(), histogram.GetSampleSum())
	}
	if diff := cmp.Diff([]string{"app", "namespace"}, labels(durations)); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}

	jobs.Forget("one", "a")
	expect(t, registry, "app_operator_db_sync_total", help+`app_operator_db_sync_total{app="a",namespace="two",result="succeeded"} 1
`)
	if left := family(t, registry, "app_operator_db_sync_duration_seconds").GetMetric(); len(left) != 1 {
		t.Errorf("%d series of the duration are left, want that of the other object alone", len(left))
	}
}

// A bound belongs to the bucket that it ends.
func TestDurationsAreCountedUpToTheirBound(t *testing.T) {
	t.Parallel()
	m, registry := New("app_operator"), prometheus.NewPedanticRegistry()
	jobs := m.Jobs("db_sync", "app")
	if err := m.Register(registry); err != nil {
		t.Fatal(err)
	}
	for _, seconds := range []float64{0, 1, 1.5, 600, 601} {
		jobs.Record("one", "a", true, time.Duration(seconds*float64(time.Second)))
	}
	histogram := family(t, registry, "app_operator_db_sync_duration_seconds").GetMetric()[0].GetHistogram()
	counts := lo.Map(histogram.GetBucket(), func(b *dto.Bucket, _ int) uint64 { return b.GetCumulativeCount() })
	if want := []uint64{2, 3, 3, 3, 3, 3, 3, 4}; !slices.Equal(counts, want) || histogram.GetSampleCount() != 5 {
		t.Errorf("got %v of %d, want %v of 5", counts, histogram.GetSampleCount(), want)
	}
}

func TestRegisterIsAllOrNothing(t *testing.T) {
	t.Parallel()
	_, registry := registered(t)
	second := New("app_operator")
	second.Jobs("db_sync", "app").Record("one", "a", true, 0)
	err := second.Register(registry)
	if err == nil || !strings.Contains(err.Error(), "app_operator_*") {
		t.Fatalf("got %v, want an error that names the metrics", err)
	}
	if n, err := testutil.GatherAndCount(registry, "app_operator_db_sync_total"); n != 0 || err != nil {
		t.Errorf("%d series of the refused metrics are there (%v)", n, err)
	}
}

func registered(t *testing.T) (*Metrics, *prometheus.Registry) {
	t.Helper()
	m, registry := New("app_operator"), prometheus.NewPedanticRegistry()
	if err := m.Register(registry); err != nil {
		t.Fatal(err)
	}
	return m, registry
}

func expect(t *testing.T, registry *prometheus.Registry, name, want string) {
	t.Helper()
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), name); err != nil {
		t.Error(err)
	}
}

func family(t *testing.T, registry *prometheus.Registry, name string) *dto.MetricFamily {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == name })
	if i < 0 {
		t.Fatalf("there is no metric %s", name)
	}
	return families[i]
}

func bounds(h *dto.Histogram) []float64 {
	return lo.Map(h.GetBucket(), func(b *dto.Bucket, _ int) float64 { return b.GetUpperBound() })
}

func labels(f *dto.MetricFamily) []string {
	return lo.Map(f.GetMetric()[0].GetLabel(), func(l *dto.LabelPair, _ int) string { return l.GetName() })
}
