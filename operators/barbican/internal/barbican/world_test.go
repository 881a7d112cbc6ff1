// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/reconcile/probe"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/metrics"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/openbao"
)

const namespace, name = "keys", "barbican"

var key = types.NamespacedName{Namespace: namespace, Name: name}

// pair is what the default store of a world has validated.
var pair = openbao.Credentials{RoleID: "role-1", SecretID: "secret-id-1"}

// world is a Barbican controller on a fake API server. Its caches are always up to date; what goes through them as a
// write, and what is read past them, is noted as "verb kind".
type world struct {
	testing.TB
	live       client.WithWatch // the API server itself
	steps      *steps
	controller *Controller
	events     recorder
	registry   *prometheus.Registry
	metrics    *metrics.Metrics
	health     reply                                    // of the API
	asked      string                                   // for it
	fault      func(verb string, o client.Object) error // of a request, nil for none

	uids     atomic.Int64
	mu       sync.Mutex
	requests []string
}

// begin starts a world with a Barbican that lacks nothing, changed by the edits, and everything that it refers to.
func begin(t testing.TB, edits ...func(*v1alpha1.Barbican)) *world {
	t.Helper()
	b := minimal()
	for _, edit := range edits {
		edit(b)
	}
	return beginWith(t, b, clusterStore(corev1.ConditionTrue), mariaDB(metav1.ConditionTrue),
		secret("db-credentials", "username", "from-secret", "password", "db-password"),
		secret("service-user", "password", "keystone-password"),
		store("main"), credentials(pair), secret("bao-tls-ca", "ca.crt", "the CA"))
}

func beginWith(t testing.TB, objects ...client.Object) *world {
	t.Helper()
	w := &world{TB: t, registry: prometheus.NewRegistry(), health: reply{code: http.StatusOK, body: "OK"}}
	var err error
	if w.metrics, err = metrics.New(w.registry); err != nil {
		t.Fatal(err)
	}
	builder := fake.NewClientBuilder().WithScheme(known()).WithObjects(objects...).WithReturnManagedFields().
		WithTypeConverters(managedfields.NewDeducedTypeConverter()).
		WithRESTMapper(served()).
		WithStatusSubresource(&v1alpha1.Barbican{}, &v1alpha1.BarbicanSecretStore{})
	if err := AddIndexes(t.Context(), indexer{builder}); err != nil {
		t.Fatal(err)
	}
	w.live = builder.Build()
	w.restart()
	return w
}

// restart is a new process on the same cluster.
func (w *world) restart() {
	w.Helper()
	cached := interceptor.NewClient(w.live, w.writes())
	w.use(cached, interceptor.NewClient(w.live, w.reads()), secretReader{cached})
}

// use builds the controller on the given views of the cluster.
func (w *world) use(cached client.Client, live client.Reader, reader target.SecretReader) {
	w.Helper()
	w.steps = newSteps(Dependencies{
		Client: cached, Recorder: &w.events, Metrics: w.metrics, OperatorNamespace: "barbican-system",
		Health: &probe.HTTP{Reasons: HealthReasons, Cache: probe.NewCache[types.NamespacedName, probe.Verdict](
			func(types.NamespacedName) {}, probe.Options{Patience: 10 * time.Second})},
		Targets: target.Local{Cluster: target.Cluster{
			Client: cached, Reader: live, Writer: apply.NewWriter(cached, live), Secrets: reader, HTTP: transport{w},
		}},
	})
	controller, err := w.steps.controller()
	if err != nil {
		w.Fatal(err)
	}
	w.controller = controller
}

type recorder struct {
	mu     sync.Mutex
	events []string
}

func (r *recorder) Event(_ runtime.Object, eventType, reason, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, eventType+" "+reason+": "+message)
}

// taken are the events since it was asked last, without their messages.
func (r *recorder) taken() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	events := make([]string, 0, len(r.events))
	for _, e := range r.events {
		events = append(events, e[:strings.Index(e, ":")])
	}
	r.events = nil
	return events
}

func (w *world) reconcile() (ctrl.Result, error) {
	return w.controller.Reconcile(w.Context(), ctrl.Request{NamespacedName: key})
}

// run reconciles once, whatever comes of it.
func (w *world) run() {
	w.Helper()
	if _, err := w.reconcile(); err != nil {
		w.Logf("the pass backs off: %v", err)
	}
}

// pass is run for a Barbican that is still there afterwards.
func (w *world) pass() *v1alpha1.Barbican {
	w.Helper()
	w.run()
	return w.barbican()
}

// converge lets passes and the outside world take turns until nothing changes any more.
func (w *world) converge() *v1alpha1.Barbican {
	w.Helper()
	for range 10 {
		before := len(w.requests)
		w.pass()
		if !w.simulate() && len(w.requests) == before {
			return w.barbican()
		}
	}
	w.Fatalf("the Barbican does not settle; requests: %q", w.requests)
	return nil
}

// ready is a Barbican that has converged, with nothing noted so far.
func (w *world) ready() *v1alpha1.Barbican {
	w.Helper()
	b := w.converge()
	w.expect("Ready=True/AllReady")
	w.taken()
	w.events.taken()
	return b
}

func (w *world) barbican() *v1alpha1.Barbican {
	w.Helper()
	return get(w, &v1alpha1.Barbican{}, name)
}

// edit changes the specification as a user does.
func (w *world) edit(change func(*v1alpha1.Barbican)) {
	w.Helper()
	b := w.barbican()
	change(b)
	b.Generation++
	w.put(b)
}

func (w *world) put(o client.Object) {
	w.Helper()
	if err := w.live.Update(w.Context(), o); err != nil {
		w.Fatal(err)
	}
}

func (w *world) create(o client.Object) {
	w.Helper()
	if err := w.live.Create(w.Context(), o); err != nil {
		w.Fatal(err)
	}
}

func (w *world) remove(o client.Object) {
	w.Helper()
	if err := w.live.Delete(w.Context(), o); err != nil {
		w.Fatal(err)
	}
}

// get reads an object of the world's namespace.
func get[T client.Object](w *world, o T, name string) T {
	w.Helper()
	if err := w.live.Get(w.Context(), types.NamespacedName{Namespace: namespace, Name: name}, o); err != nil {
		w.Fatal(err)
	}
	return o
}

func exists(w *world, o client.Object, name string) bool {
	w.Helper()
	err := w.live.Get(w.Context(), types.NamespacedName{Namespace: namespace, Name: name}, o)
	if client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
	return err == nil
}

// expect compares conditions given as "Type=Status/Reason"; a type alone must be absent.
func (w *world) expect(conditions ...string) {
	w.Helper()
	b := w.barbican()
	for _, want := range conditions {
		if got := said(b, want); got != want {
			w.Errorf("condition is %s, want %s", got, want)
		}
	}
}

func said(b *v1alpha1.Barbican, want string) string {
	of, _, _ := strings.Cut(want, "=")
	c := meta.FindStatusCondition(b.Status.Conditions, of)
	if c == nil {
		return of
	}
	got := fmt.Sprintf("%s=%s/%s", of, c.Status, c.Reason)
	if got != want {
		got += ": " + c.Message
	}
	return got
}

func message(b *v1alpha1.Barbican, condition string) string {
	if c := meta.FindStatusCondition(b.Status.Conditions, condition); c != nil {
		return c.Message
	}
	return ""
}

func (w *world) expectEvents(want ...string) {
	w.Helper()
	if got := w.events.taken(); !slices.Equal(got, want) {
		w.Errorf("events are %q, want %q", got, want)
	}
}
