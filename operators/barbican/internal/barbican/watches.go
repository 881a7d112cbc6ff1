// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/database"
	"github.com/c5c3/cobaltcore/common/network"
	"github.com/c5c3/cobaltcore/common/secrets"
	"github.com/c5c3/cobaltcore/common/watch"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// Watches say what wakes a Barbican on the management cluster.
type Watches struct {
	Manager ctrl.Manager
	Options controller.Options
	Secrets *secrets.Source
	// Answers wakes a Barbican whose health check was answered after its pass had gone on.
	Answers <-chan event.GenericEvent
	// Routes says whether the cluster serves HTTPRoutes.
	Routes bool
	// ClusterStores says whether cluster-wide stores may be watched.
	ClusterStores bool
}

// Start registers the controller with the manager.
func (w Watches) Start(c *Controller) error {
	reader := w.Manager.GetClient()
	referrers := func(index string) handler.EventHandler {
		return watch.Referrers(reader, &v1alpha1.BarbicanList{}, index, nil)
	}
	parents := watch.Referrers(reader, &v1alpha1.BarbicanSecretStoreList{}, IndexStoreSecrets, parentOf)
	b := ctrl.NewControllerManagedBy(w.Manager).Named(App).WithOptions(w.Options).
		For(&v1alpha1.Barbican{}, builder.WithPredicates(c.CaughtUp(), watch.Edited())).
		Watches(&v1alpha1.BarbicanSecretStore{}, handler.EnqueueRequestsFromMapFunc(toParent), builder.WithPredicates(watch.Part(projected))).
		Watches(&corev1.Secret{}, referrers(indexSecrets), builder.WithPredicates(watch.Part(secretContent))).
		Watches(&corev1.Secret{}, parents, builder.WithPredicates(watch.Part(secretContent))).
		Watches(&corev1.ConfigMap{}, referrers(indexPolicy), builder.WithPredicates(watch.Part(configMapContent))).
		Watches(&secrets.SecretStore{}, w.storeUsers(api.NamespacedSecretStoreKind), builder.WithPredicates(watch.Changed())).
		WatchesRawSource(source.Channel(w.Answers, &handler.EnqueueRequestForObject{})).
		WatchesRawSource(source.Kind[client.Object](w.Secrets.Cache(), secrets.Metadata(), referrers(indexSecrets), watch.Changed())).
		WatchesRawSource(source.Kind[client.Object](w.Secrets.Cache(), secrets.Metadata(), parents, watch.Changed()))
	for _, kind := range []client.Object{&database.Database{}, &database.User{}, &database.Grant{}} {
		b = b.Owns(kind, builder.WithPredicates(c.CaughtUp(), watch.Changed()))
	}
	b = b.Watches(&database.MariaDB{}, referrers(indexMariaDB), builder.WithPredicates(watch.Changed()))
	if w.ClusterStores {
		b = b.Watches(&secrets.ClusterSecretStore{}, w.storeUsers(api.ClusterSecretStoreKind), builder.WithPredicates(watch.Changed()))
	}
	if w.Routes {
		b = b.Owns(network.RouteObject(), builder.WithPredicates(c.CaughtUp(), watch.Changed()))
	}
	return watch.Children(b, App, c.CaughtUp()).Complete(c)
}

func secretContent(s *corev1.Secret) any { return s.Data }

func configMapContent(c *corev1.ConfigMap) any { return c.Data }

// projected is what the projection takes from a store.
func projected(store *v1alpha1.BarbicanSecretStore) any {
	return []any{store.Generation, projectable(store), store.Status.CredentialsHash, store.DeletionTimestamp.IsZero()}
}

func parentOf(o client.Object) types.NamespacedName {
	store := o.(*v1alpha1.BarbicanSecretStore)
	return types.NamespacedName{Namespace: store.Namespace, Name: store.Spec.BarbicanRef.Name}
}

func toParent(_ context.Context, o client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: parentOf(o)}}
}

// storeUsers wakes the Barbicans whose effective store changed. A cluster-wide store has no namespace, which selects all.
func (w Watches) storeUsers(kind api.SecretStoreKind) handler.EventHandler {
	return watch.Matching(w.Manager.GetClient(), &v1alpha1.BarbicanList{}, func(changed client.Object) []client.ListOption {
		return []client.ListOption{
			client.InNamespace(changed.GetNamespace()),
			client.MatchingFields{indexSecretStore: secretStoreKey(kind, changed.GetName())},
		}
	})
}
