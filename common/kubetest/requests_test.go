// SPDX-License-Identifier: Apache-2.0

package kubetest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/cobaltcore/common/kubetest"
)

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answering(code int) transport {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: code, Body: io.NopCloser(strings.NewReader(""))}, nil
	}
}

func send(t *testing.T, rt http.RoundTripper, method, path string) error {
	t.Helper()
	request := httptest.NewRequest(method, path, nil)
	request.Header.Set("User-Agent", "test")
	response, err := rt.RoundTrip(request)
	if err == nil {
		_ = response.Body.Close()
	}
	return err
}

func TestARecorderReadsRequestsAsTheServerDoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, path string
		want         kubetest.Requests
	}{
		{"GET", "/api/v1/namespaces/a/secrets/b", kubetest.Requests{{Verb: "get", Resource: "secrets", Namespace: "a", Name: "b"}}},
		{"GET", "/api/v1/namespaces/a/secrets", kubetest.Requests{{Verb: "list", Resource: "secrets", Namespace: "a"}}},
		{"GET", "/api/v1/secrets?watch=true", kubetest.Requests{{Verb: "watch", Resource: "secrets"}}},
		{"GET", "/api/v1/namespaces/a", kubetest.Requests{{Verb: "get", Resource: "namespaces", Name: "a"}}},
		{"POST", "/apis/batch/v1/namespaces/a/jobs", kubetest.Requests{{Verb: "create", Group: "batch", Resource: "jobs", Namespace: "a"}}},
		{"PUT", "/apis/apps/v1/namespaces/a/deployments/b", kubetest.Requests{{Verb: "update", Group: "apps", Resource: "deployments", Namespace: "a", Name: "b"}}},
		{"PATCH", "/apis/apps/v1/namespaces/a/deployments/b/status",
			kubetest.Requests{{Verb: "patch", Group: "apps", Resource: "deployments/status", Namespace: "a", Name: "b"}}},
		{"DELETE", "/apis/batch/v1/namespaces/a/jobs/b", kubetest.Requests{{Verb: "delete", Group: "batch", Resource: "jobs", Namespace: "a", Name: "b"}}},
		{"DELETE", "/apis/batch/v1/namespaces/a/jobs", kubetest.Requests{{Verb: "deletecollection", Group: "batch", Resource: "jobs", Namespace: "a"}}},
		{"GET", "/apis/batch/v1", nil},
		{"GET", "/api", nil},
		{"GET", "/readyz", nil},
	} {
		var recorder kubetest.Recorder
		if err := send(t, recorder.Transport(answering(http.StatusConflict)), c.method, c.path); err != nil {
			t.Fatal(err)
		}
		for i := range c.want {
			c.want[i].UserAgent, c.want[i].Code = "test", http.StatusConflict
		}
		if diff := cmp.Diff(c.want, recorder.Reset()); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.method, c.path, diff)
		}
		if left := recorder.Requests(); len(left) != 0 {
			t.Errorf("Reset left %s", left)
		}
	}
}

func TestRequestsAreNarrowedAndPrinted(t *testing.T) {
	t.Parallel()
	all := kubetest.Requests{
		{Verb: "get", Resource: "secrets"}, {Verb: "patch", Resource: "leases"}, {Verb: "patch", Resource: "services"},
		{Verb: "patch", Resource: "services"}, {Verb: "watch", Resource: "secrets"},
	}
	want := "2 requests\n     2 patch services"
	if got := all.Writes().Except("leases").String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := len(all.Reads()); got != 1 {
		t.Errorf("%d reads, want 1", got)
	}
	if len(all) != 5 || all[1].Resource != "leases" {
		t.Error("narrowing changed the original")
	}
}

func TestACrash(t *testing.T) {
	t.Parallel()
	writes := []struct{ method, path string }{
		{"POST", "/api/v1/namespaces/a/events"}, {"PUT", "/apis/coordination.k8s.io/v1/namespaces/a/leases/b"}, // not counted
		{"GET", "/api/v1/namespaces/a/secrets/b"},
		{"POST", "/api/v1/namespaces/a/secrets"}, {"PATCH", "/api/v1/namespaces/a/services/b"}, {"GET", "/api/v1/namespaces/a/secrets/b"},
	}
	for _, c := range []struct {
		name             string
		at               int
		answered         bool
		reached, refused int
	}{
		{"never", 0, false, 6, 0},
		{"before the first write", 1, false, 3, 3},
		{"after the first write", 1, true, 4, 3},
		{"before the second write", 2, false, 4, 2},
		{"at a write that never comes", 3, false, 6, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			crash := &kubetest.Crash{At: c.at, Answered: c.answered, Kill: cancel}
			var server kubetest.Recorder
			client := crash.Transport(server.Transport(answering(http.StatusOK)))
			refused := 0
			for _, w := range writes {
				if err := send(t, client, w.method, w.path); errors.Is(err, kubetest.ErrCrashed) {
					refused++
				}
			}
			if reached := len(server.Requests()); reached != c.reached || refused != c.refused {
				t.Errorf("%d requests reached the server and %d failed, want %d and %d", reached, refused, c.reached, c.refused)
			}
			if fired := c.refused > 0; crash.Fired() != fired || (ctx.Err() != nil) != fired {
				t.Errorf("Fired %v and killed %v, want %v", crash.Fired(), ctx.Err() != nil, fired)
			}
		})
	}
}

func TestARefusal(t *testing.T) {
	t.Parallel()
	var refusal kubetest.Refusal
	broken := errors.New("broken")
	client := refusal.Transport(answering(http.StatusOK))
	refusal.Refuse(1, broken, "secrets", "get")
	get := func() error { return send(t, client, "GET", "/api/v1/namespaces/a/secrets/b") }
	if err := send(t, client, "POST", "/api/v1/namespaces/a/secrets"); err != nil {
		t.Errorf("another verb was refused: %v", err)
	}
	if err := get(); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
	if err := get(); err != nil {
		t.Errorf("refused more than once: %v", err)
	}
	refusal.Refuse(-1, broken, "secrets")
	for range 3 {
		if get() == nil {
			t.Error("a lasting refusal ended")
		}
	}
	refusal.Clear()
	if err := get(); err != nil {
		t.Errorf("refused after Clear: %v", err)
	}
}

func TestARefusalThatTheServerWouldGive(t *testing.T) {
	t.Parallel()
	var refusal kubetest.Refusal
	config := env.Agent("refused")
	config.Wrap(refusal.Transport)
	refusal.Refuse(1, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "b", errors.New("not you")), "secrets")
	c := clientFor(t, config)
	err := c.Get(t.Context(), key("default", "b"), secret())
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "not you") {
		t.Errorf("got %v, want a Forbidden", err)
	}
	if err := c.Get(t.Context(), key("default", "b"), secret()); !apierrors.IsNotFound(err) {
		t.Errorf("got %v, want the server's own NotFound", err)
	}
}

type object struct {
	metav1.PartialObjectMetadata
	conditions []metav1.Condition
}

func (o *object) StatusConditions() *[]metav1.Condition { return &o.conditions }

func TestConditionMatchers(t *testing.T) {
	t.Parallel()
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "AllReady", Message: "all is well", ObservedGeneration: 2}
	current := &object{conditions: []metav1.Condition{ready}}
	current.Generation = 2
	stale := &object{conditions: []metav1.Condition{ready}}
	stale.Generation = 3
	for _, c := range []struct {
		name    string
		matcher *kubetest.ConditionMatcher
		actual  any
		want    bool
	}{
		{"right", kubetest.HaveCondition("Ready", metav1.ConditionTrue, "AllReady"), current, true},
		{"any reason", kubetest.HaveCondition("Ready", metav1.ConditionTrue, ""), current, true},
		{"wrong reason", kubetest.HaveCondition("Ready", metav1.ConditionTrue, "Other"), current, false},
		{"wrong status", kubetest.HaveCondition("Ready", metav1.ConditionFalse, "AllReady"), current, false},
		{"absent", kubetest.HaveCondition("Other", metav1.ConditionTrue, ""), current, false},
		{"message", kubetest.HaveCondition("Ready", metav1.ConditionTrue, "").Saying("well"), current, true},
		{"wrong message", kubetest.HaveCondition("Ready", metav1.ConditionTrue, "").Saying("ill"), current, false},
		{"a list", kubetest.HaveCondition("Ready", metav1.ConditionTrue, "AllReady"), current.conditions, true},
		{"stale", kubetest.HaveCondition("Ready", metav1.ConditionTrue, "AllReady"), stale, true},
		{"stale, but current wanted", kubetest.HaveCondition("Ready", metav1.ConditionTrue, "AllReady").Current(), stale, false},
		{"ready", kubetest.BeReady(), current, true},
		{"ready once", kubetest.BeReady(), stale, false},
		{"not there", kubetest.BeReady(), nil, false},
	} {
		got, err := c.matcher.Match(c.actual)
		if err != nil || got != c.want {
			t.Errorf("%s: got %v, %v, want %v", c.name, got, err, c.want)
		}
	}
	if _, err := kubetest.BeReady().Match("a string"); err == nil {
		t.Error("a string has conditions")
	}
	message := kubetest.BeReady().FailureMessage(stale)
	for _, part := range []string{"generation 3", "Ready=True/AllReady (generation 2): all is well"} {
		if !strings.Contains(message, part) {
			t.Errorf("%q does not say %q", message, part)
		}
	}
}
