// SPDX-License-Identifier: Apache-2.0

package kubetest_test

import (
	"context"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/cobaltcore/common/kubetest"
)

// Two simulations of one cluster would contradict each other, so the tests share one and give outcomes to their namespaces.
var simulation = sync.OnceValues(func() (*kubetest.Simulation, error) {
	config := rest.CopyConfig(env.Config)
	config.Wrap(simulated.Transport)
	return kubetest.Simulate(context.Background(), config, kubetest.Behaviour{})
})

// simulated records what the simulation sends.
var simulated kubetest.Recorder

type stage struct {
	client.Client
	*WithT
	sim       *kubetest.Simulation
	namespace string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	sim, err := simulation()
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, "test")
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(30 * time.Second)
	g.SetDefaultEventuallyPollingInterval(10 * time.Millisecond)
	g.SetDefaultConsistentlyDuration(300 * time.Millisecond)
	return &stage{Client: c, WithT: g, sim: sim, namespace: kubetest.NewNamespace(t, c)}
}

func (s *stage) create(t *testing.T, object client.Object) {
	t.Helper()
	object.SetNamespace(s.namespace)
	s.Expect(s.Create(t.Context(), object)).To(Succeed())
}

func (s *stage) becomes(t *testing.T, object client.Object, want types.GomegaMatcher) {
	t.Helper()
	s.Eventually(kubetest.Live(s, object)).WithContext(t.Context()).Should(want)
}

func (s *stage) stays(t *testing.T, object client.Object, want types.GomegaMatcher) {
	t.Helper()
	s.Consistently(kubetest.Live(s, object)).WithContext(t.Context()).Should(want)
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestKindsThatReportOneCondition(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, manifest, condition string
		actor                     func(*kubetest.Simulation) *kubetest.Actor
	}{
		{"MariaDB", "{apiVersion: k8s.mariadb.com/v1alpha1, kind: MariaDB, spec: {storage: {size: 1Gi}}}", "Ready",
			func(s *kubetest.Simulation) *kubetest.Actor { return s.MariaDBs }},
		{"Database", "{apiVersion: k8s.mariadb.com/v1alpha1, kind: Database, spec: {mariaDbRef: {name: a}}}", "Ready",
			func(s *kubetest.Simulation) *kubetest.Actor { return s.Databases }},
		{"User", "{apiVersion: k8s.mariadb.com/v1alpha1, kind: User, spec: {mariaDbRef: {name: a}}}", "Ready",
			func(s *kubetest.Simulation) *kubetest.Actor { return s.Users }},
		{"Grant", "{apiVersion: k8s.mariadb.com/v1alpha1, kind: Grant, spec: {mariaDbRef: {name: a}, privileges: [ALL], username: a}}", "Ready",
			func(s *kubetest.Simulation) *kubetest.Actor { return s.Grants }},
		{"ExternalSecret", "{apiVersion: external-secrets.io/v1, kind: ExternalSecret, spec: {data: [{secretKey: password, remoteRef: {key: a}}]}}", "Ready",
			func(s *kubetest.Simulation) *kubetest.Actor { return s.ExternalSecrets }},
		{"SecretStore", "{apiVersion: external-secrets.io/v1, kind: SecretStore, spec: {provider: {fake: {data: []}}}}", "Ready",
			func(s *kubetest.Simulation) *kubetest.Actor { return s.SecretStores }},
		{"ClusterSecretStore", "{apiVersion: external-secrets.io/v1, kind: ClusterSecretStore, spec: {provider: {fake: {data: []}}}}", "Ready",
			func(s *kubetest.Simulation) *kubetest.Actor { return s.ClusterSecretStores }},
		{"OpenBaoCluster", "{apiVersion: openbao.org/v1alpha1, kind: OpenBaoCluster, spec: {version: 2.6.1}}", "Available",
			func(s *kubetest.Simulation) *kubetest.Actor { return s.OpenBaoClusters }},
	} {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			object := parse(t, c.manifest)
			object.SetName("late-" + s.namespace)
			actor := c.actor(s.sim)
			if c.kind != "ClusterSecretStore" {
				object.SetNamespace(s.namespace)
			}
			own := actor.For(object)

			own.Do(kubetest.Hang())
			s.Expect(s.Create(t.Context(), object)).To(Succeed())
			s.stays(t, object, Not(kubetest.HaveCondition(c.condition, metav1.ConditionTrue, "")))

			own.Do(kubetest.Fail("Broken", "it is broken"))
			s.becomes(t, object, kubetest.HaveCondition(c.condition, metav1.ConditionFalse, "Broken").Saying("it is broken"))

			own.Do(kubetest.Succeed().After(time.Second))
			s.stays(t, object, kubetest.HaveCondition(c.condition, metav1.ConditionFalse, "Broken"))
			s.becomes(t, object, kubetest.HaveCondition(c.condition, metav1.ConditionTrue, ""))
		})
	}
}

func TestTheNarrowestScopeWins(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	manifest := "{apiVersion: k8s.mariadb.com/v1alpha1, kind: MariaDB, spec: {}}"
	one, other := parse(t, manifest), parse(t, manifest)
	one.SetName("one")
	other.SetName("other")
	s.create(t, one)
	s.create(t, other)
	s.sim.MariaDBs.For(one).Do(kubetest.Fail("OneFailed", ""))
	s.sim.MariaDBs.In(s.namespace).Do(kubetest.Fail("AllFailed", ""))
	s.becomes(t, one, kubetest.HaveCondition("Ready", metav1.ConditionFalse, "OneFailed"))
	s.becomes(t, other, kubetest.HaveCondition("Ready", metav1.ConditionFalse, "AllFailed"))
}

func TestAnIgnoredObjectIsLeftAlone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.sim.MariaDBs.In(s.namespace).Do(kubetest.Ignore())
	object := parse(t, "{apiVersion: k8s.mariadb.com/v1alpha1, kind: MariaDB, metadata: {name: a}, spec: {}}")
	s.create(t, object)
	s.stays(t, object, HaveField("Object", Not(HaveKey("status"))))
}

func TestAnExternalSecretWritesItsSecretOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	kept := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "kept"}, Data: map[string][]byte{"password": []byte("mine")}}
	s.create(t, kept)
	for _, name := range []string{"made", "kept"} {
		object := parse(t, `{apiVersion: external-secrets.io/v1, kind: ExternalSecret, spec: {target: {name: `+name+`},
			data: [{secretKey: username, remoteRef: {key: a}}, {secretKey: password, remoteRef: {key: a}}]}}`)
		object.SetName("source-of-" + name)
		s.create(t, object)
		s.becomes(t, object, kubetest.HaveCondition("Ready", metav1.ConditionTrue, "SecretSynced"))
	}
	made := &corev1.Secret{}
	s.Expect(s.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "made"}, made)).To(Succeed())
	s.Expect(made.Data).To(HaveKeyWithValue("username", []byte("username-of-made")))
	s.Expect(made.Data).To(HaveKey("password"))
	s.Expect(s.Get(t.Context(), client.ObjectKeyFromObject(kept), kept)).To(Succeed())
	s.Expect(kept.Data).To(Equal(map[string][]byte{"password": []byte("mine")}))
}

func podTemplate() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "a"}},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "a", Image: "registry.invalid/a:1"}},
		},
	}
}

func deployment() *appsv1.Deployment {
	template := podTemplate()
	template.Spec.RestartPolicy = corev1.RestartPolicyAlways
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "a"},
		Spec:       appsv1.DeploymentSpec{Replicas: ptr.To[int32](3), Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template},
	}
}

// deploymentStatus picks what readers of a Deployment look at, for its current generation.
func deploymentStatus(replicas, updated, ready int32) types.GomegaMatcher {
	return WithTransform(func(o client.Object) []any {
		d := o.(*appsv1.Deployment)
		return []any{d.Status.ObservedGeneration == d.Generation, d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.ReadyReplicas}
	}, Equal([]any{true, replicas, updated, ready}))
}

func TestADeploymentRollsOut(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.sim.Deployments.In(s.namespace).Do(kubetest.Succeed().After(time.Second))
	d := deployment()
	s.create(t, d)
	s.becomes(t, d, deploymentStatus(3, 3, 0))
	s.becomes(t, d, And(deploymentStatus(3, 3, 3), kubetest.HaveCondition("Available", metav1.ConditionTrue, "MinimumReplicasAvailable")))

	s.sim.Deployments.In(s.namespace).Do(kubetest.ExceedDeadline().After(200 * time.Millisecond))
	before := d.DeepCopy()
	d.Spec.Template.Spec.Containers[0].Image = "registry.invalid/a:2"
	s.Expect(s.Patch(t.Context(), d, client.MergeFrom(before))).To(Succeed())
	s.becomes(t, d, And(deploymentStatus(4, 1, 3), kubetest.HaveCondition("Available", metav1.ConditionTrue, "")))
	s.becomes(t, d, kubetest.HaveCondition("Progressing", metav1.ConditionFalse, "ProgressDeadlineExceeded"))

	s.sim.Deployments.In(s.namespace).Do(kubetest.Succeed())
	s.becomes(t, d, And(deploymentStatus(3, 3, 3), kubetest.HaveCondition("Progressing", metav1.ConditionTrue, "NewReplicaSetAvailable")))
}

func TestADeploymentIsStuckOrRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.sim.Deployments.In(s.namespace).Do(kubetest.Hang())
	d := deployment()
	s.create(t, d)
	s.becomes(t, d, And(deploymentStatus(3, 3, 0), kubetest.HaveCondition("Available", metav1.ConditionFalse, "")))
	s.sim.Deployments.In(s.namespace).Do(kubetest.Fail("FailedCreate", "quota exceeded"))
	s.becomes(t, d, kubetest.HaveCondition("ReplicaFailure", metav1.ConditionTrue, "FailedCreate").Saying("quota"))
	s.sim.Deployments.In(s.namespace).Do(kubetest.Succeed())
	s.becomes(t, d, And(deploymentStatus(3, 3, 3), Not(kubetest.HaveCondition("ReplicaFailure", metav1.ConditionTrue, ""))))
}

func TestJobs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		outcome kubetest.Outcome
		first   types.GomegaMatcher
		last    types.GomegaMatcher
	}{
		{"completes", kubetest.Succeed(), nil, kubetest.HaveCondition("Complete", metav1.ConditionTrue, "CompletionsReached")},
		{"completes later", kubetest.Succeed().After(time.Second), HaveField("Status.Ready", HaveValue(BeEquivalentTo(1))),
			kubetest.HaveCondition("Complete", metav1.ConditionTrue, "")},
		{"fails", kubetest.Fail("", ""), nil, kubetest.HaveCondition("Failed", metav1.ConditionTrue, "BackoffLimitExceeded")},
		{"fails with words", kubetest.Fail("PodFailurePolicy", "exit code 3"), nil, kubetest.HaveCondition("Failed", metav1.ConditionTrue, "PodFailurePolicy").Saying("3")},
		{"exceeds its deadline", kubetest.ExceedDeadline(), nil, kubetest.HaveCondition("Failed", metav1.ConditionTrue, "DeadlineExceeded")},
		{"never starts", kubetest.Hang(), nil, And(HaveField("Status.Active", BeEquivalentTo(1)), HaveField("Status.Ready", HaveValue(BeZero())))},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.sim.Jobs.In(s.namespace).Do(c.outcome)
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: batchv1.JobSpec{Template: podTemplate()}}
			s.create(t, job)
			if c.first != nil {
				s.becomes(t, job, c.first)
			}
			s.becomes(t, job, c.last)
			s.stays(t, job, c.last)
		})
	}
}

func TestACronJobRuns(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	cronJob := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "clean"}, Spec: batchv1.CronJobSpec{
		Schedule: "1 0 * * *",
		JobTemplate: batchv1.JobTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "clean"}},
			Spec:       batchv1.JobSpec{Template: podTemplate()},
		},
	}}
	s.create(t, cronJob)
	failed, err := s.sim.RunCronJob(t.Context(), client.ObjectKeyFromObject(cronJob), kubetest.Fail("", ""))
	s.Expect(err).NotTo(HaveOccurred())
	s.Expect(metav1.IsControlledBy(failed, cronJob)).To(BeTrue())
	s.Expect(failed.Labels).To(HaveKeyWithValue("app", "clean"))
	s.becomes(t, failed, kubetest.HaveCondition("Failed", metav1.ConditionTrue, ""))
	completed, err := s.sim.RunCronJob(t.Context(), client.ObjectKeyFromObject(cronJob), kubetest.Succeed())
	s.Expect(err).NotTo(HaveOccurred())
	s.becomes(t, completed, kubetest.HaveCondition("Complete", metav1.ConditionTrue, ""))
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	route := parse(t, `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: a}, spec: {
		parentRefs: [{name: public, sectionName: https}], hostnames: [a.example.org], rules: [{backendRefs: [{name: a, port: 9311}]}]}}`)
	s.create(t, route)
	parent := func(name string, accepted, resolved metav1.ConditionStatus) types.GomegaMatcher {
		return WithTransform(func(o client.Object) []any {
			parents, _, _ := unstructured.NestedSlice(o.(*unstructured.Unstructured).Object, "status", "parents")
			if len(parents) != 1 {
				return nil
			}
			got, _, _ := unstructured.NestedString(parents[0].(map[string]any), "parentRef", "name")
			found := []any{got}
			all, _, _ := unstructured.NestedSlice(parents[0].(map[string]any), "conditions")
			for _, c := range all {
				found = append(found, metav1.ConditionStatus(c.(map[string]any)["status"].(string)), c.(map[string]any)["observedGeneration"] == o.GetGeneration())
			}
			return found
		}, Equal([]any{name, accepted, true, resolved, true}))
	}
	s.becomes(t, route, parent("public", metav1.ConditionTrue, metav1.ConditionTrue))
	routes := s.sim.HTTPRoutes.In(s.namespace)
	routes.Do(kubetest.Fail("NotAllowedByListeners", ""))
	s.becomes(t, route, parent("public", metav1.ConditionFalse, metav1.ConditionTrue))
	routes.Do(kubetest.LeaveRefsUnresolved())
	s.becomes(t, route, parent("public", metav1.ConditionTrue, metav1.ConditionFalse))
	routes.Do(kubetest.AcceptElsewhere())
	s.becomes(t, route, parent("another-gateway", metav1.ConditionTrue, metav1.ConditionTrue))
}

func TestPods(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.sim.Jobs.In(s.namespace).Do(kubetest.Ignore())
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: batchv1.JobSpec{Template: podTemplate()}}
	s.create(t, job)
	pod := func(name string, owners ...metav1.OwnerReference) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners}, Spec: podTemplate().Spec}
	}
	ofJob := *metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))
	phase := func(p corev1.PodPhase) types.GomegaMatcher { return HaveField("Status.Phase", p) }

	served, ran := pod("served"), pod("ran", ofJob)
	s.create(t, served)
	s.create(t, ran)
	s.becomes(t, served, And(phase(corev1.PodRunning), kubetest.HaveCondition("Ready", metav1.ConditionTrue, "")))
	s.becomes(t, ran, phase(corev1.PodSucceeded))

	s.sim.Pods.In(s.namespace).Do(kubetest.Fail("", ""))
	broken, failed := pod("broken"), pod("failed", ofJob)
	s.create(t, broken)
	s.create(t, failed)
	s.becomes(t, broken, HaveField("Status.ContainerStatuses", ConsistOf(HaveField("State.Waiting.Reason", "ImagePullBackOff"))))
	s.becomes(t, failed, phase(corev1.PodFailed))
}

func TestARestrictedNamespaceRefusesOtherPods(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	namespace := kubetest.NewNamespace(t, s, kubetest.Restricted)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: namespace}, Spec: podTemplate().Spec}
	s.Expect(s.Create(t.Context(), pod)).To(MatchError(ContainSubstring("violates PodSecurity")))
}
