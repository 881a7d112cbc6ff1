// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/kubetest"
	standin "github.com/c5c3/cobaltcore/common/kubetest/openbao"
	"github.com/c5c3/cobaltcore/common/manager"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
	"github.com/c5c3/cobaltcore/common/secrets"
	"github.com/c5c3/cobaltcore/common/watch"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/metrics"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/secretstore"
)

// soon is less than the 30 seconds after which a waiting store comes back by itself: what happens by then was woken.
const soon = 15 * time.Second

var env *kubetest.Environment

func TestMain(m *testing.M) {
	kubetest.Main(m, &env, kubetest.Options{CRDs: []string{"../../../config/crd/bases"}})
}

// run is an operator of the namespace of a test.
type run struct {
	client.Client
	t         *testing.T
	namespace string
	services  kubetest.Services
	requests  kubetest.Recorder
}

type store = v1alpha1.BarbicanSecretStore

var indexes = secretstore.Indexes{Barbican: "barbican", Instance: "instance", Secrets: "secrets"}

// start runs the store controller alone, with one worker.
func start(t *testing.T) *run {
	t.Helper()
	o := &run{t: t}
	scheme, err := manager.NewScheme(v1alpha1.AddToScheme, secretstore.AddToScheme)
	check(t, err)
	o.Client, err = client.New(env.Config, client.Options{Scheme: scheme})
	check(t, err)
	o.namespace = kubetest.NewNamespace(t, o.Client)

	flags := manager.DefaultFlags()
	flags.Namespace = o.namespace
	flags.MetricsAddress, flags.ProbeAddress, flags.Webhooks = "0", "0", false
	config := rest.CopyConfig(env.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return o.requests.Transport(next) })
	m, err := manager.New(t.Context(), config, manager.Options{
		Flags: flags, Name: "barbican-operator", LeaderElectionID: "stores", Scheme: scheme,
		Kinds: []manager.Kind{{Object: &store{}}, {Object: &v1alpha1.Barbican{}}, {Object: &secretstore.OpenBaoCluster{}}, {Object: &corev1.Secret{}}, {Object: secrets.Metadata()}},
	})
	check(t, err)
	addIndexes(t, m)
	source := secrets.NewSource(m.GetClient(), m.GetCache(), m.GetAPIReader())
	c, err := secretstore.New(secretstore.Options{
		Client: m.GetClient(), Recorder: silent{}, Observer: silent{}, Remints: silent{}, Timeout: 5 * time.Second,
		Targets: target.Local{Cluster: target.Cluster{
			Client: m.GetClient(), Reader: m.GetAPIReader(), Writer: apply.NewWriter(m.GetClient(), m.GetAPIReader()),
			Secrets: source, Dial: o.services.Dial,
		}},
	})
	check(t, err)
	skip := true // several operators of one name in one process
	options := controller.Options{MaxConcurrentReconciles: 1, SkipNameValidation: &skip}
	check(t, secretstore.Watches{Manager: m, Options: options, Secrets: source, Indexes: indexes}.Start(c))
	begin(t, m)
	return o
}

func begin(t *testing.T, m *manager.Manager) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	ended.Go(func() {
		if err := m.Start(ctx); err != nil {
			t.Errorf("the operator ended: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); ended.Wait() })
}

func addIndexes(t *testing.T, m *manager.Manager) {
	t.Helper()
	for name, get := range map[string]func(*store) []string{
		indexes.Barbican: func(s *store) []string { return []string{s.Spec.BarbicanRef.Name} },
		indexes.Secrets:  func(s *store) []string { return []string{s.CredentialsSecretName(), s.CASecretName()} },
		indexes.Instance: func(s *store) []string {
			if !s.Spec.Managed() {
				return nil
			}
			return []string{s.Spec.OpenBao.InstanceRef.Name}
		},
	} {
		check(t, watch.Index(t.Context(), m.GetFieldIndexer(), &store{}, name, get))
	}
}

type silent struct{}

func (silent) Event(runtime.Object, string, string, string)   {}
func (silent) Step(string, string) func(time.Duration, error) { return func(time.Duration, error) {} }
func (silent) Reminted(types.NamespacedName, metrics.Trigger) {}
func (silent) ForgetStore(types.NamespacedName)               {}
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// barbican is a Barbican that no controller looks at.
func (o *run) barbican() *v1alpha1.Barbican {
	return &v1alpha1.Barbican{
		ObjectMeta: o.meta("barbican"),
		Spec: v1alpha1.BarbicanSpec{
			OpenStackRelease: "2025.2", KeystoneEndpoint: "https://keystone",
			Image:       api.ImageSpec{Repository: "barbican", Tag: "2025.2"},
			Database:    api.DatabaseSpec{Host: "db", Database: "barbican", SecretRef: api.SecretRef{Name: "db"}},
			Cache:       api.CacheSpec{Servers: []string{"cache:11211"}, Backend: "dogpile.cache.pymemcache"},
			ServiceUser: api.ServiceUserSpec{SecretRef: api.SecretRef{Name: "user"}},
		},
	}
}

// instance is a key store that is reached under the name of an OpenBaoCluster, and a store that uses it.
type instance struct {
	*run
	*standin.Server
	name   string
	roleID string
	store  *store
}

func (o *run) instance(name string) *instance {
	o.t.Helper()
	server, err := standin.Start(standin.Options{})
	check(o.t, err)
	o.t.Cleanup(server.Close)
	o.services.Serve(client.ObjectKey{Namespace: o.namespace, Name: name}, 8200, server.Address())
	return &instance{run: o, Server: server, name: name, roleID: server.Provision("barbican"), store: &store{
		ObjectMeta: o.meta(name + "-store"),
		Spec: v1alpha1.BarbicanSecretStoreSpec{
			BarbicanRef: v1alpha1.BarbicanRef{Name: "barbican"}, Type: v1alpha1.OpenBaoStore, IsDefault: true,
			OpenBao: &v1alpha1.OpenBaoSpec{InstanceRef: &v1alpha1.OpenBaoInstanceRef{Name: name}},
		},
	}}
}

func (o *run) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: o.namespace, Name: name}
}

func (o *run) create(objects ...client.Object) {
	o.t.Helper()
	for _, object := range objects {
		check(o.t, o.Create(o.t.Context(), object))
	}
}

// available makes the OpenBaoCluster and its ServiceAccount.
func (i *instance) available() {
	i.t.Helper()
	o := &secretstore.OpenBaoCluster{ObjectMeta: i.meta(i.name)}
	i.create(&corev1.ServiceAccount{ObjectMeta: i.meta(i.name + "-provisioner")}, o)
	o.Status.Conditions = []metav1.Condition{{
		Type: "Available", Status: metav1.ConditionTrue, Reason: "Test", LastTransitionTime: metav1.Now(),
	}}
	check(i.t, i.Status().Update(i.t.Context(), o))
}

func (i *instance) ca() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: i.meta(i.name + "-tls-ca"), Data: map[string][]byte{"ca.crt": i.CA()}}
}

// soon awaits a state of the store.
func (i *instance) soon() AsyncAssertion {
	return NewWithT(i.t).Eventually(kubetest.Live(i.Client, i.store)).WithContext(i.t.Context()).WithTimeout(soon)
}

// minted is the store's Secret.
func (i *instance) minted() *corev1.Secret {
	i.t.Helper()
	secret := &corev1.Secret{}
	check(i.t, i.Get(i.t.Context(), client.ObjectKey{Namespace: i.namespace, Name: i.store.Name + "-approle"}, secret))
	return secret
}
