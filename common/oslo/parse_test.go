// SPDX-License-Identifier: Apache-2.0

package oslo

import (
	"errors"
	"fmt"
	"strings"
)

// The readers below follow the formats, not the writers: parseINI is oslo.config's parser, interpolate its substitution.

type assignment struct{ section, key, value string }

func parseINI(text string) ([]assignment, error) {
	var found []assignment
	section := ""
	for number, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, " \t\r\n")
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == ' ' || line[0] == '\t':
			return nil, fmt.Errorf("line %d continues a value", number+1)
		case line[0] == '[':
			if !strings.HasSuffix(line, "]") || len(line) <= 2 {
				return nil, fmt.Errorf("line %d is no section", number+1)
			}
			section = line[1 : len(line)-1]
			found = append(found, assignment{section: section})
		default:
			a, err := parseAssignment(line)
			if err != nil || section == "" {
				return nil, errors.Join(err, fmt.Errorf("line %d is no assignment in a section", number+1))
			}
			a.section = section
			found = append(found, a)
		}
	}
	return found, nil
}

func parseAssignment(line string) (assignment, error) {
	i := strings.IndexAny(line, ":=")
	if i < 0 || strings.TrimSpace(line[:i]) == "" {
		return assignment{}, errors.New("no key")
	}
	value := strings.TrimSpace(line[i+1:])
	if value != "" && value[0] == value[len(value)-1] && (value[0] == '"' || value[0] == '\'') {
		if len(value) == 1 {
			value = ""
		} else {
			value = value[1 : len(value)-1]
		}
	}
	return assignment{key: strings.TrimSpace(line[:i]), value: value}, nil
}

// interpolate does what oslo.config does to a value in which no option's name is referred to.
func interpolate(value string) (string, error) {
	value = strings.ReplaceAll(value, `\$`, "$$")
	var out strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] == '$' {
			if i++; i == len(value) || value[i] != '$' {
				return "", fmt.Errorf("a single dollar in %q", value)
			}
		}
		out.WriteByte(value[i])
	}
	return out.String(), nil
}
