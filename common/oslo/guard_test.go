// SPDX-License-Identifier: Apache-2.0

package oslo

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProblems(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		problem string
		want    string // part of it, empty for none
	}{
		{"plain value", ValueProblem("https://example.org?a=b#c"), ""},
		{"unicode value", ValueProblem("pässwörd 密"), ""},
		{"empty value", ValueProblem(""), ""},
		{"line feed ends an option", ValueProblem("a\nb = c"), "control"},
		{"carriage return", ValueProblem("a\rb"), "control"},
		{"nul ends an environment variable", ValueProblem("a\x00"), "control"},
		{"next line counts as a break", ValueProblem("a\u0085"), "control"},
		{"not UTF-8", ValueProblem("\xff"), "UTF-8"},
		{"section", SectionProblem("secretstore:main"), ""},
		{"empty section", SectionProblem(" "), "empty"},
		{"section that ends early", SectionProblem("a]"), "brackets"},
		{"section with a line break", SectionProblem("a\n[b"), "printable"},
		{"section that folds elsewhere than in Go", SectionProblem("İ"), "printable"},
		{"key", KeyProblem("db_auto_create"), ""},
		{"empty key", KeyProblem(""), "empty"},
		{"key with another key inside", KeyProblem("password = x ;"), "spaces"},
		{"key with a value inside", KeyProblem("password=x"), "= or :"},
		{"key that is a comment", KeyProblem("#x"), "start with"},
		{"key that is a section", KeyProblem("[x]"), "start with"},
		{"key that continues a value", KeyProblem("\tx"), "printable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if (tt.problem == "") != (tt.want == "") || !strings.Contains(tt.problem, tt.want) {
				t.Errorf("got %q, want %q", tt.problem, tt.want)
			}
		})
	}
}

func TestSectionProblems(t *testing.T) {
	t.Parallel()
	got := SectionProblems(map[string]map[string]string{
		"":        {"o": "1"},
		"Queue":   {"enable": "true"},
		"queue":   {"enable": "false"},
		"a":       {"": "1", "b=c": "1\n", "fine": "x"},
		"fine":    nil,
		"DEFAULT": {"debug": "true"},
		"default": {"debug": "true"}, // another section, which no service reads
	})
	want := []Problem{
		{"", "", "section name must not be empty"},
		{"a", "", "option name must not be empty"},
		{"a", "b=c", "must not contain line breaks or other control characters"},
		{"a", "b=c", "option name must not contain = or : nor start with [, # or ;"},
		{"queue", "", "oslo.config takes this section and [Queue] for the same: merge them"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

var registry = NewOwnedKeys(
	OwnedKey{Option: Option{"queue", "enable"}, Owner: "the operator"},
	OwnedKey{Option: Option{"keystone_authtoken", "password"}, Rejected: true},
)

func TestOwnedKeys(t *testing.T) {
	t.Parallel()
	sections := map[string]map[string]string{
		"Queue":                {"enable": "true", "topic": "x"},
		" KEYSTONE_AUTHTOKEN ": {" password ": "x"},
		"keystone_authtoken":   {"password": "y"},
	}
	if diff := cmp.Diff([]OwnedKey{registry[Option{"queue", "enable"}]}, registry.Reported(sections)); diff != "" {
		t.Errorf("reported: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]OwnedKey{registry[Option{"keystone_authtoken", "password"}]}, registry.Rejected(sections)); diff != "" {
		t.Errorf("rejected: -want +got:\n%s", diff)
	}
	if got := registry.Reported(nil); got != nil {
		t.Errorf("reported of nothing: %v", got)
	}
}

func TestPlainSight(t *testing.T) {
	t.Parallel()
	credentials := []Option{{"database", "connection"}, {"DEFAULT", "transport_url"}}
	sections := map[string]map[string]string{
		"Database": {"connection": "mysql://u:p@h/d"},
		"default":  {"transport_url": "rabbit://u:p@h"}, // not the section DEFAULT
		"DEFAULT":  {"transport_url": ""},
	}
	if diff := cmp.Diff([]Option{{"database", "connection"}}, PlainSight(sections, credentials)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
