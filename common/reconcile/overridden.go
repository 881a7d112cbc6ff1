// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/cobaltcore/common/api"
)

// Overridden advises which of the operator's own options a user overrides, empty when none; they are honoured. An event tells
// when they are not the ones of before.
func (o Outcome) Overridden(before []metav1.Condition, options string) Outcome {
	advice := metav1.Condition{
		Type: api.ConditionExtraConfigHealthy, Status: metav1.ConditionTrue, Reason: api.ReasonNoOwnedKeysOverridden,
		Message: "No option that the operator sets is overridden",
	}
	if options == "" {
		return o.Advise(advice)
	}
	advice.Status, advice.Reason, advice.Message = metav1.ConditionFalse, api.ReasonOwnedKeysOverridden, bounded("Overridden: "+options)
	was := meta.FindStatusCondition(before, advice.Type)
	if was == nil || was.Status != advice.Status || was.Message != advice.Message {
		o = o.Announce(corev1.EventTypeWarning, api.EventExtraConfigOwnedKeyOverride, advice.Message)
	}
	return o.Advise(advice)
}
