// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/c5c3/cobaltcore/hack/internal/vocabulary"
)

func TestSections(t *testing.T) {
	t.Parallel()
	got := sections([]vocabulary.Group{
		{
			Doc:        "FooReady tells whether foo is ready.",
			Conditions: []vocabulary.Term{{Value: "FooReady"}},
			Reasons:    []vocabulary.Term{{Identifier: "ReasonA", Value: "A", Doc: "ReasonA: one | two."}},
		},
		{Doc: "The API condition (named by the service) tells more.", Reasons: []vocabulary.Term{{Identifier: "ReasonB", Value: "B", Doc: "ReasonB: it is."}}},
		{Doc: "ConditionBarReady stands alone.", Conditions: []vocabulary.Term{{Value: "BarReady"}}},
	})
	want := "### FooReady\n\nFooReady tells whether foo is ready.\n\n| Reason | Meaning |\n|---|---|\n| `A` | One \\| two. |\n\n" +
		"### The API condition\n\nThe API condition (named by the service) tells more.\n\n| Reason | Meaning |\n|---|---|\n| `B` | It is. |\n\n" +
		"### BarReady\n\nBarReady stands alone.\n\n"
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	page := "# P\n<!-- begin a/b -->\nold\n<!-- end a/b -->\nrest\n"
	got, err := fill(page, "a/b", "new\n")
	if want := "# P\n<!-- begin a/b -->\n\nnew\n<!-- end a/b -->\nrest\n"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	again, err := fill(got, "a/b", "new\n")
	if err != nil || again != got {
		t.Errorf("filling twice changed %q to %q, %v", got, again, err)
	}
	for _, broken := range []string{"no marker", "<!-- begin a/b -->\nnever ends"} {
		if _, err := fill(broken, "a/b", "new\n"); err == nil {
			t.Errorf("%q: want an error", broken)
		}
	}
}
