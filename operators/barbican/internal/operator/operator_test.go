// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/kubetest"
	"github.com/c5c3/cobaltcore/common/kubetest/openbao"
	"github.com/c5c3/cobaltcore/common/manager"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

const soon = 25 * time.Second

var (
	env  *kubetest.Environment // without webhooks
	crds = []string{"../../config/crd/bases"}
)

func TestMain(m *testing.M) {
	kubetest.Main(m, &env, kubetest.Options{CRDs: crds})
}

func TestAClusterStoreCannotBeReadWithARole(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	w.start(w.account(t))
	b := w.barbican()
	b.Spec.SecretStoreRef = nil // the default is cluster-wide
	w.create(t, b)
	g.Eventually(kubetest.Live(w, b)).WithContext(t.Context()).WithTimeout(soon).Should(
		kubetest.HaveCondition(api.ConditionSecretsReady, metav1.ConditionFalse, api.ReasonSecretStoreNotReady).
			Saying("may not list clustersecretstores"))
}

func TestReadyOnceTheWebhooksAreServed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	admitting, err := kubetest.Start(kubetest.Options{CRDs: crds, Webhooks: []string{"../../config/webhook"}})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(admitting.Stop()).To(Succeed()) })
	w := worldIn(t, admitting)
	w.flags.Webhooks, w.flags.WebhookPort, w.flags.WebhookCertDir = true, admitting.Webhook.Port, admitting.Webhook.CertDir
	w.flags.ProbeAddress = freeAddress(t)
	w.start(admitting.Agent(Name))
	g.Eventually(status).WithArguments(t, "http://"+w.flags.ProbeAddress+"/readyz").WithTimeout(soon).Should(Equal(http.StatusOK))
	// Ready means that the webhook is asked, of what the schema cannot say, from the first request on.
	b := w.barbican()
	b.Spec.ExtraConfig = map[string]map[string]string{"DEFAULT": {"no_such_option": "1"}}
	g.Expect(w.Create(t.Context(), b)).To(MatchError(ContainSubstring("admission webhook")))
}

func status(t *testing.T, url string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// BenchmarkPass is a pass of a Barbican and one of its store that find everything as it should be.
func BenchmarkPass(b *testing.B) {
	g, w := NewWithT(b), newWorld(b)
	w.flags.Namespace = ""
	c := w.start(env.Agent(Name))
	w.converge()
	barbican := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.barbican())}
	store := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.store())}
	b.ReportAllocs()
	before := used(b)
	defer func() { b.ReportMetric(float64(used(b)-before)/float64(b.N), "cpu-ns/op") }()
	for b.Loop() {
		_, err := c.barbicans.Reconcile(b.Context(), barbican)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = c.stores.Reconcile(b.Context(), store)
		g.Expect(err).NotTo(HaveOccurred())
	}
}

// used is the processor time of this process, which a busy machine does not stretch.
func used(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// world is a namespace with all that a Barbican refers to, and what runs there.
type world struct {
	client.Client
	t         testing.TB
	namespace string
	services  kubetest.Services
	requests  kubetest.Recorder
	flags     manager.Flags
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return worldIn(t, env)
}

func worldIn(t testing.TB, env *kubetest.Environment) *world {
	t.Helper()
	g := NewWithT(t)
	w := &world{t: t, flags: manager.DefaultFlags()}
	scheme, err := Scheme()
	g.Expect(err).NotTo(HaveOccurred())
	w.Client, err = client.New(env.Agent("test"), client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	w.namespace = kubetest.NewNamespace(t, w)
	w.flags.Namespace, w.flags.MetricsAddress, w.flags.ProbeAddress, w.flags.Webhooks = w.namespace, "0", "0", false
	_, err = kubetest.Simulate(t.Context(), env.Config, kubetest.Behaviour{})
	g.Expect(err).NotTo(HaveOccurred())

	pods := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	bao, err := openbao.Start(openbao.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { pods.Close(); bao.Close() })
	bao.Provision("barbican")
	w.services.Serve(client.ObjectKey{}, 9311, pods.Listener.Addr().String())
	w.services.Serve(client.ObjectKey{}, 8200, bao.Address())
	w.create(t,
		&corev1.Secret{ObjectMeta: w.meta("db"), StringData: map[string]string{"username": "barbican", "password": "p"}},
		&corev1.Secret{ObjectMeta: w.meta("service-user"), StringData: map[string]string{"password": "p"}},
		&corev1.Secret{ObjectMeta: w.meta("bao-tls-ca"), Data: map[string][]byte{"ca.crt": bao.CA()}},
		&corev1.ServiceAccount{ObjectMeta: w.meta("bao-provisioner")},
		w.foreign("k8s.mariadb.com/v1alpha1", "MariaDB", "mariadb"),
		w.foreign("openbao.org/v1alpha1", "OpenBaoCluster", "bao"),
		w.foreign("external-secrets.io/v1", "SecretStore", "store"),
	)
	return w
}

func (w *world) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

func (w *world) foreign(version, kind, name string) client.Object {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"provider": map[string]any{"fake": map[string]any{}}}}}
	u.SetAPIVersion(version)
	u.SetKind(kind)
	u.SetNamespace(w.namespace)
	u.SetName(name)
	return u
}

func (w *world) create(t testing.TB, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := w.Create(t.Context(), o); err != nil {
			t.Fatalf("creating %T %s: %v", o, o.GetName(), err)
		}
	}
}

func (w *world) barbican() *v1alpha1.Barbican {
	return &v1alpha1.Barbican{ObjectMeta: w.meta("barbican"), Spec: v1alpha1.BarbicanSpec{
		OpenStackRelease: "2026.1",
		Image:            api.ImageSpec{Repository: "registry.example.org/barbican", Tag: "2026.1"},
		Database: api.DatabaseSpec{
			ClusterRef: &corev1.LocalObjectReference{Name: "mariadb"}, Database: "barbican", SecretRef: api.SecretRef{Name: "db"},
		},
		Cache:            api.CacheSpec{Servers: []string{"memcached:11211"}, Backend: "dogpile.cache.pymemcache"},
		KeystoneEndpoint: "http://keystone.example.org:5000/v3",
		ServiceUser:      api.ServiceUserSpec{SecretRef: api.SecretRef{Name: "service-user"}},
		SecretStoreRef:   &api.SecretStoreRef{Kind: api.NamespacedSecretStoreKind, Name: "store"},
	}}
}

func (w *world) store() *v1alpha1.BarbicanSecretStore {
	return &v1alpha1.BarbicanSecretStore{ObjectMeta: w.meta("keys"), Spec: v1alpha1.BarbicanSecretStoreSpec{
		BarbicanRef: v1alpha1.BarbicanRef{Name: "barbican"}, Type: v1alpha1.OpenBaoStore, IsDefault: true,
		OpenBao: &v1alpha1.OpenBaoSpec{InstanceRef: &v1alpha1.OpenBaoInstanceRef{Name: "bao"}},
	}}
}

func (w *world) converge() {
	w.t.Helper()
	w.create(w.t, w.barbican(), w.store())
	for _, o := range []client.Object{w.barbican(), w.store()} {
		NewWithT(w.t).Eventually(kubetest.Live(w, o)).WithContext(w.t.Context()).WithTimeout(soon).Should(kubetest.BeReady(),
			func() string { return w.requests.Requests().String() })
	}
}

// start runs the operator until the end of the test.
func (w *world) start(config *rest.Config) controllers {
	w.t.Helper()
	g := NewWithT(w.t)
	config.Wrap(w.requests.Transport)
	ctx, cancel := context.WithCancel(w.t.Context())
	m, c, err := build(ctx, config, Options{
		Flags: w.flags, Registry: prometheus.NewRegistry(), OneOfMany: true, HTTP: w.services.Transport(), Dial: w.services.Dial,
	})
	g.Expect(err).NotTo(HaveOccurred())
	var ended sync.WaitGroup
	ended.Go(func() {
		if err := m.Start(ctx); err != nil {
			w.t.Error(err)
		}
	})
	w.t.Cleanup(func() { cancel(); ended.Wait() })
	return c
}

// account is one that may do everything in its namespace, and nothing beyond.
func (w *world) account(t *testing.T) *rest.Config {
	t.Helper()
	granted := &rbacv1.Role{ObjectMeta: w.meta("operator"), Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{rbacv1.APIGroupAll}, Resources: []string{rbacv1.ResourceAll}, Verbs: []string{rbacv1.VerbAll},
	}}}
	w.create(t, granted, &rbacv1.RoleBinding{
		ObjectMeta: w.meta("operator"),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: granted.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: w.namespace}},
	})
	account := env.Agent(Name)
	account.Impersonate.UserName = w.namespace
	return account
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}
