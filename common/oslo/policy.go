// SPDX-License-Identifier: Apache-2.0

package oslo

import (
	"errors"
	"fmt"
	"strconv"

	"sigs.k8s.io/yaml"
)

// PolicyFile is the name of a policy file, as a key of ConfigMaps and Secrets.
const PolicyFile = "policy.yaml"

// PolicyBytes writes rules as the policy file of oslo.policy: one mapping, sorted by rule name.
func PolicyBytes(rules map[string]string) []byte {
	var out []byte
	for _, name := range sortedKeys(rules) {
		out = append(strconv.AppendQuote(out, name), ": "...)
		out = append(strconv.AppendQuote(out, rules[name]), '\n')
	}
	return out
}

// ParsePolicy reads a policy file. It must be a mapping of names to rules with at least one entry; a rule without text is
// refused, since it would let everybody in.
func ParsePolicy(text string) (map[string]string, error) {
	var entries map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &entries); err != nil {
		return nil, fmt.Errorf("policy must be a mapping of rule names to rules: %w", err)
	}
	if len(entries) == 0 {
		return nil, errors.New("policy must hold at least one rule")
	}
	rules := make(map[string]string, len(entries))
	for _, name := range sortedKeys(entries) {
		rule, ok := entries[name].(string)
		if !ok {
			return nil, fmt.Errorf("policy must be a mapping of rule names to rules: rule %q is no text", name)
		}
		if detail := RuleProblem(name, rule); detail != "" {
			return nil, fmt.Errorf("policy rule %q %s", name, detail)
		}
		rules[name] = rule
	}
	return rules, nil
}

// RuleProblem says why a rule cannot stand in a policy file, or returns "".
func RuleProblem(name, rule string) string {
	switch {
	case name == "":
		return "must have a name"
	case ValueProblem(name) != "":
		return "name " + ValueProblem(name)
	case rule == "":
		return "must not be empty, which would allow everybody; write @ to allow everybody, ! to allow nobody"
	}
	return ValueProblem(rule)
}
