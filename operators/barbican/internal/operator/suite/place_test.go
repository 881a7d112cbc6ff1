// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/database"
	"github.com/c5c3/cobaltcore/common/kubetest"
	"github.com/c5c3/cobaltcore/common/kubetest/openbao"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

type barbican = v1alpha1.Barbican

// place is a namespace with all that a platform has before anybody asks for a Barbican, and a key store.
type place struct {
	namespace string
	services  kubetest.Services
	bao       *openbao.Server
}

func newPlace() *place {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "place-"}}
	Expect(admin.Create(ctx, namespace)).To(Succeed())
	p := &place{namespace: namespace.Name}
	p.services.Serve(client.ObjectKey{}, 9311, healthy.Listener.Addr().String())
	var err error
	p.bao, err = openbao.Start(openbao.Options{})
	Expect(err).NotTo(HaveOccurred())
	finally(p.bao.Close)
	p.bao.Provision("barbican")
	p.services.Serve(client.ObjectKey{Namespace: p.namespace, Name: "bao"}, 8200, p.bao.Address())
	instance := object(schema.GroupVersionKind{Group: "openbao.org", Version: "v1alpha1", Kind: "OpenBaoCluster"}, p.meta("bao"))
	instance.Object["spec"] = map[string]any{"version": "2.6.1"}
	p.create(
		&database.MariaDB{ObjectMeta: p.meta("mariadb")},
		p.secret("db", "username", "barbican", "password", "db-password"),
		p.secret("service-user", "password", "keystone-password"),
		p.secret("bao-tls-ca", "ca.crt", string(p.bao.CA())),
		&corev1.ServiceAccount{ObjectMeta: p.meta("bao-provisioner")},
		instance,
	)
	return p
}

func (p *place) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: p.namespace, Name: name}
}

func (p *place) create(objects ...client.Object) {
	GinkgoHelper()
	for _, o := range objects {
		Expect(admin.Create(ctx, o)).To(Succeed())
	}
}

// secret is one with the given keys and values, in turn.
func (p *place) secret(name string, content ...string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: p.meta(name), StringData: map[string]string{}}
	for pair := range slices.Chunk(content, 2) {
		s.StringData[pair[0]] = pair[1]
	}
	return s
}

// barbican is the smallest one that converges, changed by the edits.
func (p *place) barbican(edits ...func(*barbican)) *barbican {
	b := &barbican{
		ObjectMeta: p.meta("barbican"),
		Spec: v1alpha1.BarbicanSpec{
			OpenStackRelease: "2025.1",
			Image:            api.ImageSpec{Repository: "ghcr.io/c5c3/barbican", Tag: "2025.1"},
			Database: api.DatabaseSpec{
				ClusterRef: &corev1.LocalObjectReference{Name: "mariadb"}, Database: "barbican", SecretRef: api.SecretRef{Name: "db"},
			},
			Cache:            api.CacheSpec{ClusterRef: &corev1.LocalObjectReference{Name: "memcached"}, Backend: "dogpile.cache.pymemcache"},
			KeystoneEndpoint: "http://keystone.openstack.svc.cluster.local:5000/v3",
			ServiceUser:      api.ServiceUserSpec{SecretRef: api.SecretRef{Name: "service-user"}},
		},
	}
	for _, edit := range edits {
		edit(b)
	}
	return b
}

// withEverything asks for every child that there is.
func withEverything(b *barbican) {
	b.Spec.Gateway = &api.GatewaySpec{ParentRef: api.GatewayParentRef{Name: "public"}, Hostname: "keys.example.org"}
	b.Spec.NetworkPolicy = &api.NetworkPolicySpec{Ingress: []api.IngressSource{{
		NamespaceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": "openstack"}},
	}}}
	b.Spec.Autoscaling = &api.AutoscalingSpec{MaxReplicas: 5, TargetCPUUtilization: new(int32(80))}
}

// managed is the default store of the Barbican on the OpenBao instance of the place.
func (p *place) managed() *v1alpha1.BarbicanSecretStore {
	return &v1alpha1.BarbicanSecretStore{
		ObjectMeta: p.meta("keys"),
		Spec: v1alpha1.BarbicanSecretStoreSpec{
			BarbicanRef: v1alpha1.BarbicanRef{Name: "barbican"}, Type: v1alpha1.OpenBaoStore, IsDefault: true,
			OpenBao: &v1alpha1.OpenBaoSpec{InstanceRef: &v1alpha1.OpenBaoInstanceRef{Name: "bao"}},
		},
	}
}

// brownfield is the same on a server that others run; its credentials are in the Secret "given".
func (p *place) brownfield() *v1alpha1.BarbicanSecretStore {
	s := p.managed()
	s.Spec.OpenBao = &v1alpha1.OpenBaoSpec{Server: &v1alpha1.OpenBaoServer{
		URL:               "https://bao." + p.namespace + ".svc:8200",
		CABundleSecretRef: &v1alpha1.SecretNameRef{Name: "bao-tls-ca"}, CredentialsSecretRef: v1alpha1.SecretNameRef{Name: "given"},
	}}
	return s
}

// given are valid credentials of the place's server.
func (p *place) given() *corev1.Secret {
	id, _ := p.bao.MintSecretID("barbican")
	return p.secret("given", "role-id", p.bao.Provision("barbican"), "secret-id", id)
}

// childKinds are all that a Barbican and its store have children of.
var childKinds = []schema.GroupVersionKind{
	{Group: "apps", Version: "v1", Kind: "Deployment"},
	{Version: "v1", Kind: "Service"},
	{Version: "v1", Kind: "Secret"},
	{Version: "v1", Kind: "ConfigMap"},
	{Group: "batch", Version: "v1", Kind: "Job"},
	{Group: "batch", Version: "v1", Kind: "CronJob"},
	{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
	{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
	{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
	{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"},
	{Group: "k8s.mariadb.com", Version: "v1alpha1", Kind: "Database"},
	{Group: "k8s.mariadb.com", Version: "v1alpha1", Kind: "User"},
	{Group: "k8s.mariadb.com", Version: "v1alpha1", Kind: "Grant"},
}

// objects are those of the child kinds in the namespace that were not there before anybody asked for a Barbican.
func (p *place) objects() []unstructured.Unstructured {
	GinkgoHelper()
	var all []unstructured.Unstructured
	for _, gvk := range childKinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk)
		Expect(admin.List(ctx, list, client.InNamespace(p.namespace))).To(Succeed())
		all = append(all, list.Items...)
	}
	return slices.DeleteFunc(all, func(o unstructured.Unstructured) bool {
		return o.GetKind() == "Secret" && slices.Contains([]string{"db", "service-user", "bao-tls-ca", "given"}, o.GetName())
	})
}

var hashes = regexp.MustCompile(`-config-[0-9a-f]{8}$`)

// children are "Owner/Kind name" of those objects, with # for the hash of a configuration.
func (p *place) children() []string {
	GinkgoHelper()
	var names []string
	for _, o := range p.objects() {
		owner := "nobody"
		if ref := metav1.GetControllerOf(&o); ref != nil {
			owner = strings.TrimPrefix(ref.Kind, "Barbican") + "/"
		}
		names = append(names, owner+o.GetKind()+" "+hashes.ReplaceAllString(o.GetName(), "-config-#"))
	}
	return names
}
