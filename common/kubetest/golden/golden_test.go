// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// recorder keeps a verdict that would otherwise be this test's own.
type recorder struct {
	testing.TB
	failed, fatal bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }

func (r *recorder) Fatalf(string, ...any) {
	r.fatal = true
	runtime.Goexit()
}

func TestCheck(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "testdata", "a.conf")
	check := func(got string) *recorder {
		r := &recorder{TB: t}
		done := make(chan struct{})
		go func() { // Fatalf ends its goroutine
			defer close(done)
			Check(r, path, []byte(got))
		}()
		<-done
		return r
	}
	if r := check("a"); !r.fatal {
		t.Error("a missing file went unnoticed")
	}
	*update = true
	check("a")
	*update = false
	if text, err := os.ReadFile(path); err != nil || string(text) != "a" {
		t.Errorf("-update wrote %q, %v", text, err)
	}
	if r := check("a"); r.failed {
		t.Error("an equal file was refused")
	}
	if r := check("b"); !r.failed {
		t.Error("a difference went unnoticed")
	}
}
