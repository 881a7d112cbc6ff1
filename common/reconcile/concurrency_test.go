// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

type silent struct{}

func (silent) Event(runtime.Object, string, string, string) {}

// Many workers share one Controller and one Writer; of objects that are gone nothing is left.
func TestManyObjectsAtOnce(t *testing.T) {
	t.Parallel()
	api := fake.NewClientBuilder().WithScheme(newScheme()).WithStatusSubresource(&thing{}).Build()
	local := target.Cluster{Client: api, Reader: api, Writer: apply.NewWriter(api, api)}
	child := func(name string) step {
		return step{Name: name, Condition: name, Run: func(ctx context.Context, p *pass) Outcome {
			err := p.Children.Writer.Apply(ctx, p.Object, &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: p.Object.Name + "-" + name},
				Data:       map[string]string{"size": fmt.Sprint(p.Object.Spec.Size)},
			})
			if err != nil {
				return Error(err)
			}
			return Ready("Applied", "")
		}}
	}
	c := &Controller[*thing, values]{
		New: func() *thing { return &thing{} }, Client: api, Recorder: silent{}, Targets: target.Local{Cluster: local}, Gate: "a",
		Finalizer: "example.com/thing", Pipeline: mustPipeline(t, child("a"), Parallel(child("b"), child("c"))),
	}
	var workers sync.WaitGroup
	for i := range 8 {
		workers.Go(func() { c.lifeOf(t, api, fmt.Sprint("thing-", i)) })
	}
	workers.Wait()
	if n := len(c.written.newest); n > 0 {
		t.Errorf("%d objects that are gone are remembered", n)
	}
}

// lifeOf takes one object from its creation to its end.
func (c *Controller[T, V]) lifeOf(t *testing.T, api client.Client, name string) {
	t.Helper()
	pass := func() {
		_, err := c.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: name}})
		if err != nil {
			t.Error(err)
		}
	}
	object := newThing(func(o *thing) { o.Name, o.UID = name, types.UID(name) })
	if err := api.Create(t.Context(), object); err != nil {
		t.Error(err)
	}
	for size := range 3 {
		pass()
		if err := api.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			t.Error(err)
		}
		object.Spec.Size, object.Generation = size, int64(size)
		if err := api.Update(t.Context(), object); err != nil {
			t.Error(err)
		}
	}
	pass()
	if err := api.Delete(t.Context(), object); err != nil {
		t.Error(err)
	}
	pass()
	pass()
}
