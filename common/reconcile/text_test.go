// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// Each pair of texts is of two tries of the same; both must read alike (R1).
func TestStableText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, one, other, want string }{
		{
			"ports of a connection", "read tcp 10.0.0.1:40112->10.0.0.2:443: connection reset by peer", "read tcp 10.0.0.1:40113->10.0.0.2:443: connection reset by peer",
			"read tcp 10.0.0.2:443: connection reset by peer",
		}, {
			"ports of IPv6", "write tcp [fd00::1]:40112->[fd00::2]:443: broken pipe", "write tcp [fd00::1]:5->[fd00::2]:443: broken pipe",
			"write tcp [fd00::2]:443: broken pipe",
		}, {
			"name server", "dial tcp: lookup bao.keys.svc on 10.96.0.10:53: no such host", "dial tcp: lookup bao.keys.svc on 10.96.0.11:53: no such host",
			"dial tcp: lookup bao.keys.svc: no such host",
		}, {
			"name server and port", "lookup bao on 10.96.0.10:53: read udp 10.0.0.1:1->10.96.0.10:53: i/o timeout", "lookup bao on 10.96.0.10:53: read udp 10.0.0.1:2->10.96.0.10:53: i/o timeout",
			"lookup bao: read udp 10.96.0.10:53: i/o timeout",
		}, {
			"pointers", "value 0xc000123456 is wrong", "value 0xc0009abcdef is wrong", "value 0x… is wrong",
		}, {
			"times", "expired: current time 2026-11-29T17:21:18Z is after 2026-11-28T00:00:00Z", "expired: current time 2026-11-29T17:21:19.5Z is after 2026-11-28T00:00:00Z",
			"expired: current time <time> is after <time>",
		}, {
			"times with zones", "at 2026-11-29 17:21:18.123456 +0000 UTC", "at 2026-11-29 17:21:19 +0100 UTC", "at <time> UTC",
		}, {
			"durations", "gave up after 1m30.5s", "gave up after 29.9s", "gave up after a while",
		}, {
			"small durations", "timed out, retry in 250ms", "timed out, retry in 12.5µs", "timed out, retry in a while",
		}, {
			"request IDs", `denied (Request-ID: "8a7d3c9f-1")`, `denied (Request-ID: "99993c9f-2")`, "denied (request)",
		}, {
			"stream numbers", "http2: GOAWAY; LastStreamID=1999, stream ID 17", "http2: GOAWAY; LastStreamID=3, stream ID 1", "http2: GOAWAY; LastStreamID=…, stream ID …",
		}, {
			"lines", "first\nsecond\r\nthird", "first\r\nsecond\nthird", "first; second; third",
		}, {
			"broken text", "a\xffb", "ab", "ab",
		},
		{"what matters stays", `Secret keys/dsn lacks key "password"`, `Secret keys/dsn lacks key "password"`, `Secret keys/dsn lacks key "password"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			one, other := StableText(errors.New(tt.one)), StableText(errors.New(tt.other))
			if one != tt.want || other != tt.want {
				t.Errorf("%q and %q, want %q", one, other, tt.want)
			}
		})
	}
	if got := StableText(nil); got != "" {
		t.Errorf("StableText(nil) = %q", got)
	}
	long := StableText(errors.New("x" + strings.Repeat("ä", maxMessage)))
	if len(long) > maxMessage || !utf8.ValidString(long) {
		t.Errorf("%d bytes, valid: %v", len(long), utf8.ValidString(long))
	}
}

func FuzzStableText(f *testing.F) {
	for _, seed := range []string{
		"", "read tcp 10.0.0.1:40112->10.0.0.2:443: reset", "after 1h2m3s", "\r\n\r\n", "\xff\xfe", "lookup a on b:", "0xabcdef0xabcdef",
		"2026-11-29T17:21:18.1+01:00", "after after 5s", "read tcp read tcp a->b->c", "request id request id 12345678",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		stable := StableText(errors.New(text))
		if !utf8.ValidString(stable) || len(stable) > maxMessage || strings.ContainsAny(stable, "\r\n") {
			t.Errorf("StableText(%q) = %q", text, stable)
		}
		if again := StableText(errors.New(text)); again != stable {
			t.Errorf("%q becomes %q and %q", text, stable, again)
		}
	})
}
