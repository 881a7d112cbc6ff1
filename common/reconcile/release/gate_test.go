// SPDX-License-Identifier: Apache-2.0

package release

import (
	"strings"
	"testing"

	"github.com/c5c3/cobaltcore/common/api"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	const old, next = "registry/service:2025.2", "registry/service:2026.1"
	for _, tt := range []struct {
		name   string
		change Change
		step   Step
		reason string
		says   string
	}{
		{"first installation", Change{Requested: "2026.1", Image: next, Tag: "2026.1"}, Install, "", ""},
		{"first installation by digest", Change{Requested: "2026.1", Image: "registry/service@sha256:0"}, Install, "", ""},
		{"first installation of something unknown", Change{Requested: "1999.1"}, Refused, api.ReasonVersionParseError, "requested"},
		{"nothing to do", Change{Installed: "2026.1", InstalledImage: next, Requested: "2026.1", Image: next, Tag: "2026.1"}, Same, "", ""},
		{"patched image", Change{Installed: "2026.1", InstalledImage: next, Requested: "2026.1", Image: next + "-p1", Tag: "2026.1-p1"}, Same, "", ""},
		{"one step", Change{Installed: "2025.2", InstalledImage: old, Requested: "2026.1", Image: next, Tag: "2026.1"}, Upgrade, "", ""},
		{"one step within a year", Change{Installed: "2025.1", Requested: "2025.2", Image: old, Tag: "2025.2"}, Upgrade, "", ""},
		{"one step with an unknown installed image", Change{Installed: "2025.2", Requested: "2026.1", Image: next, Tag: "2026.1"}, Upgrade, "", ""},
		{"two steps", Change{Installed: "2025.1", Requested: "2026.1", Image: next}, Refused, api.ReasonUpgradePathInvalid, "2025.2 first"},
		{"from one long-lived release to the next", Change{Installed: "2025.1", Requested: "2026.1", Image: next, Tag: "2026.1"}, Refused, api.ReasonUpgradePathInvalid, "2025.2 first"},
		{"back", Change{Installed: "2026.1", Requested: "2025.2", Image: old, Tag: "2025.2"}, Refused, api.ReasonDowngradeNotSupported, "2026.2"},
		{"unreadable record", Change{Installed: "zed", Requested: "2026.1", Image: next}, Refused, api.ReasonVersionParseError, "installed"},
		{"unreadable request", Change{Installed: "2026.1", Requested: "zed"}, Refused, api.ReasonVersionParseError, "requested"},
		{"tag of another release", Change{Installed: "2025.2", Requested: "2026.1", Image: old, Tag: "2025.2"}, Refused, api.ReasonImageReleaseMismatch, "set both"},
		{"tag of another release at first installation", Change{Requested: "2026.1", Image: old, Tag: "2025.2"}, Refused, api.ReasonImageReleaseMismatch, "set both"},
		{"tag that is no release", Change{Installed: "2025.2", Requested: "2026.1", Image: "registry/service:latest", Tag: "latest"}, Upgrade, "", ""},
		{"image left behind", Change{Installed: "2025.2", InstalledImage: "r@sha256:0", Requested: "2026.1", Image: "r@sha256:0"}, Refused, api.ReasonImageReleaseMismatch, "change the image"},
		{"upgrade goes on", Change{Installed: "2025.2", Requested: "2026.1", Image: next, Started: "2026.1"}, Upgrade, "", ""},
		{"walked back", Change{Installed: "2025.2", Requested: "2025.2", Image: old, Started: "2026.1", RollbackHint: ", or annotate"}, Refused, api.ReasonUpgradePathInvalid, "request release 2026.1 again, or annotate"},
		{"walked back on a first installation", Change{Requested: "2025.2", Image: old, Started: "2026.1"}, Refused, api.ReasonUpgradePathInvalid, "2026.1"},
		{"walked back by consent", Change{Installed: "2025.2", Requested: "2025.2", Image: old, Started: "2026.1", Rollback: "2025.2"}, Rollback, "", ""},
		{"walked back by consent on a first installation", Change{Requested: "2025.2", Image: old, Started: "2026.1", Rollback: "2025.2"}, Install, "", ""},
		{"consent to another release", Change{Installed: "2025.2", Requested: "2025.2", Image: old, Started: "2026.1", Rollback: "2025.1"}, Refused, api.ReasonUpgradePathInvalid, ""},
		{"consent does not open the way below the installed release", Change{Installed: "2025.2", Requested: "2025.1", Started: "2026.1", Rollback: "2025.1"}, Refused, api.ReasonDowngradeNotSupported, ""},
		{"finished migration", Change{Installed: "2026.1", Requested: "2026.1", Image: next, Started: "2026.1"}, Same, "", ""},
		{"stale record of a migration", Change{Installed: "2026.1", Requested: "2026.1", Image: next, Started: "2025.2"}, Same, "", ""},
		{"unreadable record of a migration", Change{Installed: "2026.1", Requested: "2026.1", Image: next, Started: "?"}, Same, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Check(tt.change)
			if got.Step != tt.step || got.Reason != tt.reason || !strings.Contains(got.Message, tt.says) {
				t.Errorf("Check() = %+v, want step %d, reason %q, message with %q", got, tt.step, tt.reason, tt.says)
			}
		})
	}
}

func TestOnlyAHalfMadeEditIsPassing(t *testing.T) {
	t.Parallel()
	if v := Check(Change{Installed: "2025.2", Requested: "2026.1", Image: "r:2025.2", Tag: "2025.2"}); !v.Passing {
		t.Errorf("a tag behind the release is an edit in the making: %+v", v)
	}
	if v := Check(Change{Installed: "2025.2", InstalledImage: "r@x", Requested: "2026.1", Image: "r@x"}); v.Passing {
		t.Errorf("an unchanged image needs a decision: %+v", v)
	}
}
