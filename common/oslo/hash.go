// SPDX-License-Identifier: Apache-2.0

package oslo

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
)

// hashLength is the number of hexadecimal digits in the name of a content-hashed object.
const hashLength = 8

// ContentHash names the content of a ConfigMap or Secret: the first eight hexadecimal digits of the SHA-256 over its sorted
// entries, each prefixed by its length so that no two contents share a text.
func ContentHash(data map[string][]byte) string {
	size := 0
	for key, value := range data {
		const prefixes = 16
		size += len(key) + len(value) + prefixes
	}
	text := make([]byte, 0, size)
	for _, key := range sortedKeys(data) {
		text = appendSized(text, key)
		text = appendSized(text, string(data[key]))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:hashLength/2])
}

// SameContent reports whether two contents are equal, which an equal ContentHash alone does not prove.
func SameContent(a, b map[string][]byte) bool {
	return maps.EqualFunc(a, b, bytes.Equal)
}

func appendSized(out []byte, text string) []byte {
	out = strconv.AppendInt(out, int64(len(text)), 10)
	return append(append(out, ':'), text...)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
