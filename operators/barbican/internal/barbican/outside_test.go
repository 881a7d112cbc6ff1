// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"io"
	"net/http"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/database"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

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
