// SPDX-License-Identifier: Apache-2.0

package naming_test

import (
	"strings"
	"testing"

	"github.com/c5c3/cobaltcore/common/naming"
)

func TestBounded(t *testing.T) {
	t.Parallel()
	const suffix, limit = "-db-clean", 52
	long := strings.Repeat("a", 33) + "-" + strings.Repeat("b", 10)
	for name, want := range map[string]string{
		"keys":                  "keys-db-clean",
		strings.Repeat("k", 43): strings.Repeat("k", 43) + suffix,
	} {
		if got := naming.Bounded(name, suffix, limit); got != want {
			t.Errorf("Bounded(%q) = %q, want %q", name, got, want)
		}
	}
	got := naming.Bounded(long, suffix, limit)
	if len(got) > limit || !strings.HasPrefix(got, strings.Repeat("a", 33)+"-") || strings.Contains(got, "--") {
		t.Errorf("Bounded(%q) = %q", long, got)
	}
	if other := naming.Bounded(long+"c", suffix, limit); other == got {
		t.Errorf("two long names share %q", got)
	}
}

func TestSelectorIsPartOfEveryLabelSet(t *testing.T) {
	t.Parallel()
	i := naming.Instance{App: "barbican", Name: "keys"}
	for _, labels := range []map[string]string{i.Labels(), i.Component("db-clean"), i.ComponentSelector(naming.ComponentAPI)} {
		for k, v := range i.Selector() {
			if labels[k] != v {
				t.Errorf("%v lacks %s=%s", labels, k, v)
			}
		}
	}
	if got := i.Labels()[naming.LabelManagedBy]; got != "barbican-operator" {
		t.Errorf("managed-by = %q", got)
	}
}
