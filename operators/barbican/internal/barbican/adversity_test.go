// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/database"
	"github.com/c5c3/cobaltcore/common/network"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/openbao"
)

// TestForeignChildren is R36 for each kind: what somebody else owns is neither changed nor deleted, and somebody is told.
func TestForeignChildren(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		child  client.Object
		name   string
		reason string // as "Condition=False/Reason"; empty where Ready alone tells
	}{
		"DSN":           {&corev1.Secret{}, "barbican-db-connection", "SecretsReady=False/WaitingForDBCredentials"},
		"password":      {&corev1.Secret{}, "barbican-authtoken", "SecretsReady=False/WaitingForServiceUserCredentials"},
		"CronJob":       {&batchv1.CronJob{}, "barbican-db-clean", "DBCleanReady=False/DBCleanBlocked"},
		"Database":      {&database.Database{}, "barbican", "DatabaseReady=False/WaitingForDatabase"},
		"User":          {&database.User{}, "barbican", "DatabaseReady=False/WaitingForDatabase"},
		"Grant":         {&database.Grant{}, "barbican", "DatabaseReady=False/WaitingForDatabase"},
		"Job":           {&batchv1.Job{}, "barbican-db-sync", "DatabaseReady=False/DBSyncFailed"},
		"Deployment":    {&appsv1.Deployment{}, "barbican", "DeploymentReady=False/WaitingForDeployment"},
		"Service":       {&corev1.Service{}, "barbican", "DeploymentReady=False/WaitingForDeployment"},
		"budget":        {&policyv1.PodDisruptionBudget{}, "barbican", "DeploymentReady=False/WaitingForDeployment"},
		"HTTPRoute":     {network.RouteObject(), "barbican", "HTTPRouteReady=False/HTTPRouteNotAccepted"},
		"autoscaler":    {&autoscalingv2.HorizontalPodAutoscaler{}, "barbican", ""},
		"NetworkPolicy": {&networkingv1.NetworkPolicy{}, "barbican", "DatabaseReady=False/DBSyncFailed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t, full)
			w.put(secret("service-user", "password", "pa$$word"))
			foreign := c.child
			foreign.SetNamespace(namespace)
			foreign.SetName(c.name)
			foreign.SetUID("foreign")
			w.create(foreign)
			before := foreign.GetResourceVersion()
			for range 4 {
				w.pass()
				for _, o := range []client.Object{&database.Database{}, &database.User{}, &database.Grant{}, &batchv1.Job{}, &appsv1.Deployment{}} {
					w.actOnOwn(o)
				}
			}
			condition, teller := "Ready", "Ready=False/NotAllReady"
			if c.reason != "" {
				condition, _, _ = strings.Cut(c.reason, "=")
				teller = c.reason
			}
			w.expect(teller)
			if got := message(w.barbican(), condition); !strings.Contains(got, "keys/"+c.name+" exists and is not controlled by") {
				t.Errorf("%s says %q", condition, got)
			}
			w.expect("Ready=False/NotAllReady")
			w.remove(w.barbican())
			for range 3 {
				w.run()
			}
			if exists(w, &v1alpha1.Barbican{}, "barbican") {
				t.Error("the Barbican is held")
			}
			after := reflect.New(reflect.TypeOf(foreign).Elem()).Interface().(client.Object)
			if !exists(w, after, c.name) || after.GetResourceVersion() != before || after.GetUID() != "foreign" {
				t.Error("the foreign object was touched")
			}
		})
	}
}

// actOnOwn is simulate for one kind, if the object is not a foreign one.
func (w *world) actOnOwn(o client.Object) {
	w.Helper()
	of := "barbican"
	if _, ok := o.(*batchv1.Job); ok {
		of = "barbican-db-sync"
	}
	if !exists(w, o, of) || o.GetUID() == "foreign" {
		return
	}
	switch o := o.(type) {
	case *batchv1.Job:
		if len(o.Status.Conditions) == 0 {
			w.finish(o, batchv1.JobComplete)
		}
	case *appsv1.Deployment:
		w.rollOut()
	default:
		w.makeReady(o)
	}
}

// TestKilledAtAnyWrite ends the process after each write of a converge and of an upgrade, and starts another one.
func TestKilledAtAnyWrite(t *testing.T) {
	t.Parallel()
	for last := 1; ; last++ {
		w := begin(t)
		survived := w.dieAfter(last)
		w.restart()
		w.converge()
		w.expect("Ready=True/AllReady")
		w.edit(bump("2026.1"))
		survived = w.dieAfter(last) && survived
		w.restart()
		b := w.converge()
		w.expect("Ready=True/AllReady")
		if b.Status.InstalledRelease != "2026.1" || b.Status.SchemaRelease != "2026.1" {
			t.Errorf("killed after write %d: status is %+v", last, b.Status)
		}
		w.expectCount("barbican_operator_db_sync_total", "failed", 0)
		if survived {
			if last < 12 {
				t.Errorf("a converge takes %d writes: the test does not count", last)
			}
			return
		}
	}
}

// dieAfter converges with a process that can send so many writes and no more.
func (w *world) dieAfter(writes int) (survived bool) {
	w.Helper()
	defer func() {
		w.fault = nil
		w.taken()
	}()
	left := writes
	w.fault = func(verb string, _ client.Object) error {
		switch {
		case verb == "get" || verb == "read":
		case left == 0:
			return errBroken
		default:
			left--
		}
		return nil
	}
	for range 10 {
		if w.run(); left == 0 {
			return false
		}
		w.simulate()
	}
	return true
}

// TestRefusedChildren shows what the API server says about a child that it does not take.
func TestRefusedChildren(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"CronJob": "DBCleanReady=False/DBCleanBlocked", "Job": "DatabaseReady=False/DBSyncFailed", "Database": "DatabaseReady=False/WaitingForDatabase",
		"Deployment": "DeploymentReady=False/WaitingForDeployment", "HTTPRoute": "HTTPRouteReady=False/HTTPRouteNotAccepted",
		"Secret": "SecretsReady=False/WaitingForDBCredentials",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := begin(t, full)
			w.fault = func(verb string, o client.Object) error {
				if (verb == "apply" || verb == "create") && kindOf(known(), o) == kind {
					return apierrors.NewInvalid(schema.GroupKind{Kind: kind}, "barbican", nil)
				}
				return nil
			}
			for range 4 {
				w.pass()
				w.simulate()
			}
			w.expect(want, "Ready=False/NotAllReady")
			condition, _, _ := strings.Cut(want, "=")
			if got := message(w.barbican(), condition); !strings.Contains(got, `"barbican" is invalid`) {
				t.Errorf("message is %q", got)
			}
		})
	}
}

// TestUncheckedSpecs are objects that no webhook and no schema has seen: no panic, no hot loop, and somebody is told.
func TestUncheckedSpecs(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*v1alpha1.Barbican){
		"nothing at all":      func(b *v1alpha1.Barbican) { b.Spec = v1alpha1.BarbicanSpec{} },
		"no database":         func(b *v1alpha1.Barbican) { b.Spec.Database = api.DatabaseSpec{} },
		"no image":            func(b *v1alpha1.Barbican) { b.Spec.Image = api.ImageSpec{} },
		"no release":          func(b *v1alpha1.Barbican) { b.Spec.OpenStackRelease = "" },
		"a release of before": func(b *v1alpha1.Barbican) { b.Spec.OpenStackRelease = "0001.1" },
		"too large numbers": func(b *v1alpha1.Barbican) {
			b.Spec.Deployment.Replicas = 1 << 30
			b.Spec.APIServer = &v1alpha1.APIServerSpec{UWSGI: &api.UWSGISpec{Processes: 1 << 30, Threads: 1 << 30}}
		},
		"negative numbers": func(b *v1alpha1.Barbican) {
			b.Spec.Deployment.Replicas = -1
			b.Spec.APIServer = &v1alpha1.APIServerSpec{UWSGI: &api.UWSGISpec{Processes: -1, Threads: -1}}
			b.Spec.DBClean = &v1alpha1.DBCleanSpec{RetentionDays: new(int32(-1))}
		},
		"empty blocks": func(b *v1alpha1.Barbican) {
			b.Spec.Gateway, b.Spec.Autoscaling, b.Spec.NetworkPolicy = &api.GatewaySpec{}, &api.AutoscalingSpec{}, &api.NetworkPolicySpec{}
			b.Spec.PolicyOverrides, b.Spec.Logging, b.Spec.SecretStoreRef = &api.PolicyOverrides{}, &api.LoggingSpec{}, &api.SecretStoreRef{}
			b.Spec.APIServer, b.Spec.DBClean, b.Spec.Database.TLS = &v1alpha1.APIServerSpec{}, &v1alpha1.DBCleanSpec{}, &api.DatabaseTLSSpec{}
		},
		"empty lists": func(b *v1alpha1.Barbican) {
			b.Spec.Middleware, b.Spec.Plugins = []api.Middleware{{}}, []api.Plugin{{}}
			b.Spec.ExtraConfig = map[string]map[string]string{"": {"": ""}}
		},
		"addresses that are none": func(b *v1alpha1.Barbican) {
			b.Spec.KeystoneEndpoint, b.Spec.Cache = "://", api.CacheSpec{Servers: []string{"", ":", "a:b:c", "[::1"}}
		},
		"control characters everywhere": func(b *v1alpha1.Barbican) {
			b.Spec.Region, b.Spec.ServiceUser.Username, b.Spec.Database.Database = "a\x00b", "a\nb", "a\nb"
			b.Spec.Gateway = &api.GatewaySpec{Hostname: "a\nb"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t, full, edit)
			for range 5 {
				result, err := w.reconcile()
				if err != nil && strings.Contains(err.Error(), "panic") {
					t.Fatal(err)
				}
				if err == nil && result.RequeueAfter == 0 {
					t.Error("nothing brings the Barbican back")
				}
				w.simulate()
			}
			b := w.barbican()
			if len(b.Status.Conditions) == 0 {
				t.Error("nobody is told anything")
			}
			w.taken()
			w.events.taken()
			w.run()
			if requests := w.writesTaken(); slices.ContainsFunc(requests, func(r string) bool { return !strings.HasPrefix(r, "apply") }) {
				t.Errorf("writes of a pass that changes nothing: %q", requests)
			}
			w.expectEvents()
		})
	}
}

// TestHugeMaps renders more options than anybody has written, once.
func TestHugeMaps(t *testing.T) {
	t.Parallel()
	options := map[string]string{}
	for i := range 5000 {
		options[fmt.Sprintf("option_%04d", i)] = "value"
	}
	w := begin(t, func(b *v1alpha1.Barbican) { b.Spec.ExtraConfig = map[string]map[string]string{"huge": options} })
	w.ready()
	if config := w.configFile(get(w, &appsv1.Deployment{}, "barbican").Spec.Template); !strings.Contains(config, "option_4999 = value\n") {
		t.Error("the last option is missing")
	}
	w.pass()
	if requests := w.taken(); len(requests) > 0 {
		t.Errorf("requests: %q", requests)
	}
}

// TestPassingFaults are reads that fail: the pass backs off, and no condition says what nobody knows.
func TestPassingFaults(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{
		"Secret", "CronJob", "Database", "Job", "Deployment", "Service", "PodDisruptionBudget",
		"HTTPRoute", "HorizontalPodAutoscaler", "NetworkPolicy",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := begin(t, full)
			w.converge()
			w.acceptRoute()
			before := w.ready().Status
			w.fault = func(verb string, o client.Object) error {
				if verb == "get" && kindOf(known(), o) == kind {
					return errBroken
				}
				return nil
			}
			if _, err := w.reconcile(); err == nil || !strings.Contains(err.Error(), errBroken.Error()) {
				t.Errorf("err = %v", err)
			}
			if diff := cmp.Diff(before, w.barbican().Status); diff != "" {
				t.Errorf("status (-before +after):\n%s", diff)
			}
			if requests := w.taken(); len(requests) > 0 {
				t.Errorf("requests: %q", requests)
			}
			w.expectEvents()
			w.fault = nil
			w.ready()
		})
	}
}

// TestManyAtOnce lets one controller work on several Barbicans at the same time, as its workers do. None gets what belongs to
// another.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	objects := []client.Object{clusterStore(corev1.ConditionTrue), mariaDB(metav1.ConditionTrue), secret("bao-tls-ca", "ca.crt", "CA")}
	names := []string{"one", "two", "three", "four", "five", "six"}
	for _, name := range names {
		own := openbao.Credentials{RoleID: "role-of-" + name, SecretID: "secret-of-" + name}
		b := minimal()
		b.Name, b.UID = name, types.UID("uid-of-"+name)
		b.Spec.Database.SecretRef.Name, b.Spec.ServiceUser.SecretRef.Name = "db-of-"+name, "user-of-"+name
		objects = append(objects, b,
			secret("db-of-"+name, "username", "u", "password", "db-"+name), secret("user-of-"+name, "password", "pa$$-"+name),
			secret("store-"+name+"-approle", "role-id", own.RoleID, "secret-id", own.SecretID),
			store("store-"+name, func(s *v1alpha1.BarbicanSecretStore) {
				s.Spec.BarbicanRef.Name, s.Status.CredentialsHash = name, own.Hash()
			}))
	}
	w := beginWith(t, objects...)
	for range 4 {
		var workers sync.WaitGroup
		for _, name := range names {
			workers.Go(func() {
				if _, err := w.controller.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}); err != nil {
					t.Error(err)
				}
			})
		}
		workers.Wait()
		for _, name := range names {
			w.simulateFor(name)
		}
	}
	for _, name := range names {
		if got := said(get(w, &v1alpha1.Barbican{}, name), "Ready=True/AllReady"); got != "Ready=True/AllReady" {
			t.Errorf("%s: %s", name, got)
		}
		template := get(w, &appsv1.Deployment{}, name).Spec.Template
		text := w.configFile(template) + string(get(w, &corev1.Secret{}, name+"-db-connection").Data["connection"]) +
			string(get(w, &corev1.Secret{}, name+"-authtoken").Data["password"])
		for _, other := range names {
			for _, value := range []string{"role-of-" + other + "\n", "db-" + other + "@", "$$-" + other} {
				if strings.Contains(text, value) != (other == name) {
					t.Errorf("%s has %q: %v", name, value, other != name)
				}
			}
		}
	}
}
