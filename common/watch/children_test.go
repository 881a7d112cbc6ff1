// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestInstance(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		labels map[string]string
		want   []reconcile.Request
	}{
		"ours":        {map[string]string{"app.kubernetes.io/name": "app", "app.kubernetes.io/instance": "one"}, []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: "keys", Name: "one"}}}},
		"another app": {map[string]string{"app.kubernetes.io/name": "other", "app.kubernetes.io/instance": "one"}, nil},
		"no instance": {map[string]string{"app.kubernetes.io/name": "app"}, nil},
		"no labels":   {nil, nil},
	} {
		child := secret("child")
		child.Labels = tt.labels
		if diff := cmp.Diff(tt.want, Instance("app")(t.Context(), child)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
