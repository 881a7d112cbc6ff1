// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

// Retry is how long a pass waits for a store or a Secret that no watch announces.
const Retry = 15 * time.Second

// StoreGate waits until the External Secrets store of owner answers: a store that does not will not deliver a rotation.
func StoreGate(ctx context.Context, c target.Cluster, owner client.Object, ref api.SecretStoreRef) reconcile.Outcome {
	status, err := storeStatus(ctx, c, owner.GetNamespace(), ref)
	switch {
	case apierrors.IsNotFound(err):
		return reconcile.Wait(Retry, api.ReasonSecretStoreNotReady, fmt.Sprintf(
			"%s %q does not exist; create it, or name another store in spec.secretStoreRef", ref.Kind, ref.Name))
	case meta.IsNoMatchError(err):
		return reconcile.Wait(Retry, api.ReasonSecretStoreNotReady, fmt.Sprintf(
			"%s %q cannot be looked up: the cluster serves no %s; install External Secrets", ref.Kind, ref.Name, GroupVersion))
	case err != nil:
		// The cache answers, so this will not pass by itself: the kind or the namespace is kept out of it.
		return reconcile.Fail(api.ReasonSecretStoreNotReady, fmt.Errorf("reading %s %q: %w", ref.Kind, ref.Name, err))
	case status.Ready().Status != corev1.ConditionTrue:
		return reconcile.Wait(Retry, api.ReasonSecretStoreNotReady, fmt.Sprintf(
			"%s %q is not ready; upstream secret backend unreachable", ref.Kind, ref.Name))
	}
	return reconcile.Outcome{}
}

func storeStatus(ctx context.Context, c target.Cluster, namespace string, ref api.SecretStoreRef) (SyncStatus, error) {
	switch ref.Kind {
	case api.ClusterSecretStoreKind:
		store := &ClusterSecretStore{}
		err := c.Client.Get(ctx, types.NamespacedName{Name: ref.Name}, store, client.UnsafeDisableDeepCopy)
		return store.Status, err
	case api.NamespacedSecretStoreKind:
		store := &SecretStore{}
		err := c.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: ref.Name}, store, client.UnsafeDisableDeepCopy)
		return store.Status, err
	}
	return SyncStatus{}, fmt.Errorf("%q is no kind of secret store: use %s or %s", ref.Kind, api.ClusterSecretStoreKind, api.NamespacedSecretStoreKind)
}

// unreadable judges a failed read. What only an edit can mend is shown on the condition; a passing fault keeps the
// verdict of the last pass.
func unreadable(reason string, err error) reconcile.Outcome {
	if outsideOfCache(err) || apply.IsRefused(err) {
		return reconcile.Fail(reason, err)
	}
	return reconcile.Error(err)
}

// outsideOfCache tells a namespace that the registration of a target cluster leaves out; the cache has no typed error.
func outsideOfCache(err error) bool {
	return err != nil && strings.Contains(err.Error(), "unknown namespace for the cache")
}
