// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/database"
	"github.com/c5c3/cobaltcore/common/kubetest"
	"github.com/c5c3/cobaltcore/common/manager"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/operator"
)

// whole runs both controllers and plays everything that a Barbican needs besides.
func whole(t *testing.T) *operatorOfBoth {
	t.Helper()
	scheme, err := operator.Scheme()
	check(t, err)
	o := &operatorOfBoth{Registry: prometheus.NewRegistry(), run: &run{t: t}}
	o.Client, err = client.New(env.Config, client.Options{Scheme: scheme})
	check(t, err)
	o.namespace = kubetest.NewNamespace(t, o.Client)
	_, err = kubetest.Simulate(t.Context(), env.Config, kubetest.Behaviour{OpenBaoClusters: kubetest.Ignore()})
	check(t, err)
	pods := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(pods.Close)
	o.services.Serve(client.ObjectKey{}, 9311, pods.Listener.Addr().String())

	flags := manager.DefaultFlags()
	flags.Namespace, flags.MetricsAddress, flags.ProbeAddress, flags.Webhooks = o.namespace, "0", "0", false
	m, err := operator.New(t.Context(), env.Agent(operator.Name), operator.Options{
		Flags: flags, Registry: o.Registry, OneOfMany: true, HTTP: o.services.Transport(), Dial: o.services.Dial,
	})
	check(t, err)
	begin(t, m)
	o.surroundings()
	return o
}

type operatorOfBoth struct {
	*run
	*prometheus.Registry
}

// surroundings are the objects that a Barbican refers to.
func (o *operatorOfBoth) surroundings() {
	o.t.Helper()
	eso := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"provider": map[string]any{"fake": map[string]any{"data": []any{}}}},
	}}
	eso.SetGroupVersionKind(schema.GroupVersionKind{Group: "external-secrets.io", Version: "v1", Kind: "ClusterSecretStore"})
	eso.SetName("openbao-cluster-store")
	check(o.t, client.IgnoreAlreadyExists(o.Create(o.t.Context(), eso))) // one for all tests
	o.create(&database.MariaDB{ObjectMeta: o.meta("mariadb")},
		&corev1.Secret{ObjectMeta: o.meta("db"), StringData: map[string]string{"username": "u", "password": "p"}},
		&corev1.Secret{ObjectMeta: o.meta("user"), StringData: map[string]string{"password": "p"}})
	b := o.barbican()
	b.Spec.Database.Host, b.Spec.Database.ClusterRef = "", &corev1.LocalObjectReference{Name: "mariadb"}
	o.create(b)
}

// R6, R7, R9: a re-mint is validated, rolls the pods at once, and the old secret ID goes when the last pod with it is gone.
func TestRemintRollsThePods(t *testing.T) {
	t.Parallel()
	g, o := NewWithT(t), whole(t)
	i := o.instance("bao")
	i.available()
	i.create(i.ca(), i.store)
	i.soon().Should(kubetest.BeReady())
	barbican := o.barbican()
	g.Eventually(kubetest.Live(o.Client, barbican)).WithContext(t.Context()).WithTimeout(soon).Should(kubetest.BeReady())

	old := i.minted()
	g.Expect(o.hash()).To(Equal(i.validated()))
	i.grow(old, 500*time.Hour)
	g.Eventually(i.minted).WithTimeout(soon).Should(
		HaveField("Data", Not(HaveKeyWithValue("secret-id", old.Data["secret-id"]))))
	g.Eventually(o.hash).WithTimeout(soon).Should(And(Equal(i.validated()), Not(BeEmpty())))
	g.Eventually(func() []string {
		var left []string
		for accessor := range i.SecretIDs("barbican") {
			left = append(left, accessor)
		}
		return left
	}).WithTimeout(soon).Should(Equal([]string{i.minted().Annotations[v1alpha1.AnnotationSecretIDAccessor]}))
	g.Eventually(kubetest.Live(o.Client, barbican)).WithContext(t.Context()).WithTimeout(soon).Should(kubetest.BeReady())
	i.soon().Should(HaveField("Status.PreviousSecretIDAccessors", BeEmpty()))
	g.Expect(o.remints("proactive")).To(Equal(1.0))
}

// R37: when the mount is gone the store leaves the configuration; the pods stay on the last good one.
func TestLostMountLeavesThePodsAlone(t *testing.T) {
	t.Parallel()
	g, o := NewWithT(t), whole(t)
	i := o.instance("bao")
	i.available()
	i.create(i.ca(), i.store)
	barbican := o.barbican()
	g.Eventually(kubetest.Live(o.Client, barbican)).WithContext(t.Context()).WithTimeout(soon).Should(kubetest.BeReady())
	before := o.hash()

	i.DropMount("barbican")
	i.grow(i.minted(), time.Hour) // another question, so it is asked at once
	i.soon().Should(kubetest.HaveCondition("ProvisioningReady", metav1.ConditionFalse, v1alpha1.ReasonInstanceNotProvisioned))
	g.Eventually(kubetest.Live(o.Client, barbican)).WithContext(t.Context()).WithTimeout(soon).Should(
		kubetest.HaveCondition(v1alpha1.ConditionSecretStoresReady, metav1.ConditionFalse, v1alpha1.ReasonNoDefaultSecretStore))
	g.Consistently(o.hash).WithTimeout(soon / 15).Should(Equal(before))

	i.EnableKV("barbican", 2)
	i.grow(i.minted(), 2*time.Hour)
	g.Eventually(kubetest.Live(o.Client, barbican)).WithContext(t.Context()).WithTimeout(soon).Should(kubetest.BeReady())
	g.Expect(o.hash()).To(Equal(before))
}

// hash is what the pods are configured with.
func (o *operatorOfBoth) hash() string {
	o.t.Helper()
	d := &appsv1.Deployment{}
	check(o.t, o.Get(context.Background(), client.ObjectKey{Namespace: o.namespace, Name: "barbican"}, d))
	return d.Spec.Template.Annotations[v1alpha1.AnnotationSecretStoreCredentialsHash]
}

// validated is the digest of the pair that the store vouches for.
func (i *instance) validated() string {
	i.t.Helper()
	s := &store{}
	check(i.t, i.Get(i.t.Context(), client.ObjectKeyFromObject(i.store), s))
	return s.Status.CredentialsHash
}

// grow makes the credential older.
func (i *instance) grow(secret *corev1.Secret, age time.Duration) {
	i.t.Helper()
	older := secret.DeepCopy()
	older.Annotations[v1alpha1.AnnotationSecretIDMintedAt] = time.Now().Add(-age).UTC().Format(time.RFC3339)
	check(i.t, i.Update(i.t.Context(), older))
}

// remints is the counter with this trigger.
func (o *operatorOfBoth) remints(trigger string) float64 {
	o.t.Helper()
	families, err := o.Gather()
	check(o.t, err)
	for _, family := range families {
		if family.GetName() != "barbican_operator_secretstore_remints_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() == "trigger" && label.GetValue() == trigger {
					return m.GetCounter().GetValue()
				}
			}
		}
	}
	return 0
}
