// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Request is one API request, as the server's audit log or a Recorder saw it. Its verbs are those of RBAC; a server-side apply is a
// patch. Resource includes a subresource, as in "barbicans/status".
type Request struct {
	UserAgent string
	Verb      string
	Group     string
	Resource  string
	Namespace string
	Name      string
	Code      int
}

// Requests can be narrowed down, counted and printed.
type Requests []Request

// By keeps the requests of user agents with the given prefix.
func (r Requests) By(agent string) Requests {
	return r.keep(func(q Request) bool { return strings.HasPrefix(q.UserAgent, agent) })
}

// Verbs keeps the requests with one of the verbs.
func (r Requests) Verbs(verbs ...string) Requests {
	return r.keep(func(q Request) bool { return slices.Contains(verbs, q.Verb) })
}

// Of keeps the requests for one of the resources.
func (r Requests) Of(resources ...string) Requests {
	return r.keep(func(q Request) bool { return slices.Contains(resources, q.Resource) })
}

// Except drops the requests for the resources, say leases.
func (r Requests) Except(resources ...string) Requests {
	return r.keep(func(q Request) bool { return !slices.Contains(resources, q.Resource) })
}

// In keeps the requests in a namespace.
func (r Requests) In(namespace string) Requests {
	return r.keep(func(q Request) bool { return q.Namespace == namespace })
}

// Writes keeps the requests that change something.
func (r Requests) Writes() Requests {
	return r.Verbs("create", "update", "patch", "delete", "deletecollection")
}

// Reads keeps gets and lists; a watch is neither.
func (r Requests) Reads() Requests { return r.Verbs("get", "list") }

// Conflicts keeps the requests that another writer was faster than.
func (r Requests) Conflicts() Requests {
	return r.keep(func(q Request) bool { return q.Code == http.StatusConflict })
}

func (r Requests) keep(keep func(Request) bool) Requests {
	return slices.DeleteFunc(slices.Clone(r), func(q Request) bool { return !keep(q) })
}

// String is a table of counts by verb and resource, the most frequent first, for failure messages and reports.
func (r Requests) String() string {
	counts := map[string]int{}
	for _, q := range r {
		counts[q.Verb+" "+q.Resource]++
	}
	lines := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	var b strings.Builder
	fmt.Fprintf(&b, "%d requests", len(r))
	for _, line := range lines {
		fmt.Fprintf(&b, "\n%6d %s", counts[line], line)
	}
	return b.String()
}

// Recorder records the requests of a client, for tests that demand none. Put it in with rest.Config's Wrap:
//
//	var recorder kubetest.Recorder
//	config.Wrap(recorder.Transport)
type Recorder struct {
	mu       sync.Mutex
	requests Requests
}

// Transport is a rest.Config wrapper.
func (r *Recorder) Transport(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if q, ok := parseRequest(request); ok {
			if response != nil {
				q.Code = response.StatusCode
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.requests = append(r.requests, q)
		}
		return response, err
	})
}

// Requests are those since the start or the last Reset. Discovery is not counted.
func (r *Recorder) Requests() Requests {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.requests)
}

// Reset forgets what was recorded, and returns it.
func (r *Recorder) Reset() Requests {
	r.mu.Lock()
	defer r.mu.Unlock()
	recorded := r.requests
	r.requests = nil
	return recorded
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// parseRequest reads /api/v1/..., /apis/GROUP/VERSION/...; other paths (discovery, health) are no resource requests.
func parseRequest(request *http.Request) (Request, bool) {
	q := Request{UserAgent: request.UserAgent()}
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		q.Group, parts = parts[1], parts[3:]
	default:
		return q, false
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		q.Namespace, parts = parts[1], parts[2:]
	}
	q.Resource = parts[0]
	if len(parts) > 1 {
		q.Name = parts[1]
	}
	if len(parts) > 2 {
		q.Resource += "/" + parts[2]
	}
	q.Verb = verb(request, q.Name)
	return q, true
}

func verb(request *http.Request, name string) string {
	watch := request.URL.Query().Get("watch")
	switch {
	case request.Method == http.MethodPost:
		return "create"
	case request.Method == http.MethodPut:
		return "update"
	case request.Method == http.MethodPatch:
		return "patch"
	case request.Method == http.MethodDelete && name == "":
		return "deletecollection"
	case request.Method == http.MethodDelete:
		return "delete"
	case watch == "true" || watch == "1":
		return "watch"
	case name == "":
		return "list"
	default:
		return "get"
	}
}
