// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
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
	"github.com/c5c3/cobaltcore/common/naming"
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
		For(&v1alpha1.Barbican{}, builder.WithPredicates(watch.Edited())).
		Watches(&v1alpha1.BarbicanSecretStore{}, handler.EnqueueRequestsFromMapFunc(toParent), builder.WithPredicates(watch.Part(projected))).
		Watches(&corev1.Secret{}, referrers(indexSecrets), builder.WithPredicates(watch.Part(secretContent))).
		Watches(&corev1.Secret{}, parents, builder.WithPredicates(watch.Part(secretContent))).
		Watches(&corev1.ConfigMap{}, referrers(indexPolicy), builder.WithPredicates(watch.Part(configMapContent))).
		Watches(&batchv1.Job{}, handler.EnqueueRequestsFromMapFunc(toInstance), builder.WithPredicates(watch.Changed())).
		Watches(&secrets.SecretStore{}, w.storeUsers(api.NamespacedSecretStoreKind), builder.WithPredicates(watch.Changed())).
		WatchesRawSource(source.Channel(w.Answers, &handler.EnqueueRequestForObject{})).
		WatchesRawSource(source.Kind[client.Object](w.Secrets.Cache(), secrets.Metadata(), referrers(indexSecrets), watch.Changed())).
		WatchesRawSource(source.Kind[client.Object](w.Secrets.Cache(), secrets.Metadata(), parents, watch.Changed()))
	for _, kind := range []client.Object{&database.Database{}, &database.User{}, &database.Grant{}} {
		b = b.Owns(kind, builder.WithPredicates(watch.Changed()))
	}
	b = b.Watches(&database.MariaDB{}, referrers(indexMariaDB), builder.WithPredicates(watch.Changed()))
	if w.ClusterStores {
		b = b.Watches(&secrets.ClusterSecretStore{}, w.storeUsers(api.ClusterSecretStoreKind), builder.WithPredicates(watch.Changed()))
	}
	if w.Routes {
		b = b.Owns(network.RouteObject(), builder.WithPredicates(watch.Changed()))
	}
	return ownWorkloads(b).Complete(c)
}

// ownWorkloads wakes on the children of the core kinds. A status wakes only where a row reads it.
func ownWorkloads(b *builder.Builder) *builder.Builder {
	return b.
		Owns(&appsv1.Deployment{}, builder.WithPredicates(watch.Changed())).
		Owns(&corev1.Secret{}, builder.WithPredicates(watch.Desired(secretContent))).
		Owns(&corev1.Service{}, builder.WithPredicates(watch.Desired(func(s *corev1.Service) any { return s.Spec }))).
		Owns(&policyv1.PodDisruptionBudget{}, builder.WithPredicates(watch.Desired(
			func(p *policyv1.PodDisruptionBudget) any { return p.Spec }))).
		Owns(&autoscalingv2.HorizontalPodAutoscaler{}, builder.WithPredicates(watch.Desired(
			func(h *autoscalingv2.HorizontalPodAutoscaler) any { return h.Spec }))).
		Owns(&networkingv1.NetworkPolicy{}, builder.WithPredicates(watch.Desired(
			func(n *networkingv1.NetworkPolicy) any { return n.Spec }))).
		Owns(&batchv1.CronJob{}, builder.WithPredicates(watch.Desired(func(c *batchv1.CronJob) any { return c.Spec })))
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

// toInstance finds the Barbican of a Job by its labels: those of the CronJob have that as their owner.
func toInstance(_ context.Context, o client.Object) []reconcile.Request {
	labels := o.GetLabels()
	if labels[naming.LabelName] != App || labels[naming.LabelInstance] == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: labels[naming.LabelInstance]}}}
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
