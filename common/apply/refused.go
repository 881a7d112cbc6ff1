// SPDX-License-Identifier: Apache-2.0

package apply

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// IsRefused says whether trying again will not help: the child belongs to somebody else, or the API server takes it for
// invalid, too large or not allowed. Somebody must act, so it belongs into a condition; other errors pass by themselves.
func IsRefused(err error) bool {
	if err == nil { // the questions allocate
		return false
	}
	return IsForeign(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) ||
		apierrors.IsRequestEntityTooLargeError(err)
}
