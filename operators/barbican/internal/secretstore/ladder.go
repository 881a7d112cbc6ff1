// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"time"

	"github.com/c5c3/cobaltcore/operators/barbican/internal/metrics"
)

// Intervals of the store controller.
const (
	retry      = 30 * time.Second // after every waiting or failing state
	revalidate = 15 * time.Minute // while all is well
	cooldown   = 10 * time.Minute // between a mint and a reactive re-mint
)

// initial is the trigger of a store's first mint, which is no re-mint.
const initial metrics.Trigger = ""

// due says whether, and why, to mint before the credential is even tried.
func (c credential) due(now time.Time) (metrics.Trigger, bool) {
	switch {
	case !c.usable(now):
		return initial, true
	case c.ttl > 0 && now.After(c.threshold()):
		return metrics.Proactive, true
	}
	return initial, false
}

// replaceable says whether a credential that the server just refused as
// wrong may be replaced. A fresh one may not: a server that refuses it would
// refuse its successors as well.
func (c credential) replaceable(now time.Time) bool { return now.Sub(c.mintedAt) >= cooldown }

// nextAttempt is when a credential that the server refused is tried again: at
// growing intervals, and at the latest when it may be replaced.
func (c credential) nextAttempt(now time.Time) time.Duration {
	age := now.Sub(c.mintedAt)
	return max(retry, min(max(time.Minute, 2*age), cooldown-age))
}

// nextVisit is when a valid credential is looked at again.
func (c credential) nextVisit(now time.Time) time.Duration {
	if c.ttl == 0 {
		return revalidate
	}
	return min(revalidate, max(retry, c.threshold().Sub(now)))
}

func (c credential) threshold() time.Time { return c.mintedAt.Add(c.ttl / 3 * 2) }

// outlived says whether the life of the credential that this one replaced before it expired has ended.
func (c credential) outlived(now time.Time) bool {
	return c.ttl > 0 && now.Sub(c.mintedAt) >= c.ttl-c.ttl/3*2
}

// usable says whether both keys and both stamps are there and can be true: a
// stamp from the future would keep the credential from ever being renewed.
func (c credential) usable(now time.Time) bool {
	return c.RoleID != "" && c.SecretID != "" && !c.mintedAt.IsZero() && c.ttl >= 0 && c.mintedAt.Before(now.Add(cooldown))
}
