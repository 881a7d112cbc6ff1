// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/c5c3/cobaltcore/common/kubetest"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/operator"
)

// soon is less than the 30 seconds after which what waits comes back by itself: what happens by then was woken.
const soon = 25 * time.Second

// What the specs share. Third parties succeed at once unless a spec says otherwise for its namespace.
var (
	ctx        context.Context // of the whole run
	env        *kubetest.Environment
	admin      client.Client
	simulation *kubetest.Simulation
	healthy    *httptest.Server // plays the pods of every Barbican
)

func TestOperator(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(soon)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, "The Barbican operator")
}

var _ = BeforeSuite(func() {
	logger := funcr.New(listen, funcr.Options{})
	log.SetLogger(logger)
	klog.SetLogger(logger)
	run, cancel := context.WithCancel(context.Background())
	ctx = run //nolint:fatcontext // made once, before all specs
	var err error
	env, err = kubetest.Start(kubetest.Options{
		CRDs: []string{"../../../config/crd/bases"}, Controllers: []string{"garbage-collector-controller"},
		APIServer: map[string]string{"enable-admission-plugins": "OwnerReferencesPermissionEnforcement"},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		cancel()
		Expect(env.Stop()).To(Succeed())
	})
	scheme, err := operator.Scheme()
	Expect(err).NotTo(HaveOccurred())
	admin, err = client.New(env.Agent("spec"), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	simulation, err = kubetest.Simulate(ctx, env.Config, kubetest.Behaviour{})
	Expect(err).NotTo(HaveOccurred())
	healthy = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthcheck" {
			http.NotFound(w, r)
		}
	}))
	DeferCleanup(healthy.Close)
	store := object(schema.GroupVersionKind{Group: "external-secrets.io", Version: "v1", Kind: "ClusterSecretStore"}, metav1.ObjectMeta{Name: "openbao-cluster-store"})
	store.Object["spec"] = map[string]any{"provider": map[string]any{"fake": map[string]any{"data": []any{}}}}
	Expect(admin.Create(ctx, store)).To(Succeed())
})

// panics are what the operators' logs tell of them.
var panics struct {
	sync.Mutex
	lines []string
}

// listen hears what the operators log. SUITE_LOG=1 shows it to whoever wonders why a spec fails.
func listen(prefix, line string) {
	if os.Getenv("SUITE_LOG") != "" {
		GinkgoWriter.Println(prefix, line)
	}
	if strings.Contains(line, "panic") {
		panics.Lock()
		defer panics.Unlock()
		panics.lines = append(panics.lines, prefix+": "+line)
	}
}

var _ = ReportAfterSuite("no operator panicked", func(Report) {
	panics.Lock()
	defer panics.Unlock()
	Expect(panics.lines).To(BeEmpty())
})

func object(gvk schema.GroupVersionKind, meta metav1.ObjectMeta) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(gvk)
	o.SetNamespace(meta.Namespace)
	o.SetName(meta.Name)
	return o
}

var cleanups sync.Mutex

// finally is DeferCleanup for the many goroutines of a spec.
func finally(f func()) {
	cleanups.Lock()
	defer cleanups.Unlock()
	DeferCleanup(f)
}

// width is how many worlds of one spec run at the same time.
const width = 12

// together does each of the items, some at the same time.
func together[T any](items []T, each func(T)) {
	GinkgoHelper()
	slots := make(chan struct{}, width)
	var all sync.WaitGroup
	for _, item := range items {
		slots <- struct{}{}
		all.Go(func() {
			defer GinkgoRecover()
			defer func() { <-slots }()
			each(item)
		})
	}
	all.Wait()
}

// live reads the object anew each time, for Eventually and Consistently.
func live[T client.Object](o T) func() (client.Object, error) {
	return func() (client.Object, error) { return kubetest.Live(admin, o)(ctx) }
}

// get reads the object now.
func get[T client.Object](o T) T {
	GinkgoHelper()
	Expect(admin.Get(ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
	return o
}

// edit changes an object as a user would.
func edit[T client.Object](o T, change func(T)) {
	GinkgoHelper()
	Eventually(func() error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		change(o)
		return admin.Update(ctx, o)
	}).Should(Succeed())
}
