// SPDX-License-Identifier: Apache-2.0

package oslo

import (
	"cmp"
	"slices"
	"strings"
)

// Option names an option of oslo.config.
type Option struct {
	Section, Key string
}

// String returns the option as users write about it: [section] key.
func (o Option) String() string { return "[" + o.Section + "] " + o.Key }

// OwnedKey is an option that an operator sets itself.
type OwnedKey struct {
	Option
	Owner    string // where the value comes from, for example "spec.keystoneEndpoint"
	Impact   string // what happens when somebody else sets it
	Rejected bool   // refused at admission; other overrides are honoured and reported
}

// OwnedKeys is the registry of what an operator sets itself. It is static: what is rendered only sometimes is listed always.
type OwnedKeys map[Option]OwnedKey

// NewOwnedKeys builds a registry. It panics on an option that is listed twice.
func NewOwnedKeys(keys ...OwnedKey) OwnedKeys {
	registry := make(OwnedKeys, len(keys))
	for _, key := range keys {
		if _, ok := registry[key.Option]; ok {
			panic("owned key " + key.Option.String() + " is listed twice")
		}
		registry[key.Option] = key
	}
	return registry
}

// Lookup finds the owned key that oslo.config would take section and key for.
func (r OwnedKeys) Lookup(section, key string) (OwnedKey, bool) {
	owned, ok := r[Option{Section: SectionName(section), Key: strings.TrimSpace(key)}]
	return owned, ok
}

// Rejected returns the keys among a user's sections that must not be there, sorted.
func (r OwnedKeys) Rejected(sections map[string]map[string]string) []OwnedKey {
	return r.among(sections, true)
}

// Reported returns the keys among a user's sections that override the operator's own, sorted.
func (r OwnedKeys) Reported(sections map[string]map[string]string) []OwnedKey {
	return r.among(sections, false)
}

func (r OwnedKeys) among(sections map[string]map[string]string, rejected bool) []OwnedKey {
	var found []OwnedKey
	for section, options := range sections {
		for key := range options {
			if owned, ok := r.Lookup(section, key); ok && owned.Rejected == rejected {
				found = append(found, owned)
			}
		}
	}
	slices.SortFunc(found, func(a, b OwnedKey) int { return compareOptions(a.Option, b.Option) })
	return slices.CompactFunc(found, func(a, b OwnedKey) bool { return a.Option == b.Option })
}

// PlainSight returns the options among a user's sections that are known to carry a credential, sorted. They end in a file
// that every pod mounts, so their author deserves a warning.
func PlainSight(sections map[string]map[string]string, credentials []Option) []Option {
	var found []Option
	for section, options := range sections {
		for key, value := range options {
			option := Option{Section: SectionName(section), Key: strings.TrimSpace(key)}
			if value != "" && slices.Contains(credentials, option) {
				found = append(found, option)
			}
		}
	}
	slices.SortFunc(found, compareOptions)
	return slices.Compact(found)
}

func compareOptions(a, b Option) int {
	return cmp.Or(strings.Compare(a.Section, b.Section), strings.Compare(a.Key, b.Key))
}

func sortProblems(problems []Problem) {
	slices.SortFunc(problems, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Section, b.Section), strings.Compare(a.Key, b.Key), strings.Compare(a.Detail, b.Detail))
	})
}
