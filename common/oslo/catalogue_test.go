// SPDX-License-Identifier: Apache-2.0

package oslo

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const release20261 = `{"service": "s", "release": "2026.1", "sections": {
  "DEFAULT": {"opts": ["debug", "new"], "deprecated": {"old": "new"}},
  "database": {"opts": ["going", "max_retries"], "deprecated": {"going": ""}}}}`

func TestCatalogueLookup(t *testing.T) {
	t.Parallel()
	catalogues, err := LoadCatalogues(fstest.MapFS{"2026.1.json": {Data: []byte(release20261)}, "README": {}})
	if err != nil {
		t.Fatal(err)
	}
	for release, known := range map[string]bool{"2026.1": true, "2026.1-p2": true, "2026.2": false, "latest": false, "": false} {
		if got := catalogues.For(release); (got != nil) != known {
			t.Errorf("For(%q) = %v", release, got)
		}
	}
}

func TestCatalogueCheck(t *testing.T) {
	t.Parallel()
	catalogues, err := LoadCatalogues(fstest.MapFS{"2026.1.json": {Data: []byte(release20261)}})
	if err != nil {
		t.Fatal(err)
	}
	exempt := Exempt{
		Section: func(section string) bool { return strings.HasPrefix(section, "secretstore:") },
		Owned:   NewOwnedKeys(OwnedKey{Option: Option{"database", "connection"}}, OwnedKey{Option: Option{"queue", "enable"}}),
	}
	got := catalogues.For("2026.1").Check(map[string]map[string]string{
		"DEFAULT":          {"debug": "1", "old": "1", "de-bug": "1"},
		"Database":         {"max_retries": "1", "connection": "x", "going": "1", "zzz": "1"},
		"nonsense":         {"a": "1"},
		"empty":            {},
		"queue":            {"enable": "true"},
		"secretstore:main": {"anything": "1"},
	}, exempt)
	want := Findings{
		UnknownSections: []string{"empty", "nonsense"},
		UnknownOptions:  []Option{{"DEFAULT", "de-bug"}, {"Database", "zzz"}},
		Deprecated:      []Deprecation{{Option{"DEFAULT", "old"}, "new"}, {Option{"Database", "going"}, ""}},
	}
	if diff := cmp.Diff(want.UnknownOptions, got.UnknownOptions); diff != "" {
		t.Errorf("options: -want +got:\n%s", diff)
	}
	got.UnknownOptions, want.UnknownOptions = nil, nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLoadCataloguesRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{": "parsing",
		`{"release": "2025.1", "sections": {"a": {}}}`: "2025.1",
		`{"release": "2026.1"}`:                        "0 sections",
	} {
		if _, err := LoadCatalogues(fstest.MapFS{"2026.1.json": {Data: []byte(text)}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("LoadCatalogues(%q) = %v, want an error with %q", text, err, want)
		}
	}
}
