// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/c5c3/cobaltcore/common/admission"
)

var dbCleanAt = spec.Child("dbClean")

func dbCleanRules() []admission.Rule[barbican] {
	return []admission.Rule[barbican]{
		admission.On(dbCleanAt.Child("retentionDays"), retentionDays, atLeastOne),
		admission.On(dbCleanAt.Child("schedule"), schedule, admission.Schedule),
		admission.On(dbCleanAt.Child("timeZone"), timeZone, admission.TimeZone),
		admission.OnUpdate(retentionDays, retentionReduced),
		firstCleanUp,
	}
}

func retentionDays(b barbican) int32 { return *b.Spec.DBClean.WithDefaults().RetentionDays }
func schedule(b barbican) string     { return b.Spec.DBClean.WithDefaults().Schedule }
func timeZone(b barbican) *string    { return b.Spec.DBClean.WithDefaults().TimeZone }

func atLeastOne(at *field.Path, value int32) field.ErrorList { return admission.AtLeast(at, value, 1) }

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
