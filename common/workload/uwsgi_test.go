// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"strings"
	"testing"

	"github.com/c5c3/cobaltcore/common/api"
)

func TestUWSGI(t *testing.T) {
	t.Parallel()
	knobs := func(change func(*api.UWSGISpec)) api.UWSGISpec {
		s := (*api.UWSGISpec)(nil).WithDefaults()
		change(&s)
		return s
	}
	const fixed = "--master --lazy-apps --need-app --enable-threads --buffer-size 65535 --die-on-term --skip-atexit-teardown"
	for _, tt := range []struct {
		name  string
		uwsgi UWSGI
		want  string
	}{
		{"defaults", UWSGI{Module: "m:app", Knobs: knobs(func(*api.UWSGISpec) {})},
			"uwsgi --http :80 --http-keepalive LOG --module m:app " + fixed + " --processes 2 --threads 1"},
		{"everything", UWSGI{Module: "m:app", Flags: []string{"--buffer-size", "65535"}, Tail: []string{"--enable-threads"}, Knobs: knobs(func(s *api.UWSGISpec) {
			s.Processes, s.Threads, s.Harakiri, s.HTTPKeepAliveTimeout = 4, 8, new(int32(20)), new(int32(75))
		})}, "uwsgi --http :80 --buffer-size 65535 --http-keepalive --http-keepalive-timeout 75 LOG --module m:app " + fixed +
			" --processes 4 --threads 8 --enable-threads --harakiri 20"},
		{"no keep-alive", UWSGI{Module: "m:app", Knobs: knobs(func(s *api.UWSGISpec) {
			s.HTTPKeepAlive, s.HTTPKeepAliveTimeout = new(false), new(int32(75))
		})}, "uwsgi --http :80 LOG --module m:app " + fixed + " --processes 2 --threads 1"},
		{"zero is unset", UWSGI{Module: "m:app", Knobs: knobs(func(s *api.UWSGISpec) {
			s.Harakiri, s.HTTPKeepAliveTimeout = new(int32(0)), new(int32(0))
		})}, "uwsgi --http :80 --http-keepalive LOG --module m:app " + fixed + " --processes 2 --threads 1"},
		{"a file", UWSGI{File: "/bin/app", Knobs: knobs(func(*api.UWSGISpec) {})},
			"uwsgi --http :80 --http-keepalive LOG --wsgi-file /bin/app " + fixed + " --processes 2 --threads 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.uwsgi.Bind = ":80"
			got := strings.Replace(strings.Join(tt.uwsgi.Command(), " "), "--log-master --log-format "+logFormat, "LOG", 1)
			if got != tt.want {
				t.Errorf("Command() =\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}
