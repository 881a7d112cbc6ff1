// SPDX-License-Identifier: Apache-2.0

package oslo

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDocument(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		write func(*Document)
		want  string
	}{
		{"nothing", func(*Document) {}, ""},
		{"sections and options are sorted bytewise", func(d *Document) {
			d.Set("queue", "enable", "false")
			d.Set("DEFAULT", "debug", "true")
			d.Set("DEFAULT", "backlog", "1")
		}, "[DEFAULT]\nbacklog = 1\ndebug = true\n\n[queue]\nenable = false\n"},
		{"a later layer wins", func(d *Document) {
			d.Set("queue", "enable", "false")
			d.Set("queue", "enable", "true")
		}, "[queue]\nenable = true\n"},
		{"a multi-valued option takes a line a value, in order", func(d *Document) {
			d.Set("a", "o", "2", "1")
		}, "[a]\no = 2\no = 1\n"},
		{"no value omits the option, an earlier one too", func(d *Document) {
			d.Set("a", "o", "1")
			d.Set("a", "o")
		}, "[a]\n"},
		{"an empty section keeps its header", func(d *Document) { d.Section("a") }, "[a]\n"},
		{"quotes protect what the reader strips", func(d *Document) {
			d.Set("a", "blank", " x ")
			d.Set("a", "inner", `say "x"`)
			d.Set("a", "one", `"`)
			d.Set("a", "quoted", `"x"`)
		}, "[a]\nblank = \" x \"\ninner = say \"x\"\none = \"\"\"\nquoted = \"\"x\"\"\n"},
		{"a user's section means the one oslo.config takes it for", func(d *Document) {
			d.Set("queue", "enable", "false")
			d.Set("DEFAULT", "debug", "false")
			d.Overlay(map[string]map[string]string{" Queue ": {"enable": "true"}, "DEFAULT": {"debug": "true"}, "Empty": nil})
		}, "[DEFAULT]\ndebug = true\n\n[empty]\n\n[queue]\nenable = true\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var d Document
			tt.write(&d)
			if diff := cmp.Diff(tt.want, string(d.Bytes())); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestOverlayLeavesItsInputAlone(t *testing.T) {
	t.Parallel()
	sections := map[string]map[string]string{"a": {"o": "1"}}
	var d Document
	d.Overlay(sections)
	d.Set("a", "o", "2")
	d.Bytes()
	if diff := cmp.Diff(map[string]map[string]string{"a": {"o": "1"}}, sections); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	var d Document
	d.Set("a", "o", "1", "2")
	d.Set("a", "gone", "1")
	d.Set("a", "gone")
	if got, ok := d.Get("a", "o"); !ok || !cmp.Equal(got, []string{"1", "2"}) {
		t.Errorf("Get(a, o) = %v, %v", got, ok)
	}
	for _, key := range []string{"gone", "never"} {
		if got, ok := d.Get("a", key); ok {
			t.Errorf("Get(a, %s) = %v, true", key, got)
		}
	}
}

func TestConfigParserBytes(t *testing.T) {
	t.Parallel()
	var d Document
	d.Set("filter:x", "level", `"50%"`)
	if got, want := string(d.ConfigParserBytes()), "[filter:x]\nlevel = \"50%%\"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSectionName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"DEFAULT": "DEFAULT", " DEFAULT ": "DEFAULT", "default": "default", "Vault_Plugin": "vault_plugin",
	} {
		if got := SectionName(name); got != want {
			t.Errorf("SectionName(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestEscape(t *testing.T) {
	t.Parallel()
	for literal, want := range map[string]string{
		"plain": "plain", "a$b": "a$$b", "$$": "$$$$", `\$`: `\\$`, `\\$$`: `\\\$$$`, `${x.y}`: `$${x.y}`,
	} {
		if got := Escape(literal); got != want {
			t.Errorf("Escape(%q) = %q, want %q", literal, got, want)
		}
	}
}

func FuzzDocument(f *testing.F) {
	f.Add("DEFAULT", "debug", "true", "false")
	f.Add("secretstore:main", "secret_store_plugin", `"quoted"`, "'")
	f.Add("a", "o", " \u00a0outer\u2003", `p$w\$d%`)
	f.Add("a b", "o", "[x]", "# no comment")
	f.Fuzz(func(t *testing.T, section, key, first, second string) {
		if SectionProblem(section) != "" || KeyProblem(key) != "" || ValueProblem(first) != "" || ValueProblem(second) != "" {
			t.Skip("refused before it is written")
		}
		var d Document
		d.Set(SectionName(section), key, Escape(first), Escape(second))
		found, err := parseINI(string(d.Bytes()))
		if err != nil {
			t.Fatalf("parsing what was written: %v\n%s", err, d.Bytes())
		}
		for i := range found {
			if found[i].value, err = interpolate(found[i].value); err != nil {
				t.Fatal(err)
			}
		}
		name := SectionName(section)
		want := []assignment{{section: name}, {name, key, first}, {name, key, second}}
		if diff := cmp.Diff(want, found, cmp.AllowUnexported(assignment{})); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}
