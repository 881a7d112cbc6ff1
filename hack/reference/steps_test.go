// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSteps(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, content := range map[string]string{
		"table.go": `package a

func (s *steps) table() []step {
	return []step{
		{Name: "One", Condition: api.ConditionOne, Run: s.one},
		reconcile.Parallel(
			step{Name: "Two", Condition: ConditionTwo, Run: s.two},
		),
	}
}
`,
		"one.go":      "package a\n\n// one does this,\n// and that | more.\nfunc (s *steps) one() {}\nfunc (s *steps) two() {}\n",
		"one_test.go": "package a\n\nvar _ = step{Name: \"No\", Condition: ConditionNo, Run: s.no}\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := steps(folder, map[string]string{"ConditionOne": "OneReady", "ConditionTwo": "TwoReady"})
	want := "| Row | Condition | What it does |\n|---|---|---|\n| One | `OneReady` | Does this, and that \\| more. |\n| Two (parallel) | `TwoReady` |  |\n\n"
	if err != nil || got != want {
		t.Errorf("got:\n%s%v\nwant:\n%s", got, err, want)
	}
	if _, err := steps(folder, map[string]string{"ConditionOne": "OneReady"}); err == nil {
		t.Error("want an error for an undeclared condition")
	}

	second := "package a\n\n// other is the table of others.\nfunc (s *steps) other() []step {\n\treturn []step{{Name: \"Three\", Condition: ConditionOne, Run: s.one}}\n}\n"
	if err := os.WriteFile(filepath.Join(folder, "zother.go"), []byte(second), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err = steps(folder, map[string]string{"ConditionOne": "OneReady", "ConditionTwo": "TwoReady"})
	wantEnd := "The table of others.\n\n| Row | Condition | What it does |\n|---|---|---|\n| Three | `OneReady` | Does this, and that \\| more. |\n\n"
	if err != nil || !strings.HasSuffix(got, wantEnd) {
		t.Errorf("got:\n%s%v\nwant at its end:\n%s", got, err, wantEnd)
	}
	if _, err := steps(t.TempDir(), nil); err == nil {
		t.Error("want an error for a folder without a table")
	}
}
