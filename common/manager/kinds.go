// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"fmt"

	"github.com/samber/lo"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Kind is one that an operator reads from the cache.
type Kind struct {
	Object client.Object
	// Part names the software whose CRD it is, for the message when it is missing; empty for Kubernetes' own kinds.
	Part string
	// Optional kinds may be missing.
	Optional bool
}

// informer fills the cache of one kind.
type informer struct {
	kind string
	cache.Informer
}

// cacheKinds makes the caches of all kinds fill together, ahead of the controllers.
func (m *Manager) cacheKinds(ctx context.Context) error {
	var missing []error
	for _, kind := range m.Options.Kinds {
		gvk, err := apiutil.GVKForObject(kind.Object, m.GetScheme())
		if err != nil {
			return err
		}
		mapping, err := m.GetRESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
		switch {
		case meta.IsNoMatchError(err) && kind.Optional:
			m.GetLogger().Info("Kind not served by the cluster, features that need it are off until the next start", "kind", gvk.GroupKind().String())
			continue
		case meta.IsNoMatchError(err):
			missing = append(missing, fmt.Errorf("the cluster does not serve %s: install %s", gvk.GroupKind(), kind.Part))
			continue
		case err != nil:
			return fmt.Errorf("asking the cluster for %s: %w", gvk.GroupKind(), err)
		}
		if err := m.checkScope(ctx, mapping); err != nil {
			return err
		}
		filled, err := m.views.GetInformer(ctx, kind.Object, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("caching %s: %w", gvk.GroupKind(), err)
		}
		m.caches = append(m.caches, informer{kind: gvk.GroupKind().String(), Informer: filled})
	}
	return errors.Join(missing...)
}

// checkScope refuses a kind outside of namespaces to a process in one namespace whose account may not watch it: its
// cache would never be filled.
func (m *Manager) checkScope(ctx context.Context, mapping *meta.RESTMapping) error {
	namespace := m.Options.Namespace
	if namespace == "" || mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return nil
	}
	for _, verb := range []string{"list", "watch"} {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: verb, Group: mapping.Resource.Group, Version: mapping.Resource.Version, Resource: mapping.Resource.Resource,
			},
		}}
		if err := m.GetClient().Create(ctx, review); err != nil {
			return fmt.Errorf("asking whether this account may %s %s: %w", verb, mapping.Resource.GroupResource(), err)
		}
		if !review.Status.Allowed {
			m.views.refuse(mapping.GroupVersionKind, fmt.Sprintf(
				"it exists outside of namespaces, and the operator runs for namespace %s alone with an account that may not %s %s",
				namespace, verb, mapping.Resource.GroupResource()))
			m.GetLogger().Info("Kind outside of namespaces not watched, what refers to it reports that", "kind", mapping.GroupVersionKind.Kind, "missingVerb", verb)
			return nil
		}
	}
	return nil
}

// unfilled are the kinds whose cache still lacks its first list.
func (m *Manager) unfilled() []string {
	return lo.FilterMap(m.caches, func(i informer, _ int) (string, bool) { return i.kind, !i.HasSynced() })
}
