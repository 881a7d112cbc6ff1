// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"testing"
)

func TestOverridden(t *testing.T) {
	t.Parallel()
	options := ""
	step := step{Name: "Config", Condition: "X", Run: func(_ context.Context, p *pass) Outcome {
		return Ready("Found", "").Overridden(p.Object.Status.Conditions, options)
	}}
	w := newWorld(t, newThing(), step)
	expect := func(condition string, events ...string) {
		t.Helper()
		w.pass(t)
		w.pass(t) // a second one tells nothing new
		w.expect(t, "ExtraConfigHealthy", condition)
		w.expect(t, "Ready", "True/AllReady")
		w.raised(t, events...)
	}
	expect("True/NoOwnedKeysOverridden")
	options = "[a] b"
	expect("False/OwnedKeysOverridden", "Warning ExtraConfigOwnedKeyOverride: Overridden: [a] b")
	options = "[a] c"
	expect("False/OwnedKeysOverridden", "Warning ExtraConfigOwnedKeyOverride: Overridden: [a] c")
	options = ""
	expect("True/NoOwnedKeysOverridden")
}
