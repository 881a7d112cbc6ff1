// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"crypto/sha256"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestFingerprint(t *testing.T) {
	t.Parallel()
	of := func(uid types.UID, value string) string {
		return Fingerprint(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "user", UID: uid}}, []byte(value))
	}
	if again := of("a", "hunter2"); of("a", "hunter2") != again {
		t.Error("the same value of the same Secret has two fingerprints: pods would roll for nothing")
	}
	if of("a", "hunter2") == of("a", "hunter3") {
		t.Error("a rotated value keeps its fingerprint: pods would not roll")
	}
	if of("a", "hunter2") == of("b", "hunter2") {
		t.Error("who does not know the UID can try passwords against the fingerprint")
	}
	if of("a", "hunter2") == fmt.Sprintf("%x", sha256.Sum256([]byte("hunter2"))) {
		t.Error("the fingerprint is the plain hash, for which there are tables")
	}
}
