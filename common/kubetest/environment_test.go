// SPDX-License-Identifier: Apache-2.0

package kubetest_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/samber/lo"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/kubetest"
)

var env *kubetest.Environment

// childVariable makes the test binary a victim: it starts an environment, prints its folder and waits to be killed.
const childVariable = "KUBETEST_VICTIM"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		victim()
	}
	kubetest.Main(m, &env, kubetest.Options{Audit: true, Controllers: []string{"garbage-collector-controller", "namespace-controller"}})
}

func victim() {
	e, err := kubetest.Start(kubetest.Options{})
	if err != nil {
		println(err.Error())
		os.Exit(1)
	}
	println(e.Dir())
	select {}
}

func newClient(t *testing.T, agent string) client.Client {
	t.Helper()
	return clientFor(t, env.Agent(agent))
}

func clientFor(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func key(namespace, name string) client.ObjectKey {
	return client.ObjectKey{Namespace: namespace, Name: name}
}

func secret() *corev1.Secret { return &corev1.Secret{} }

func TestStartFailsWithoutBinaries(t *testing.T) {
	for _, c := range []struct{ name, assets, want string }{
		{"not set", "", "run `make test`"},
		{"empty folder", t.TempDir(), "has no etcd"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("KUBEBUILDER_ASSETS", c.assets)
			e, err := kubetest.Start(kubetest.Options{})
			if e != nil || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("kubetest.Start() = %v, %v, want an error with %q", e, err, c.want)
			}
		})
	}
}

func TestTheGarbageCollectorCollects(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newClient(t, "gc")
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner", Namespace: kubetest.NewNamespace(t, c)}}
	g.Expect(c.Create(t.Context(), owner)).To(Succeed())
	child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "child", Namespace: owner.Namespace,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))},
	}}
	g.Expect(c.Create(t.Context(), child)).To(Succeed())
	g.Expect(c.Delete(t.Context(), owner)).To(Succeed())
	g.Eventually(kubetest.Live(c, child)).WithContext(t.Context()).WithTimeout(30 * time.Second).Should(kubetest.BeGone())
}

func TestTheAuditLogCountsEveryRequestOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c, err := client.NewWithWatch(env.Agent("counted"), client.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	namespace := kubetest.NewNamespace(t, newClient(t, "other"))
	_, err = env.Requests()
	g.Expect(err).NotTo(HaveOccurred())

	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: namespace}}
	g.Expect(c.Create(t.Context(), secret)).To(Succeed())
	g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(secret), secret)).To(Succeed())
	g.Expect(c.List(t.Context(), &corev1.SecretList{}, client.InNamespace(namespace))).To(Succeed())
	stale := secret.DeepCopy()
	secret.Labels = map[string]string{"a": "b"}
	g.Expect(c.Update(t.Context(), secret)).To(Succeed())
	stale.Labels = map[string]string{"a": "c"}
	g.Expect(c.Update(t.Context(), stale)).NotTo(Succeed())
	w, err := c.Watch(t.Context(), &corev1.SecretList{}, client.InNamespace(namespace))
	g.Expect(err).NotTo(HaveOccurred())
	w.Stop()
	g.Expect(c.Status().Patch(t.Context(), &appsv1.Deployment{ObjectMeta: secret.ObjectMeta}, client.RawPatch(client.Merge.Type(), []byte("{}")))).NotTo(Succeed())

	all, err := env.Requests()
	g.Expect(err).NotTo(HaveOccurred())
	mine := all.By("counted")
	g.Expect(mine.Reads()).To(HaveLen(2), "%s", mine)
	g.Expect(mine.Writes()).To(HaveLen(4), "%s", mine)
	g.Expect(mine.Conflicts()).To(HaveLen(1), "%s", mine)
	g.Expect(mine.Verbs("watch").Of("secrets").In(namespace)).To(HaveLen(1), "%s", mine)
	g.Expect(mine.Of("deployments/status")).To(HaveLen(1), "%s", mine)
}

func TestAKilledProcessLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"=yes")
	output, err := cmd.StderrPipe()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(cmd.Start()).To(Succeed())
	line, err := bufio.NewReader(output).ReadString('\n')
	g.Expect(err).NotTo(HaveOccurred())
	dir := strings.TrimSpace(line)
	g.Expect(dir).To(BeADirectory())
	processes := processes(g, dir)
	g.Expect(processes).To(HaveLen(2))

	g.Expect(cmd.Process.Signal(syscall.SIGKILL)).To(Succeed())
	g.Eventually(func() bool { _, err := os.Stat(dir); return os.IsNotExist(err) }).WithTimeout(30 * time.Second).Should(BeTrue())
	_ = cmd.Wait() // reports the kill
	for _, pid := range processes {
		g.Eventually(running).WithArguments(pid).WithTimeout(30 * time.Second).Should(BeFalse())
	}
}

func processes(g *WithT, dir string) []string {
	files, err := filepath.Glob(dir + "/processes/*")
	g.Expect(err).NotTo(HaveOccurred())
	return lo.Map(files, func(file string, _ int) string {
		pid, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		return strings.TrimSpace(string(pid))
	})
}

func TestNodesAreSimulatedForTheRealControllers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e, err := kubetest.Start(kubetest.Options{Controllers: []string{"*"}})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(e.Stop()).To(Succeed()) })
	_, err = kubetest.Simulate(t.Context(), e.Config, kubetest.Behaviour{Deployments: kubetest.Ignore(), Jobs: kubetest.Ignore()})
	g.Expect(err).NotTo(HaveOccurred())
	c := clientFor(t, e.Config)
	d := deployment()
	d.Namespace = "default"
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}, Spec: batchv1.JobSpec{Template: podTemplate()}}
	g.Expect(c.Create(t.Context(), d)).To(Succeed())
	g.Expect(c.Create(t.Context(), job)).To(Succeed())

	g.SetDefaultEventuallyTimeout(time.Minute)
	g.Eventually(kubetest.Live(c, d)).WithContext(t.Context()).Should(And(
		deploymentStatus(3, 3, 3), kubetest.HaveCondition("Progressing", metav1.ConditionTrue, "NewReplicaSetAvailable")))
	g.Eventually(kubetest.Live(c, job)).WithContext(t.Context()).Should(kubetest.HaveCondition("Complete", metav1.ConditionTrue, ""))
	// Background deletion takes the pods along, which no node has to confirm.
	g.Expect(c.Delete(t.Context(), d)).To(Succeed())
	g.Eventually(func(g Gomega) {
		var pods corev1.PodList
		g.Expect(c.List(t.Context(), &pods, client.InNamespace("default"), client.MatchingLabels(d.Spec.Selector.MatchLabels), client.HasLabels{"pod-template-hash"})).To(Succeed())
		g.Expect(pods.Items).To(BeEmpty())
	}).Should(Succeed())
}

func TestStopLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e, err := kubetest.Start(kubetest.Options{Controllers: []string{"*"}})
	g.Expect(err).NotTo(HaveOccurred())
	c, err := client.NewWithWatch(e.Config, client.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	w, err := c.Watch(t.Context(), &corev1.SecretList{}) // must not keep the server alive
	g.Expect(err).NotTo(HaveOccurred())
	defer w.Stop()
	processes := processes(g, e.Dir())
	g.Expect(processes).To(HaveLen(3))

	g.Expect(e.Stop()).To(Succeed())
	g.Expect(e.Dir()).NotTo(BeAnExistingFile())
	g.Expect(e.Webhook.CertDir).NotTo(BeAnExistingFile())
	for _, pid := range processes {
		g.Expect(running(pid)).To(BeFalse())
	}
}

// running is false for a process that nobody has reaped yet: it has no command line any more.
func running(pid string) bool {
	commandLine, err := os.ReadFile("/proc/" + pid + "/cmdline")
	return err == nil && len(commandLine) > 0
}
