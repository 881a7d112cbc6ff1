// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// absenceHolds is how long a kind counts as not served once the cluster said so, which costs a request each time.
const absenceHolds = time.Minute

// mapper remembers the answers about kinds. Caches of one namespace ask for every object that is read, and the mapper
// of controller-runtime goes through all kinds of the cluster for each answer.
type mapper struct {
	meta.RESTMapper
	clock clock.PassiveClock

	mu    sync.RWMutex
	known map[schema.GroupVersionKind]mapping
}

type mapping struct {
	answer *meta.RESTMapping
	absent error
	until  time.Time // of absent
}

func newMapper(config *rest.Config, client *http.Client) (meta.RESTMapper, error) {
	slow, err := apiutil.NewDynamicRESTMapper(config, client)
	return &mapper{RESTMapper: slow, clock: clock.RealClock{}, known: map[schema.GroupVersionKind]mapping{}}, err
}

// RESTMapping implements meta.RESTMapper.
func (m *mapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if len(versions) != 1 {
		return m.RESTMapper.RESTMapping(kind, versions...)
	}
	gvk := kind.WithVersion(versions[0])
	m.mu.RLock()
	known, ok := m.known[gvk]
	m.mu.RUnlock()
	if ok && (known.absent == nil || m.clock.Now().Before(known.until)) {
		return known.answer, known.absent
	}
	answer, err := m.RESTMapper.RESTMapping(kind, versions...)
	if err == nil || meta.IsNoMatchError(err) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.known[gvk] = mapping{answer: answer, absent: err, until: m.clock.Now().Add(absenceHolds)}
	}
	return answer, err
}
