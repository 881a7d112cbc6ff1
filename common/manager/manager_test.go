// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/kubetest"
	"github.com/c5c3/cobaltcore/common/naming"
)

const waiting = 20 * time.Second

var env *kubetest.Environment

func TestMain(m *testing.M) { kubetest.Main(m, &env, kubetest.Options{}) }

func TestSecretsAreCachedWholeOnlyWhenOurs(t *testing.T) {
	t.Parallel()
	g, admin := NewWithT(t), newClient(t)
	namespace := kubetest.NewNamespace(t, admin)
	g.Expect(admin.Create(t.Context(), secret(namespace, "ours", "app-operator"))).To(Succeed())
	g.Expect(admin.Create(t.Context(), secret(namespace, "foreign", "Helm"))).To(Succeed())

	m := startManager(t, env.Config, options(t, Kind{Object: &corev1.Secret{}}, Kind{Object: metadata(secretKind)}))
	c := m.GetClient()
	whole := &corev1.Secret{}
	g.Expect(c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "ours"}, whole)).To(Succeed())
	g.Expect(whole.Data).To(HaveKey("key"))
	err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "foreign"}, whole)
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "a foreign Secret takes memory: %v", err)

	seen := &metav1.PartialObjectMetadataList{}
	seen.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "SecretList"})
	g.Expect(c.List(t.Context(), seen, client.InNamespace(namespace))).To(Succeed())
	g.Expect(seen.Items).To(ConsistOf(And(HaveField("Name", "foreign"), HaveField("ManagedFields", BeEmpty()))))

	// A Secret that loses our label is one of the others from then on.
	lost := secret(namespace, "ours", "somebody")
	g.Expect(admin.Update(t.Context(), lost)).To(Succeed())
	g.Eventually(func() ([]metav1.PartialObjectMetadata, error) {
		err := c.List(t.Context(), seen, client.InNamespace(namespace))
		return seen.Items, err
	}).WithTimeout(waiting).Should(HaveLen(2))
	g.Eventually(func() bool {
		return apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(lost), &corev1.Secret{}))
	}).WithTimeout(waiting).Should(BeTrue())
}

func TestForeignChildrenAreSeenWithoutTheirSpec(t *testing.T) {
	t.Parallel()
	g, admin := NewWithT(t), newClient(t)
	namespace := kubetest.NewNamespace(t, admin)
	for name, managedBy := range map[string]string{"ours": "app-operator", "foreign": "Helm"} {
		service := &corev1.Service{ObjectMeta: objectMeta(namespace, name, managedBy)}
		service.Spec.Ports = []corev1.ServicePort{{Port: 80}}
		g.Expect(admin.Create(t.Context(), service)).To(Succeed())
	}
	o := options(t, Kind{Object: &corev1.Service{}})
	o.Children = []client.Object{&corev1.Service{}}
	c := startManager(t, env.Config, o).GetClient()
	ours, foreign := &corev1.Service{}, &corev1.Service{}
	g.Expect(c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "ours"}, ours)).To(Succeed())
	g.Expect(c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "foreign"}, foreign)).To(Succeed())
	g.Expect(ours.Spec.Ports).To(HaveLen(1))
	g.Expect(foreign.Spec.Ports).To(BeEmpty())
}

func TestReadyOnceCachesAreFilled(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	o := options(t, Kind{Object: &appsv1.Deployment{}})
	o.ProbeAddress = freeAddress(t)
	config, stall := stalling(env.Config, "/deployments")
	m, err := New(t.Context(), config, o)
	g.Expect(err).NotTo(HaveOccurred())
	run(t, m, time.Minute)
	g.Eventually(get).WithArguments(t, o.ProbeAddress, "/healthz").WithTimeout(waiting).Should(HavePrefix("200"))
	g.Expect(get(t, o.ProbeAddress, "/readyz/caches")).To(HavePrefix("500"))
	close(stall)
	g.Eventually(get).WithArguments(t, o.ProbeAddress, "/readyz/caches").WithTimeout(waiting).Should(HavePrefix("200"))
}

func TestAReplicaThatWaitsIsReady(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("POD_NAMESPACE", kubetest.NewNamespace(t, newClient(t)))
	o := options(t, Kind{Object: &corev1.Service{}})
	o.LeaderElect = true
	first, err := New(t.Context(), env.Config, o)
	g.Expect(err).NotTo(HaveOccurred())
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- first.Start(ctx) }()
	g.Eventually(first.Elected()).WithTimeout(waiting).Should(BeClosed())

	o.ProbeAddress = freeAddress(t)
	second, err := New(t.Context(), env.Config, o)
	g.Expect(err).NotTo(HaveOccurred())
	run(t, second, time.Minute)
	g.Eventually(get).WithArguments(t, o.ProbeAddress, "/readyz").WithTimeout(waiting).Should(HavePrefix("200"))
	g.Expect(second.Elected()).NotTo(BeClosed())
	stop()
	g.Eventually(ended).WithTimeout(waiting).Should(Receive(BeNil()))
	g.Eventually(second.Elected()).WithTimeout(waiting).Should(BeClosed())
}

func TestMissingKinds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ghost := metadata(schema.GroupVersionKind{Group: "ghosts.example.org", Version: "v1", Kind: "Ghost"})
	_, err := New(t.Context(), env.Config, options(t, Kind{Object: ghost, Part: "the ghost operator"}))
	g.Expect(err).To(MatchError("the cluster does not serve Ghost.ghosts.example.org: install the ghost operator"))

	startManager(t, env.Config, options(t, Kind{Object: ghost, Optional: true}, Kind{Object: &corev1.Service{}}))
}

func TestARoleIsEnoughForOneNamespace(t *testing.T) {
	t.Parallel()
	g, admin := NewWithT(t), newClient(t)
	namespace := kubetest.NewNamespace(t, admin)
	account := grant(t, admin, namespace, "secrets", "services")
	kinds := []Kind{
		{Object: &corev1.Secret{}}, {Object: metadata(secretKind)}, {Object: &corev1.Service{}}, {Object: &schedulingv1.PriorityClass{}},
	}
	o := options(t, kinds...)
	o.Namespace = namespace
	m := startManager(t, account, o)

	g.Expect(m.GetClient().List(t.Context(), &corev1.ServiceList{}, client.InNamespace(namespace))).To(Succeed())
	_, err := m.GetCache().GetInformer(t.Context(), &schedulingv1.PriorityClass{}) // a watch must not hang
	g.Expect(err).NotTo(HaveOccurred())
	err = m.GetClient().Get(t.Context(), client.ObjectKey{Name: "any"}, &schedulingv1.PriorityClass{})
	g.Expect(err).To(MatchError(And(ContainSubstring("PriorityClass cannot be read"), ContainSubstring("may not list priorityclasses"))))
	err = m.GetClient().List(t.Context(), &schedulingv1.PriorityClassList{})
	g.Expect(err).To(MatchError(ContainSubstring("PriorityClass cannot be read")))
}

func TestClusterKindsAreReadInOneNamespaceIfAllowed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	o := options(t, Kind{Object: &schedulingv1.PriorityClass{}})
	o.Namespace = kubetest.NewNamespace(t, newClient(t))
	m := startManager(t, env.Config, o)
	g.Expect(m.GetClient().Get(t.Context(), client.ObjectKey{Name: "system-node-critical"}, &schedulingv1.PriorityClass{})).To(Succeed())
}

func TestForbiddenListsEndTheProcess(t *testing.T) {
	t.Parallel()
	g, admin := NewWithT(t), newClient(t)
	namespace := kubetest.NewNamespace(t, admin)
	o := options(t, Kind{Object: &corev1.Service{}}, Kind{Object: &appsv1.Deployment{}})
	o.Namespace = namespace
	m, err := New(t.Context(), grant(t, admin, namespace, "services"), o)
	g.Expect(err).NotTo(HaveOccurred())
	ended := run(t, m, 2*time.Second)
	g.Eventually(ended).WithTimeout(waiting).Should(Receive(MatchError(And(
		ContainSubstring("no first list after 2s: Deployment.apps"), Not(ContainSubstring("Service"))))))
}

func TestASignalEndsAStartThatWaits(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	config, _ := stalling(env.Config, "/deployments")
	m, err := New(t.Context(), config, options(t, Kind{Object: &appsv1.Deployment{}}))
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	g.Consistently(ended).WithTimeout(time.Second).ShouldNot(Receive())
	cancel()
	g.Eventually(ended).WithTimeout(waiting).Should(Receive(BeNil()))
}

func TestSecureMetricsAskWhoCalls(t *testing.T) {
	t.Parallel()
	g, admin := NewWithT(t), newClient(t)
	namespace := kubetest.NewNamespace(t, admin)
	o := options(t)
	o.MetricsAddress, o.MetricsSecure = freeAddress(t), true
	startManager(t, env.Config, o)
	url := "https://" + o.MetricsAddress + "/metrics"
	g.Eventually(request).WithArguments(t, scraper(""), url).WithTimeout(waiting).Should(Equal("401"))
	g.Expect(request(t, scraper("made-up"), url)).To(Equal("401"))

	token := tokenOf(t, admin, namespace, "scraper")
	g.Expect(request(t, scraper(token), url)).To(Equal("403"))
	allow(t, admin, namespace, "scraper")
	g.Eventually(request).WithArguments(t, scraper(token), url).WithTimeout(waiting).Should(Equal("200"))
	g.Expect(request(t, scraper(token), url)).To(Equal("200"))
	g.Expect(request(t, scraper(token), "https://"+o.MetricsAddress+"/other")).NotTo(Equal("200"))
}

// tokenOf makes a ServiceAccount and returns a token of it.
func tokenOf(t *testing.T, admin client.Client, namespace, name string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := admin.Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{}
	if err := admin.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// allow lets a ServiceAccount read metrics.
func allow(t *testing.T, admin client.Client, namespace, name string) {
	t.Helper()
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-metrics"},
		Rules:      []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}},
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: role.ObjectMeta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}},
	}
	for _, o := range []client.Object{role, binding} {
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

func options(t *testing.T, kinds ...Kind) Options {
	t.Helper()
	scheme, err := NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	f := DefaultFlags()
	f.MetricsAddress, f.ProbeAddress, f.Webhooks = "0", "0", false
	return Options{Flags: f, Name: "app-operator", LeaderElectionID: "app", Scheme: scheme, Kinds: kinds}
}

func startManager(t *testing.T, config *rest.Config, o Options) *Manager {
	t.Helper()
	m, err := New(t.Context(), config, o)
	if err != nil {
		t.Fatal(err)
	}
	ended := run(t, m, time.Minute)
	select {
	case <-m.Elected():
	case err := <-ended:
		t.Fatalf("the manager ended: %v", err)
	case <-time.After(waiting):
		t.Fatalf("the manager does not start, not filled: %v", m.unfilled())
	}
	return m
}

func run(t *testing.T, m *Manager, patience time.Duration) <-chan error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended, done := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		ended <- m.start(ctx, patience)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return ended
}

// grant returns an account that may use the resources in one namespace, and nothing else.
func grant(t *testing.T, admin client.Client, namespace string, resources ...string) *rest.Config {
	t.Helper()
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "operator"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"", "apps"}, Resources: resources, Verbs: []string{"*"}}},
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: role.ObjectMeta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: namespace}},
	}
	for _, o := range []client.Object{role, binding} {
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	account := rest.CopyConfig(env.Config)
	account.Impersonate.UserName = namespace
	return account
}

// stalling holds back the requests of a path until the channel is closed.
func stalling(config *rest.Config, path string) (*rest.Config, chan struct{}) {
	config, release := rest.CopyConfig(config), make(chan struct{})
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, path) {
				select {
				case <-release:
				case <-r.Context().Done():
				}
			}
			return next.RoundTrip(r)
		})
	})
	return config, release
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func get(t *testing.T, address, path string) string {
	t.Helper()
	return request(t, http.DefaultClient, "http://"+address+path)
}

// scraper trusts any certificate, since that of the server is self-signed, and bears a token.
func scraper(token string) *http.Client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	return &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		return transport.RoundTrip(r)
	})}
}

func request(t *testing.T, c *http.Client, url string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := c.Do(r)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = answer.Body.Close() }()
	return fmt.Sprint(answer.StatusCode)
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

func newClient(t *testing.T) client.Client {
	t.Helper()
	c, err := client.New(env.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func metadata(gvk schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(gvk)
	return m
}

func objectMeta(namespace, name, managedBy string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{naming.LabelManagedBy: managedBy}}
}

func secret(namespace, name, managedBy string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: objectMeta(namespace, name, managedBy), Data: map[string][]byte{"key": []byte("x")}}
}
