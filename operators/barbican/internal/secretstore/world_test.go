// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/c5c3/cobaltcore/common/apply"
	standin "github.com/c5c3/cobaltcore/common/kubetest/openbao"
	"github.com/c5c3/cobaltcore/common/naming"
	"github.com/c5c3/cobaltcore/common/reconcile/probe"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/metrics"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/openbao"
)

var key = types.NamespacedName{Namespace: "keys", Name: "main"}

// world is a store controller on a fake API server and a stand-in key store,
// which share a clock.
type world struct {
	*standin.Server
	t          testing.TB
	client     client.Client
	clock      *clocktesting.FakePassiveClock
	controller *Controller
	options    Options
	roleID     string
	tokenError error
	writeError error // of the next Create
	unseen     bool  // no cache shows any Secret for the moment

	writes  atomic.Int64 // of any object
	events  recorder
	remints remints
}

type recorder struct {
	mu     sync.Mutex
	events []string
}

func (r *recorder) Event(object runtime.Object, eventType, reason, _ string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, fmt.Sprintf("%T %s %s", object, eventType, reason))
}

// taken are the events since it was asked last, without the package of their object.
func (r *recorder) taken() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	events := r.events
	r.events = nil
	for i := range events {
		events[i] = strings.TrimPrefix(events[i], "*v1alpha1.")
	}
	return events
}

type remints struct {
	mu        sync.Mutex
	counted   []metrics.Trigger
	forgotten []types.NamespacedName
}

func (r *remints) Reminted(_ types.NamespacedName, why metrics.Trigger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counted = append(r.counted, why)
}

func (r *remints) ForgetStore(store types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgotten = append(r.forgotten, store)
}

// secretReader leaves out the annotations of Secrets without our label, as the real one does.
type secretReader struct {
	client.Reader
	unseen *bool
}

func (r secretReader) Get(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	if *r.unseen && strings.HasSuffix(key.Name, "-approle") {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
	}
	var secret corev1.Secret
	err := r.Reader.Get(ctx, key, &secret)
	if secret.Labels[naming.LabelManagedBy] == "" {
		secret.Annotations = nil
	}
	return &secret, err
}

type unobserved struct{}

func (unobserved) Step(string, string) func(time.Duration, error) {
	return func(time.Duration, error) {}
}

func scheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme, AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// begin starts a world with a Barbican, an available instance and nothing else
// but the objects given.
func begin(t testing.TB, objects ...client.Object) *world {
	t.Helper()
	w := &world{t: t, clock: clocktesting.NewFakePassiveClock(now)}
	server, err := standin.Start(standin.Options{Clock: w.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	w.Server, w.roleID = server, server.Provision(appRole)
	objects = append(objects, &v1alpha1.Barbican{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "barbican", UID: "barbican-uid"}},
		instance(metav1.ConditionTrue), secret("bao-tls-ca", "ca.crt", string(server.CA())),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "bao-provisioner"}})
	w.client = interceptor.NewClient(
		fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).WithStatusSubresource(&v1alpha1.BarbicanSecretStore{}).Build(),
		w.interceptors())
	w.options = Options{
		Client: w.client, Recorder: &w.events, Remints: &w.remints, Observer: unobserved{}, Clock: w.clock,
		Verdicts: probe.Options{Patience: 10 * time.Second, Clock: w.clock},
	}
	w.restart()
	return w
}

// interceptors count writes and let the TokenRequest fail.
func (w *world) interceptors() interceptor.Funcs {
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			w.writes.Add(1)
			if err := w.writeError; err != nil {
				w.writeError = nil
				return err
			}
			return c.Create(ctx, o, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			w.writes.Add(1)
			return c.Update(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			w.writes.Add(1)
			return c.Patch(ctx, o, p, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			w.writes.Add(1)
			return c.SubResource(name).Patch(ctx, o, p, opts...)
		},
		SubResourceCreate: func(ctx context.Context, c client.Client, name string, o, sub client.Object, opts ...client.SubResourceCreateOption) error {
			if w.tokenError != nil {
				return w.tokenError
			}
			return c.SubResource(name).Create(ctx, o, sub, opts...)
		},
	}
}

// restart is a new process on the same cluster and key store.
func (w *world) restart() {
	w.t.Helper()
	w.options.Targets = target.Local{Cluster: target.Cluster{
		Client: w.client, Reader: w.client, Writer: apply.NewWriter(w.client, w.client), Secrets: secretReader{w.client, &w.unseen}, Dial: w.Dial,
	}}
	controller, err := New(w.options)
	if err != nil {
		w.t.Fatal(err)
	}
	w.controller = controller
}

func (w *world) reconcile() (ctrl.Result, error) {
	return w.controller.Reconcile(context.Background(), ctrl.Request{NamespacedName: key})
}

// pass reconciles the store once and returns it.
func (w *world) pass() *v1alpha1.BarbicanSecretStore {
	w.t.Helper()
	if _, err := w.reconcile(); err != nil {
		w.t.Fatal(err)
	}
	return w.store()
}

// after lets time go by and reconciles.
func (w *world) after(d time.Duration) *v1alpha1.BarbicanSecretStore {
	w.t.Helper()
	w.clock.SetTime(w.clock.Now().Add(d))
	return w.pass()
}

func (w *world) store() *v1alpha1.BarbicanSecretStore {
	w.t.Helper()
	var store v1alpha1.BarbicanSecretStore
	w.get(key, &store)
	return &store
}

func (w *world) get(key types.NamespacedName, o client.Object) {
	w.t.Helper()
	if err := w.client.Get(context.Background(), key, o); err != nil {
		w.t.Fatal(err)
	}
}

// minted is the credential in the store's Secret.
func (w *world) minted() credential {
	w.t.Helper()
	var s corev1.Secret
	w.get(types.NamespacedName{Namespace: key.Namespace, Name: key.Name + "-approle"}, &s)
	return credentialOf(&s)
}

func (w *world) update(o client.Object) {
	w.t.Helper()
	if err := w.client.Update(context.Background(), o); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) delete(o client.Object) {
	w.t.Helper()
	if err := w.client.Delete(context.Background(), o); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) create(o client.Object) {
	w.t.Helper()
	if err := w.client.Create(context.Background(), o); err != nil {
		w.t.Fatal(err)
	}
}

// expect compares conditions given as "Type=Status/Reason"; a type alone must be absent.
func (w *world) expect(store *v1alpha1.BarbicanSecretStore, conditions ...string) {
	w.t.Helper()
	for _, want := range conditions {
		name, _, _ := strings.Cut(want, "=")
		got := name
		if c := meta.FindStatusCondition(store.Status.Conditions, name); c != nil {
			got = fmt.Sprintf("%s=%s/%s", name, c.Status, c.Reason)
			if got != want {
				got += ": " + c.Message
			}
		}
		if got != want {
			w.t.Errorf("condition is %s, want %s", got, want)
		}
	}
}

func (w *world) expectEvents(want ...string) {
	w.t.Helper()
	if got := w.events.taken(); !slices.Equal(got, want) {
		w.t.Errorf("events are %q, want %q", got, want)
	}
}

func message(store *v1alpha1.BarbicanSecretStore, condition string) string {
	if c := meta.FindStatusCondition(store.Status.Conditions, condition); c != nil {
		return c.Message
	}
	return ""
}

func managedStore() *v1alpha1.BarbicanSecretStore {
	return &v1alpha1.BarbicanSecretStore{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: "store-uid", Generation: 1},
		Spec: v1alpha1.BarbicanSecretStoreSpec{
			BarbicanRef: v1alpha1.BarbicanRef{Name: "barbican"}, Type: v1alpha1.OpenBaoStore, IsDefault: true,
			OpenBao: &v1alpha1.OpenBaoSpec{InstanceRef: &v1alpha1.OpenBaoInstanceRef{Name: "bao"}, KVMountpoint: "barbican"},
		},
	}
}

func givenStore() *v1alpha1.BarbicanSecretStore {
	store := managedStore()
	store.Spec.OpenBao.InstanceRef = nil
	store.Spec.OpenBao.Server = &v1alpha1.OpenBaoServer{
		URL: "https://bao.example.org:8200", CABundleSecretRef: &v1alpha1.SecretNameRef{Name: "bao-tls-ca"},
		CredentialsSecretRef: v1alpha1.SecretNameRef{Name: "given"},
	}
	return store
}

func instance(available metav1.ConditionStatus) *OpenBaoCluster {
	o := &OpenBaoCluster{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "bao"}}
	o.Status.Conditions = []metav1.Condition{{Type: "Available", Status: available, Reason: "Test", LastTransitionTime: metav1.NewTime(now)}}
	return o
}

func secret(name string, pairs ...string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: name}, Data: map[string][]byte{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		s.Data[pairs[i]] = []byte(pairs[i+1])
	}
	return s
}

// given is the Secret of a brownfield store with the pair.
func given(pair openbao.Credentials) *corev1.Secret {
	return secret("given", v1alpha1.RoleIDKey, pair.RoleID, v1alpha1.SecretIDKey, pair.SecretID)
}

// deployed lets the Barbican's Deployment run, rolled out, with the configuration and the pair.
func (w *world) deployed(config, hash string) {
	w.t.Helper()
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "barbican", Generation: 1},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationSecretStoreCredentialsHash: hash}},
			Spec: corev1.PodSpec{Volumes: []corev1.Volume{{
				Name: "config", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "barbican-config"}},
			}}},
		}},
		Status: appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 3},
	}
	status := deployment.Status
	w.create(deployment)
	deployment.Status = status
	if err := w.client.Status().Update(context.Background(), deployment); err != nil {
		w.t.Fatal(err)
	}
	w.create(secret("barbican-config", "barbican.conf", config))
}
