// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/samber/lo"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/kubetest"
)

// editor is whoever changes what is the operator's.
const editor client.FieldOwner = "kubectl-edit"

// byHand replaces or removes a field of an object, with the first of the values that the API server takes. It says no when
// nothing can be changed there: the field is immutable, or a default fills it again.
func byHand(o *unstructured.Unstructured, at path, values []any) bool {
	GinkgoHelper()
	for {
		get(o)
		want := valueAt(o.Object, at)
		edited := o.DeepCopy()
		alter(edited.Object, at, func(any) (any, bool) {
			if len(values) == 0 {
				return nil, false
			}
			return values[0], true
		})
		err := admin.Update(ctx, edited, editor)
		switch {
		case apierrors.IsConflict(err):
			continue
		case err == nil && !equality.Semantic.DeepEqual(valueAt(edited.Object, at), want):
			return true
		case len(values) <= 1:
			return false
		}
		values = values[1:]
	}
}

// repair is how long it may take: far below any resync or retry.
const repair = 5 * time.Second

// drift is what came of changing the fields of an object.
type drift struct {
	edits, writes int
	standing      []path // changes that were not undone
}

var _ = Describe("A child that somebody changes", Ordered, func() {
	var (
		w        world
		o        *process
		children []unstructured.Unstructured
	)
	BeforeAll(func() {
		w = newWorld()
		o = w.start()
		w.unharmed("at first")
		o.settle()
		children = slices.DeleteFunc(w.objects(), func(o unstructured.Unstructured) bool { return o.GetKind() == "Job" })
	})
	writes := func(child *unstructured.Unstructured) int {
		resource := strings.ReplaceAll(strings.ToLower(child.GetKind())+"s", "policys", "policies")
		return lo.CountBy(o.requests.Requests().Writes().Of(resource), func(q kubetest.Request) bool { return q.Name == child.GetName() })
	}

	It("is repaired in every field that is the operator's", func() {
		together(children, func(child unstructured.Unstructured) {
			d, before := drift{}, writes(&child)
			for _, at := range ownedFields(&child) {
				want := valueAt(get(&child).Object, at)
				for _, values := range [][]any{others(want), nil} {
					if own(child, at) && byHand(&child, at, values) {
						d.edits++
						if undone := NewGomega(func(string, ...int) {}).Eventually(func() any { return valueAt(get(&child).Object, at) }); !undone.WithTimeout(repair).WithPolling(repair / 500).Should(Equal(want)) {
							d.standing = append(d.standing, at)
						}
					}
				}
			}
			d.writes = writes(&child) - before
			fmt.Fprintf(GinkgoWriter, "%s %s: %+v\n", child.GetKind(), child.GetName(), d)
			// One apply mends a field, except for the key of a list entry and the size of a Deployment.
			Expect(d.writes).To(BeNumerically("<=", d.edits+8), child.GetKind())
			Expect(d.edits).To(BeNumerically(">", 5), child.GetKind())
			Expect(d.standing).To(BeEmpty(), child.GetKind())
		})
	})
	It("comes back when it is deleted", func() {
		together(children, func(child unstructured.Unstructured) {
			was := get(&child).GetUID()
			Expect(admin.Delete(ctx, &child)).To(Succeed())
			Eventually(live(&child)).Should(And(Not(BeNil()), WithTransform(client.Object.GetUID, Not(Equal(was)))), child.GetKind())
		})
		Eventually(live(w.b)).Should(kubetest.BeReady())
		Eventually(live(w.s)).Should(kubetest.BeReady())
		Expect(w.children()).To(ConsistOf(everyChild))
	})
	It("keeps what others add", func() {
		together(children, func(child unstructured.Unstructured) {
			edit(&child, func(o *unstructured.Unstructured) {
				o.SetLabels(lo.Assign(o.GetLabels(), map[string]string{"example.org/team": "keys"}))
				o.SetAnnotations(lo.Assign(o.GetAnnotations(), map[string]string{"example.org/note": "kept"}))
				if field := foreignFields[o.GetKind()]; field.value != nil {
					Expect(unstructured.SetNestedField(o.Object, field.value, field.path...)).To(Succeed())
				}
			})
			instance := path{"f:metadata", "f:labels", "f:app.kubernetes.io/instance"}
			Expect(byHand(&child, instance, []any{"other"})).To(BeTrue())
			Eventually(func() any { return valueAt(get(&child).Object, instance) }).Should(Equal("barbican"), child.GetKind())
			Expect(child.GetLabels()).To(HaveKeyWithValue("example.org/team", "keys"), child.GetKind())
			Expect(child.GetAnnotations()).To(HaveKeyWithValue("example.org/note", "kept"), child.GetKind())
			if field := foreignFields[child.GetKind()]; field.value != nil {
				kept, _, _ := unstructured.NestedFieldNoCopy(child.Object, field.path...)
				Expect(kept).To(Equal(field.value), child.GetKind())
			}
		})
	})
	It("settles", func() { o.settle() })
})

// own leaves out what the operator reads from its children instead of writing it: the credentials of a managed store are in
// their Secret alone.
func own(child unstructured.Unstructured, at path) bool {
	return child.GetName() != "keys-approle" ||
		at[0] != "f:data" && !slices.ContainsFunc(at, func(s string) bool { return strings.HasPrefix(s, "f:barbican.c5c3.io/") })
}

// foreignFields are some that the operator has no opinion on.
var foreignFields = map[string]struct {
	path  []string
	value any
}{
	"Deployment":          {[]string{"spec", "minReadySeconds"}, int64(7)},
	"Service":             {[]string{"spec", "sessionAffinity"}, "ClientIP"},
	"PodDisruptionBudget": {[]string{"spec", "unhealthyPodEvictionPolicy"}, "AlwaysAllow"},
	"CronJob":             {[]string{"spec", "successfulJobsHistoryLimit"}, int64(5)},
}
