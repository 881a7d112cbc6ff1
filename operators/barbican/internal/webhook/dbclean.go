// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"

	"github.com/c5c3/cobaltcore/common/admission"
)

func retentionReduced(before, after int32) admission.Findings {
	if after >= before {
		return admission.Findings{}
	}
	return admission.Findings{Warnings: []string{fmt.Sprintf(
		"spec.dbClean.retentionDays goes from %d to %d: the next clean-up removes rows that were to be kept longer, for good", before, after)}}
}

// firstCleanUp warns that a database which was filled elsewhere may hold rows nobody expected to lose.
func firstCleanUp(_ context.Context, change admission.Change[barbican]) admission.Findings {
	database, clean := change.New.Spec.Database, change.New.Spec.DBClean.WithDefaults()
	if !change.Created || database.Managed() || clean.Suspend {
		return admission.Findings{}
	}
	return admission.Findings{Warnings: []string{fmt.Sprintf(
		"the first clean-up (schedule %q) removes rows of %s that were soft-deleted more than %d days ago, for good; set spec.dbClean.suspend to look at them first",
		clean.Schedule, database.Host, *clean.RetentionDays)}}
}
