// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

func TestCodeLines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		source string
		want   int
	}{
		"comments and blanks do not count": {"// c\n\npackage a\n\n/* b\n c */\n", 1},
		"a raw string counts whole":        {"package a\n\nvar b = `1\n\n2`\n", 4},
		"a trailing comment is code":       {"package a // why\nvar b int\n", 2},
		"a closing brace counts":           {"package a\nfunc b() {\n}\n", 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := codeLines([]byte(c.source)); got != c.want {
				t.Errorf("got %d lines, want %d", got, c.want)
			}
		})
	}
}
