// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// sweepPage bounds the memory of one list.
const sweepPage = 500

// Sweep deletes, in the background, every object of the kinds in owner's namespace that owner controls. It reads the
// API server, metadata only, and decides for each object by its ownership mark. A kind that the cluster does not
// serve is skipped; any other failure is returned, joined.
func Sweep(ctx context.Context, c Cluster, owner client.Object, kinds []schema.GroupVersionKind) error {
	var failures []error
	for _, kind := range kinds {
		if err := sweepKind(ctx, c, owner, kind); err != nil {
			failures = append(failures, fmt.Errorf("sweeping %s: %w", kind.Kind, err))
		}
	}
	return errors.Join(failures...)
}

func sweepKind(ctx context.Context, c Cluster, owner client.Object, kind schema.GroupVersionKind) error {
	page := &metav1.PartialObjectMetadataList{}
	page.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	rescanned := false
	for next := ""; ; next = page.Continue {
		err := c.Reader.List(ctx, page, client.InNamespace(owner.GetNamespace()), client.Limit(sweepPage), client.Continue(next))
		switch {
		case meta.IsNoMatchError(err) || apierrors.IsNotFound(err):
			return nil
		case apierrors.IsResourceExpired(err) && !rescanned:
			rescanned, page.Continue = true, ""
			continue
		case err != nil:
			return err
		}
		if err := deletePage(ctx, c, owner, kind, page.Items); err != nil {
			return err
		}
		if page.Continue == "" {
			return nil
		}
	}
}

func deletePage(
	ctx context.Context, c Cluster, owner client.Object, kind schema.GroupVersionKind, items []metav1.PartialObjectMetadata,
) error {
	for i := range items {
		child := &items[i]
		child.SetGroupVersionKind(kind)
		if !child.DeletionTimestamp.IsZero() || !c.Writer.Controls(owner, child) {
			continue
		}
		err := c.Client.Delete(ctx, child, client.PropagationPolicy(metav1.DeletePropagationBackground),
			client.Preconditions{UID: &child.UID})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting %s: %w", client.ObjectKeyFromObject(child), err)
		}
	}
	return nil
}
