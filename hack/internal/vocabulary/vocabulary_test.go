// SPDX-License-Identifier: Apache-2.0

package vocabulary

import (
	"reflect"
	"testing"
)

const source = `package api

// FooReady tells whether foo is ready,
// on two lines.
const (
	ConditionFooReady = "FooReady"

	// ReasonFooThere: it is.
	ReasonFooThere = "FooThere"
)

// ConditionBarReady stands alone.
const ConditionBarReady = "BarReady"

const (
	// EventGone: it left.
	EventGone = "Gone"
)

// Finalizer is no part of the vocabulary.
const Finalizer = "example.org/finalizer"
`

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := Parse("conditions.go", source)
	if err != nil {
		t.Fatal(err)
	}
	want := []Group{
		{
			Doc:        "FooReady tells whether foo is ready, on two lines.",
			Conditions: []Term{{Identifier: "ConditionFooReady", Value: "FooReady"}},
			Reasons:    []Term{{Identifier: "ReasonFooThere", Value: "FooThere", Doc: "ReasonFooThere: it is."}},
		},
		{
			Doc:        "ConditionBarReady stands alone.",
			Conditions: []Term{{Identifier: "ConditionBarReady", Value: "BarReady"}},
		},
		{Events: []Term{{Identifier: "EventGone", Value: "Gone", Doc: "EventGone: it left."}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestParseRefusesAnUndocumentedReason(t *testing.T) {
	t.Parallel()
	if _, err := Parse("conditions.go", "package api\nconst ReasonX = \"X\"\n"); err == nil {
		t.Error("want an error")
	}
}
