// SPDX-License-Identifier: Apache-2.0

package oslo

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPipeline(t *testing.T) {
	t.Parallel()
	filter := func(name, position string) Filter { return Filter{Name: name, Factory: "m:f", Position: position} }
	tests := []struct {
		name        string
		base        string
		application string
		filters     []Filter
		want        string
		problem     string
	}{
		{"alone", "", "app", nil, "app", ""},
		{"base", "cors authtoken", "app", nil, "cors authtoken app", ""},
		{"both positions keep their order", "cors", "app",
			[]Filter{filter("a2", After), filter("b1", Before), filter("a1", After), filter("b2", Before)}, "b1 b2 cors a2 a1 app", ""},
		{"no application", "cors", "", nil, "", "application"},
		{"no name", "cors", "app", []Filter{filter(" ", Before)}, "", "name"},
		{"name of two words", "cors", "app", []Filter{filter("a b", Before)}, "", "one word"},
		{"name that ends its section", "cors", "app", []Filter{filter("a]", Before)}, "", "one word"},
		{"no factory", "cors", "app", []Filter{{Name: "a", Position: Before}}, "", "factory"},
		{"factory with a line break", "cors", "app", []Filter{{Name: "a", Factory: "m:f\nx", Position: Before}}, "", "control"},
		{"unknown position", "cors", "app", []Filter{filter("a", "around")}, "", "before or after"},
		{"listed twice", "cors", "app", []Filter{filter("a", After), filter("a", Before)}, "", "twice"},
		{"value with a line break", "cors", "app",
			[]Filter{{Name: "a", Factory: "m:f", Position: After, Config: map[string]string{"k": "1\nuse = egg:x"}}}, "", "control"},
		{"value that would be trimmed", "cors", "app",
			[]Filter{{Name: "a", Factory: "m:f", Position: After, Config: map[string]string{"k": " 1"}}}, "", "white space"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Pipeline(tt.base, tt.application, tt.filters...)
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if (err == nil) != (tt.problem == "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("got error %v, want %q", err, tt.problem)
			}
		})
	}
}

func TestAddFilter(t *testing.T) {
	t.Parallel()
	var d Document
	d.AddFilter(Filter{Name: "limit", Factory: "m:f", Config: map[string]string{"size": "5%", FactoryKey: "other:f"}})
	if got, want := string(d.ConfigParserBytes()), "[filter:limit]\npaste.filter_factory = m:f\nsize = 5%%\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	rules := map[string]string{"secrets:get": `role:"a" or not user_id:%(target.user)s`, "b": "!", "ä": `\`}
	text := PolicyBytes(rules)
	want := "\"b\": \"!\"\n\"secrets:get\": \"role:\\\"a\\\" or not user_id:%(target.user)s\"\n\"ä\": \"\\\\\"\n"
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	got, err := ParsePolicy(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rules, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestParsePolicyRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                         "at least one rule",
		"# nothing":                "at least one rule",
		"{}":                       "at least one rule",
		"- a":                      "mapping",
		"a: [b]":                   "mapping",
		"a: 1":                     "mapping",
		"a: x\na: y":               "mapping",
		"a: \"\"":                  "must not be empty",
		"\"\": x":                  "must have a name",
		"a: \"x\\ny: role:admin\"": "control",
		"a: b: c":                  "mapping",
	} {
		if rules, err := ParsePolicy(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParsePolicy(%q) = %v, %v, want an error with %q", text, rules, err, want)
		}
	}
}

func TestLogging(t *testing.T) {
	t.Parallel()
	text := string(Logging{Level: "ERROR", JSON: true, Loggers: map[string]string{"sqlalchemy": "DEBUG", "100%": "INFO"}}.Bytes())
	for _, want := range []string{
		"[logger_root]\nhandlers = stderr\nlevel = ERROR\n",
		"args = (sys.stderr,)",
		"level = NOTSET",
		"class = oslo_log.formatters.JSONFormatter",
		"level = DEBUG\nqualname = sqlalchemy\n",
		"level = INFO\nqualname = 100%%\n",
		"level = WARNING\nqualname = keystoneauth\n",
		"keys = root,0,1,",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if text := string(Logging{Level: "INFO"}.Bytes()); !strings.Contains(text, "class = oslo_log.formatters.ContextFormatter\n") {
		t.Errorf("no text formatter in\n%s", text)
	}
}
