// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/openbao"
)

func barbicanOf(w *world) *v1alpha1.Barbican {
	w.t.Helper()
	var parent v1alpha1.Barbican
	w.get(types.NamespacedName{Namespace: key.Namespace, Name: "barbican"}, &parent)
	return &parent
}

func TestStoreWaitsForItsBarbican(t *testing.T) {
	t.Parallel()
	w := begin(t, managedStore())
	w.delete(barbicanOf(w))
	result, err := w.reconcile()
	if err != nil || result.RequeueAfter != parentRetry {
		t.Errorf("comes back in %v, %v", result.RequeueAfter, err)
	}
	w.expect(w.store(), "CredentialsReady=False/"+api.ReasonWaitingForParent, "ProvisioningReady", "Ready=False/NotAllReady")
	w.expectEvents()
	if len(w.AllCalls()) != 0 {
		t.Errorf("calls without a Barbican: %v", w.AllCalls())
	}
}

func TestUnknownTargetCluster(t *testing.T) {
	t.Parallel()
	w := begin(t, managedStore())
	parent := barbicanOf(w)
	parent.Spec.TargetClusterRef = &api.TargetClusterRef{Name: "far"}
	w.update(parent)
	result, err := w.reconcile()
	if err != nil || result.RequeueAfter != 15*time.Second {
		t.Errorf("comes back in %v, %v", result.RequeueAfter, err)
	}
	store := w.store()
	w.expect(store, "CredentialsReady=False/"+api.ReasonTargetClusterUnavailable)
	if len(store.Finalizers) != 0 || len(store.Annotations) != 0 || len(w.AllCalls()) != 0 {
		t.Errorf("something was done: %v %v %v", store.Finalizers, store.Annotations, w.AllCalls())
	}
	w.expectEvents()
}

// twoClusters resolves the management cluster and one that is called far.
type twoClusters struct{ local, far target.Cluster }

func (c twoClusters) Resolve(ctx context.Context, name string) (target.Cluster, error) {
	if name == "far" {
		return c.far, nil
	}
	return target.Local{Cluster: c.local}.Resolve(ctx, name)
}

// afar places the Barbican, and with it all that the store reads and writes, on another cluster.
func afar(t *testing.T) (near, far *world) {
	t.Helper()
	far = begin(t)
	near = begin(t, managedStore())
	remote, _ := far.options.Targets.Resolve(context.Background(), "")
	remote.Name, remote.Writer = "far", apply.NewRemoteWriter(far.client, far.client)
	local, _ := near.options.Targets.Resolve(context.Background(), "")
	near.options.Targets = twoClusters{local, remote}
	controller, err := New(near.options)
	if err != nil {
		t.Fatal(err)
	}
	near.controller = controller
	parent := barbicanOf(near)
	parent.Spec.TargetClusterRef = &api.TargetClusterRef{Name: "far"}
	near.update(parent)
	return near, far
}

func TestStoreOnAnotherCluster(t *testing.T) {
	t.Parallel()
	near, far := afar(t)
	store := near.pass()
	near.expect(store, "ProvisioningReady=True/Provisioned", "CredentialsReady=True/CredentialsAvailable")
	if store.Annotations[v1alpha1.AnnotationChildrenCluster] != "far" || !slices.Contains(store.Finalizers, api.FinalizerRemoteChildren) {
		t.Errorf("annotations %v, finalizers %v", store.Annotations, store.Finalizers)
	}
	var s corev1.Secret
	far.get(types.NamespacedName{Namespace: key.Namespace, Name: "main-approle"}, &s)
	if s.Labels[apply.LabelOwnerName] != "main" || len(s.OwnerReferences) != 0 {
		t.Errorf("labels %v, owners %v", s.Labels, s.OwnerReferences)
	}
	if len(near.AllCalls()) != 0 || far.Calls("POST", mintPath) != 1 {
		t.Error("the wrong key store was talked to")
	}

	near.delete(barbicanOf(near)) // the annotation knows the cluster
	near.delete(store)
	if _, err := near.reconcile(); err != nil {
		t.Fatal(err)
	}
	if err := far.client.Get(context.Background(), types.NamespacedName{Namespace: key.Namespace, Name: "main-approle"}, &s); !apierrors.IsNotFound(err) {
		t.Errorf("the Secret is left behind: %v", err)
	}
	if err := near.client.Get(context.Background(), key, store); !apierrors.IsNotFound(err) {
		t.Errorf("the store is held: %v", err)
	}
}

// No answer of a server, however strange, ends the process for everybody else.
func TestAPanicIsAnErrorOfItsStore(t *testing.T) {
	t.Parallel()
	for name, objects := range map[string][]client.Object{
		"managed": {managedStore()}, "brownfield": {givenStore(), given(openbao.Credentials{RoleID: "role", SecretID: "secret"})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t, objects...)
			w.options.Connect = func(openbao.Options) (KeyStore, error) { panic("strange answer") }
			w.restart()
			if _, err := w.reconcile(); err == nil || !strings.Contains(err.Error(), "strange answer") {
				t.Errorf("the pass ends with %v", err)
			}
			w.options.Connect = nil
			w.restart()
			if _, err := w.reconcile(); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// The Barbican was made anew elsewhere, and the cluster that holds the Secret is never seen again.
func TestANotedClusterThatIsLostHoldsNoStoreForEver(t *testing.T) {
	t.Parallel()
	near, _ := afar(t)
	store := near.pass()
	parent := barbicanOf(near)
	parent.Spec.TargetClusterRef = nil
	near.update(parent)
	local, _ := near.options.Targets.Resolve(context.Background(), "")
	near.options.Targets = target.Local{Cluster: local}
	controller, err := New(near.options)
	if err != nil {
		t.Fatal(err)
	}
	near.controller = controller
	near.delete(store)
	near.clock.SetTime(time.Now())
	if result, err := near.reconcile(); err != nil || result.RequeueAfter != parentRetry {
		t.Errorf("comes back in %v, %v", result.RequeueAfter, err)
	}
	near.events.taken()
	near.clock.SetTime(time.Now().Add(target.AbandonAfter + time.Minute))
	if _, err := near.reconcile(); err != nil {
		t.Error(err)
	}
	if err := near.client.Get(context.Background(), key, store); !apierrors.IsNotFound(err) {
		t.Errorf("the store is held for ever: %v", err)
	}
	near.expectEvents("BarbicanSecretStore Warning " + api.EventRemoteChildrenAbandoned)
}

func TestDeletionOfALocalStore(t *testing.T) {
	t.Parallel()
	w := begin(t, managedStore())
	store := w.pass()
	if len(store.Finalizers) != 0 {
		t.Errorf("a local store is held by %v", store.Finalizers)
	}
	store.Finalizers = []string{"example.org/other"}
	w.update(store)
	w.delete(store)
	writes := w.writes.Load()
	if _, err := w.reconcile(); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(w.remints.forgotten, key) {
		t.Error("the series are not dropped")
	}
	if w.writes.Load() != writes {
		t.Error("something is written while the store terminates")
	}
}

func TestStoreThatVanishedUnseen(t *testing.T) {
	t.Parallel()
	w := begin(t, managedStore())
	w.delete(w.pass())
	if _, err := w.reconcile(); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(w.remints.forgotten, key) {
		t.Error("the series are not dropped")
	}
}

// No key store holds a worker: the pass goes on without an answer and the store is woken by it.
func TestBlackHoleHoldsNoWorker(t *testing.T) {
	t.Parallel()
	w := begin(t, managedStore())
	w.options.Verdicts.Patience = time.Millisecond
	w.restart()
	w.BlackHole()
	store := w.pass()
	w.expect(store, "ProvisioningReady", "CredentialsReady", "Ready=False/NotAllReady")
	select {
	case <-w.controller.woken:
		t.Fatal("woken without an answer")
	default:
	}
	w.Answer()
	for range 3 { // the validation of the minted pair takes a second conversation
		woken := <-w.controller.woken
		if woken.Object.GetName() != key.Name || woken.Object.GetNamespace() != key.Namespace {
			t.Fatalf("woken: %s", woken.Object.GetName())
		}
		if store = w.pass(); store.Status.CredentialsHash != "" {
			break
		}
	}
	w.expect(store, "ProvisioningReady=True/Provisioned", "CredentialsReady=True/CredentialsAvailable")
	if n := w.Calls("POST", mintPath); n != 1 {
		t.Errorf("%d mints, want 1", n)
	}
	if w.OpenSessions() != 0 {
		t.Errorf("%d sessions are left", w.OpenSessions())
	}
}

// A Secret that lost its label is not cached whole: its stamps are read live, and the label is restored.
func TestLostLabelIsRestoredWithoutAMint(t *testing.T) {
	t.Parallel()
	w := begin(t, managedStore())
	w.pass()
	before := w.minted()
	var s corev1.Secret
	w.get(types.NamespacedName{Namespace: key.Namespace, Name: "main-approle"}, &s)
	labels := s.Labels
	s.Labels = nil
	w.update(&s)
	w.restart()
	w.expect(w.pass(), "CredentialsReady=True/CredentialsAvailable")
	w.get(types.NamespacedName{Namespace: key.Namespace, Name: "main-approle"}, &s)
	if w.minted() != before || len(s.Labels) != len(labels) {
		t.Errorf("labels %v, minted anew: %v", s.Labels, w.minted() != before)
	}
	if n := w.Calls("POST", mintPath); n != 1 {
		t.Errorf("%d mints, want 1", n)
	}
}

// A Secret that loses its label leaves one cache before it enters the other. Taken for missing, it would be minted anew, and
// every pod rolled.
func TestSecretBetweenTwoCachesIsNotMintedAnew(t *testing.T) {
	t.Parallel()
	w := begin(t, managedStore())
	w.pass()
	before := w.minted()
	for _, restarted := range []bool{false, true} {
		if restarted {
			w.restart()
		}
		var s corev1.Secret
		w.get(types.NamespacedName{Namespace: key.Namespace, Name: "main-approle"}, &s)
		s.Labels = nil
		w.update(&s)
		w.unseen = true
		w.expect(w.pass(), "CredentialsReady=True/CredentialsAvailable")
		w.unseen = false
		w.get(types.NamespacedName{Namespace: key.Namespace, Name: "main-approle"}, &s)
		if w.minted() != before || len(s.Labels) == 0 {
			t.Errorf("restarted %v: labels %v, minted anew: %v", restarted, s.Labels, w.minted() != before)
		}
	}
	if n := w.Calls("POST", mintPath); n != 1 {
		t.Errorf("%d mints, want 1", n)
	}
}

// The cache of whole Secrets may be behind that of the metadata: then the stamps are missing for a moment.
func TestMissingStampsAreReadLive(t *testing.T) {
	t.Parallel()
	w := begin(t, managedStore())
	w.pass()
	before := w.minted()
	local, _ := w.options.Targets.Resolve(context.Background(), "")
	local.Secrets = unstamped{local.Secrets}
	w.options.Targets = target.Local{Cluster: local}
	controller, err := New(w.options)
	if err != nil {
		t.Fatal(err)
	}
	w.controller = controller
	writes := w.writes.Load()
	w.expect(w.pass(), "CredentialsReady=True/CredentialsAvailable")
	if w.minted() != before || w.writes.Load() != writes {
		t.Errorf("minted anew: %v, %d writes", w.minted() != before, w.writes.Load()-writes)
	}
}

type unstamped struct{ target.SecretReader }

func (u unstamped) Get(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	secret, err := u.SecretReader.Get(ctx, key)
	secret.Annotations = nil
	return secret, err
}

func TestProjectionFollowsTheDeployment(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		given  func(*world)
		reason string
	}{
		{name: "no Deployment", given: func(*world) {}, reason: "ConfigProjected=False/WaitingForProjection"},
		{name: "other stores", given: func(w *world) { w.deployed("[secretstore:other]\n", "") }, reason: "ConfigProjected=False/WaitingForProjection"},
		{name: "no config Secret", given: func(w *world) { w.deployed("", ""); w.delete(secret("barbican-config")) }, reason: "ConfigProjected=False/WaitingForProjection"},
		{name: "this store", given: func(w *world) { w.deployed("[secretstore:main]\n", "") }, reason: "ConfigProjected=True/ConfigProjected"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := beginGiven(t)
			test.given(w)
			w.expect(w.pass(), "CredentialsReady=True/CredentialsAvailable", test.reason)
			w.expectEvents()
		})
	}
}

func TestObservedTellsWhatMatters(t *testing.T) {
	t.Parallel()
	b := &v1alpha1.Barbican{}
	before := observed(b)
	b.Status.Conditions = []metav1.Condition{{Type: "SecretsReady", Status: "True"}}
	b.Labels = map[string]string{"a": "b"}
	if !equality.Semantic.DeepEqual(before, observed(b)) {
		t.Error("another condition wakes the store")
	}
	b.Status.ProjectedSecretStores = []string{"main"}
	if equality.Semantic.DeepEqual(before, observed(b)) {
		t.Error("a projection does not wake the store")
	}
	before = observed(b)
	b.Status.Conditions = append(b.Status.Conditions, metav1.Condition{Type: "DeploymentReady", Status: "True", Reason: "DeploymentReady"})
	if equality.Semantic.DeepEqual(before, observed(b)) {
		t.Error("a finished rollout does not wake the store")
	}
}

// TestSecretsStaySecret looks at everything that others can read.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	w := begin(t, managedStore())
	w.pass()
	minted := w.minted()
	w.LockOut(w.roleID)
	w.after(revalidate)
	store := w.store()
	for _, c := range store.Status.Conditions {
		if strings.Contains(c.Message, minted.SecretID) || strings.Contains(c.Message, minted.RoleID) {
			t.Errorf("%s tells a credential", c.Type)
		}
	}
	if strings.Contains(store.Status.CredentialsHash, minted.SecretID) {
		t.Error("the digest tells the secret ID")
	}
}
