// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
)

var (
	object  = types.NamespacedName{Namespace: "keys", Name: "one"}
	reasons = Reasons{Healthy: "Healthy", Unhealthy: "Unhealthy", NotReady: "NotReady", Timeout: "Timeout", Refused: "Refused", Failed: "Failed"}
)

const url = "http://one.keys.svc.cluster.local:9311/healthcheck"

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func newHTTP(o Options) *HTTP {
	return &HTTP{Reasons: reasons, Cache: NewCache[types.NamespacedName, Verdict](func(types.NamespacedName) {}, o)}
}

// fails is a transport whose requests end in an error, as they do when the network says it.
func fails(err error) http.RoundTripper {
	return transport(func(*http.Request) (*http.Response, error) { return nil, err })
}

// answers is a transport that answers every request.
func answers(status int, body string) http.RoundTripper {
	return transport(func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		w.Header().Set("Location", "http://elsewhere.example.com/")
		w.WriteHeader(status)
		w.Body.WriteString(body)
		response := w.Result()
		response.Request = r
		return response, nil
	})
}

func TestCheck(t *testing.T) {
	t.Parallel()
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	for _, tt := range []struct {
		name      string
		transport http.RoundTripper
		url       string
		reason    string
		message   string
	}{
		{name: "answer", transport: answers(http.StatusOK, "fine"), reason: "Healthy", message: url + " answers"},
		{name: "empty answer", transport: answers(http.StatusNoContent, ""), reason: "Healthy", message: url + " answers"},
		{name: "redirection", transport: answers(http.StatusFound, ""), reason: "Unhealthy", message: url + " answers 302"},
		{
			name: "disabled", transport: answers(http.StatusServiceUnavailable, "DISABLED  BY\nFILE\xff"), reason: "Unhealthy",
			message: url + " answers 503: DISABLED BY FILE",
		}, {
			name: "changing body", transport: answers(http.StatusInternalServerError, "at 2026-11-29T17:21:18Z"), reason: "Unhealthy",
			message: url + " answers 500: at <time>",
		},
		{name: "deadline", transport: fails(context.DeadlineExceeded), reason: "Timeout", message: url + " did not answer in time"},
		{name: "slow handshake", transport: fails(dial(os.ErrDeadlineExceeded)), reason: "Timeout", message: url + " did not answer in time"},
		{
			name: "no such name", transport: fails(dial(&net.DNSError{Err: "no such host", Name: "one", IsNotFound: true})),
			reason: "NotReady", message: url + ": the name does not resolve yet",
		}, {
			name: "slow name server", transport: fails(dial(&net.DNSError{Err: "i/o timeout", Name: "one", IsTimeout: true})),
			reason: "NotReady", message: url + ": the name does not resolve yet",
		}, {
			name: "nobody listens", transport: fails(dial(os.NewSyscallError("connect", syscall.ECONNREFUSED))),
			reason: "Refused", message: url + ": connection refused: no pod serves it yet",
		}, {
			name: "reset", transport: fails(errors.New("read tcp 10.0.0.1:4711->10.0.0.2:9311: reset")),
			reason: "Failed", message: `Get "` + url + `": read tcp 10.0.0.2:9311: reset`,
		},
		{name: "no URL", url: "http://[", reason: "Failed", message: `parse "http://[": missing ']' in host`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			asked := url
			if tt.url != "" {
				asked = tt.url
			}
			o := newHTTP(Options{Patience: time.Hour}).Check(t.Context(), object, "uid", tt.transport, asked)
			if o.Reason() != tt.reason || o.Message() != tt.message || o.Err() != nil || o.Stops() {
				t.Errorf("%s: %q (%v)", o.Reason(), o.Message(), o.Err())
			}
			healthy := tt.reason == "Healthy"
			if (o.Status() == metav1.ConditionTrue) != healthy {
				t.Errorf("status %s", o.Status())
			}
			if back := o.ComesBack(); !healthy && back != Retry || healthy && (back < Refresh || back >= Refresh+Refresh/10) {
				t.Errorf("comes back after %s", back)
			}
		})
	}
}

// What the network really answers, without a stand-in.
func TestCheckOverTheNetwork(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprint(w, strings.Repeat("long ", 1000))
	}))
	check := func() string {
		o := newHTTP(Options{Patience: time.Hour}).Check(t.Context(), object, "uid", nil, server.URL)
		if len(o.Message()) > 400 {
			t.Errorf("the message has %d bytes", len(o.Message()))
		}
		return o.Reason()
	}
	if got := check(); got != "Unhealthy" {
		t.Errorf("a teapot is %s", got)
	}
	server.Close()
	if got := check(); got != "Refused" {
		t.Errorf("a closed port is %s", got)
	}
}

func TestASilentServerTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		silent := transport(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		h := newHTTP(Options{})
		if o := h.Check(t.Context(), object, "uid", silent, url); o.Reason() != "NotReady" || o.ComesBack() != Retry {
			t.Errorf("before any answer: %s %q", o.Reason(), o.Message())
		}
		time.Sleep(Timeout) //nolint:forbidigo // of the bubble: no time passes
		synctest.Wait()
		if o := h.Check(t.Context(), object, "uid", silent, url); o.Reason() != "Timeout" {
			t.Errorf("after the time-out: %s %q", o.Reason(), o.Message())
		}
	})
}

// A healthy object stays healthy while it is asked again, however slow; a failure is asked again each time.
func TestVerdictsAreKeptForTheirTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		status, slow := http.StatusOK, time.Duration(0)
		server := transport(func(r *http.Request) (*http.Response, error) {
			asked.Add(1)
			time.Sleep(slow) //nolint:forbidigo // of the bubble
			return answers(status, "").RoundTrip(r)
		})
		clock := testclock.NewFakePassiveClock(time.Unix(1e9, 0))
		h := newHTTP(Options{Clock: clock})
		expect := func(uid types.UID, reason string, times int32) {
			t.Helper()
			if o := h.Check(t.Context(), object, uid, server, url); o.Reason() != reason || asked.Load() != times {
				t.Fatalf("%s after %d requests, want %s after %d", o.Reason(), asked.Load(), reason, times)
			}
		}
		expect("a", "Healthy", 1)
		expect("a", "Healthy", 1)
		expect("b", "Healthy", 2) // another object of that name
		clock.SetTime(clock.Now().Add(TTL))
		status, slow = http.StatusServiceUnavailable, time.Second
		expect("b", "Healthy", 3)
		time.Sleep(time.Second) //nolint:forbidigo // of the bubble
		expect("b", "Unhealthy", 3)
		slow = 0
		expect("b", "Unhealthy", 4)
		expect("b", "Unhealthy", 5)
	})
}
