// SPDX-License-Identifier: Apache-2.0

package openbao

import (
	"crypto/sha256"
	"encoding/hex"
)

// Hash is the SHA-256, in hex, that tells one pair from another in a status or an annotation.
func (c Credentials) Hash() string {
	sum := sha256.Sum256([]byte(c.RoleID + "\x00" + c.SecretID))
	return hex.EncodeToString(sum[:])
}
