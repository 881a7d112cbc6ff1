// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"
	"time"
)

func TestTheDemoConverges(t *testing.T) {
	t.Parallel()
	if err := run(t.Context(), options{root: "../../..", check: true, timeout: 2 * time.Minute, logs: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
}

func TestTheDemoTellsWhatIsUnmet(t *testing.T) {
	t.Parallel()
	logs := t.TempDir()
	err := run(t.Context(), options{root: "../../..", check: true, timeout: time.Millisecond, logs: logs})
	if err == nil || !strings.Contains(err.Error(), "Barbican Ready is") {
		t.Errorf("got %v, want the unmet conditions", err)
	}
	if kept, err := os.ReadDir(logs); err != nil || len(kept) != 1 {
		t.Errorf("got the logs %v, %v, want the operator's to be kept", kept, err)
	}
}

func TestFlagsAndEnvironment(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		env       map[string]string
		arguments []string
		want      options
		err       string
	}{
		{name: "neither", want: options{timeout: 3 * time.Minute}},
		{name: "environment", env: map[string]string{"CHECK": "1", "TIMEOUT": "10s"}, want: options{check: true, timeout: 10 * time.Second}},
		{name: "flags win", env: map[string]string{"CHECK": "1", "TIMEOUT": "10s"}, arguments: []string{"--check=false", "--timeout=1m"},
			want: options{timeout: time.Minute}},
		{name: "no duration", env: map[string]string{"TIMEOUT": "soon"}, err: "soon"},
		{name: "no switch", env: map[string]string{"CHECK": "perhaps"}, err: "perhaps"},
	} {
		got, err := parse(append(c.arguments, "--root=here"), func(key string) string { return c.env[key] })
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: got %v, want an error with %q", c.name, err, c.err)
			}
			continue
		}
		c.want.root = "here"
		if err != nil || got != c.want {
			t.Errorf("%s: got %+v, %v, want %+v", c.name, got, err, c.want)
		}
	}
}
