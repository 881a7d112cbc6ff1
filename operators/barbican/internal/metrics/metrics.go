// SPDX-License-Identifier: Apache-2.0

// Package metrics names the metrics of the Barbican operator.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/c5c3/cobaltcore/common/observe"
)

// Trigger is why the secret ID of a store was minted anew.
type Trigger string

// The two triggers of a re-mint.
const (
	Proactive Trigger = "proactive" // its life was coming to an end
	Reactive  Trigger = "reactive"  // the server no longer accepted it
)

// Metrics are all metrics of the operator; as an Observer of the engine they measure the steps of both controllers.
type Metrics struct {
	*observe.Metrics
	DBSync  *observe.Jobs // migrations of the schema, by Barbican
	DBClean *observe.Jobs // clean-ups of the database, by Barbican

	remints *observe.Counter
}

// New returns the metrics, registered in r.
func New(r prometheus.Registerer) (*Metrics, error) {
	all := observe.New("barbican_operator")
	m := &Metrics{
		Metrics: all,
		DBSync:  all.Jobs("db_sync", "barbican"),
		DBClean: all.Jobs("db_clean", "barbican"),
		remints: all.Counter("secretstore_remints_total",
			"Secret IDs of a managed store that were minted anew; the first one of a store does not count.", "store", "trigger"),
	}
	return m, all.Register(r)
}

// Reminted counts a secret ID that replaced another one.
func (m *Metrics) Reminted(store types.NamespacedName, why Trigger) {
	m.remints.Add(store.Namespace, store.Name, string(why))
}

// ForgetBarbican drops the series of a Barbican that is gone.
func (m *Metrics) ForgetBarbican(barbican types.NamespacedName) {
	m.DBSync.Forget(barbican.Namespace, barbican.Name)
	m.DBClean.Forget(barbican.Namespace, barbican.Name)
}

// ForgetStore drops the series of a store that is gone.
func (m *Metrics) ForgetStore(store types.NamespacedName) {
	m.remints.Forget(store.Namespace, store.Name)
}
