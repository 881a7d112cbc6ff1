// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"strconv"

	"github.com/c5c3/cobaltcore/common/api"
)

// logFormat leaves out what could carry a secret: no query string, no headers.
const logFormat = "%(method) %(uri_path) => generated %(rsize) bytes in %(msecs) msecs (%(proto) %(status))"

// UWSGI is the command line of a uWSGI server that ends within seconds of a SIGTERM and that does not stay up when
// its application cannot be loaded.
type UWSGI struct {
	Bind   string        // address of the HTTP socket, for example ":9311"
	Module string        // import path of the WSGI application
	File   string        // of the WSGI application, for services without a Module
	Flags  []string      // further flags, after the address
	Tail   []string      // further flags, at the end
	Knobs  api.UWSGISpec // with its defaults
}

// Command is the argument vector.
func (u UWSGI) Command() []string {
	argv := append(make([]string, 0, 32), "uwsgi", "--http", u.Bind)
	argv = append(argv, u.Flags...)
	if u.Knobs.HTTPKeepAlive != nil && *u.Knobs.HTTPKeepAlive {
		argv = append(argv, "--http-keepalive")
		argv = appendPositive(argv, "--http-keepalive-timeout", u.Knobs.HTTPKeepAliveTimeout)
	}
	argv = append(argv, "--log-master", "--log-format", logFormat)
	if u.Module != "" {
		argv = append(argv, "--module", u.Module)
	} else {
		argv = append(argv, "--wsgi-file", u.File)
	}
	// Python threads of the application run even with one thread a process, and a request with a long token fits.
	argv = append(argv, "--master", "--lazy-apps", "--need-app", "--enable-threads", "--buffer-size", "65535",
		"--die-on-term", "--skip-atexit-teardown",
		"--processes", strconv.Itoa(int(u.Knobs.Processes)), "--threads", strconv.Itoa(int(u.Knobs.Threads)))
	argv = append(argv, u.Tail...)
	return appendPositive(argv, "--harakiri", u.Knobs.Harakiri)
}

func appendPositive(argv []string, flag string, value *int32) []string {
	if value == nil || *value <= 0 {
		return argv
	}
	return append(argv, flag, strconv.Itoa(int(*value)))
}
