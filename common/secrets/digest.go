// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	corev1 "k8s.io/api/core/v1"
)

// Digest is the lowercase hexadecimal SHA-256 of a value. Several values are told apart by their lengths, so that no two
// lists share a digest. Where others can read the digest of a password they can try passwords: that wants apply.Fingerprint.
func Digest(values ...[]byte) string {
	if len(values) == 1 {
		sum := sha256.Sum256(values[0])
		return hex.EncodeToString(sum[:])
	}
	var text []byte
	for _, v := range values {
		text = binary.AppendUvarint(text, uint64(len(v)))
		text = append(text, v...)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// MissingKey is the first of keys that secret has no value for, empty when it has them all. An empty value is none.
func MissingKey(secret *corev1.Secret, keys ...string) string {
	for _, key := range keys {
		if len(secret.Data[key]) == 0 {
			return key
		}
	}
	return ""
}
