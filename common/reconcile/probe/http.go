// SPDX-License-Identifier: Apache-2.0

// Package probe answers slow questions about the world without holding a worker: a bounded cache of verdicts that are
// found in the background, and the HTTP health check built on it.
package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/c5c3/cobaltcore/common/reconcile"
)

// Intervals of the HTTP health check.
const (
	Timeout = 10 * time.Second // of one request
	Retry   = 10 * time.Second // after anything but success
	TTL     = 30 * time.Second // of a success
	Refresh = 60 * time.Second // when a healthy object comes back, before jitter
)

// excerpt is how much of a refusing answer's body is told.
const excerpt = 256

// Reasons name the outcomes of a health check in the words of a service.
type Reasons struct {
	Healthy   string // 2xx
	Unhealthy string // any other answer

	NotReady string // the name does not resolve, or no verdict is there yet
	Timeout  string
	Refused  string // nothing listens
	Failed   string // any other failure
}

// HTTP checks the health of endpoints by GET.
type HTTP struct {
	Reasons Reasons
	Cache   *Cache[types.NamespacedName, Verdict]
}

// Verdict is the outcome of one request.
type Verdict struct {
	healthy         bool
	reason, message string
}

// Check asks url on behalf of the object with this name and UID, through transport (nil: the default one). A
// healthy object comes back after Refresh, any other after Retry.
func (h *HTTP) Check(ctx context.Context, object types.NamespacedName, uid types.UID, transport http.RoundTripper, url string) reconcile.Outcome {
	verdict, known := h.Cache.Get(ctx, object, Question[Verdict]{
		About: string(uid) + " " + url, Meanwhile: true,
		Ask: func(ctx context.Context) (Verdict, time.Duration) {
			v := h.request(ctx, transport, url)
			if !v.healthy {
				return v, 0
			}
			return v, TTL
		},
	})
	switch {
	case !known:
		return reconcile.Poll(Retry, h.Reasons.NotReady, "Waiting for the first answer of "+url)
	case !verdict.healthy:
		return reconcile.Poll(Retry, verdict.reason, verdict.message)
	}
	return reconcile.Ready(verdict.reason, verdict.message).After(jittered(Refresh))
}

// jittered spreads d by a tenth, so that objects made together do not come back together.
func jittered(d time.Duration) time.Duration { return d + rand.N(d/10) } //nolint:gosec // nobody gains by guessing it

func (h *HTTP) request(ctx context.Context, transport http.RoundTripper, url string) Verdict {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return Verdict{reason: h.Reasons.Failed, message: err.Error()}
	}
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(request)
	if err != nil {
		return h.failure(url, err)
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(answer.Body, excerpt))
	if answer.StatusCode/100 == 2 {
		return Verdict{healthy: true, reason: h.Reasons.Healthy, message: url + " answers"}
	}
	message := fmt.Sprintf("%s answers %d: %s", url, answer.StatusCode, strings.Join(strings.Fields(strings.ToValidUTF8(string(body), "")), " "))
	return Verdict{reason: h.Reasons.Unhealthy, message: reconcile.StableText(errors.New(strings.TrimSuffix(message, ": ")))}
}

// failure words an error without the addresses in it, which change from one try to the next.
func (h *HTTP) failure(url string, err error) Verdict {
	var resolution *net.DNSError
	var slow net.Error
	switch {
	case errors.As(err, &resolution) && !errors.Is(err, context.DeadlineExceeded):
		return Verdict{reason: h.Reasons.NotReady, message: url + ": the name does not resolve yet"}
	case errors.As(err, &slow) && slow.Timeout():
		return Verdict{reason: h.Reasons.Timeout, message: url + " did not answer in time"}
	case errors.Is(err, syscall.ECONNREFUSED):
		return Verdict{reason: h.Reasons.Refused, message: url + ": connection refused: no pod serves it yet"}
	}
	return Verdict{reason: h.Reasons.Failed, message: reconcile.StableText(err)}
}
