// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/kubetest"
	"github.com/c5c3/cobaltcore/common/kubetest/openbao"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/operator"
)

//go:embed manifests/*.yaml
var manifests embed.FS

const (
	namespace = "openstack"
	instance  = "openbao"

	// The stand-ins take their time, so that one sees what waits for what.
	slow = 1500 * time.Millisecond
)

// world is the control plane and all that plays around the operator.
type world struct {
	env      *kubetest.Environment
	client   client.WithWatch
	services kubetest.Services
	bao      *openbao.Server
	pods     *httptest.Server
	log      *os.File // of the operator
}

func startWorld(ctx context.Context, o options) (w *world, err error) {
	config := filepath.Join(o.root, "operators/barbican/config")
	env, err := kubetest.Start(kubetest.Options{
		CRDs:        []string{filepath.Join(config, "crd/bases")},
		Webhooks:    []string{filepath.Join(config, "webhook")},
		Controllers: []string{"*"},
	})
	if err != nil {
		return nil, err
	}
	w = &world{env: env}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.stop(true))
		}
	}()
	if w.log, err = os.CreateTemp(o.logs, "barbican-operator-*.log"); err != nil {
		return w, err
	}
	scheme, err := operator.Scheme()
	if err != nil {
		return w, err
	}
	if w.client, err = client.NewWithWatch(env.Agent("demo"), client.Options{Scheme: scheme}); err != nil {
		return w, err
	}
	if err := w.startStandIns(ctx); err != nil {
		return w, err
	}
	if err := w.apply(ctx, "manifests/surroundings.yaml"); err != nil {
		return w, err
	}
	return w, w.client.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: instance + "-tls-ca", Namespace: namespace},
		Data:       map[string][]byte{"ca.crt": w.bao.CA()},
	})
}

// startStandIns plays the operators of others, an OpenBao that serves TLS, and pods. The Deployments, Jobs and CronJobs are real.
func (w *world) startStandIns(ctx context.Context) (err error) {
	behaviour := kubetest.Everything(kubetest.Succeed().After(slow))
	behaviour.Deployments, behaviour.Jobs = kubetest.Ignore(), kubetest.Ignore()
	if _, err := kubetest.Simulate(ctx, w.env.Config, behaviour); err != nil {
		return err
	}
	if w.bao, err = openbao.Start(openbao.Options{}); err != nil {
		return err
	}
	w.bao.Provision("barbican")
	w.services.Serve(client.ObjectKey{Namespace: namespace, Name: instance}, 8200, w.bao.Address())
	w.pods = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthcheck" {
			http.NotFound(rw, r)
		}
	}))
	w.services.Serve(client.ObjectKey{Namespace: namespace, Name: "barbican"}, 9311, w.pods.Listener.Addr().String())
	return nil
}

// apply applies the objects of an embedded file as kubectl does.
func (w *world) apply(ctx context.Context, path string) error {
	text, err := manifests.ReadFile(path)
	if err != nil {
		return err
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("parsing %s: %w", path, err)
		}
		config := client.ApplyConfigurationFromUnstructured(object)
		if err := w.client.Apply(ctx, config, client.FieldOwner("kubectl"), client.ForceOwnership); err != nil {
			return fmt.Errorf("applying %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
}

// stop ends all. What the operator said is kept for those who want to know why the demo failed.
func (w *world) stop(forgetLog bool) error {
	if w.pods != nil {
		w.pods.Close()
	}
	if w.bao != nil {
		w.bao.Close()
	}
	var errs []error
	if w.log != nil {
		errs = append(errs, w.log.Close())
		if forgetLog {
			errs = append(errs, os.Remove(w.log.Name())) //nolint:gosec // the file is the one that startWorld made
		}
	}
	return errors.Join(append(errs, w.env.Stop())...)
}

// explain prints how to look around.
func (w *world) explain() {
	say(`
Look around from another terminal:

  export KUBECONFIG=%s PATH="%s:$PATH"

  kubectl -n %[3]s get barbicans,barbicansecretstores
  kubectl -n %[3]s describe barbican barbican
  kubectl -n %[3]s get deployments,pods,jobs,cronjobs,services,networkpolicies,httproutes,databases,users,grants,secrets

Ctrl-C ends the demo and removes everything.`, w.env.KubeConfig, os.Getenv("KUBEBUILDER_ASSETS"), namespace)
}
