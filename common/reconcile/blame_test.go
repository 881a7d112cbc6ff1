// SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/reconcile"
)

func TestBlame(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err    error
		status metav1.ConditionStatus
		stops  bool
	}{
		"nothing":        {nil, "", false},
		"passing":        {errors.New("timeout"), "", true},
		"a foreign name": {&apply.ForeignError{Child: "Service a/b", Owner: "Barbican a/b"}, metav1.ConditionFalse, true},
	} {
		o := reconcile.Blame("Reason", tt.err)
		if o.Status() != tt.status || o.Stops() != tt.stops || !errors.Is(o.Err(), tt.err) {
			t.Errorf("%s: status %q, stops %v, error %v", name, o.Status(), o.Stops(), o.Err())
		}
	}
}
