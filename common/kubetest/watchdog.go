// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// watchdog is a shell that waits for the end of a pipe held by this process. When this process dies without Stop (a panic, a test
// time-out, a signal), the shell ends the control plane and removes its files.
type watchdog struct {
	dir  string
	cmd  *exec.Cmd
	hold io.WriteCloser
}

// The processes lead their groups, so a number is a group as well. They are killed, since an API server whose etcd has ended as well never
// gets through an orderly end.
const watchdogScript = `
cat >/dev/null
while read -r pid; do kill -s KILL -- "-$pid" 2>/dev/null; done <"$1/processes"
while read -r dir; do rm -rf -- "$dir"; done <"$1/folders"
`

// Called with --help, a program only prints: it must not be on the list of those to end.
const wrapperScript = `#!/bin/sh
[ "$1" = --help ] || echo $$ >>'%[1]s/processes'
exec '%[2]s' "$@"
`

func startWatchdog(dir string) (*watchdog, error) {
	w := &watchdog{dir: dir, cmd: exec.Command("/bin/sh", "-c", watchdogScript, "kubetest-watchdog", dir)}
	// A Ctrl-C in the terminal goes to the foreground group and must not reach the watchdog.
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := os.WriteFile(filepath.Join(dir, "processes"), nil, 0o600); err != nil {
		return nil, err
	}
	w.remove(dir)
	var err error
	if w.hold, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	return w, w.cmd.Start()
}

// wrap returns a program that tells the watchdog its process and becomes the given one.
func (w *watchdog) wrap(program string) (string, error) {
	path := filepath.Join(w.dir, filepath.Base(program))
	return path, os.WriteFile(path, fmt.Appendf(nil, wrapperScript, w.dir, program), 0o700)
}

// remove puts a folder on the list of those to remove.
func (w *watchdog) remove(dir string) {
	f, err := os.OpenFile(filepath.Join(w.dir, "folders"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintln(f, dir)
}

// stop dismisses the watchdog; by then there is nothing left to end.
func (w *watchdog) stop() error {
	if w.cmd.Process == nil {
		return nil
	}
	if err := w.cmd.Process.Kill(); err != nil {
		return err
	}
	_ = w.cmd.Wait() // reports the kill
	return nil
}

// logTail is the end of a log, for an error that would otherwise only say "it did not start".
func logTail(path string) string {
	const lines = 20
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(string(bytes.TrimSpace(text)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
