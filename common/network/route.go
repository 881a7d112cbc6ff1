// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/naming"
	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

// RouteRetry is how long a pass waits for a gateway to accept a route.
const RouteRetry = 10 * time.Second

// AddToScheme registers the kinds of the Gateway API.
func AddToScheme(s *runtime.Scheme) error { return gatewayv1.Install(s) }

// RouteObject is an empty HTTPRoute, for watches.
func RouteObject() client.Object { return &gatewayv1.HTTPRoute{} }

// ServesRoutes asks a cluster whether it serves HTTPRoutes.
func ServesRoutes(mapper meta.RESTMapper) (bool, error) {
	_, err := mapper.RESTMapping(schema.GroupKind{Group: gatewayv1.GroupName, Kind: "HTTPRoute"}, gatewayv1.GroupVersion.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	return err == nil, err
}

// Route is an HTTPRoute from a gateway's hostname and path to one Service.
type Route struct {
	Instance naming.Instance
	Gateway  *api.GatewaySpec // nil: no route
	Service  string
	Port     int32
	Timeout  string // of a request, as the Gateway API writes it; empty leaves it to the gateway

	// Unserved says that the management cluster served no HTTPRoutes when the process started. Otherwise each pass asks,
	// which costs a request as long as the answer is no.
	Unserved bool
}

// EnsureRoute brings the HTTPRoute of owner into place, or removes it, and says whether the gateway accepted it.
func EnsureRoute(ctx context.Context, c target.Cluster, owner client.Object, r Route) reconcile.Outcome {
	served, err := r.served(c)
	switch {
	case err != nil:
		return reconcile.Fail(api.ReasonCapabilityProbeFailed, fmt.Errorf("asking whether the cluster serves HTTPRoutes: %w", err))
	case !served && r.Gateway != nil:
		return reconcile.NotReady(api.ReasonGatewayAPINotInstalled, "spec.gateway is set, but the cluster serves no HTTPRoutes: install the Gateway API")
	case r.Gateway == nil:
		return removeRoute(ctx, c, owner, served)
	}
	route := r.desired(owner)
	if err := c.Writer.Apply(ctx, owner, route); err != nil {
		return reconcile.Blame(api.ReasonHTTPRouteNotAccepted, err)
	}
	if refused := r.refusal(route); refused != "" {
		return reconcile.Poll(RouteRetry, api.ReasonHTTPRouteNotAccepted, refused)
	}
	return reconcile.Ready(api.ReasonHTTPRouteAccepted, fmt.Sprintf("Gateway %s accepted the route", r.Gateway.ParentRef.Name))
}

func (r Route) served(c target.Cluster) (bool, error) {
	if r.Unserved && !c.Remote() {
		return false, nil
	}
	return ServesRoutes(c.Client.RESTMapper())
}

func removeRoute(ctx context.Context, c target.Cluster, owner client.Object, served bool) reconcile.Outcome {
	if served {
		child := &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: owner.GetNamespace(), Name: owner.GetName()}}
		if _, err := c.Writer.Delete(ctx, owner, child); err != nil {
			return reconcile.Error(err)
		}
	}
	return reconcile.Ready(api.ReasonHTTPRouteNotRequired, "No gateway is requested")
}

func (r Route) desired(owner client.Object) *gatewayv1.HTTPRoute {
	rule := gatewayv1.HTTPRouteRule{
		Matches: []gatewayv1.HTTPRouteMatch{{Path: &gatewayv1.HTTPPathMatch{
			Type: new(gatewayv1.PathMatchPathPrefix), Value: new(r.Gateway.EffectivePath()),
		}}},
		BackendRefs: []gatewayv1.HTTPBackendRef{{BackendRef: gatewayv1.BackendRef{BackendObjectReference: gatewayv1.BackendObjectReference{
			Kind: new(gatewayv1.Kind("Service")), Name: gatewayv1.ObjectName(r.Service), Port: new(r.Port),
		}}}},
	}
	if r.Timeout != "" {
		rule.Timeouts = &gatewayv1.HTTPRouteTimeouts{Request: new(gatewayv1.Duration(r.Timeout))}
	}
	return &gatewayv1.HTTPRoute{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: owner.GetNamespace(), Name: owner.GetName(), Labels: r.Instance.Labels(), Annotations: r.Gateway.Annotations,
		},
		Spec: gatewayv1.HTTPRouteSpec{
			CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{r.parent()}},
			Hostnames:       []gatewayv1.Hostname{gatewayv1.Hostname(r.Gateway.Hostname)},
			Rules:           []gatewayv1.HTTPRouteRule{rule},
		},
	}
}

func (r Route) parent() gatewayv1.ParentReference {
	ref := r.Gateway.ParentRef
	parent := gatewayv1.ParentReference{Name: gatewayv1.ObjectName(ref.Name)}
	if ref.Namespace != "" {
		parent.Namespace = new(gatewayv1.Namespace(ref.Namespace))
	}
	if ref.SectionName != "" {
		parent.SectionName = new(gatewayv1.SectionName(ref.SectionName))
	}
	return parent
}

// refusal says why a route does not count as accepted. Only the parent that we named has a say, and only about the
// route as it is now; a backend that it could not resolve would be answered with errors.
func (r Route) refusal(route *gatewayv1.HTTPRoute) string {
	for _, parent := range route.Status.Parents {
		if !r.names(parent.ParentRef, route.Namespace) {
			continue
		}
		accepted := meta.FindStatusCondition(parent.Conditions, string(gatewayv1.RouteConditionAccepted))
		resolved := meta.FindStatusCondition(parent.Conditions, string(gatewayv1.RouteConditionResolvedRefs))
		switch {
		case accepted == nil || accepted.ObservedGeneration != route.Generation:
			continue
		case accepted.Status != metav1.ConditionTrue:
			return fmt.Sprintf("Gateway %s does not accept the route: %s: %s", r.Gateway.ParentRef.Name, accepted.Reason, accepted.Message)
		case resolved != nil && resolved.Status == metav1.ConditionFalse:
			return fmt.Sprintf("Gateway %s cannot resolve the route's backend: %s: %s", r.Gateway.ParentRef.Name, resolved.Reason, resolved.Message)
		}
		return ""
	}
	return fmt.Sprintf("Waiting for gateway %s to accept the route; if it stays so, check that the gateway exists and allows routes from namespace %s",
		r.Gateway.ParentRef.Name, route.Namespace)
}

// names says whether a status is about the parent that we named.
func (r Route) names(ref gatewayv1.ParentReference, namespace string) bool {
	of := func(p gatewayv1.ParentReference) (string, string, string) {
		where, section := namespace, ""
		if p.Namespace != nil {
			where = string(*p.Namespace)
		}
		if p.SectionName != nil {
			section = string(*p.SectionName)
		}
		return string(p.Name), where, section
	}
	aName, aNamespace, aSection := of(ref)
	bName, bNamespace, bSection := of(r.parent())
	return aName == bName && aNamespace == bNamespace && aSection == bSection
}
