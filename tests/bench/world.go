// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/kubetest"
	"github.com/c5c3/cobaltcore/common/kubetest/openbao"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// agent is the user agent of the benchmark's own requests.
const agent = "bench"

const (
	instance   = "openbao"
	openBaoTLS = 8200
)

// world is a control plane and everything around the operator.
type world struct {
	client.WithWatch
	env        *kubetest.Environment
	simulation *kubetest.Simulation
	proxy      string
	bao        *openbao.Server
	pods       *httptest.Server
	requests   kubetest.Requests // of the operator, since the last reset
}

func newWorld(ctx context.Context, crds string) (w *world, err error) {
	w = &world{}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.stop())
		}
	}()
	addresses := map[string]string{"service-cluster-ip-range": "10.0.0.0/16"} // by default there are 254 Services at most
	if w.env, err = kubetest.Start(kubetest.Options{CRDs: []string{crds}, Audit: true, APIServer: addresses}); err != nil {
		return w, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return w, err
	}
	if w.WithWatch, err = client.NewWithWatch(w.env.Agent(agent), client.Options{Scheme: scheme}); err != nil {
		return w, err
	}
	if w.simulation, err = kubetest.Simulate(ctx, w.env.Config, kubetest.Everything(kubetest.Succeed())); err != nil {
		return w, err
	}
	return w, w.startServices(ctx)
}

// startServices answers for the pods of every Barbican and for every OpenBao.
func (w *world) startServices(ctx context.Context) (err error) {
	if w.bao, err = openbao.Start(openbao.Options{}); err != nil {
		return err
	}
	w.bao.Provision("barbican")
	w.pods = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	services := &kubetest.Services{}
	services.Serve(client.ObjectKey{}, openBaoTLS, w.bao.Address())
	services.Serve(client.ObjectKey{}, int(v1alpha1.Port), w.pods.Listener.Addr().String())
	w.proxy, err = services.Proxy(ctx)
	return err
}

func (w *world) stop() error {
	if w.pods != nil {
		w.pods.Close()
	}
	if w.bao != nil {
		w.bao.Close()
	}
	if w.env == nil {
		return nil
	}
	return w.env.Stop()
}

// furnish makes a namespace with all that Barbicans refer to, ready to use.
func (w *world) furnish(ctx context.Context, namespace string) error {
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&corev1.Secret{ObjectMeta: meta("db"), StringData: map[string]string{"username": "barbican", "password": "p"}},
		&corev1.Secret{ObjectMeta: meta("service-user"), StringData: map[string]string{"password": "p"}},
		&corev1.Secret{ObjectMeta: meta(instance + "-tls-ca"), Data: map[string][]byte{v1alpha1.CABundleKey: w.bao.CA()}},
		&corev1.ServiceAccount{ObjectMeta: meta(instance + "-provisioner")},
		foreign("k8s.mariadb.com/v1alpha1", "MariaDB", namespace, "mariadb", nil),
		foreign("openbao.org/v1alpha1", "OpenBaoCluster", namespace, instance, nil),
		foreign("external-secrets.io/v1", "SecretStore", namespace, "store", map[string]any{"provider": map[string]any{"fake": map[string]any{}}}),
	}
	for _, o := range objects {
		if err := w.Create(ctx, o); err != nil {
			return fmt.Errorf("creating %T %s: %w", o, o.GetName(), err)
		}
	}
	return nil
}

func foreign(version, kind, namespace, name string, spec map[string]any) client.Object {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetAPIVersion(version)
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// collect adds what was requested meanwhile, leaving out what every operator needs to see and to lead.
func (w *world) collect() (added int, err error) {
	all, err := w.env.Requests()
	if err != nil {
		return 0, err
	}
	before := len(w.requests)
	for _, r := range all {
		foreign := r.UserAgent != agent && r.UserAgent != kubetest.SimulatorAgent
		if foreign && r.Verb != "list" && r.Verb != "watch" && r.Resource != "leases" {
			w.requests = append(w.requests, r)
		}
	}
	return len(w.requests) - before, nil
}

// settle waits until the operator requested nothing for a while.
func (w *world) settle(ctx context.Context, quiet time.Duration) error {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	last := time.Now()
	for time.Since(last) < quiet {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		added, err := w.collect()
		if err != nil {
			return err
		}
		if added > 0 {
			last = time.Now()
		}
	}
	return nil
}

// reset settles and starts to count anew.
func (w *world) reset(ctx context.Context) error {
	err := w.settle(ctx, time.Second)
	w.requests = nil
	return err
}
