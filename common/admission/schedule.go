// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"strings"
	"time"
	_ "time/tzdata" // the image of an operator need not carry time zones

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Schedule wants a schedule that the CronJob API takes: five fields or a descriptor, no time zone in front, no @every. Empty
// stands for a default.
func Schedule(path *field.Path, schedule string) field.ErrorList {
	switch {
	case schedule == "":
		return nil
	case strings.Contains(schedule, "TZ"):
		return field.ErrorList{field.Invalid(path, schedule, "must not name a time zone: use timeZone")}
	case strings.HasPrefix(strings.TrimSpace(schedule), "@every"):
		return field.ErrorList{field.Invalid(path, schedule, "must not use @every: write five fields or a descriptor such as @daily")}
	}
	if _, err := cron.ParseStandard(schedule); err != nil {
		return field.ErrorList{field.Invalid(path, schedule, "must be a cron schedule of five fields or a descriptor such as @daily: "+err.Error())}
	}
	return nil
}

// TimeZone wants an IANA name. Nil stands for a default.
func TimeZone(path *field.Path, zone *string) field.ErrorList {
	if zone == nil {
		return nil
	}
	_, err := time.LoadLocation(*zone)
	if err != nil || *zone == "" || strings.EqualFold(*zone, "Local") {
		return field.ErrorList{field.Invalid(path, *zone, "must be the IANA name of a time zone, such as Europe/Berlin")}
	}
	return nil
}
