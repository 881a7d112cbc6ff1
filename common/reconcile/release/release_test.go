// SPDX-License-Identifier: Apache-2.0

package release

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Release{
		"2026.1":          {Year: 2026, Minor: 1},
		"2010.2":          {Year: 2010, Minor: 2},
		"2026.1-p1":       {Year: 2026, Minor: 1, Suffix: "p1"},
		"2026.1-p1-debug": {Year: 2026, Minor: 1, Suffix: "p1-debug"},
		"2026.1-":         {Year: 2026, Minor: 1},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			got, err := Parse(text)
			if err != nil || got != want {
				t.Errorf("Parse() = %+v, %v, want %+v", got, err, want)
			}
		})
	}
	for _, text := range []string{
		"", "2026", "2026.", "2026.0", "2026.3", "2026.10", "2009.2", "26.1", "02026.1", "+202.1", "2026.1p1", "2026.1.1", "latest", "-2026.1", "2026,1", " 2026.1",
	} {
		t.Run("refuses "+text, func(t *testing.T) {
			t.Parallel()
			if got, err := Parse(text); err == nil || got != (Release{}) {
				t.Errorf("Parse() = %+v, %v, want an error", got, err)
			}
		})
	}
}

func TestNextIsTheSmallestLaterRelease(t *testing.T) {
	t.Parallel()
	r := Release{Year: 2024, Minor: 2}
	for _, want := range []string{"2025.1", "2025.2", "2026.1", "2026.2"} {
		next := r.Next()
		if next.String() != want || next.Compare(r) != 1 || r.Compare(next) != -1 {
			t.Fatalf("%s.Next() = %s, want %s", r, next, want)
		}
		r = next
	}
	if (Release{Year: 2026, Minor: 1, Suffix: "p2"}).Compare(Release{Year: 2026, Minor: 1}) != 0 {
		t.Error("the suffix counts in a comparison")
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"2026.1", "2025.2-p3", "", "2026.1-", "9999.2", "x.1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse(text)
		if err != nil {
			return
		}
		if !strings.HasPrefix(text, r.String()) || r.Next().Compare(r) != 1 {
			t.Errorf("Parse(%q) = %+v", text, r)
		}
	})
}
