// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestIsRefused(t *testing.T) {
	t.Parallel()
	secrets := schema.GroupResource{Resource: "secrets"}
	for _, tt := range []struct {
		name string
		err  error
		want bool
	}{
		{"none", nil, false},
		{"foreign", &ForeignError{}, true},
		{"invalid", apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "x", nil), true},
		{"quota or permission", apierrors.NewForbidden(secrets, "x", errors.New("exceeded quota")), true},
		{"too large", apierrors.NewRequestEntityTooLargeError("limit"), true},
		{"malformed", apierrors.NewBadRequest("x"), true},
		{"conflict", apierrors.NewConflict(secrets, "x", errors.New("changed")), false},
		{"busy", apierrors.NewTooManyRequests("later", 1), false},
		{"down", errors.New("connection refused"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := tt.err
			if err != nil {
				err = fmt.Errorf("applying Secret: %w", err)
			}
			if got := IsRefused(err); got != tt.want {
				t.Errorf("IsRefused(%v) = %v", err, got)
			}
		})
	}
}
