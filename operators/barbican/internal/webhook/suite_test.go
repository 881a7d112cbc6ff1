// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/c5c3/cobaltcore/common/kubetest"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// switchLabel turns the webhooks off for a namespace, so that one API server answers with and without them.
const switchLabel = "test.c5c3.io/admission"

var env *kubetest.Environment

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	dir, err := os.MkdirTemp("", "webhook-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	env, err = kubetest.Start(kubetest.Options{
		CRDs:     []string{"../../config/crd/bases"},
		Webhooks: []string{switchable(dir)},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, stop := context.WithCancel(context.Background())
	served := serve(ctx)
	defer func() {
		stop()
		if err := <-served; err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		if err := env.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	return m.Run()
}

// switchable is a copy of the shipped webhook manifest that leaves labelled namespaces alone.
func switchable(dir string) string {
	shipped, err := os.ReadFile("../../config/webhook/manifests.yaml")
	if err != nil {
		panic(err)
	}
	const policy = "  failurePolicy: Fail\n"
	selector := "  namespaceSelector: {matchExpressions: [{key: " + switchLabel + ", operator: NotIn, values: [\"off\"]}]}\n"
	path := filepath.Join(dir, "webhooks.yaml")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(shipped), policy, policy+selector)), 0o600); err != nil {
		panic(err)
	}
	return path
}

func serve(ctx context.Context) <-chan error {
	mgr, err := ctrl.NewManager(env.Config, ctrl.Options{
		Scheme:  scheme(),
		Metrics: metricsserver.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: env.Webhook.Host, Port: env.Webhook.Port, CertDir: env.Webhook.CertDir,
		}),
	})
	if err != nil {
		panic(err)
	}
	if err := SetupWithManager(mgr); err != nil {
		panic(err)
	}
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	for started := mgr.GetWebhookServer().StartedChecker(); started(nil) != nil; {
		select {
		case err := <-done:
			panic(err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return done
}

var scheme = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return s
})

// warnings collects what the API server warns of.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	texts := w.texts
	w.texts = nil
	return texts
}

// newClient refuses misspelt fields, which would otherwise vanish from a fixture without a word.
func newClient(t *testing.T) (client.Client, *warnings) {
	t.Helper()
	var heard warnings
	config := rest.CopyConfig(env.Config)
	config.QPS = -1
	config.WarningHandler = &heard
	c, err := client.New(config, client.Options{Scheme: scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return client.WithFieldValidation(c, metav1.FieldValidationStrict), &heard
}

func newNamespace(t *testing.T, c client.Client, admission string) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-", Labels: map[string]string{switchLabel: admission}}}
	if err := c.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	return namespace.Name
}
