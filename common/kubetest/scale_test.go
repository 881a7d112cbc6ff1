// SPDX-License-Identifier: Apache-2.0

package kubetest_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/kubetest"
)

// The simulators must keep up with an operator that works on a thousand objects: one write each and nothing else.
func TestASimulatorWritesOnceForEachOfManyObjects(t *testing.T) {
	t.Parallel()
	const objects = 300
	s := newStage(t)
	s.sim.Databases.In(s.namespace).Do(kubetest.Hang())
	for i := range objects {
		database := parse(t, "{apiVersion: k8s.mariadb.com/v1alpha1, kind: Database, spec: {mariaDbRef: {name: a}}}")
		database.SetName(fmt.Sprintf("database-%d", i))
		s.create(t, database)
	}
	begin := time.Now()
	s.sim.Databases.In(s.namespace).Do(kubetest.Succeed())
	s.Eventually(func(g Gomega) {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("k8s.mariadb.com/v1alpha1")
		list.SetKind("DatabaseList")
		g.Expect(s.List(t.Context(), list, client.InNamespace(s.namespace))).To(Succeed())
		g.Expect(list.Items).To(HaveLen(objects))
		for _, database := range list.Items {
			g.Expect(database.Object).To(HaveKey("status"))
		}
	}).WithPolling(100 * time.Millisecond).Should(Succeed())
	sent := simulated.Requests().In(s.namespace)
	s.Expect(sent).To(HaveLen(objects), "%s", sent)
	t.Logf("%d objects became ready within %s", objects, time.Since(begin).Round(time.Millisecond))
}
