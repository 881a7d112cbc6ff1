// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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

// The processes lead their groups, so a number is a group as well. They are killed: there is nothing to save, and an API server with
// open watches, or without its etcd, does not get through an orderly end.
const watchdogScript = `
cat >/dev/null
for file in "$1"/processes/*; do kill -s KILL -- "-$(cat "$file")" 2>/dev/null; done
while read -r dir; do rm -rf -- "$dir"; done <"$1/folders"
`

// Called with --help, a program only prints: it must not be on the list of those to end.
const wrapperScript = `#!/bin/sh
[ "$1" = --help ] || echo $$ >'%[1]s/processes/%[2]s'
exec '%[3]s/%[2]s' "$@"
`

func startWatchdog(dir string) (*watchdog, error) {
	w := &watchdog{dir: dir, cmd: exec.Command("/bin/sh", "-c", watchdogScript, "kubetest-watchdog", dir)}
	// A Ctrl-C in the terminal goes to the foreground group and must not reach the watchdog.
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := os.Mkdir(filepath.Join(dir, "processes"), 0o700); err != nil {
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
func (w *watchdog) wrap(bin, program string) (string, error) {
	path := filepath.Join(w.dir, program)
	return path, os.WriteFile(path, fmt.Appendf(nil, wrapperScript, w.dir, program, bin), 0o700)
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

// kill ends the processes.
func (w *watchdog) kill() error {
	var errs []error
	files, err := filepath.Glob(filepath.Join(w.dir, "processes", "*"))
	errs = append(errs, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		group, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err == nil {
			err = syscall.Kill(-group, syscall.SIGKILL)
		}
		errs = append(errs, ignoreEnded(err))
	}
	return errors.Join(errs...)
}

// ignoreEnded forgives a process that has ended by itself.
func ignoreEnded(err error) error {
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
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
