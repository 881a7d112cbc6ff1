// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"

	"github.com/c5c3/cobaltcore/common/api"
)

// Change is a service that is asked to be at a release. Images are full references.
type Change struct {
	Installed      string // release of the schema; empty before the first installation
	InstalledImage string // the image that belongs to Installed; empty when unknown
	Requested      string
	Image          string
	Tag            string // the tag in Image; empty when it is pinned by digest

	// Started is the newest release that a migration was started for; empty when there was none.
	Started string
	// Rollback names the release that may be gone back to although a later migration has started.
	Rollback string
	// RollbackHint tells how to allow that, for the message.
	RollbackHint string
}

// Step is what a Verdict allows.
type Step int

// The steps of a schema.
const (
	Refused  Step = iota
	Install       // the first installation
	Same          // the requested release is installed, a suffix aside
	Upgrade       // to the next release
	Rollback      // from a started migration back to the installed release, by explicit consent
)

// Verdict says what may be done, or why nothing may.
type Verdict struct {
	Step            Step
	Reason, Message string // why it is refused
	// Passing marks a refusal that another edit of the same change will lift: something to wait for, not an error.
	Passing bool
}

// Check judges a change. The first check that has an opinion decides.
func Check(c Change) Verdict {
	for _, check := range []func(Change) Verdict{checkTag, checkRequested, checkInstalled, checkStarted, checkInstall, checkPath, checkImage} {
		if v := check(c); v.decided() {
			return v
		}
	}
	return Verdict{Step: Upgrade}
}

func (v Verdict) decided() bool { return v.Step != Refused || v.Reason != "" }

// checkTag keeps one release's programs from migrating to another's schema. A tag that is no release says nothing.
func checkTag(c Change) Verdict {
	requested, err := Parse(c.Requested)
	if err != nil {
		return Verdict{}
	}
	tagged, err := Parse(c.Tag)
	if err != nil || tagged.Compare(requested) == 0 {
		return Verdict{}
	}
	return Verdict{Reason: api.ReasonImageReleaseMismatch, Passing: true, Message: fmt.Sprintf(
		"Image %s belongs to release %s, but release %s is requested: set both to the same release", c.Image, tagged, requested)}
}

func checkRequested(c Change) Verdict { return readable("requested", c.Requested) }

func checkInstalled(c Change) Verdict {
	if c.Installed == "" {
		return Verdict{}
	}
	return readable("installed", c.Installed)
}

func readable(which, text string) Verdict {
	if _, err := Parse(text); err != nil {
		return Verdict{Reason: api.ReasonVersionParseError, Message: fmt.Sprintf("Cannot read the %s release: %v", which, err)}
	}
	return Verdict{}
}

// checkStarted refuses to run programs on the schema of a later release, which they do not know.
func checkStarted(c Change) Verdict {
	started, err := Parse(c.Started)
	if err != nil {
		return Verdict{}
	}
	installed, requested := c.releases()
	if requested.Compare(started) >= 0 || started.Compare(installed) <= 0 || requested.Compare(installed) < 0 {
		return Verdict{}
	}
	if consent, err := Parse(c.Rollback); err == nil && consent.Compare(requested) == 0 {
		return rollback(installed, requested)
	}
	return Verdict{Reason: api.ReasonUpgradePathInvalid, Message: fmt.Sprintf(
		"A migration to release %s has started, so the schema may no longer fit release %s: request release %s again%s",
		started, requested, started, c.RollbackHint)}
}

func rollback(installed, requested Release) Verdict {
	if requested.Compare(installed) != 0 {
		return Verdict{} // what was never installed still has to pass the other checks
	}
	return Verdict{Step: Rollback}
}

func checkInstall(c Change) Verdict {
	if c.Installed == "" {
		return Verdict{Step: Install}
	}
	return Verdict{}
}

func checkPath(c Change) Verdict {
	installed, requested := c.releases()
	switch {
	case requested.Compare(installed) == 0:
		return Verdict{Step: Same}
	case requested.Compare(installed) < 0:
		return Verdict{Reason: api.ReasonDowngradeNotSupported, Message: fmt.Sprintf(
			"Release %s is older than the installed release %s, and a schema cannot go back: request release %s or %s",
			requested, installed, installed, installed.Next())}
	case requested.Compare(installed.Next()) != 0:
		return Verdict{Reason: api.ReasonUpgradePathInvalid, Message: fmt.Sprintf(
			"Release %s does not follow the installed release %s: upgrade to release %s first",
			requested, installed, installed.Next())}
	}
	return Verdict{}
}

// checkImage refuses an upgrade by the installed release's own programs; digests give no other sign of it.
func checkImage(c Change) Verdict {
	if c.InstalledImage != c.Image {
		return Verdict{}
	}
	return Verdict{Reason: api.ReasonImageReleaseMismatch, Message: fmt.Sprintf(
		"Release %s is requested with image %s, which belongs to release %s: change the image together with the release",
		c.Requested, c.Image, c.Installed)}
}

// releases are the two ends of the change, which were read before; installed is the zero Release when there is none.
func (c Change) releases() (installed, requested Release) {
	installed, _ = Parse(c.Installed)
	requested, _ = Parse(c.Requested)
	return installed, requested
}
