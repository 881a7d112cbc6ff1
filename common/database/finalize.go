// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

// Finalize deletes the objects that Provision created, whatever the specification says by now, and is done on a pass that
// finds none of them live. It does not wait until they are gone: mariadb-operator cannot drop a schema while pods keep
// connections, and pods go only after their owner.
//
// What becomes of the schema is decided by the specification at this moment, so that a Retain that was set right before
// the deletion still counts.
func Finalize(ctx context.Context, c target.Cluster, owner client.Object, s Schema) reconcile.Outcome {
	name := metav1.ObjectMeta{Namespace: owner.GetNamespace(), Name: owner.GetName()}
	database := &Database{ObjectMeta: name}
	held := false
	for _, object := range []client.Object{&Grant{ObjectMeta: name}, &User{ObjectMeta: name}, database} {
		live, err := isLive(ctx, c, owner, object)
		if err != nil {
			return reconcile.Error(err)
		}
		if !live {
			continue
		}
		held = true
		if object == database {
			if err := settleFate(ctx, c, database, s.cleanup()); err != nil {
				return reconcile.Error(err)
			}
		}
		if _, err := c.Writer.Delete(ctx, owner, object); err != nil {
			return reconcile.Error(err)
		}
	}
	if held {
		return reconcile.Wait(Retry, api.EventFinalizingDatabase, "Deleting the database objects").
			Announce(corev1.EventTypeNormal, api.EventFinalizingDatabase, fmt.Sprintf(
				"Deleting Database, User and Grant %q; %s", owner.GetName(), s.fate()))
	}
	return reconcile.Outcome{}.Announce(corev1.EventTypeNormal, api.EventDatabaseFinalized, "The database objects are deleted; "+s.fate())
}

func (s Schema) fate() string {
	if s.cleanup() == CleanupSkip {
		return "the schema and its data stay"
	}
	return "the schema is dropped with its data"
}

// isLive reads an object of owner from the API server. One that is being deleted is not live.
func isLive(ctx context.Context, c target.Cluster, owner, object client.Object) (bool, error) {
	err := c.Reader.Get(ctx, client.ObjectKeyFromObject(object), object)
	switch {
	case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("reading %T %s: %w", object, client.ObjectKeyFromObject(owner), err)
	}
	return object.GetDeletionTimestamp().IsZero() && c.Writer.Controls(owner, object), nil
}

// settleFate makes the clean-up policy on the live Database the one that holds now.
func settleFate(ctx context.Context, c target.Cluster, live *Database, policy CleanupPolicy) error {
	if live.Spec.CleanupPolicy == policy {
		return nil
	}
	before := live.DeepCopy()
	live.Spec.CleanupPolicy = policy
	if err := c.Client.Patch(ctx, live, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("setting the clean-up policy of Database %s: %w", client.ObjectKeyFromObject(live), err)
	}
	return nil
}
