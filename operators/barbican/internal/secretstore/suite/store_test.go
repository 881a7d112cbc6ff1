// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/kubetest"
	standin "github.com/c5c3/cobaltcore/common/kubetest/openbao"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

const mint = "auth/approle/role/barbican/secret-id"

var credentialsAvailable = kubetest.HaveCondition("CredentialsReady", metav1.ConditionTrue, "CredentialsAvailable")

func TestManagedStoreConverges(t *testing.T) {
	t.Parallel()
	g, i := NewWithT(t), start(t).instance("bao")
	i.ReviewTokens(forAudience("bao"))
	i.create(i.barbican(), i.store)
	i.soon().Should(kubetest.HaveCondition("ProvisioningReady", metav1.ConditionFalse, "InstanceNotFound"))
	i.available()
	i.soon().Should(kubetest.HaveCondition("ProvisioningReady", metav1.ConditionFalse, "WaitingForInstanceTLS"))
	i.create(i.ca())
	i.soon().Should(credentialsAvailable)

	g.Expect(i.Get(t.Context(), client.ObjectKeyFromObject(i.store), i.store)).To(Succeed())
	g.Expect(metav1.IsControlledBy(i.minted(), i.store)).To(BeTrue())
	g.Expect(i.Server.Calls("POST", mint)).To(Equal(1))

	i.deploy("[secretstore:bao-store]\n")
	i.soon().Should(kubetest.BeReady())

	g.Eventually(func() kubetest.Requests { return passes(i.requests.Reset()) }).WithPolling(soon / 30).WithTimeout(soon).Should(BeEmpty())
	i.Server.ForgetCalls()
	g.Expect(i.Get(t.Context(), client.ObjectKeyFromObject(i.store), i.store)).To(Succeed())
	i.store.Labels = map[string]string{"touched": "yes"}
	g.Expect(i.Update(t.Context(), i.store)).To(Succeed())
	g.Consistently(func() kubetest.Requests { return passes(i.requests.Requests()) }).WithTimeout(soon / 5).Should(BeEmpty())
	g.Expect(i.Server.AllCalls()).To(BeEmpty())
}

// passes leaves out what caches and the election of a leader cost.
func passes(all kubetest.Requests) kubetest.Requests {
	return all.Verbs("get", "create", "update", "patch", "delete").Except("leases")
}

// forAudience accepts the tokens that the API server issued for the audience.
func forAudience(audience string) func(standin.KubernetesRole, string) error {
	return func(_ standin.KubernetesRole, jwt string) error {
		var claims struct {
			Audience []string `json:"aud"`
			Subject  string   `json:"sub"`
		}
		parts := strings.Split(jwt, ".")
		if len(parts) != 3 {
			return errors.New("no token")
		}
		payload, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err != nil || json.Unmarshal(payload, &claims) != nil {
			return errors.New("no token")
		}
		if !slices.Equal(claims.Audience, []string{audience}) || !strings.HasSuffix(claims.Subject, ":bao-provisioner") {
			return errors.New("invalid audience (aud) claim")
		}
		return nil
	}
}

// deploy makes the Deployment of the Barbican run with a configuration, as the Barbican's status tells.
func (i *instance) deploy(config string) {
	i.t.Helper()
	labels := map[string]string{"app": "barbican"}
	i.create(&corev1.Secret{ObjectMeta: i.meta("barbican-config"), Data: map[string][]byte{"barbican.conf": []byte(config)}},
		&appsv1.Deployment{ObjectMeta: i.meta("barbican"), Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "api", Image: "barbican"}},
				Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{
					Secret: &corev1.SecretVolumeSource{SecretName: "barbican-config"},
				}}},
			}},
		}})
	b := i.barbican()
	check(i.t, i.Get(i.t.Context(), client.ObjectKeyFromObject(b), b))
	b.Status.ProjectedSecretStores = []string{i.store.Name}
	check(i.t, i.Status().Update(i.t.Context(), b))
}

func TestDeletedCredentialsAreMintedAnew(t *testing.T) {
	t.Parallel()
	g, i := NewWithT(t), start(t).instance("bao")
	i.available()
	i.create(i.barbican(), i.ca(), i.store)
	i.soon().Should(credentialsAvailable)
	before := i.minted()
	g.Expect(i.Delete(t.Context(), before)).To(Succeed())
	g.Eventually(kubetest.Live(i.Client, before)).WithContext(t.Context()).WithTimeout(soon).Should(
		HaveField("Data", And(HaveKey("secret-id"), Not(HaveKeyWithValue("secret-id", before.Data["secret-id"])))))
	i.soon().Should(credentialsAvailable)
}

func TestRotatedCredentialsAreValidatedAtOnce(t *testing.T) {
	t.Parallel()
	g, i := NewWithT(t), start(t).instance("bao")
	i.store.Spec.OpenBao.InstanceRef = nil
	i.store.Spec.OpenBao.Server = &v1alpha1.OpenBaoServer{
		URL: "https://bao." + i.namespace + ".svc:8200", CABundleSecretRef: &v1alpha1.SecretNameRef{Name: "bao-tls-ca"},
		CredentialsSecretRef: v1alpha1.SecretNameRef{Name: "given"},
	}
	i.create(i.barbican(), i.store, i.ca())
	i.soon().Should(kubetest.HaveCondition("CredentialsReady", metav1.ConditionFalse, "WaitingForCredentials"))

	given := &corev1.Secret{ObjectMeta: i.meta("given"), StringData: map[string]string{"role-id": i.roleID, "secret-id": "wrong"}}
	i.create(given)
	i.soon().Should(kubetest.HaveCondition("CredentialsReady", metav1.ConditionFalse, "InvalidCredentials"))

	id, _ := i.MintSecretID("barbican")
	given.StringData = map[string]string{"secret-id": id}
	g.Expect(i.Update(t.Context(), given)).To(Succeed())
	i.soon().Should(credentialsAvailable)
}

func TestSlowServersHoldUpNobodyElse(t *testing.T) {
	t.Parallel()
	o := start(t)
	o.create(o.barbican())
	for _, name := range []string{"a", "b", "c", "d"} {
		dead := o.instance(name)
		dead.available()
		dead.BlackHole()
		dead.create(dead.ca(), dead.store)
	}
	i := o.instance("bao")
	i.available()
	i.create(i.ca(), i.store)
	i.soon().WithTimeout(soon * 2 / 3).Should(credentialsAvailable) // one after the other the dead would take longer
}

func TestStoreWaitsForItsBarbican(t *testing.T) {
	t.Parallel()
	i := start(t).instance("bao")
	i.available()
	i.create(i.ca(), i.store)
	i.soon().Should(kubetest.HaveCondition("CredentialsReady", metav1.ConditionFalse, "WaitingForParent"))
	i.create(i.barbican())
	i.soon().WithTimeout(soon * 2 / 3).Should(credentialsAvailable)
}
