// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/network"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		health reply
		want   string
	}{
		"answers":           {reply{code: http.StatusOK, body: "OK"}, "True/APIHealthy"},
		"answers otherwise": {reply{code: http.StatusServiceUnavailable, body: "down\nfor now"}, "False/APIUnhealthy"},
		"does not answer":   {reply{err: context.DeadlineExceeded}, "False/HealthCheckTimeout"},
		"refuses":           {reply{err: syscall.ECONNREFUSED}, "False/ConnectionFailed"},
		"has no address":    {reply{err: &net.DNSError{Err: "no such host", Name: "barbican", IsNotFound: true}}, "False/EndpointNotReady"},
		"breaks off":        {reply{err: errors.New("EOF")}, "False/HealthCheckFailed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t)
			w.health = c.health
			w.converge()
			result, err := w.reconcile()
			if err != nil {
				t.Fatal(err)
			}
			w.expect("BarbicanAPIReady="+c.want, "DeploymentReady=True/DeploymentReady")
			if healthy := strings.HasPrefix(c.want, "True"); healthy != (result.RequeueAfter >= time.Minute) || !healthy && result.RequeueAfter != 10*time.Second {
				t.Errorf("comes back after %s", result.RequeueAfter)
			}
			if w.asked != "http://barbican.keys.svc.cluster.local:9311/healthcheck" {
				t.Errorf("asked %s", w.asked)
			}
		})
	}
}

func TestRoute(t *testing.T) {
	t.Parallel()
	gateway := func(b *v1alpha1.Barbican) {
		b.Spec.Gateway = &api.GatewaySpec{ParentRef: api.GatewayParentRef{Name: "gateway"}, Hostname: "keys.example.org"}
	}
	t.Run("comes and goes", func(t *testing.T) {
		t.Parallel()
		w := begin(t, gateway)
		w.converge()
		w.expect("HTTPRouteReady=False/HTTPRouteNotAccepted")
		if result, err := w.reconcile(); err != nil || result.RequeueAfter != 10*time.Second {
			t.Errorf("the pass ends with %+v, %v", result, err)
		}
		w.acceptRoute()
		w.converge()
		w.expect("HTTPRouteReady=True/HTTPRouteAccepted", "Ready=True/AllReady")
		w.edit(func(b *v1alpha1.Barbican) { b.Spec.Gateway = nil })
		w.converge()
		w.expect("HTTPRouteReady=True/HTTPRouteNotRequired", "Ready=True/AllReady")
		if exists(w, network.RouteObject(), "barbican") {
			t.Error("the route is still there")
		}
	})
	for name, c := range map[string]struct {
		mapper meta.RESTMapper
		edit   func(*v1alpha1.Barbican)
		known  bool // since the start
		want   string
	}{
		"not served":                  {nothingServed{}, gateway, false, "False/GatewayAPINotInstalled"},
		"not served, without asking":  {nothingServed{err: errBroken}, gateway, true, "False/GatewayAPINotInstalled"},
		"not served and not wanted":   {nothingServed{}, func(*v1alpha1.Barbican) {}, false, "True/HTTPRouteNotRequired"},
		"nobody knows what is served": {nothingServed{err: errBroken}, gateway, false, "False/CapabilityProbeFailed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t, c.edit)
			local, err := w.controller.Targets.Resolve(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			w.use(remapped{local.Client, c.mapper}, local.Reader, local.Secrets)
			w.steps.NoRoutes = c.known
			w.converge()
			w.expect("HTTPRouteReady="+c.want, "DeploymentReady=True/DeploymentReady")
		})
	}
}

// remapped is a client of a cluster that serves other kinds.
type remapped struct {
	client.Client
	mapper meta.RESTMapper
}

func (r remapped) RESTMapper() meta.RESTMapper { return r.mapper }

// nothingServed answers for a cluster without the kind, or fails to.
type nothingServed struct {
	meta.RESTMapper
	err error
}

func (n nothingServed) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if n.err != nil {
		return nil, n.err
	}
	return nil, &meta.NoKindMatchError{GroupKind: kind, SearchedVersions: versions}
}

// ports are the egress rules of a policy, each as its port numbers.
func ports(policy *networkingv1.NetworkPolicy) [][]int {
	var all [][]int
	for _, rule := range policy.Spec.Egress {
		var numbers []int
		for _, p := range rule.Ports {
			numbers = append(numbers, p.Port.IntValue())
		}
		all = append(all, numbers)
	}
	return all
}

// TestPolicy checks the order of the rules, and that what the pods run with stays reachable.
func TestPolicy(t *testing.T) {
	t.Parallel()
	closed := func(b *v1alpha1.Barbican) {
		b.Spec.NetworkPolicy = &api.NetworkPolicySpec{Ingress: []api.IngressSource{{NamespaceSelector: metav1.LabelSelector{}}}}
	}
	w := begin(t, closed)
	w.ready()
	policy := func() *networkingv1.NetworkPolicy { return get(w, &networkingv1.NetworkPolicy{}, "barbican") }
	want := [][]int{{53, 53}, {3306}, {5000}, {11211}, {8200}}
	if diff := cmp.Diff(want, ports(policy())); diff != "" {
		t.Errorf("egress (-want +got):\n%s", diff)
	}

	// An edited store that is not validated opens no port; the one that the pods use stays open.
	w.editStore("main", func(s *v1alpha1.BarbicanSecretStore) {
		onServer(s)
		s.Generation++
	})
	w.pass()
	w.expect("SecretStoresReady=False/NoDefaultSecretStore", "NetworkPolicyReady=True/NetworkPolicyReady")
	if diff := cmp.Diff(want, ports(policy())); diff != "" {
		t.Errorf("egress while the store is not validated (-want +got):\n%s", diff)
	}

	// A validated one that cannot be used yet is reachable beside it.
	w.editStore("main", func(s *v1alpha1.BarbicanSecretStore) {
		setCondition(s, api.ConditionCredentialsReady, metav1.ConditionTrue, v1alpha1.ReasonCredentialsAvailable)
	})
	w.pass()
	w.expect("SecretStoresReady=False/WaitingForSecretStores")
	if diff := cmp.Diff([][]int{{53, 53}, {3306}, {5000}, {11211}, {8200, 8443}}, ports(policy())); diff != "" {
		t.Errorf("egress before the change of servers (-want +got):\n%s", diff)
	}

	w.create(secret("given", "role-id", pair.RoleID, "secret-id", pair.SecretID))
	w.pass()
	w.expect("SecretStoresReady=True/AllStoresProjected")
	if diff := cmp.Diff([][]int{{53, 53}, {3306}, {5000}, {11211}, {8443}}, ports(policy())); diff != "" {
		t.Errorf("egress after the change of servers (-want +got):\n%s", diff)
	}

	w.edit(func(b *v1alpha1.Barbican) { b.Spec.NetworkPolicy = nil })
	w.converge()
	w.expect("NetworkPolicyReady=True/NetworkPolicyNotRequired")
	if exists(w, &networkingv1.NetworkPolicy{}, "barbican") {
		t.Error("the policy is still there")
	}
}

// TestPolicyWithoutSources fails closed: what there is stays as it is, and Ready does not claim the new generation.
func TestPolicyWithoutSources(t *testing.T) {
	t.Parallel()
	w := begin(t, full)
	w.converge()
	w.acceptRoute()
	w.ready()
	before := get(w, &networkingv1.NetworkPolicy{}, "barbican").Spec
	w.edit(func(b *v1alpha1.Barbican) { b.Spec.NetworkPolicy.Ingress = nil })
	if _, err := w.reconcile(); err == nil || !strings.Contains(err.Error(), "spec.networkPolicy.ingress is empty") {
		t.Errorf("err = %v", err)
	}
	if diff := cmp.Diff(before, get(w, &networkingv1.NetworkPolicy{}, "barbican").Spec); diff != "" {
		t.Errorf("the policy changed (-before +after):\n%s", diff)
	}
	w.expect("Ready=False/NotAllReady")
	if got := message(w.barbican(), api.ConditionReady); got != "Not True: NetworkPolicyReady (not reported for the current generation)" {
		t.Errorf("Ready says %q", got)
	}
}
