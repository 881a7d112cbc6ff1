// SPDX-License-Identifier: Apache-2.0

// Package watch maps what happens in a cluster to the objects that must be looked at again: predicates that drop what
// cannot matter, field indexes, and mappers from a referenced object to those that refer to it.
package watch

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/samber/lo"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Edited passes the changes of a custom resource that its owner made: spec, labels, annotations, the start of its
// deletion. Our own status writes do not wake us. A resync passes nothing that is already done.
func Edited() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, is := e.ObjectOld, e.ObjectNew
		return was.GetGeneration() != is.GetGeneration() ||
			was.GetDeletionTimestamp().IsZero() != is.GetDeletionTimestamp().IsZero() ||
			!maps.Equal(was.GetLabels(), is.GetLabels()) || !maps.Equal(was.GetAnnotations(), is.GetAnnotations())
	}}
}

// Changed passes updates that changed the object at all; it drops resyncs, which repeat the same version.
func Changed() predicate.Predicate {
	return predicate.ResourceVersionChangedPredicate{}
}

// Part passes an update only if what get returns differs, compared as the API server would.
func Part[T client.Object](get func(T) any) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, isT := e.ObjectOld.(T)
		is, isT2 := e.ObjectNew.(T)
		return !isT || !isT2 || !equality.Semantic.DeepEqual(get(was), get(is))
	}}
}

// Index registers, under name, the values that get finds in objects of T's kind. Empty values are left out, and each
// value counts once.
func Index[T client.Object](ctx context.Context, indexer client.FieldIndexer, prototype T, name string, get func(T) []string) error {
	err := indexer.IndexField(ctx, prototype, name, func(o client.Object) []string {
		return lo.Uniq(lo.Compact(get(o.(T))))
	})
	if err != nil {
		return fmt.Errorf("indexing %T by %s: %w", prototype, name, err)
	}
	return nil
}

// Referrers wakes the objects of L's kind, in the namespace of what changed, whose index holds its name. What toRequest
// returns is woken: the referrer itself if it is nil.
func Referrers(reader client.Reader, list client.ObjectList, index string, toRequest func(client.Object) types.NamespacedName) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, changed client.Object) []reconcile.Request {
		return requests(ctx, reader, list, toRequest, client.InNamespace(changed.GetNamespace()),
			client.MatchingFields{index: changed.GetName()})
	})
}

// Matching wakes every object of L's kind that opts select for what changed.
func Matching(reader client.Reader, list client.ObjectList, opts func(client.Object) []client.ListOption) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, changed client.Object) []reconcile.Request {
		return requests(ctx, reader, list, nil, opts(changed)...)
	})
}

func requests(
	ctx context.Context, reader client.Reader, list client.ObjectList,
	toRequest func(client.Object) types.NamespacedName, opts ...client.ListOption,
) []reconcile.Request {
	found := list.DeepCopyObject().(client.ObjectList)
	if err := reader.List(ctx, found, append(slices.Clone(opts), client.UnsafeDisableDeepCopy)...); err != nil {
		log.FromContext(ctx).Error(err, "Finding the objects that refer to a changed one")
		return nil
	}
	if toRequest == nil {
		toRequest = func(o client.Object) types.NamespacedName { return client.ObjectKeyFromObject(o) }
	}
	var woken []reconcile.Request
	_ = meta.EachListItem(found, func(item runtime.Object) error { // the callback never fails
		woken = append(woken, reconcile.Request{NamespacedName: toRequest(item.(client.Object))})
		return nil
	})
	return woken
}

// Desired passes the changes of a child that somebody may have made by hand: its spec, as get returns it, its labels,
// annotations and owners, and its deletion. Its status counts for nothing.
func Desired[T client.Object](get func(T) any) predicate.Predicate {
	return Part(func(o T) any {
		return []any{o.GetLabels(), o.GetAnnotations(), o.GetOwnerReferences(), o.GetDeletionTimestamp(), get(o)}
	})
}
