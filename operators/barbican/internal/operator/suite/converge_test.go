// SPDX-License-Identifier: Apache-2.0

package suite

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/samber/lo"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/cobaltcore/common/kubetest"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// reasons are those of an object's conditions by type, with "!" before that of one that is not True.
func reasons(conditions []metav1.Condition) map[string]string {
	return lo.SliceToMap(conditions, func(c metav1.Condition) (string, string) {
		if c.Status != metav1.ConditionTrue {
			return c.Type, "!" + c.Reason
		}
		return c.Type, c.Reason
	})
}

var smallest = []string{
	"/Deployment barbican", "/Service barbican", "/PodDisruptionBudget barbican",
	"/Secret barbican-config-#", "/Secret barbican-db-connection",
	"/Job barbican-db-sync", "/CronJob barbican-db-clean",
	"/Database barbican", "/User barbican", "/Grant barbican",
}

var _ = Describe("A Barbican that asks for everything, with a managed store", Ordered, func() {
	var (
		p *place
		b *barbican
		s *v1alpha1.BarbicanSecretStore
	)
	BeforeAll(func() {
		p = newPlace()
		b, s = p.barbican(withEverything), p.managed()
		p.create(b, s)
		p.start()
	})

	It("becomes Ready, as does its store", func() {
		Eventually(live(b)).Should(kubetest.BeReady())
		Eventually(live(s)).Should(kubetest.BeReady())
	})
	It("gives every condition its reason", func() {
		Expect(reasons(get(b).Status.Conditions)).To(Equal(map[string]string{
			"SecretsReady": "SecretsAvailable", "SecretStoresReady": "AllStoresProjected", "DBCleanReady": "DBCleanScheduled",
			"DatabaseReady": "DatabaseSynced", "DeploymentReady": "DeploymentReady", "BarbicanAPIReady": "APIHealthy",
			"HPAReady": "HPAReady", "NetworkPolicyReady": "NetworkPolicyReady", "HTTPRouteReady": "HTTPRouteAccepted",
			"ExtraConfigHealthy": "NoOwnedKeysOverridden", "Ready": "AllReady",
		}))
		Expect(reasons(get(s).Status.Conditions)).To(Equal(map[string]string{
			"ProvisioningReady": "Provisioned", "CredentialsReady": "CredentialsAvailable", "ConfigProjected": "ConfigProjected", "Ready": "AllReady",
		}))
	})
	It("reports what is installed and where it answers", func() {
		status := get(b).Status
		Expect(status.InstalledRelease).To(Equal("2025.1"))
		Expect(status.InstalledImage).To(Equal("ghcr.io/c5c3/barbican:2025.1"))
		Expect(status.TargetRelease).To(BeEmpty())
		Expect(status.Endpoint).To(Equal("https://keys.example.org"))
		Expect(status.ProjectedSecretStores).To(Equal([]string{"keys"}))
		Expect(status.ProjectedSecretStoreHosts).To(Equal([]string{"https://bao." + p.namespace + ".svc:8200"}))
	})
	It("owns one of each child and nothing else", func() {
		Expect(p.children()).To(ConsistOf(append([]string{
			"/HorizontalPodAutoscaler barbican", "/NetworkPolicy barbican", "/HTTPRoute barbican", "SecretStore/Secret keys-approle",
		}, smallest...)))
	})
	It("runs pods that mount what it rendered", func() {
		d := get(&appsv1.Deployment{ObjectMeta: p.meta("barbican")})
		volume, found := lo.Find(d.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == "config" })
		Expect(found).To(BeTrue())
		config := get(&corev1.Secret{ObjectMeta: p.meta(volume.Secret.SecretName)})
		Expect(config.Immutable).To(HaveValue(BeTrue()))
		Expect(string(config.Data["barbican.conf"])).To(ContainSubstring("[secretstore:keys]"))
		Expect(string(config.Data["barbican.conf"])).NotTo(ContainSubstring("keystone-password"))
		Expect(d.Spec.Template.Annotations).To(And(
			HaveKey(v1alpha1.AnnotationDBConnectionHash), HaveKey(v1alpha1.AnnotationAuthTokenHash),
			HaveKeyWithValue(v1alpha1.AnnotationSecretStoreCredentialsHash, get(s).Status.CredentialsHash),
			HaveKey(v1alpha1.AnnotationSecretStoreCAHash)))
	})
	It("minted one secret ID and left no session open", func() {
		Expect(p.bao.SecretIDs("barbican")).To(HaveLen(1))
		Eventually(p.bao.OpenSessions).Should(BeZero())
	})
})

var _ = Describe("A Barbican with a brownfield store and a brownfield database", func() {
	It("becomes Ready without writing to either", func() {
		p := newPlace()
		b, s := p.barbican(func(b *barbican) {
			b.Spec.Database.ClusterRef, b.Spec.Database.Host = nil, "db.example.org"
		}), p.brownfield()
		given := p.given()
		p.create(given, b, s)
		p.start()
		Eventually(live(b)).Should(kubetest.BeReady())
		Eventually(live(s)).Should(kubetest.BeReady())
		Expect(reasons(get(b).Status.Conditions)).To(Equal(map[string]string{
			"SecretsReady": "SecretsAvailable", "SecretStoresReady": "AllStoresProjected", "DBCleanReady": "DBCleanScheduled",
			"DatabaseReady": "DatabaseSynced", "DeploymentReady": "DeploymentReady", "BarbicanAPIReady": "APIHealthy",
			"HPAReady": "HPANotRequired", "NetworkPolicyReady": "NetworkPolicyNotRequired", "HTTPRouteReady": "HTTPRouteNotRequired",
			"ExtraConfigHealthy": "NoOwnedKeysOverridden", "Ready": "AllReady",
		}))
		Expect(reasons(get(s).Status.Conditions)).To(Equal(map[string]string{
			"CredentialsReady": "CredentialsAvailable", "ConfigProjected": "ConfigProjected", "Ready": "AllReady",
		}))
		Expect(get(b).Status.Endpoint).To(Equal("http://barbican." + p.namespace + ".svc.cluster.local:9311"))
		Expect(p.children()).To(ConsistOf(lo.Without(smallest, "/Database barbican", "/User barbican", "/Grant barbican")))
		Expect(p.bao.Calls("POST", "auth/approle/role/barbican/secret-id")).To(BeZero())
		version := given.ResourceVersion
		Expect(get(given).ResourceVersion).To(Equal(version))
		Expect(given.OwnerReferences).To(BeEmpty())
		dsn := get(&corev1.Secret{ObjectMeta: p.meta("barbican-db-connection")})
		Expect(string(dsn.Data["connection"])).To(HavePrefix("mysql+pymysql://barbican:db-password@db.example.org:3306/barbican"))
	})
})
