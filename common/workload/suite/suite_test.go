// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/database"
	"github.com/c5c3/cobaltcore/common/kubetest"
	"github.com/c5c3/cobaltcore/common/naming"
	"github.com/c5c3/cobaltcore/common/network"
	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
	"github.com/c5c3/cobaltcore/common/secrets"
	"github.com/c5c3/cobaltcore/common/workload"
)

var env *kubetest.Environment

func TestMain(m *testing.M) { kubetest.Main(m, &env, kubetest.Options{}) }

// place is a namespace of a real cluster, without a cache, and a service in it.
type place struct {
	target.Cluster
	service  *corev1.ConfigMap // stands for the custom resource
	instance naming.Instance
}

func newPlace(t *testing.T, labels ...map[string]string) place {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, secrets.AddToScheme, database.AddToScheme, network.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(env.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: kubetest.NewNamespace(t, c, labels...), Name: "one"}}
	if err := c.Create(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	p := place{service: owner, instance: naming.Instance{App: "svc", Name: "one"}}
	p.Cluster = target.Cluster{Client: c, Reader: c, Secrets: reader{c}}
	p.restart()
	return p
}

// restart forgets what was applied.
func (p *place) restart() { p.Writer = apply.NewWriter(p.Client, p.Reader) }

func (p *place) get(t *testing.T, obj client.Object) {
	t.Helper()
	obj.SetNamespace(p.service.Namespace)
	if obj.GetName() == "" {
		obj.SetName("one")
	}
	if err := p.Reader.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
		t.Fatal(err)
	}
}

func (p *place) create(t *testing.T, obj client.Object) {
	t.Helper()
	obj.SetNamespace(p.service.Namespace)
	if err := p.Client.Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
}

type reader struct{ client.Reader }

func (r reader) Get(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	return secret, r.Reader.Get(ctx, key, secret)
}

func must(t *testing.T, o reconcile.Outcome) {
	t.Helper()
	if o.Err() != nil {
		t.Fatal(o.Err())
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (p *place) deployment(spec api.DeploymentSpec, scaling *api.AutoscalingSpec) workload.Deployment {
	return workload.Deployment{Instance: p.instance, Component: naming.ComponentAPI, Spec: spec, Autoscaling: scaling, Template: p.pod("image")}
}

func (p *place) pod(image string) corev1.PodTemplateSpec {
	return workload.Pod{
		Labels: p.instance.Component(naming.ComponentAPI), Annotations: map[string]string{"digest": "1"},
		Volumes: []corev1.Volume{workload.SecretVolume("config", "svc-config"), database.TLSVolume("tls", api.DatabaseTLSSpec{
			CABundleSecretRef: api.SecretRef{Name: "ca"}, ClientCertSecretRef: api.SecretRef{Name: "pair"}})},
		Container: corev1.Container{
			Name: "api", Image: image, Lifecycle: workload.PreStop(5), Command: workload.UWSGI{Bind: ":9311", Module: "m:app"}.Command(),
			Ports:        []corev1.ContainerPort{{Name: "api", ContainerPort: 9311, Protocol: corev1.ProtocolTCP}},
			Env:          []corev1.EnvVar{workload.SecretEnv("DSN", "svc-db-connection", database.ConnectionKey)},
			VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/svc", ReadOnly: true}, {Name: "tls", MountPath: "/etc/tls"}},
		},
	}.Template()
}
