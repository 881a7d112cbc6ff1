// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestMapperRemembers(t *testing.T) {
	t.Parallel()
	route := schema.GroupKind{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute"}
	absent := &meta.NoKindMatchError{GroupKind: route, SearchedVersions: []string{"v1"}}
	hiccup := errors.New("no answer")
	answers := []error{hiccup, absent, nil} // what the cluster says, one after the other
	tests := []struct {
		name  string
		after time.Duration
		want  error
		asked int
	}{
		{"a failure is no answer", 0, hiccup, 1},
		{"so it is asked again", 0, absent, 2},
		{"an absence holds", absenceHolds - time.Second, absent, 2},
		{"for a while", 2 * time.Second, nil, 3},
		{"a presence holds", 24 * time.Hour, nil, 3},
	}
	cluster := &fakeMapper{answers: answers}
	clock := clocktesting.NewFakePassiveClock(time.Now())
	m := &mapper{RESTMapper: cluster, clock: clock, known: map[schema.GroupVersionKind]mapping{}}
	for _, tt := range tests {
		clock.SetTime(clock.Now().Add(tt.after))
		_, err := m.RESTMapping(route, "v1")
		if !errors.Is(err, tt.want) || cluster.asked != tt.asked {
			t.Errorf("%s: got %v after asking %d times, want %v after %d", tt.name, err, cluster.asked, tt.want, tt.asked)
		}
	}
}

type fakeMapper struct {
	meta.RESTMapper
	answers []error
	asked   int
}

func (m *fakeMapper) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	m.asked++
	if err := m.answers[m.asked-1]; err != nil {
		return nil, err
	}
	return &meta.RESTMapping{}, nil
}
