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
	g, n := NewWithT(t), start(t).namespace(t)
	n.ReviewTokens(forAudience("bao"))
	s := n.managed("main")
	n.create(s)
	n.within(s).Should(kubetest.HaveCondition("ProvisioningReady", metav1.ConditionFalse, "InstanceNotFound"))
	n.instance()
	n.within(s).Should(kubetest.HaveCondition("ProvisioningReady", metav1.ConditionFalse, "WaitingForInstanceTLS"))
	n.create(n.ca())
	n.within(s).Should(credentialsAvailable)

	minted := n.minted(s)
	g.Expect(n.Get(t.Context(), client.ObjectKeyFromObject(s), s)).To(Succeed())
	g.Expect(metav1.IsControlledBy(minted, s)).To(BeTrue())
	g.Expect(n.Server.Calls("POST", mint)).To(Equal(1))

	n.deploy("[secretstore:main]\n")
	n.within(s).Should(kubetest.BeReady())

	g.Eventually(func() int { return len(writesAndReads(n.requests.Reset())) }).WithPolling(soon / 30).Should(BeZero())
	n.Server.ForgetCalls()
	g.Expect(n.Get(t.Context(), client.ObjectKeyFromObject(s), s)).To(Succeed())
	s.Labels = map[string]string{"touched": "yes"}
	g.Expect(n.Update(t.Context(), s)).To(Succeed())
	g.Consistently(func() kubetest.Requests { return writesAndReads(n.requests.Requests()) }).WithTimeout(soon / 5).Should(BeEmpty())
	g.Expect(n.Server.AllCalls()).To(BeEmpty())
}

// writesAndReads leaves out what caches and the election of a leader cost.
func writesAndReads(all kubetest.Requests) kubetest.Requests {
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
func (n *namespace) deploy(config string) {
	n.t.Helper()
	labels := map[string]string{"app": "barbican"}
	n.create(&corev1.Secret{ObjectMeta: n.meta("barbican-config"), Data: map[string][]byte{"barbican.conf": []byte(config)}},
		&appsv1.Deployment{ObjectMeta: n.meta("barbican"), Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "api", Image: "barbican"}},
				Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{
					Secret: &corev1.SecretVolumeSource{SecretName: "barbican-config"},
				}}},
			}},
		}})
	b := &v1alpha1.Barbican{}
	check(n.t, n.Get(n.t.Context(), client.ObjectKey{Namespace: n.name, Name: "barbican"}, b))
	b.Status.ProjectedSecretStores = []string{"main"}
	check(n.t, n.Status().Update(n.t.Context(), b))
}

func TestDeletedCredentialsAreMintedAnew(t *testing.T) {
	t.Parallel()
	g, n := NewWithT(t), start(t).namespace(t)
	n.instance()
	s := n.managed("main")
	n.create(n.ca(), s)
	n.within(s).Should(credentialsAvailable)
	before := n.minted(s)
	g.Expect(n.Delete(t.Context(), before)).To(Succeed())
	g.Eventually(kubetest.Live(n.Client, before)).WithContext(t.Context()).WithTimeout(soon).Should(
		HaveField("Data", And(HaveKey("secret-id"), Not(HaveKeyWithValue("secret-id", before.Data["secret-id"])))))
	n.within(s).Should(credentialsAvailable)
}

func TestRotatedCredentialsAreValidatedAtOnce(t *testing.T) {
	t.Parallel()
	g, n := NewWithT(t), start(t).namespace(t)
	s := n.managed("main")
	s.Spec.OpenBao.InstanceRef = nil
	s.Spec.OpenBao.Server = &v1alpha1.OpenBaoServer{
		URL: "https://bao." + n.name + ".svc:8200", CABundleSecretRef: &v1alpha1.SecretNameRef{Name: "bao-tls-ca"},
		CredentialsSecretRef: v1alpha1.SecretNameRef{Name: "given"},
	}
	n.create(s, n.ca())
	n.within(s).Should(kubetest.HaveCondition("CredentialsReady", metav1.ConditionFalse, "WaitingForCredentials"))

	given := &corev1.Secret{ObjectMeta: n.meta("given"), StringData: map[string]string{"role-id": n.roleID, "secret-id": "wrong"}}
	n.create(given)
	n.within(s).Should(kubetest.HaveCondition("CredentialsReady", metav1.ConditionFalse, "InvalidCredentials"))

	id, _ := n.MintSecretID("barbican")
	given.StringData = map[string]string{"secret-id": id}
	g.Expect(n.Update(t.Context(), given)).To(Succeed())
	n.within(s).Should(credentialsAvailable)
}

func TestSlowServerHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	o := start(t)
	for range 4 {
		dead := o.namespace(t)
		dead.instance()
		dead.BlackHole()
		dead.create(dead.ca(), dead.managed("main"))
	}
	n := o.namespace(t)
	n.instance()
	s := n.managed("main")
	n.create(n.ca(), s)
	n.within(s).WithTimeout(soon / 3).Should(credentialsAvailable)
}

func TestStoreWaitsForItsBarbican(t *testing.T) {
	t.Parallel()
	g, n := NewWithT(t), start(t).namespace(t)
	b := &v1alpha1.Barbican{}
	g.Expect(n.Get(t.Context(), client.ObjectKey{Namespace: n.name, Name: "barbican"}, b)).To(Succeed())
	g.Expect(n.Delete(t.Context(), b)).To(Succeed())
	n.instance()
	s := n.managed("main")
	n.create(n.ca(), s)
	n.within(s).Should(kubetest.HaveCondition("CredentialsReady", metav1.ConditionFalse, "WaitingForParent"))
	b.ResourceVersion, b.UID = "", ""
	n.create(b)
	n.within(s).WithTimeout(soon * 2 / 3).Should(credentialsAvailable)
}
