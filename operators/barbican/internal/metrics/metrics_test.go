// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/types"
)

var (
	barbican = types.NamespacedName{Namespace: "keys", Name: "barbican"}
	store    = types.NamespacedName{Namespace: "keys", Name: "vault"}
)

var stepMetrics = map[string][]string{
	"barbican_operator_reconcile_duration_seconds": {"sub_reconciler=Database"},
	"barbican_operator_reconcile_errors_total":     {"condition_type=DatabaseReady sub_reconciler=Database"},
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	m, registry := filled(t)
	want := map[string][]string{
		"barbican_operator_db_sync_total":             {"barbican=barbican namespace=keys result=succeeded"},
		"barbican_operator_db_sync_duration_seconds":  {"barbican=barbican namespace=keys"},
		"barbican_operator_db_clean_total":            {"barbican=barbican namespace=keys result=failed"},
		"barbican_operator_db_clean_duration_seconds": {"barbican=barbican namespace=keys"},
		"barbican_operator_secretstore_remints_total": {
			"namespace=keys store=vault trigger=proactive", "namespace=keys store=vault trigger=reactive",
		},
	}
	maps.Copy(want, stepMetrics)
	if diff := cmp.Diff(want, series(t, registry)); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}

	m.ForgetBarbican(barbican)
	want = map[string][]string{"barbican_operator_secretstore_remints_total": want["barbican_operator_secretstore_remints_total"]}
	maps.Copy(want, stepMetrics)
	if diff := cmp.Diff(want, series(t, registry)); diff != "" {
		t.Errorf("series without the Barbican (-want +got):\n%s", diff)
	}

	m.ForgetStore(store)
	if diff := cmp.Diff(stepMetrics, series(t, registry)); diff != "" {
		t.Errorf("series without the store (-want +got):\n%s", diff)
	}
}

func TestOneRegistryTakesOne(t *testing.T) {
	t.Parallel()
	_, registry := filled(t)
	if _, err := New(registry); err == nil {
		t.Error("the second set of metrics is registered as well")
	}
}

func filled(t *testing.T) (*Metrics, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	m, err := New(registry)
	if err != nil {
		t.Fatal(err)
	}
	m.Step("Database", "DatabaseReady")(time.Second, errors.New("no"))
	m.DBSync.Record(barbican.Namespace, barbican.Name, true, time.Second)
	m.DBClean.Record(barbican.Namespace, barbican.Name, false, time.Second)
	m.Reminted(store, Proactive)
	m.Reminted(store, Reactive)
	return m, registry
}

// series are the labels of all series by metric, as sorted pairs.
func series(t *testing.T, registry *prometheus.Registry) map[string][]string {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, f := range families {
		for _, metric := range f.GetMetric() {
			all[f.GetName()] = append(all[f.GetName()], pairs(metric))
		}
		slices.Sort(all[f.GetName()])
	}
	return all
}

func pairs(metric *dto.Metric) string {
	text := ""
	for _, label := range metric.GetLabel() { // in alphabetic order
		if text != "" {
			text += " "
		}
		text += label.GetName() + "=" + label.GetValue()
	}
	return text
}
