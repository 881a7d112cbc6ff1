// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/secrets"
	"github.com/c5c3/cobaltcore/common/watch"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// Name of the controller.
const Name = "barbicansecretstore"

// Watches say what wakes a store on the management cluster.
type Watches struct {
	Manager ctrl.Manager
	Options controller.Options
	Secrets *secrets.Source
	Indexes Indexes
}

// Indexes name the registered field indexes of stores.
type Indexes struct {
	Barbican string // by the Barbican they belong to
	Instance string // by the OpenBao instance they use
	Secrets  string // by the Secrets with their credentials and CA
}

// Start registers the controller with the manager.
func (w Watches) Start(c *Controller) error {
	referrers := func(index string) handler.EventHandler {
		return watch.Referrers(w.Manager.GetClient(), &v1alpha1.BarbicanSecretStoreList{}, index, nil)
	}
	return ctrl.NewControllerManagedBy(w.Manager).Named(Name).WithOptions(w.Options).
		For(&v1alpha1.BarbicanSecretStore{}, builder.WithPredicates(c.managed.CaughtUp(), c.brownfield.CaughtUp(), watch.Edited())).
		Watches(&v1alpha1.Barbican{}, referrers(w.Indexes.Barbican), builder.WithPredicates(watch.Part(observed))).
		Watches(&OpenBaoCluster{}, referrers(w.Indexes.Instance), builder.WithPredicates(watch.Part(
			func(o *OpenBaoCluster) any { return o.available() }))).
		Watches(&corev1.Secret{}, referrers(w.Indexes.Secrets), builder.WithPredicates(watch.Desired(
			func(s *corev1.Secret) any { return s.Data }))).
		WatchesRawSource(source.Kind[client.Object](w.Secrets.Cache(), secrets.Metadata(), referrers(w.Indexes.Secrets), watch.Changed())).
		WatchesRawSource(source.Channel(c.woken, &handler.EnqueueRequestForObject{})).
		Complete(c)
}

// observed is what a store observes of its Barbican: where it lives, and
// whether its Deployment came to run with another configuration.
func observed(b *v1alpha1.Barbican) any {
	rollout := meta.FindStatusCondition(b.Status.Conditions, api.ConditionDeploymentReady)
	if rollout == nil {
		return []any{b.Spec.TargetClusterRef, slices.Clone(b.Status.ProjectedSecretStores)}
	}
	return []any{b.Spec.TargetClusterRef, slices.Clone(b.Status.ProjectedSecretStores), rollout.Status, rollout.Reason}
}
