// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"context"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/database"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

type clusters map[string]target.Cluster

func (c clusters) Resolve(_ context.Context, name string) (target.Cluster, error) {
	if found, ok := c[name]; ok {
		return found, nil
	}
	return target.Cluster{}, &target.UnknownError{Name: name, Reason: "not registered"}
}

// beginPlaced starts a world whose Barbican has its children on another cluster. The two share an API server, so that only
// the marks of ownership tell what is a child of whom.
func beginPlaced(t *testing.T) *world {
	t.Helper()
	w := begin(t, func(b *v1alpha1.Barbican) { b.Spec.TargetClusterRef = &api.TargetClusterRef{Name: "edge"} })
	local, err := w.controller.Targets.Resolve(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	edge := local
	edge.Name, edge.Writer = "edge", apply.NewRemoteWriter(local.Client, local.Reader)
	w.controller.Targets = clusters{"": local, "edge": edge}
	return w
}

// TestPlacedBarbican converges on another cluster, leaves nothing there, and nothing of its owner's on this one.
func TestPlacedBarbican(t *testing.T) {
	t.Parallel()
	w := beginPlaced(t)
	b := w.ready()
	if want := []string{v1alpha1.Finalizer, api.FinalizerRemoteChildren}; !slices.Equal(b.Finalizers, want) {
		t.Errorf("finalizers are %q, want %q", b.Finalizers, want)
	}
	d := get(w, &appsv1.Deployment{}, "barbican")
	if len(d.OwnerReferences) > 0 || d.Labels[apply.LabelOwnerKind] != "Barbican" || d.Labels[apply.LabelOwnerName] != "barbican" ||
		d.Annotations[apply.AnnotationOwnerUID] != string(b.UID) {
		t.Errorf("the Deployment belongs to %v, %v, %v", d.OwnerReferences, d.Labels, d.Annotations)
	}
	w.pass()
	if requests := w.taken(); len(requests) > 0 {
		t.Errorf("a converged pass asks %q", requests)
	}

	w.create(secret("barbican-foreign", "key", "value"))
	w.remove(b)
	w.run()
	w.run()
	if exists(w, &v1alpha1.Barbican{}, "barbican") {
		t.Fatal("the Barbican is held")
	}
	for name, child := range map[string]client.Object{
		"barbican": &appsv1.Deployment{}, "barbican-db-sync": &batchv1.Job{}, "barbican-db-clean": &batchv1.CronJob{},
		"barbican-db-connection": &corev1.Secret{},
	} {
		if exists(w, child, name) {
			t.Errorf("%T %s is left behind", child, name)
		}
	}
	if exists(w, &corev1.Service{}, "barbican") || exists(w, &database.Database{}, "barbican") {
		t.Error("the Service or the Database is left behind")
	}
	for _, name := range []string{"barbican-foreign", "db-credentials", "main-approle"} {
		if !exists(w, &corev1.Secret{}, name) {
			t.Errorf("Secret %s, which is not ours, is gone", name)
		}
	}
}
