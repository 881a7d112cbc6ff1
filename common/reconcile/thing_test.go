// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

// thing is the custom resource of these tests.
type thing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Size    int    `json:"size,omitempty"`
		Cluster string `json:"cluster,omitempty"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64              `json:"observedGeneration,omitempty"`
		Conditions         []metav1.Condition `json:"conditions,omitempty"`
		Note               string             `json:"note,omitempty"`
		Notes              []string           `json:"notes,omitempty"`
	} `json:"status"`
}

func (t *thing) StatusConditions() *[]metav1.Condition { return &t.Status.Conditions }
func (t *thing) SetObservedGeneration(g int64)         { t.Status.ObservedGeneration = g }

func (t *thing) DeepCopyObject() runtime.Object {
	text, err := json.Marshal(t)
	if err != nil {
		panic(err)
	}
	out := &thing{}
	if err := json.Unmarshal(text, out); err != nil {
		panic(err)
	}
	return out
}

type thingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []thing `json:"items"`
}

func (l *thingList) DeepCopyObject() runtime.Object { panic("not listed here") }

type values struct{ path []string }

type (
	step = Step[*thing, values]
	pass = Pass[*thing, values]
)

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(s); err != nil {
		panic(err)
	}
	gv := schema.GroupVersion{Group: "example.com", Version: "v1"}
	s.AddKnownTypeWithName(gv.WithKind("Thing"), &thing{})
	s.AddKnownTypeWithName(gv.WithKind("ThingList"), &thingList{})
	metav1.AddToGroupVersion(s, gv)
	return s
}

// observed collects what an Observer is told.
type observed struct {
	mu   sync.Mutex
	runs []string
}

func (o *observed) Step(name, condition string) func(time.Duration, error) {
	return func(took time.Duration, err error) {
		if took < 0 {
			panic("time runs backwards")
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.runs = append(o.runs, fmt.Sprintf("%s/%s failed:%v", name, condition, err != nil))
	}
}

func mustPipeline(t testing.TB, steps ...step) *Pipeline[*thing, values] {
	t.Helper()
	p, err := NewPipeline(&observed{}, steps...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// says is a step that always finds the same.
func says(name, condition string, o Outcome) step {
	return step{Name: name, Condition: condition, Run: func(context.Context, *pass) Outcome { return o }}
}

var key = types.NamespacedName{Namespace: "default", Name: "one"}

func newThing(change ...func(*thing)) *thing {
	t := &thing{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: "uid-1", Generation: 1}}
	for _, c := range change {
		c(t)
	}
	return t
}

// world is a management cluster, whose cache shows the present unless told otherwise, and a Controller on it.
type world struct {
	*Controller[*thing, values]
	api      client.WithWatch
	clock    *testclock.FakePassiveClock
	clusters map[string]target.Cluster

	requests []string
	events   []string
	gone     []string
	past     *thing           // what the cache shows
	fail     map[string]error // by request
	before   map[string]func()
}

func newWorld(t *testing.T, object *thing, steps ...step) *world {
	t.Helper()
	builder := fake.NewClientBuilder().WithScheme(newScheme()).WithStatusSubresource(&thing{})
	if object != nil {
		builder = builder.WithObjects(object)
	}
	w := &world{
		api: builder.Build(), clock: testclock.NewFakePassiveClock(time.Unix(1e9, 0)),
		fail: map[string]error{}, before: map[string]func(){}, clusters: map[string]target.Cluster{},
	}
	c := w.cached()
	w.clusters[""] = target.Cluster{Client: c, Reader: w.api, Writer: apply.NewWriter(c, w.api)}
	w.Controller = &Controller[*thing, values]{
		New: func() *thing { return &thing{} }, Client: c, Recorder: w, Targets: w, Gate: "FirstReady", Finalizer: "example.com/thing",
		Gone: func(key types.NamespacedName, uid types.UID) { w.gone = append(w.gone, fmt.Sprintf("%s/%s", key, uid)) },
		Place: func(_ context.Context, t *thing) (string, Outcome) {
			return t.Spec.Cluster, Outcome{}
		},
	}
	w.patience.Clock = w.clock
	if len(steps) == 0 {
		steps = []step{says("First", "FirstReady", Ready("Found", ""))}
	}
	w.Pipeline = mustPipeline(t, steps...)
	return w
}

func (w *world) addCluster(name string) {
	c := w.cached()
	w.clusters[name] = target.Cluster{Name: name, Client: c, Reader: w.api, Writer: apply.NewRemoteWriter(c, w.api)}
}

// Resolve implements target.Resolver.
func (w *world) Resolve(_ context.Context, name string) (target.Cluster, error) {
	if c, ok := w.clusters[name]; ok {
		return c, nil
	}
	return target.Cluster{}, &target.UnknownError{Name: name, Reason: "not registered"}
}

// Event implements Recorder.
func (w *world) Event(_ runtime.Object, eventType, reason, message string) {
	w.events = append(w.events, eventType+" "+reason+": "+message)
}

func (w *world) request(verb string, send func() error) error {
	w.requests = append(w.requests, verb)
	if w.before[verb] != nil {
		w.before[verb]()
	}
	if err := w.fail[verb]; err != nil {
		return err
	}
	return send()
}

func (w *world) cached() client.WithWatch {
	return interceptor.NewClient(w.api, interceptor.Funcs{
		Get: func(ctx context.Context, api client.WithWatch, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
			if t, ok := obj.(*thing); ok && w.past != nil {
				*t = *w.past.DeepCopyObject().(*thing)
				return nil
			}
			if err := w.fail["read"]; err != nil {
				return err
			}
			return api.Get(ctx, key, obj)
		},
		Patch: func(ctx context.Context, api client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
			return w.request("patch", func() error { return api.Patch(ctx, obj, p, opts...) })
		},
		Delete: func(ctx context.Context, api client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			return w.request("delete", func() error { return api.Delete(ctx, obj, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, api client.Client, sub string, obj client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			return w.request(sub, func() error { return api.SubResource(sub).Patch(ctx, obj, p, opts...) })
		},
	})
}

// pass runs one reconcile that must not fail.
func (w *world) pass(t *testing.T) ctrl.Result {
	t.Helper()
	result, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// sent fails the test unless exactly these requests were sent since the last look.
func (w *world) sent(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(w.requests, want) {
		t.Fatalf("sent %q, want %q", w.requests, want)
	}
	w.requests = nil
}

func (w *world) raised(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(w.events, want) {
		t.Fatalf("raised %q, want %q", w.events, want)
	}
	w.events = nil
}

// live reads the object from the API server, nil if it is gone.
func (w *world) live(t *testing.T) *thing {
	t.Helper()
	live := &thing{}
	if err := w.api.Get(t.Context(), key, live); apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		t.Fatal(err)
	}
	return live
}

func (w *world) edit(t *testing.T, change func(*thing)) {
	t.Helper()
	live := w.live(t)
	change(live)
	if err := w.api.Update(t.Context(), live); err != nil {
		t.Fatal(err)
	}
}

// condition is "status/reason" and the message.
func (w *world) condition(t *testing.T, name string) (string, string) {
	t.Helper()
	c := meta.FindStatusCondition(w.live(t).Status.Conditions, name)
	if c == nil {
		return "", ""
	}
	return string(c.Status) + "/" + c.Reason, c.Message
}

func (w *world) expect(t *testing.T, name, want string) {
	t.Helper()
	if got, message := w.condition(t, name); got != want {
		t.Errorf("%s is %q (%s), want %q", name, got, message, want)
	}
}

const warning = corev1.EventTypeWarning
