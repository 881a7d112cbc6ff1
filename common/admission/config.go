// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/oslo"
)

// ServiceUser wants identity fields without control characters.
func ServiceUser(path *field.Path, user api.ServiceUserSpec) field.ErrorList {
	violations := Text(path.Child("username"), user.Username)
	violations = append(violations, Text(path.Child("projectName"), user.ProjectName)...)
	violations = append(violations, Text(path.Child("userDomainName"), user.UserDomainName)...)
	return append(violations, Text(path.Child("projectDomainName"), user.ProjectDomainName)...)
}

// Logging wants known formats and levels, and loggers that have a name.
func Logging(path *field.Path, logging *api.LoggingSpec) field.ErrorList {
	if logging == nil {
		return nil
	}
	effective := logging.WithDefaults()
	violations := level(path.Child("level"), effective.Level)
	formats := []api.LogFormat{api.TextLog, api.JSONLog}
	if !slices.Contains(formats, effective.Format) {
		violations = append(violations, field.NotSupported(path.Child("format"), effective.Format, formats))
	}
	loggers := path.Child("perLoggerLevels")
	for _, name := range slices.Sorted(maps.Keys(logging.PerLoggerLevels)) {
		at := key(loggers, name)
		violations = append(violations, required(at, name, "logger names must not be empty")...)
		violations = append(violations, Text(at, name)...)
		violations = append(violations, level(at, api.LogLevel(logging.PerLoggerLevels[name]))...)
	}
	return violations
}

func level(path *field.Path, value api.LogLevel) field.ErrorList {
	if slices.Contains(api.LogLevels(), value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, api.LogLevels())}
}

// PolicyOverrides wants rules or a ConfigMap, and no empty rule: to oslo.policy that one allows everybody.
func PolicyOverrides(path *field.Path, overrides *api.PolicyOverrides) field.ErrorList {
	if overrides == nil {
		return nil
	}
	var violations field.ErrorList
	if len(overrides.Rules) == 0 && overrides.ConfigMapRef == nil {
		violations = append(violations, field.Required(path, "rules or configMapRef must be set"))
	}
	for _, name := range slices.Sorted(maps.Keys(overrides.Rules)) {
		if detail := oslo.RuleProblem(name, overrides.Rules[name]); detail != "" {
			violations = append(violations, field.Invalid(key(path.Child("rules"), name), overrides.Rules[name], detail))
		}
	}
	return violations
}

// Middleware wants filters that PasteDeploy loads, each once.
func Middleware(path *field.Path, middleware []api.Middleware) field.ErrorList {
	filters := make([]oslo.Filter, len(middleware))
	for i, m := range middleware {
		filters[i] = oslo.Filter{Name: m.Name, Factory: m.FilterFactory, Position: string(m.Position), Config: m.Config}
	}
	if _, err := oslo.Pipeline("", "application", filters...); err != nil {
		return field.ErrorList{field.Invalid(path, field.OmitValueType{}, err.Error())}
	}
	return nil
}

// Plugins wants sections that oslo.config reads as they are meant, each once, without options that must not be set.
func Plugins(path *field.Path, plugins []api.Plugin, owned oslo.OwnedKeys) field.ErrorList {
	var violations field.ErrorList
	seen := map[string]int{}
	for i, plugin := range plugins {
		at := path.Index(i)
		if first, ok := seen[oslo.SectionName(plugin.ConfigSection)]; ok {
			violations = append(violations, field.Duplicate(at.Child("configSection"),
				fmt.Sprintf("%s (same as %s)", plugin.ConfigSection, path.Index(first).Child("configSection"))))
			continue
		}
		seen[oslo.SectionName(plugin.ConfigSection)] = i
		if detail := oslo.SectionProblem(plugin.ConfigSection); detail != "" {
			violations = append(violations, field.Invalid(at.Child("configSection"), plugin.ConfigSection, detail))
		}
		violations = append(violations, Options(at.Child("config"), plugin.ConfigSection, plugin.Config)...)
		for _, key := range owned.Rejected(map[string]map[string]string{plugin.ConfigSection: plugin.Config}) {
			violations = append(violations, rejected(at.Child("config").Key(key.Key), key))
		}
	}
	return violations
}

// ExtraConfig wants sections and options that oslo.config reads as they are meant, without options that must not be set.
func ExtraConfig(path *field.Path, sections map[string]map[string]string, owned oslo.OwnedKeys) field.ErrorList {
	var violations field.ErrorList
	for _, problem := range oslo.SectionProblems(sections) {
		violations = append(violations, violation(key(path, problem.Section), problem))
	}
	for _, option := range owned.Rejected(sections) {
		violations = append(violations, rejected(path.Key(option.Section).Key(option.Key), option))
	}
	return violations
}

// Options wants options of one section that oslo.config reads as they are meant.
func Options(path *field.Path, section string, values map[string]string) field.ErrorList {
	var violations field.ErrorList
	for _, problem := range oslo.OptionProblems(section, values) {
		violations = append(violations, violation(path, problem))
	}
	return violations
}

// violation leaves out the value, which may be a credential.
func violation(path *field.Path, problem oslo.Problem) *field.Error {
	if problem.Key != "" {
		path = key(path, problem.Key)
	}
	return field.Invalid(path, field.OmitValueType{}, problem.Detail)
}

func rejected(path *field.Path, option oslo.OwnedKey) *field.Error {
	return field.Forbidden(path, fmt.Sprintf("%s must not be set: it comes from %s", option.Option, option.Owner))
}
