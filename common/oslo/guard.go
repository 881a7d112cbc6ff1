// SPDX-License-Identifier: Apache-2.0

package oslo

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// ValueProblem says why a value cannot stand in a file, or returns "". A control character would end the line or the
// process that reads it; text that is not UTF-8 cannot be read at all.
func ValueProblem(value string) string {
	switch {
	case !utf8.ValidString(value):
		return "must be valid UTF-8"
	case strings.ContainsFunc(value, unicode.IsControl):
		return "must not contain line breaks or other control characters"
	}
	return ""
}

// SectionProblem says why a name cannot be a section's, or returns "".
func SectionProblem(name string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return "section name must not be empty"
	case !printable(name):
		return "section name must consist of printable ASCII characters"
	case strings.ContainsAny(name, "[]"):
		return "section name must not contain brackets"
	}
	return ""
}

// KeyProblem says why a name cannot be an option's, or returns "". It refuses what a reader would take for something else: a
// comment, a section, another option with part of the name in its value.
func KeyProblem(name string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return "option name must not be empty"
	case !printable(name) || strings.Contains(name, " "):
		return "option name must consist of printable ASCII characters without spaces"
	case strings.ContainsAny(name, "=:") || strings.ContainsAny(name[:1], "[#;"):
		return "option name must not contain = or : nor start with [, # or ;"
	}
	return ""
}

func printable(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' })
}

// Problem is what is wrong with one entry of a user's sections. Key is empty when the section's name itself is wrong.
type Problem struct {
	Section, Key, Detail string
}

// SectionProblems checks sections written by a user: names, values, and that no two names mean the same section.
func SectionProblems(sections map[string]map[string]string) []Problem {
	var problems []Problem
	same := make(map[string]string, len(sections))
	for _, name := range sortedKeys(sections) {
		if detail := SectionProblem(name); detail != "" {
			problems = append(problems, Problem{Section: name, Detail: detail})
		}
		if other, ok := same[SectionName(name)]; ok {
			detail := "oslo.config takes this section and [" + other + "] for the same: merge them"
			problems = append(problems, Problem{Section: name, Detail: detail})
		}
		same[SectionName(name)] = name
		problems = append(problems, OptionProblems(name, sections[name])...)
	}
	return problems
}

// OptionProblems checks the options a user wrote for one section.
func OptionProblems(section string, options map[string]string) []Problem {
	var problems []Problem
	for key, value := range options {
		if detail := KeyProblem(key); detail != "" {
			problems = append(problems, Problem{Section: section, Key: key, Detail: detail})
		}
		if detail := ValueProblem(value); detail != "" {
			problems = append(problems, Problem{Section: section, Key: key, Detail: detail})
		}
	}
	sortProblems(problems)
	return problems
}
