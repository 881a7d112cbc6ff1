// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/c5c3/cobaltcore/common/oslo"
)

// Text refuses control characters, with which a value could smuggle a line into a configuration file, and text that is not UTF-8.
func Text(path *field.Path, value string) field.ErrorList {
	if detail := oslo.ValueProblem(value); detail != "" {
		return field.ErrorList{field.Invalid(path, value, detail)}
	}
	return nil
}

// URL refuses what is not an absolute http or https URL with a host.
func URL(path *field.Path, value string) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "must be a URL such as https://host:5000")}
	}
	parsed, err := url.Parse(value)
	if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Hostname() == "" {
		return field.ErrorList{field.Invalid(path, value, "must be an http or https URL with a host")}
	}
	return Text(path, value)
}

// OptionalURL is URL for a value that may be empty.
func OptionalURL(path *field.Path, value string) field.ErrorList {
	if value == "" {
		return nil
	}
	return URL(path, value)
}

// MaxLength refuses a name that is too long for the names derived from it.
func MaxLength(path *field.Path, value string, limit int) field.ErrorList {
	if len(value) > limit {
		return field.ErrorList{field.TooLong(path, value, limit)}
	}
	return nil
}

// AtLeast refuses a number below a limit.
func AtLeast[N int32 | int64](path *field.Path, value, least N) field.ErrorList {
	if value < least {
		return field.ErrorList{field.Invalid(path, value, fmt.Sprintf("must be at least %d", least))}
	}
	return nil
}

func required(path *field.Path, value, detail string) field.ErrorList {
	if strings.TrimSpace(value) == "" {
		return field.ErrorList{field.Required(path, detail)}
	}
	return nil
}

// ExactlyOne refuses both and neither of two members that exclude each other.
func ExactlyOne(path *field.Path, a, b bool, detail string) field.ErrorList {
	switch {
	case a && b:
		return field.ErrorList{field.Forbidden(path, detail)}
	case !a && !b:
		return field.ErrorList{field.Required(path, detail)}
	}
	return nil
}

// key is the path of a map entry. A name with control characters is quoted, or it would garble the refusal of it.
func key(path *field.Path, name string) *field.Path {
	if oslo.ValueProblem(name) != "" {
		name = strconv.Quote(name)
	}
	return path.Key(name)
}
