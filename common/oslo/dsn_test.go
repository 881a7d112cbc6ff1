// SPDX-License-Identifier: Apache-2.0

package oslo

import (
	"net/url"
	"strings"
	"testing"
)

func TestDSN(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		dsn  DSN
		want string
	}{
		{"plain", DSN{User: "barbican", Password: "secret", Host: "db.ns.svc", Port: "3306", Database: "barbican"},
			"mysql+pymysql://barbican:secret@db.ns.svc:3306/barbican?charset=utf8"},
		{"everything a password can hold", DSN{User: "a@b", Password: "p:/?#[]@$%&= +\"'\\ä", Host: "h", Port: "1", Database: "d"},
			"mysql+pymysql://a%40b:p%3A%2F%3F%23%5B%5D%40%24%25%26%3D%20%2B%22%27%5C%C3%A4@h:1/d?charset=utf8"},
		{"literal address", DSN{User: "u", Password: "p", Host: "fd00::1", Port: "3306", Database: "d"},
			"mysql+pymysql://u:p@[fd00::1]:3306/d?charset=utf8"},
		{"parameters are sorted and keep their slashes", DSN{User: "u", Password: "p", Host: "h", Port: "1", Database: "d",
			Query: map[string]string{"ssl_verify_cert": "true", "ssl_ca": "/etc/tls/ca.crt"}},
			"mysql+pymysql://u:p@h:1/d?charset=utf8&ssl_ca=/etc/tls/ca.crt&ssl_verify_cert=true"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.dsn.String(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestTLSQuery(t *testing.T) {
	t.Parallel()
	const files = "mysql+pymysql://u:p@h:1/d?charset=utf8&ssl_ca=/t/ca&"
	for verify, want := range map[Verification]string{
		VerifyDefault: files + "ssl_cert=/t/crt&ssl_key=/t/key",
		VerifyCA:      files + "ssl_cert=/t/crt&ssl_check_hostname=false&ssl_key=/t/key",
		VerifyFull:    files + "ssl_cert=/t/crt&ssl_check_hostname=true&ssl_key=/t/key",
	} {
		dsn := DSN{User: "u", Password: "p", Host: "h", Port: "1", Database: "d", Query: TLSQuery("/t/ca", "/t/crt", "/t/key", verify)}
		if got := dsn.String(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func FuzzDSN(f *testing.F) {
	f.Add("barbican", "secret", "/etc/barbican-db-tls/ca.crt")
	f.Add("a@b:c", "$pa$$w%40rd/?#&= +", "x y&z=1")
	f.Add("ü", "\\$\"'\xff\x00", "")
	f.Fuzz(func(t *testing.T, user, password, parameter string) {
		text := DSN{User: user, Password: password, Host: "db", Port: "3306", Database: "d",
			Query: map[string]string{"ssl_ca": parameter}}.String()
		if strings.Contains(text, "$") {
			t.Fatalf("%q is open to interpolation", text)
		}
		rest := strings.TrimPrefix(text, "mysql+pymysql://")
		userinfo, rest, _ := strings.Cut(rest, "@")
		name, secret, _ := strings.Cut(userinfo, ":")
		for _, part := range []struct{ encoded, want string }{{name, user}, {secret, password}} {
			if got, err := url.PathUnescape(part.encoded); err != nil || got != part.want {
				t.Errorf("%q reads as %q, %v", part.want, got, err)
			}
		}
		address, query, _ := strings.Cut(rest, "?")
		if address != "db:3306/d" {
			t.Errorf("address of %q is %q", text, address)
		}
		parameters, err := url.ParseQuery(query)
		if err != nil || parameters.Get("ssl_ca") != parameter || len(parameters) != 2 {
			t.Errorf("parameters of %q are %v, %v", text, parameters, err)
		}
	})
}
