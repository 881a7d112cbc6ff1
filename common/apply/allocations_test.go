// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// cacheOf is a client whose cache holds one object; anything but a read panics.
type cacheOf struct {
	client.Client
	object client.Object
}

func (c cacheOf) Scheme() *runtime.Scheme { return scheme }

func (c cacheOf) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	assign(into, c.object)
	return nil
}

// settledDeployment returns a Writer that knows the Deployment, and the owner.
func settledDeployment(t testing.TB) (*Writer, client.Object) {
	t.Helper()
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner", Namespace: "default", UID: "uid"}}
	live := deployment()
	live.UID, live.ResourceVersion = "child", "1"
	w := NewWriter(cacheOf{object: live}, nil)
	if err := w.owners.mark(owner, live); err != nil {
		t.Fatal(err)
	}
	live.Annotations = with(live.Annotations, map[string]string{AnnotationApplied: Digest(deployment())})
	if err := w.Apply(t.Context(), owner, deployment()); err != nil {
		t.Fatal(err)
	}
	return w, owner
}

func TestASettledApplyAllocatesLittle(t *testing.T) { //nolint:paralleltest // allocations are counted for the whole process
	w, owner := settledDeployment(t)
	desired := deployment()
	ctx := t.Context()
	got := testing.AllocsPerRun(100, func() {
		again := *desired
		if err := w.Apply(ctx, owner, &again); err != nil {
			t.Fatal(err)
		}
	})
	if got > 20 { // the race detector empties pools at will
		t.Errorf("%v allocations, want at most 20", got)
	}
}

func BenchmarkSettledApply(b *testing.B) {
	w, owner := settledDeployment(b)
	desired := deployment()
	b.ReportAllocs()
	for b.Loop() {
		again := *desired
		if err := w.Apply(b.Context(), owner, &again); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDigest(b *testing.B) {
	desired := deployment()
	b.ReportAllocs()
	for b.Loop() {
		Digest(desired)
	}
}
