// SPDX-License-Identifier: Apache-2.0

package oslo

import "testing"

func TestContentHash(t *testing.T) {
	t.Parallel()
	content := map[string][]byte{"b": []byte("2"), "a": []byte("1")}
	// printf '1:a1:11:b1:2' | sha256sum
	const want = "4016e031"
	if got := ContentHash(content); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestContentHashTellsContentsApart(t *testing.T) {
	t.Parallel()
	contents := []map[string][]byte{
		nil,
		{"": nil},
		{"a": []byte("bc")},
		{"ab": []byte("c")},
		{"a": []byte("b"), "c": nil},
		{"a": []byte("b1:c0:")},
	}
	seen := map[string]int{}
	for i, content := range contents {
		hash := ContentHash(content)
		if other, ok := seen[hash]; ok {
			t.Errorf("contents %d and %d share %s", other, i, hash)
		}
		seen[hash] = i
		for j, other := range contents {
			if SameContent(content, other) != (i == j) {
				t.Errorf("SameContent(%d, %d) = %v", i, j, i != j)
			}
		}
	}
}
