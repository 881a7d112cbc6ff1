// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/naming"
	"github.com/c5c3/cobaltcore/common/oslo"
	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

// LabelBase marks the versions of one content-hashed Secret with the name that they share.
const LabelBase = "cobaltcore.c5c3.io/config-base"

// maxLabelValue is how long a label's value may be.
const maxLabelValue = 63

// Hashed is an immutable Secret named after base and its content, in the namespace of owner.
func Hashed(owner metav1.Object, base string, labels map[string]string, data map[string][]byte) *corev1.Secret {
	all := make(map[string]string, len(labels)+1)
	maps.Copy(all, labels)
	all[LabelBase] = baseLabel(base)
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: owner.GetNamespace(), Name: base + "-" + oslo.ContentHash(data), Labels: all,
		},
		Type:      corev1.SecretTypeOpaque,
		Immutable: new(true),
		Data:      data,
	}
}

func baseLabel(base string) string { return naming.Bounded(base, "", maxLabelValue) }

// Ensure creates a Hashed Secret unless it is there, and gives it back labels that it lost. A Secret of that name with other content, or of another owner, is a
// ConfigError: pods would run with a configuration that nobody asked for. The data of hashed becomes that of the Secret, so that whoever
// remembers it shares its memory with the cache.
func Ensure(ctx context.Context, c target.Cluster, owner client.Object, hashed *corev1.Secret) reconcile.Outcome {
	key, live := client.ObjectKeyFromObject(hashed), &corev1.Secret{}
	err := c.Client.Get(ctx, key, live, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		if err = c.Writer.Create(ctx, owner, hashed.DeepCopy()); !apierrors.IsAlreadyExists(err) {
			return reconcile.Blame(api.ReasonConfigError, err)
		}
		err = c.Reader.Get(ctx, key, live) // not in the cache yet, or without our labels
	}
	if err != nil {
		return reconcile.Blame(api.ReasonConfigError, fmt.Errorf("reading Secret %s: %w", key, err))
	}
	if err := c.Writer.Restore(ctx, owner, live, hashed.Labels); err != nil {
		return reconcile.Blame(api.ReasonConfigError, err)
	}
	if !oslo.SameContent(live.Data, hashed.Data) {
		return reconcile.Fail(api.ReasonConfigError, fmt.Errorf(
			"secret %s has other content than its name stands for: delete it, and it is written anew", key))
	}
	maps.Copy(hashed.Data, live.Data)
	return reconcile.Outcome{}
}
