// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/c5c3/cobaltcore/common/api"
)

func route() Route {
	return Route{Instance: instance, Service: "one", Port: 9311, Gateway: &api.GatewaySpec{
		ParentRef: api.GatewayParentRef{Name: "gw"}, Hostname: "svc.example.org", Annotations: map[string]string{"a": "b"},
	}}
}

func TestRoute(t *testing.T) {
	t.Parallel()
	want := gatewayv1.HTTPRouteSpec{
		CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{Name: "gw"}}},
		Hostnames:       []gatewayv1.Hostname{"svc.example.org"},
		Rules: []gatewayv1.HTTPRouteRule{{
			Matches: []gatewayv1.HTTPRouteMatch{{Path: &gatewayv1.HTTPPathMatch{Type: new(gatewayv1.PathMatchPathPrefix), Value: new("/")}}},
			BackendRefs: []gatewayv1.HTTPBackendRef{{BackendRef: gatewayv1.BackendRef{BackendObjectReference: gatewayv1.BackendObjectReference{
				Kind: new(gatewayv1.Kind("Service")), Name: "one", Port: new(int32(9311))}}}},
		}},
	}
	got := route().desired(service())
	if diff := cmp.Diff(want, got.Spec); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Annotations["a"] != "b" {
		t.Errorf("annotations = %v", got.Annotations)
	}
	full := route()
	full.Timeout = "4h"
	full.Gateway.Path = "key-manager"
	full.Gateway.ParentRef.Namespace, full.Gateway.ParentRef.SectionName = "gateways", "https"
	spec := full.desired(service()).Spec
	parent := gatewayv1.ParentReference{Name: "gw", Namespace: new(gatewayv1.Namespace("gateways")), SectionName: new(gatewayv1.SectionName("https"))}
	if diff := cmp.Diff([]gatewayv1.ParentReference{parent}, spec.ParentRefs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if rule := spec.Rules[0]; *rule.Matches[0].Path.Value != "/key-manager" || *rule.Timeouts.Request != "4h" {
		t.Errorf("rule = %+v", rule)
	}
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	condition := func(of gatewayv1.RouteConditionType, status metav1.ConditionStatus, generation int64) metav1.Condition {
		return metav1.Condition{Type: string(of), Status: status, ObservedGeneration: generation, Reason: "Because", Message: "so it is"}
	}
	accepted := condition(gatewayv1.RouteConditionAccepted, metav1.ConditionTrue, 2)
	of := func(ref gatewayv1.ParentReference, conditions ...metav1.Condition) gatewayv1.RouteParentStatus {
		return gatewayv1.RouteParentStatus{ParentRef: ref, Conditions: conditions}
	}
	gw := gatewayv1.ParentReference{Name: "gw"}
	for _, tt := range []struct {
		name    string
		parents []gatewayv1.RouteParentStatus
		says    string // empty: accepted
	}{
		{"accepted", []gatewayv1.RouteParentStatus{of(gw, accepted)}, ""},
		{"accepted, with everything resolved", []gatewayv1.RouteParentStatus{of(gw, accepted, condition(gatewayv1.RouteConditionResolvedRefs, "True", 2))}, ""},
		{"accepted, with defaults spelled out", []gatewayv1.RouteParentStatus{of(gatewayv1.ParentReference{
			Name: "gw", Namespace: new(gatewayv1.Namespace("ns")), Kind: new(gatewayv1.Kind("Gateway"))}, accepted)}, ""},
		{"accepted by one of two controllers", []gatewayv1.RouteParentStatus{of(gw), of(gw, accepted)}, ""},
		{"not seen", nil, "Waiting for gateway gw"},
		{"no opinion", []gatewayv1.RouteParentStatus{of(gw)}, "Waiting for gateway gw"},
		{"accepted by another gateway", []gatewayv1.RouteParentStatus{of(gatewayv1.ParentReference{Name: "other"}, accepted)}, "Waiting"},
		{"accepted by a gateway of another namespace", []gatewayv1.RouteParentStatus{of(gatewayv1.ParentReference{Name: "gw", Namespace: new(gatewayv1.Namespace("x"))}, accepted)}, "Waiting"},
		{"accepted by another listener", []gatewayv1.RouteParentStatus{of(gatewayv1.ParentReference{Name: "gw", SectionName: new(gatewayv1.SectionName("http"))}, accepted)}, "Waiting"},
		{"accepted as it was", []gatewayv1.RouteParentStatus{of(gw, condition(gatewayv1.RouteConditionAccepted, "True", 1))}, "Waiting"},
		{"refused", []gatewayv1.RouteParentStatus{of(gw, condition(gatewayv1.RouteConditionAccepted, "False", 2))}, "does not accept the route: Because: so it is"},
		{"accepted, but without a backend", []gatewayv1.RouteParentStatus{of(gw, accepted, condition(gatewayv1.RouteConditionResolvedRefs, "False", 2))}, "cannot resolve the route's backend: Because"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			live := route().desired(service())
			live.Generation, live.Status.Parents = 2, tt.parents
			if got := route().refusal(live); (got == "") != (tt.says == "") || !strings.Contains(got, tt.says) {
				t.Errorf("refusal() = %q, want %q", got, tt.says)
			}
		})
	}
}

func TestEnsureRoute(t *testing.T) {
	t.Parallel()
	withdrawn := route()
	withdrawn.Gateway = nil
	accepted := ownedBy(service(), &gatewayv1.HTTPRoute{})
	accepted.Status.Parents = []gatewayv1.RouteParentStatus{{ParentRef: gatewayv1.ParentReference{Name: "gw"}, Conditions: []metav1.Condition{
		{Type: string(gatewayv1.RouteConditionAccepted), Status: metav1.ConditionTrue}}}}
	foreign := ownedBy(stranger(), &gatewayv1.HTTPRoute{})
	refusing := func(err error) interceptor.Funcs {
		return interceptor.Funcs{
			Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
				return err
			},
			Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return err },
		}
	}
	for _, tt := range []struct {
		name   string
		route  Route
		there  *gatewayv1.HTTPRoute
		hooks  interceptor.Funcs
		reason string
		fails  bool
		left   bool
		after  time.Duration
	}{
		{name: "created", route: route(), reason: api.ReasonHTTPRouteNotAccepted, after: RouteRetry, left: true},
		{name: "accepted", route: route(), there: accepted, reason: api.ReasonHTTPRouteAccepted, left: true},
		{name: "foreign", route: route(), there: foreign, reason: api.ReasonHTTPRouteNotAccepted, fails: true, left: true},
		{name: "invalid", route: route(), hooks: refusing(apierrors.NewInvalid(schema.GroupKind{Kind: "HTTPRoute"}, "one", nil)), reason: api.ReasonHTTPRouteNotAccepted, fails: true},
		{name: "API server down", route: route(), hooks: refusing(errors.New("connection refused")), fails: true},
		{name: "withdrawn", route: withdrawn, there: accepted, reason: api.ReasonHTTPRouteNotRequired},
		{name: "never requested", route: withdrawn, reason: api.ReasonHTTPRouteNotRequired},
		{name: "not requested, but there is a foreign one", route: withdrawn, there: foreign, reason: api.ReasonHTTPRouteNotRequired, left: true},
		{name: "API server down at the end", route: withdrawn, there: accepted, hooks: refusing(errors.New("connection refused")), fails: true, left: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var objects []client.Object
			if tt.there != nil {
				objects = append(objects, tt.there.DeepCopy())
			}
			c := world(t, tt.hooks, objects...)
			got := EnsureRoute(t.Context(), c, service(), tt.route)
			expect(t, got, tt.reason, tt.fails)
			live := &gatewayv1.HTTPRoute{}
			if err := c.Reader.Get(t.Context(), client.ObjectKeyFromObject(service()), live); (err == nil) != tt.left || got.ComesBack() != tt.after {
				t.Errorf("the route: %v, comes back after %s", err, got.ComesBack())
			}
			if tt.there == foreign && len(live.Spec.Hostnames) > 0 {
				t.Error("the foreign route changed")
			}
		})
	}
}

type brokenMapper struct{ meta.RESTMapper }

func (brokenMapper) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	return nil, errors.New("connection refused")
}

type silentMapper struct{ meta.RESTMapper }

func TestEnsureRouteOnAClusterWithoutGatewayAPI(t *testing.T) {
	t.Parallel()
	withdrawn := route()
	withdrawn.Gateway = nil
	known, knownWithdrawn := route(), withdrawn
	known.Unserved, knownWithdrawn.Unserved = true, true
	nothing := meta.NewDefaultRESTMapper(nil)
	for _, tt := range []struct {
		name    string
		route   Route
		mapper  meta.RESTMapper
		cluster string
		reason  string
		fails   bool
	}{
		{"requested", route(), nothing, "", api.ReasonGatewayAPINotInstalled, false},
		{"not requested", withdrawn, nothing, "", api.ReasonHTTPRouteNotRequired, false},
		{"requested, and known to be missing", known, silentMapper{}, "", api.ReasonGatewayAPINotInstalled, false},
		{"not requested, and known to be missing", knownWithdrawn, silentMapper{}, "", api.ReasonHTTPRouteNotRequired, false},
		{"another cluster is asked anyway", known, nothing, "east", api.ReasonGatewayAPINotInstalled, false},
		{"another cluster does not answer", known, brokenMapper{}, "east", api.ReasonCapabilityProbeFailed, true},
		{"no answer", withdrawn, brokenMapper{}, "", api.ReasonCapabilityProbeFailed, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := world(t, interceptor.Funcs{})
			c.Name, c.Client = tt.cluster, mapped{c.Client, tt.mapper}
			got := EnsureRoute(t.Context(), c, service(), tt.route)
			expect(t, got, tt.reason, tt.fails)
			if got.ComesBack() != 0 {
				t.Errorf("comes back after %s: only an installation helps, and that needs a restart", got.ComesBack())
			}
		})
	}
}
