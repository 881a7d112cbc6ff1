// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(path, content string) {
		t.Helper()
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("common/api/conditions.go", `package api

const (
	// ReasonByName: used by its identifier.
	ReasonByName = "ByName"
	// ReasonByValue: used by its value.
	ReasonByValue = "ByValue"
	// ReasonInComment: only talked about.
	ReasonInComment = "InComment"
	// ReasonInCode: used by code that is no test.
	ReasonInCode = "InCode"
)
`)
	write("operators/thing/api/v1/conditions.go", `package v1

const (
	// EventByName: used by its identifier.
	EventByName = "EventGone"
	// EventUnused: in no test.
	EventUnused = "Unused"
)
`)
	write("operators/thing/thing.go", "package thing\n\nvar _ = api.ReasonInCode\n")
	write("operators/thing/thing_test.go", "package thing\n\n// ReasonInComment\nvar _ = []string{api.ReasonByName, \"ByValue\", v1.EventByName, `thing_syncs_total{a=\"b\"} 1`}\n")
	write("docs/reference/metrics.md", "| `thing_syncs_total` | x |\n| `thing_syncs` | y |\n")

	untested, promised, err := check(root)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`ReasonInComment ("InComment")`, `ReasonInCode ("InCode")`, `EventUnused ("Unused")`, "thing_syncs"}
	if !slices.Equal(untested, want) || promised != 8 {
		t.Errorf("got %q of %d, want %q of 8", untested, promised, want)
	}
}

func TestCheckNeedsAPageOfMetrics(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "metrics.md")
	if err := os.WriteFile(page, []byte("# Metrics\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := documentedMetrics(page); err == nil {
		t.Error("want an error for a page without a metric")
	}
}
