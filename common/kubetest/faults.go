// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// ErrCrashed is what a client sees after its Crash: the process it stands for does not exist any more.
var ErrCrashed = errors.New("the process has crashed here")

// Crash kills an operator at its n-th write, to prove that any point is a good one to die at. Give every run a Crash of its own, put
// it in with rest.Config's Wrap, and count up from 1 until a run ends without having Fired:
//
//	crash := &kubetest.Crash{At: n, Kill: cancel}
//	config.Wrap(crash.Transport)
//
// Leases and reviews of access are not counted, nor Events, which are sent in the background and would make the count vary.
type Crash struct {
	At       int    // the write to die at; 0: never, only count
	Answered bool   // the API server still executes the write, but the answer is lost
	Kill     func() // called once, usually the cancel function of the operator's context

	mu     sync.Mutex
	writes int
	fired  bool
}

// Transport is a rest.Config wrapper.
func (c *Crash) Transport(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		dead, dying := c.count(request)
		if dead {
			return nil, ErrCrashed
		}
		if dying && !c.Answered {
			c.kill()
			return nil, ErrCrashed
		}
		response, err := next.RoundTrip(request)
		if dying {
			if response != nil {
				_ = response.Body.Close()
			}
			c.kill()
			return nil, errors.Join(ErrCrashed, err)
		}
		return response, err
	})
}

func (c *Crash) count(request *http.Request) (dead, dying bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fired || !counted(request) {
		return c.fired, false
	}
	c.writes++
	c.fired = c.writes == c.At
	return false, c.fired
}

func counted(request *http.Request) bool {
	q, ok := parseRequest(request)
	return ok && len(Requests{q}.Writes().Except("leases", "events", "selfsubjectaccessreviews")) > 0
}

func (c *Crash) kill() {
	if c.Kill != nil {
		c.Kill()
	}
}

// Fired tells whether the n-th write was reached.
func (c *Crash) Fired() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fired
}

// Writes is the number of writes so far.
func (c *Crash) Writes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writes
}

// Refusal refuses requests on behalf of the API server.
type Refusal struct {
	mu    sync.Mutex
	rules []refusalRule
}

type refusalRule struct {
	err       error
	verbs     []string
	resource  string
	remaining int
}

// Refuse answers the next n requests for the resource with err, or all of them when n is negative; only those of the verbs when
// there are any. An error of apimachinery's api/errors arrives as the server's answer, any other as a broken connection.
func (f *Refusal) Refuse(n int, err error, resource string, verbs ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = append(f.rules, refusalRule{err: err, verbs: verbs, resource: resource, remaining: n})
}

// Clear lets everything pass again.
func (f *Refusal) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = nil
}

// Transport is a rest.Config wrapper.
func (f *Refusal) Transport(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if q, ok := parseRequest(request); ok {
			if err := f.verdict(q); err != nil {
				return refused(request, err)
			}
		}
		return next.RoundTrip(request)
	})
}

// refused is the server's answer for an API error, and a broken connection for any other.
func refused(request *http.Request, err error) (*http.Response, error) {
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		return nil, err
	}
	status := api.Status()
	status.Kind, status.APIVersion = "Status", "v1"
	body, err := json.Marshal(status)
	return &http.Response{
		StatusCode: int(status.Code), Request: request, ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   io.NopCloser(bytes.NewReader(body)),
	}, err
}

func (f *Refusal) verdict(q Request) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.rules {
		rule := &f.rules[i]
		if rule.remaining == 0 || rule.resource != q.Resource || len(rule.verbs) > 0 && !slices.Contains(rule.verbs, q.Verb) {
			continue
		}
		rule.remaining--
		return rule.err
	}
	return nil
}
