// SPDX-License-Identifier: Apache-2.0

package suite

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/cobaltcore/common/kubetest"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

func (p *place) cronJob() *batchv1.CronJob {
	GinkgoHelper()
	return get(&batchv1.CronJob{ObjectMeta: p.meta("barbican-db-clean")})
}

func (p *place) migration() *batchv1.Job {
	GinkgoHelper()
	return get(&batchv1.Job{ObjectMeta: p.meta("barbican-db-sync")})
}

// request asks for a release with the image of that name.
func (w world) request(release string) {
	GinkgoHelper()
	edit(w.b, func(b *barbican) { b.Spec.OpenStackRelease, b.Spec.Image.Tag = release, release })
}

var _ = Describe("An upgrade to the next release", Ordered, func() {
	var w world
	BeforeAll(func() {
		w = converged()
		w.start()
		w.ready()
	})
	says := func(condition string, status metav1.ConditionStatus, reason, text string) {
		GinkgoHelper()
		Eventually(live(w.b)).Should(kubetest.HaveCondition(condition, status, reason).Saying(text).Current())
	}

	It("pauses the clean-up and migrates before any pod runs the new image", func() {
		former := w.migration().UID
		simulation.Jobs.In(w.namespace).Do(kubetest.Hang())
		w.request("2025.2")
		says("DatabaseReady", metav1.ConditionFalse, "DBSyncInProgress", "")
		says("DBCleanReady", metav1.ConditionTrue, "DBCleanSuspended", "")
		Expect(w.cronJob().Spec.Suspend).To(HaveValue(BeTrue()))
		Eventually(func() any { return w.migration().UID }).ShouldNot(Equal(former))
		Expect(w.migration().Spec.Template.Spec.Containers[0].Image).To(HaveSuffix(":2025.2"))
		Expect(w.deployment().Spec.Template.Spec.Containers[0].Image).To(HaveSuffix(":2025.1"))
		Expect(get(w.b).Status.TargetRelease).To(Equal("2025.2"))
		Expect(w.b.Status.InstalledRelease).To(Equal("2025.1"))
	})
	It("has no way back once the migration has started", func() {
		w.request("2025.1")
		says("DatabaseReady", metav1.ConditionFalse, "UpgradePathInvalid", v1alpha1.AnnotationAllowSchemaRollback)
		Expect(w.deployment().Spec.Template.Spec.Containers[0].Image).To(HaveSuffix(":2025.1"))
	})
	It("ends with pods of the new release and an active clean-up", func() {
		w.request("2025.2")
		says("DatabaseReady", metav1.ConditionFalse, "DBSyncInProgress", "")
		Expect(w.deployment().Spec.Template.Spec.Containers[0].Image).To(HaveSuffix(":2025.1"))
		simulation.Jobs.In(w.namespace).Do(kubetest.Succeed())
		w.ready()
		Expect(w.deployment().Spec.Template.Spec.Containers[0].Image).To(HaveSuffix(":2025.2"))
		Eventually(w.cronJob).Should(HaveField("Spec.Suspend", HaveValue(BeFalse())))
		status := get(w.b).Status
		Expect(status.InstalledRelease).To(Equal("2025.2"))
		Expect(status.InstalledImage).To(HaveSuffix(":2025.2"))
		Expect(status.TargetRelease).To(BeEmpty())
		Expect(w.eventsOf("Barbican", "DatabaseSynced")).To(Equal(2), "one for each release")
		Expect(w.eventsOf("Barbican", "UpgradePathInvalid")).To(Equal(1))
	})

	DescribeTable("is refused, and nothing moves:", func(reason, text string, change func(*barbican)) {
		job, template := w.migration().UID, w.deployment().Spec.Template
		events := w.eventsOf("Barbican", reason)
		edit(w.b, change)
		says("DatabaseReady", metav1.ConditionFalse, reason, text)
		says("DBCleanReady", metav1.ConditionFalse, "DBCleanBlocked", "")
		Expect(w.migration().UID).To(Equal(job))
		Expect(w.deployment().Spec.Template).To(Equal(template))
		Expect(w.cronJob().Spec.Suspend).To(HaveValue(BeTrue()))
		Expect(w.eventsOf("Barbican", reason) - events).To(BeNumerically("<=", 1))
		edit(w.b, func(b *barbican) {
			b.Spec.OpenStackRelease, b.Spec.Image.Tag, b.Spec.Image.Digest = "2025.2", "2025.2", ""
		})
		w.ready()
	},
		Entry("to an older release", "DowngradeNotSupported", "cannot go back", func(b *barbican) {
			b.Spec.OpenStackRelease, b.Spec.Image.Tag = "2025.1", "2025.1"
		}),
		Entry("past the next release", "UpgradePathInvalid", "upgrade to release 2026.1 first", func(b *barbican) {
			b.Spec.OpenStackRelease, b.Spec.Image.Tag = "2026.2", "2026.2"
		}),
		Entry("with the tag of another release", "ImageReleaseMismatch", "set both to the same release", func(b *barbican) {
			b.Spec.OpenStackRelease = "2026.1"
		}),
		Entry("to a release that has not been", "UpgradePathInvalid", "2031.1", func(b *barbican) {
			b.Spec.OpenStackRelease, b.Spec.Image.Tag = "2031.1", "2031.1"
		}),
	)
	It("is refused when the image stays the one of the installed release", func() {
		const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
		edit(w.b, func(b *barbican) { b.Spec.Image.Tag, b.Spec.Image.Digest = "", digest })
		w.ready()
		edit(w.b, func(b *barbican) { b.Spec.OpenStackRelease = "2026.1" })
		says("DatabaseReady", metav1.ConditionFalse, "ImageReleaseMismatch", "change the image together with the release")
		Expect(w.deployment().Spec.Template.Spec.Containers[0].Image).To(HaveSuffix(digest))
		Expect(w.eventsOf("Barbican", "ImageReleaseMismatch")).To(Equal(1), "none for a tag, which the next edit may set right")
	})
})

var _ = Describe("A migration that fails", func() {
	It("is told once, keeps the old pods, and is repeated for another image", func() {
		w := converged()
		w.start()
		simulation.Jobs.In(w.namespace).Do(kubetest.Fail("", ""))
		w.request("2025.2")
		Eventually(live(w.b)).Should(kubetest.HaveCondition("DatabaseReady", metav1.ConditionFalse, "DBSyncFailed").Saying("barbican-db-sync"))
		Expect(w.deployment().Spec.Template.Spec.Containers[0].Image).To(HaveSuffix(":2025.1"))
		Eventually(func() int { return w.eventsOf("Barbican", "DBSyncFailed") }).Should(Equal(1))
		Consistently(func() int { return w.eventsOf("Barbican", "DBSyncFailed") }, "500ms").Should(Equal(1))
		simulation.Jobs.In(w.namespace).Do(kubetest.Succeed())
		edit(w.b, func(b *barbican) { b.Spec.Image.Tag = "2025.2-p1" })
		w.ready()
		Expect(get(w.b).Status.InstalledImage).To(HaveSuffix(":2025.2-p1"))
	})
	It("can be gone back on by somebody who vouches for it", func() {
		w := converged()
		w.start()
		simulation.Jobs.In(w.namespace).Do(kubetest.Fail("", ""))
		w.request("2025.2")
		Eventually(live(w.b)).Should(kubetest.HaveCondition("DatabaseReady", metav1.ConditionFalse, "DBSyncFailed"))
		simulation.Jobs.In(w.namespace).Do(kubetest.Succeed())
		edit(w.b, func(b *barbican) {
			b.Annotations = map[string]string{v1alpha1.AnnotationAllowSchemaRollback: "2025.1"}
			b.Spec.OpenStackRelease, b.Spec.Image.Tag = "2025.1", "2025.1"
		})
		w.ready()
		Expect(get(w.b).Status.InstalledRelease).To(Equal("2025.1"))
		Expect(w.deployment().Spec.Template.Spec.Containers[0].Image).To(HaveSuffix(":2025.1"))
	})
})
