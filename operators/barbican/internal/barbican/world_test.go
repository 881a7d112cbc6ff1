// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/database"
	"github.com/c5c3/cobaltcore/common/network"
	"github.com/c5c3/cobaltcore/common/reconcile/probe"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
	"github.com/c5c3/cobaltcore/common/secrets"
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

// known are the kinds of the world and no more: the fake client goes through all of them for each write.
var known = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, autoscalingv2.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme,
		policyv1.AddToScheme, v1alpha1.AddToScheme, secrets.AddToScheme, database.AddToScheme, network.AddToScheme,
	} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return s
})

var served = sync.OnceValue(func() meta.RESTMapper { return testrestmapper.TestOnlyStaticRESTMapper(known()) })

// indexer registers indexes with a fake client.
type indexer struct{ *fake.ClientBuilder }

func (i indexer) IndexField(_ context.Context, o client.Object, field string, get client.IndexerFunc) error {
	i.WithIndex(o, field, get)
	return nil
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

type secretReader struct{ client.Reader }

func (r secretReader) Get(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	s := &corev1.Secret{}
	return s, r.Reader.Get(ctx, key, s)
}

var errBroken = errors.New("the API server is on fire")

// failingReader cannot read one Secret.
type failingReader struct {
	target.SecretReader
	name string
	err  error
}

func (r failingReader) Get(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	if key.Name == r.name {
		return nil, r.err
	}
	return r.SecretReader.Get(ctx, key)
}

// reply is what comes back from the API.
type reply struct {
	code int
	body string
	err  error
}

type transport struct{ *world }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.asked = r.URL.String()
	if t.health.err != nil {
		return nil, t.health.err
	}
	return &http.Response{StatusCode: t.health.code, Body: io.NopCloser(strings.NewReader(t.health.body))}, nil
}

func (w *world) request(verb string, o client.Object) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests = append(w.requests, verb+" "+kindOf(w.live.Scheme(), o))
	if w.fault == nil {
		return nil
	}
	return w.fault(verb, o)
}

func kindOf(scheme *runtime.Scheme, o runtime.Object) string {
	if kinds, _, err := scheme.ObjectKinds(o); err == nil {
		return kinds[0].Kind
	}
	return o.GetObjectKind().GroupVersionKind().Kind
}

// writes notes the requests that change something. Reads are answered by caches, unless a fault is set for them.
func (w *world) writes() interceptor.Funcs {
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if w.fault != nil {
				if err := w.fault("get", o); err != nil {
					return err
				}
			}
			return c.Get(ctx, key, o, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := w.request("create", o); err != nil {
				return err
			}
			o.SetUID(w.newUID())
			o.SetCreationTimestamp(metav1.Now())
			return c.Create(ctx, o, opts...)
		},
		Apply: w.apply,
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			if err := w.request("update", o); err != nil {
				return err
			}
			return c.Update(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := w.request("patch", o); err != nil {
				return err
			}
			return c.Patch(ctx, o, p, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if err := w.request("delete", o); err != nil {
				return err
			}
			return c.Delete(ctx, o, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := w.request(sub, o); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	}
}

// apply gives new objects a UID and counts the generations of Deployments, neither of which a fake client does.
func (w *world) apply(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	applied := o.(client.Object)
	kind := applied.GetObjectKind().GroupVersionKind()
	if err := w.request("apply", &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: kind.Kind}}); err != nil {
		return err
	}
	before := w.look(ctx, c, kind, applied)
	if err := c.Apply(ctx, o, opts...); err != nil {
		return err
	}
	after := w.look(ctx, c, kind, applied)
	switch {
	case before == nil:
		after.SetUID(w.newUID())
		after.SetGeneration(1)
	case kind.Kind != "Deployment" || equality.Semantic.DeepEqual(before.(*appsv1.Deployment).Spec, after.(*appsv1.Deployment).Spec):
		return nil
	default:
		after.SetGeneration(before.GetGeneration() + 1)
	}
	if err := c.Update(ctx, after); err != nil {
		return err
	}
	applied.SetUID(after.GetUID())
	applied.SetGeneration(after.GetGeneration())
	applied.SetResourceVersion(after.GetResourceVersion())
	return nil
}

// look returns the object under a name, nil if there is none.
func (w *world) look(ctx context.Context, c client.Reader, kind schema.GroupVersionKind, like client.Object) client.Object {
	w.Helper()
	found, err := known().New(kind)
	if err != nil {
		w.Fatal(err)
	}
	if c.Get(ctx, client.ObjectKeyFromObject(like), found.(client.Object)) != nil {
		return nil
	}
	return found.(client.Object)
}

func (w *world) newUID() types.UID {
	return types.UID(fmt.Sprintf("uid-%d", w.uids.Add(1)))
}

// reads notes what is read past the caches.
func (w *world) reads() interceptor.Funcs {
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if err := w.request("read", o); err != nil {
				return err
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.requests = append(w.requests, "list "+strings.TrimSuffix(kindOf(w.live.Scheme(), list), "List"))
			return c.List(ctx, list, opts...)
		},
	}
}

// taken are the requests since it was asked last.
func (w *world) taken() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	requests := w.requests
	w.requests = nil
	return requests
}

// writesTaken are the writes since it was asked last, those of the status left out.
func (w *world) writesTaken() []string {
	return slices.DeleteFunc(w.taken(), func(r string) bool {
		return strings.HasPrefix(r, "read") || strings.HasPrefix(r, "list") || r == "status Barbican"
	})
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

// simulate does the part of the world outside: databases become ready, Jobs complete, Deployments roll out.
func (w *world) simulate() (changed bool) {
	w.Helper()
	return w.simulateFor(name)
}

func (w *world) simulateFor(name string) (changed bool) {
	w.Helper()
	for _, o := range []client.Object{&database.Database{}, &database.User{}, &database.Grant{}} {
		if exists(w, o, name) {
			changed = w.makeReady(o) || changed
		}
	}
	var sync batchv1.Job
	if exists(w, &sync, name+"-db-sync") && len(sync.Status.Conditions) == 0 {
		w.finish(&sync, batchv1.JobComplete)
		changed = true
	}
	return w.rollOutOf(name) || changed
}

// makeReady does the part of mariadb-operator.
func (w *world) makeReady(o client.Object) (changed bool) {
	w.Helper()
	var status *database.Status
	switch o := o.(type) {
	case *database.Database:
		status = &o.Status
	case *database.User:
		status = &o.Status
	case *database.Grant:
		status = &o.Status
	}
	if len(status.Conditions) > 0 {
		return false
	}
	status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Created"}}
	w.put(o)
	return true
}

// finish lets a Job end a minute after its creation.
func (w *world) finish(j *batchv1.Job, how batchv1.JobConditionType) {
	w.Helper()
	j.Status.Conditions = []batchv1.JobCondition{{
		Type: how, Status: corev1.ConditionTrue, Message: "as the test wants it",
		LastTransitionTime: metav1.NewTime(j.CreationTimestamp.Add(time.Minute)),
	}}
	if err := w.live.Status().Update(w.Context(), j); err != nil {
		w.Fatal(err)
	}
}

// rollOut lets the Deployment finish its rollout.
func (w *world) rollOut() {
	w.Helper()
	w.rollOutOf(name)
}

func (w *world) rollOutOf(name string) (changed bool) {
	w.Helper()
	var d appsv1.Deployment
	if !exists(w, &d, name) {
		return false
	}
	size := *d.Spec.Replicas
	if d.Status.ObservedGeneration == d.Generation && d.Status.ReadyReplicas == size {
		return false
	}
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: size, UpdatedReplicas: size, ReadyReplicas: size, AvailableReplicas: size,
		Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue}},
	}
	if err := w.live.Status().Update(w.Context(), &d); err != nil {
		w.Fatal(err)
	}
	return true
}

// minimal is a Barbican as a user writes it who sets nothing that is optional.
func minimal() *v1alpha1.Barbican {
	return &v1alpha1.Barbican{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "uid", Generation: 1},
		Spec: v1alpha1.BarbicanSpec{
			OpenStackRelease: "2025.2", Image: api.ImageSpec{Repository: "registry/barbican", Tag: "2025.2"},
			Database: api.DatabaseSpec{
				ClusterRef: &corev1.LocalObjectReference{Name: "mariadb"}, Database: "barbican", SecretRef: api.SecretRef{Name: "db-credentials"},
			},
			Cache:            api.CacheSpec{ClusterRef: &corev1.LocalObjectReference{Name: "memcached"}},
			KeystoneEndpoint: "http://keystone:5000/v3",
			ServiceUser:      api.ServiceUserSpec{SecretRef: api.SecretRef{Name: "service-user"}},
		},
	}
}

func clusterStore(ready corev1.ConditionStatus) *secrets.ClusterSecretStore {
	return &secrets.ClusterSecretStore{
		ObjectMeta: metav1.ObjectMeta{Name: "openbao-cluster-store"},
		Status:     secrets.SyncStatus{Conditions: []secrets.SyncCondition{{Type: "Ready", Status: ready}}},
	}
}

func mariaDB(ready metav1.ConditionStatus) *database.MariaDB {
	return &database.MariaDB{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "mariadb"},
		Status:     database.Status{Conditions: []metav1.Condition{{Type: "Ready", Status: ready, Reason: "Test"}}},
	}
}

func secret(name string, pairs ...string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		s.Data[pairs[i]] = []byte(pairs[i+1])
	}
	return s
}

// credentials is the Secret that the managed store of a world mints.
func credentials(pair openbao.Credentials) *corev1.Secret {
	return secret("main-approle", v1alpha1.RoleIDKey, pair.RoleID, v1alpha1.SecretIDKey, pair.SecretID)
}

// store is a managed default store that has validated pair, changed by the edits.
func store(name string, edits ...func(*v1alpha1.BarbicanSecretStore)) *v1alpha1.BarbicanSecretStore {
	s := &v1alpha1.BarbicanSecretStore{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-of-store-" + name), Generation: 1},
		Spec: v1alpha1.BarbicanSecretStoreSpec{
			BarbicanRef: v1alpha1.BarbicanRef{Name: "barbican"}, Type: v1alpha1.OpenBaoStore, IsDefault: true,
			OpenBao: &v1alpha1.OpenBaoSpec{InstanceRef: &v1alpha1.OpenBaoInstanceRef{Name: "bao"}},
		},
		Status: v1alpha1.BarbicanSecretStoreStatus{CredentialsHash: pair.Hash()},
	}
	setCondition(s, api.ConditionCredentialsReady, metav1.ConditionTrue, v1alpha1.ReasonCredentialsAvailable)
	setCondition(s, v1alpha1.ConditionProvisioningReady, metav1.ConditionTrue, v1alpha1.ReasonProvisioned)
	for _, edit := range edits {
		edit(s)
	}
	return s
}

func setCondition(s *v1alpha1.BarbicanSecretStore, of string, status metav1.ConditionStatus, reason string) {
	meta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{
		Type: of, Status: status, Reason: reason, ObservedGeneration: s.Generation,
	})
}

// editStore changes a store, its status included.
func (w *world) editStore(name string, change func(*v1alpha1.BarbicanSecretStore)) {
	w.Helper()
	s := get(w, &v1alpha1.BarbicanSecretStore{}, name)
	change(s)
	status := s.Status.DeepCopy()
	w.put(s)
	s.Status = *status
	if err := w.live.Status().Update(w.Context(), s); err != nil {
		w.Fatal(err)
	}
}

// full sets everything that can be set together, and what it refers to has to be put into the world.
func full(b *v1alpha1.Barbican) {
	b.Spec.Gateway = &api.GatewaySpec{ParentRef: api.GatewayParentRef{Name: "gateway", Namespace: "edge"}, Hostname: "keys.example.org"}
	b.Spec.Autoscaling = &api.AutoscalingSpec{MinReplicas: new(int32(2)), MaxReplicas: 6, TargetCPUUtilization: new(int32(70))}
	b.Spec.NetworkPolicy = &api.NetworkPolicySpec{Ingress: []api.IngressSource{{}}}
}

// acceptRoute lets the gateway accept the route.
func (w *world) acceptRoute() {
	w.Helper()
	route := &unstructured.Unstructured{}
	route.SetGroupVersionKind(routeKind)
	get(w, route, name)
	parents, _, err := unstructured.NestedSlice(route.Object, "spec", "parentRefs")
	if err != nil {
		w.Fatal(err)
	}
	route.Object["status"] = map[string]any{"parents": []any{map[string]any{
		"parentRef": parents[0],
		"conditions": []any{map[string]any{
			"type": "Accepted", "status": "True", "reason": "Accepted", "observedGeneration": route.GetGeneration(),
		}},
	}}}
	w.put(route)
}

var routeKind = schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"}
