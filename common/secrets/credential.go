// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

// Credential is a Secret that a service cannot run without.
type Credential struct {
	Name   string   // of the Secret, in the namespace of its owner
	Keys   []string // that must have a value
	Reason string   // of the condition while it is missing
}

// Await returns the Secret once every key has a value; until then the outcome waits and says what is missing. A complete
// Secret counts whoever wrote it. The ExternalSecret of the same name only helps to explain why one is not.
func Await(ctx context.Context, c target.Cluster, owner client.Object, want Credential) (*corev1.Secret, reconcile.Outcome) {
	key := types.NamespacedName{Namespace: owner.GetNamespace(), Name: want.Name}
	secret, err := c.Secrets.Get(ctx, key)
	switch {
	case apierrors.IsNotFound(err):
		return nil, reconcile.Wait(Retry, want.Reason, fmt.Sprintf("Secret %q does not exist: %s", want.Name, explain(ctx, c, key, want.Keys)))
	case err != nil:
		return nil, unreadable(want.Reason, fmt.Errorf("reading Secret %s: %w", key, err))
	}
	if missing := MissingKey(secret, want.Keys...); missing != "" {
		return nil, reconcile.Wait(Retry, want.Reason, fmt.Sprintf(
			"Secret %q has no value for the key %q: %s", want.Name, missing, explain(ctx, c, key, want.Keys)))
	}
	return secret, reconcile.Outcome{}
}

// explain says why a Secret is missing or incomplete. It reads the API server: to watch every ExternalSecret for the sake
// of a message would cost more than the few reads of a service that waits.
func explain(ctx context.Context, c target.Cluster, key types.NamespacedName, keys []string) string {
	source := &ExternalSecret{}
	err := c.Reader.Get(ctx, key, source)
	ready := source.Status.Ready()
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("no ExternalSecret %q would write it; create either, with the keys %s", key.Name, strings.Join(keys, ", "))
	case err != nil:
		return fmt.Sprintf("it needs the keys %s", strings.Join(keys, ", "))
	case ready.Status == corev1.ConditionTrue:
		return fmt.Sprintf("ExternalSecret %q is synced, but does not write the keys %s; check its data and target", key.Name, strings.Join(keys, ", "))
	case ready.Message != "":
		return fmt.Sprintf("ExternalSecret %q is not synced: %s", key.Name, ready.Message)
	}
	return fmt.Sprintf("ExternalSecret %q is not synced yet", key.Name)
}
