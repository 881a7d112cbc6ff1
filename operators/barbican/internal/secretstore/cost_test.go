// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"context"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// shared answers reads from memory without copies, as a cache does when asked to.
type shared struct {
	client.Client
	objects map[string]client.Object
}

func (s *shared) Get(ctx context.Context, key types.NamespacedName, into client.Object, opts ...client.GetOption) error {
	id := reflect.TypeOf(into).String() + key.String()
	if s.objects[id] == nil {
		if err := s.Client.Get(ctx, key, into, opts...); err != nil {
			return err
		}
		s.objects[id] = into.DeepCopyObject().(client.Object)
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(s.objects[id]).Elem())
	return nil
}

// BenchmarkConvergedPass is what a resync costs for each store.
func BenchmarkConvergedPass(b *testing.B) {
	w := converged(b)
	for b.Loop() {
		if _, err := w.reconcile(); err != nil {
			b.Fatal(err)
		}
	}
}

func TestConvergedPassAllocatesLittle(t *testing.T) { //nolint:paralleltest // counts the allocations of the process
	const limit = 120
	w := converged(t)
	if n := testing.AllocsPerRun(50, func() { _, _ = w.reconcile() }); n > limit {
		t.Errorf("%v allocations, limit %d", n, limit)
	}
}

func converged(t testing.TB) *world {
	t.Helper()
	w := begin(t, managedStore())
	w.pass()
	w.deployed("[secretstore:main]\n", w.minted().Hash())
	w.pass()
	w.client = &shared{w.client, map[string]client.Object{}}
	w.options.Client = w.client
	w.restart()
	if _, err := w.controller.Reconcile(context.Background(), ctrl.Request{NamespacedName: key}); err != nil {
		t.Fatal(err)
	}
	return w
}
