// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/samber/lo"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/database"
	"github.com/c5c3/cobaltcore/common/kubetest"
)

// theirs are objects of somebody else under the names of children.
func (p *place) theirs() []client.Object {
	labels := map[string]string{"app": "theirs"}
	pod := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "theirs", Image: "theirs"}}},
	}
	always := *pod.DeepCopy()
	always.Spec.RestartPolicy = corev1.RestartPolicyAlways
	route := object(schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"}, p.meta("barbican"))
	route.Object["spec"] = map[string]any{"hostnames": []any{"theirs.example.org"}}
	return []client.Object{
		&appsv1.Deployment{ObjectMeta: p.meta("barbican"), Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: always}},
		&corev1.Service{ObjectMeta: p.meta("barbican"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}},
		&policyv1.PodDisruptionBudget{ObjectMeta: p.meta("barbican"), Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}}},
		&autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: p.meta("barbican"), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			MaxReplicas: 2, ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "theirs"},
		}},
		&networkingv1.NetworkPolicy{ObjectMeta: p.meta("barbican")},
		route,
		&batchv1.CronJob{ObjectMeta: p.meta("barbican-db-clean"), Spec: batchv1.CronJobSpec{Schedule: "@daily", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: pod}}}},
		&batchv1.Job{ObjectMeta: p.meta("barbican-db-sync"), Spec: batchv1.JobSpec{Template: pod}},
		&database.Database{ObjectMeta: p.meta("barbican"), Spec: database.SchemaSpec{MariaDBRef: database.MariaDBRef{Name: "theirs"}}},
		&database.User{ObjectMeta: p.meta("barbican"), Spec: database.UserSpec{MariaDBRef: database.MariaDBRef{Name: "theirs"}}},
		&database.Grant{ObjectMeta: p.meta("barbican"), Spec: database.GrantSpec{MariaDBRef: database.MariaDBRef{Name: "theirs"}, Privileges: []string{"SELECT"}, Database: "theirs", Table: "*", Username: "theirs"}},
		p.secret("barbican-db-connection", "connection", "theirs"),
		p.secret("keys-approle", "role-id", "theirs", "secret-id", "theirs"),
	}
}

// tells are the kinds by the condition that tells of a foreign object.
var tells = map[string]struct{ condition, reason string }{
	"Deployment":              {"DeploymentReady", "WaitingForDeployment"},
	"Service":                 {"DeploymentReady", "WaitingForDeployment"},
	"PodDisruptionBudget":     {"DeploymentReady", "WaitingForDeployment"},
	"HorizontalPodAutoscaler": {"Ready", "NotAllReady"},
	"NetworkPolicy":           {"DatabaseReady", "DBSyncFailed"}, // the pods of the migration are not to run without it
	"HTTPRoute":               {"HTTPRouteReady", "HTTPRouteNotAccepted"},
	"CronJob":                 {"DBCleanReady", "DBCleanBlocked"},
	"Job":                     {"DatabaseReady", "DBSyncFailed"},
	"Database":                {"DatabaseReady", "WaitingForDatabase"},
	"User":                    {"DatabaseReady", "WaitingForDatabase"},
	"Grant":                   {"DatabaseReady", "WaitingForDatabase"},
	"Secret":                  {"SecretsReady", "WaitingForDBCredentials"},
}

// kindOf is the kind of an object that may be typed.
func kindOf(o client.Object) schema.GroupVersionKind {
	GinkgoHelper()
	gvk, err := admin.GroupVersionKindFor(o)
	Expect(err).NotTo(HaveOccurred())
	return gvk
}

// desired is what an object says beside what servers and simulators write.
func desired(o client.Object) map[string]any {
	GinkgoHelper()
	u := object(kindOf(o), metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName()})
	get(u)
	unstructured.RemoveNestedField(u.Object, "metadata", "managedFields")
	unstructured.RemoveNestedField(u.Object, "metadata", "resourceVersion")
	unstructured.RemoveNestedField(u.Object, "status")
	return u.Object
}

var _ = Describe("An object of somebody else under a child's name", func() {
	It("is left alone, and a condition tells of it", func() {
		together(lo.Range(len(newPlace().theirs())), func(i int) {
			w := world{place: newPlace()}
			foreign := w.theirs()[i]
			w.create(foreign)
			before := desired(foreign)
			w.b, w.s = w.barbican(withEverything), w.managed()
			w.create(w.b, w.s)
			o := w.start()
			kind := kindOf(foreign).Kind
			told, wanted := client.Object(w.b), tells[kind]
			if foreign.GetName() == "keys-approle" {
				told, wanted = w.s, struct{ condition, reason string }{"CredentialsReady", "WaitingForCredentials"}
			}
			Eventually(live(told)).Should(kubetest.HaveCondition(wanted.condition, metav1.ConditionFalse, wanted.reason).Saying(fmt.Sprintf("%s %s/%s", kind, w.namespace, foreign.GetName())), kind)
			Expect(desired(foreign)).To(Equal(before), kind)
			o.stop()

			Expect(admin.Delete(ctx, foreign, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
			w.start()
			Eventually(live(w.b)).Should(kubetest.BeReady(), "%s is gone", kind)
			Eventually(live(w.s)).Should(kubetest.BeReady(), "%s is gone", kind)
		})
	})

	It("is left alone where it takes the place of a configuration, and so is one with other content", func() {
		together([]bool{true, false}, func(foreign bool) {
			w := converged()
			current := ""
			for _, v := range w.deployment().Spec.Template.Spec.Volumes {
				if v.Name == "config" {
					current = v.Secret.SecretName
				}
			}
			wrong := get(&corev1.Secret{ObjectMeta: w.meta(current)})
			w.remove(wrong.DeepCopy())
			wrong.ResourceVersion, wrong.UID = "", ""
			wrong.Data = map[string][]byte{"barbican.conf": []byte("[DEFAULT]\n")}
			if foreign {
				wrong.OwnerReferences, wrong.Annotations, wrong.Labels = nil, nil, nil
			}
			w.create(wrong)
			before := desired(wrong)
			w.start()
			Eventually(live(w.b)).Should(kubetest.HaveCondition("SecretsReady", metav1.ConditionFalse, "ConfigError").Saying(current))
			Expect(desired(wrong)).To(Equal(before))
			w.remove(wrong)
			Eventually(live(w.b)).Should(kubetest.BeReady())
		})
	})

	It("is no obstacle where the feature is switched off", func() {
		p := newPlace()
		var foreign []client.Object
		for _, o := range p.theirs() {
			switch kindOf(o).Kind {
			case "HorizontalPodAutoscaler", "NetworkPolicy", "HTTPRoute", "Database", "User", "Grant":
				foreign = append(foreign, o)
			}
		}
		p.create(foreign...)
		foreign = append(foreign, p.secret("barbican-authtoken", "password", "theirs"))
		p.create(foreign[len(foreign)-1])
		before := make([]map[string]any, len(foreign))
		for i, o := range foreign {
			before[i] = desired(o)
		}
		b := p.barbican(func(b *barbican) { b.Spec.Database.ClusterRef, b.Spec.Database.Host = nil, "db.example.org" })
		p.create(b, p.managed())
		p.start()
		Eventually(live(b)).Should(kubetest.BeReady())
		for i, o := range foreign {
			Expect(desired(o)).To(Equal(before[i]))
		}
		Expect(admin.Delete(ctx, b)).To(Succeed())
		Eventually(live(b)).Should(kubetest.BeGone())
		for i, o := range foreign {
			Expect(desired(o)).To(Equal(before[i]))
		}
	})

})

var _ = Describe("A feature that is switched off", func() {
	It("takes its child with it", func() {
		p := newPlace()
		b := p.barbican(withEverything)
		p.create(b, p.managed())
		p.start()
		Eventually(live(b)).Should(kubetest.BeReady())
		route := object(schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"}, p.meta("barbican"))
		scaler, policy := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: p.meta("barbican")}, &networkingv1.NetworkPolicy{ObjectMeta: p.meta("barbican")}
		edit(b, func(b *barbican) { b.Spec.Gateway, b.Spec.Autoscaling, b.Spec.NetworkPolicy = nil, nil, nil })
		for _, gone := range []client.Object{route, scaler, policy} {
			Eventually(live(gone)).Should(kubetest.BeGone(), kindOf(gone).Kind)
		}
		Eventually(live(b)).Should(kubetest.BeReady())
		Expect(lo.Uniq(p.children())).To(ConsistOf(append([]string{"SecretStore/Secret keys-approle"}, smallest...)))
	})
})
