// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	corev1 "k8s.io/api/core/v1"
)

// Fingerprint changes with a value that was made of a Secret, and may stand where everybody can read it. A plain hash of a
// password would let them try passwords; this one is keyed with the Secret's UID, which only readers of the Secret know. A
// Secret that is made anew has another fingerprint.
func Fingerprint(secret *corev1.Secret, value []byte) string {
	mac := hmac.New(sha256.New, []byte(secret.UID))
	mac.Write(value) // a hash takes everything
	return hex.EncodeToString(mac.Sum(nil))
}
