// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/samber/lo"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/common/secrets"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/config"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/openbao"
)

// projection is what the attached stores contribute to the configuration.
type projection struct {
	valid  bool
	stores []config.Store // in name order; of a valid projection only
	mounts storeMounts    // of a valid projection only
	hosts  []string       // URLs that the pods must reach
}

// storeMounts is what the pods take from the default store beside the configuration file.
type storeMounts struct {
	credentialsSecret string // holds the secret ID
	credentialsHash   string
	caSecret          string // empty: the system's trust
	caHash            string
}

// secretStores never stops the table: a first install goes on to the rows that say what else is missing, and a store
// that becomes ready wakes its Barbican.
func (s *steps) secretStores(ctx context.Context, p *pass) reconcile.Outcome {
	attached, err := s.attachedStores(ctx, p.Object)
	if err != nil {
		return reconcile.Error(err)
	}
	usable := lo.Filter(attached, func(store *v1alpha1.BarbicanSecretStore, _ int) bool { return projectable(store) })
	urls := lo.Map(usable, func(store *v1alpha1.BarbicanSecretStore, _ int) string { return store.Spec.ServerURL(store.Namespace) })

	projected, verdict := s.project(ctx, p, usable)
	if verdict.Err() != nil || !verdict.Done() {
		// What the running pods were configured with stays reachable; a store's current spec proves nothing.
		p.Values.stores = projection{hosts: lo.Uniq(append(urls, p.Object.Status.ProjectedSecretStoreHosts...))}
		return verdict
	}
	projected.hosts = lo.Uniq(urls)
	p.Values.stores = projected
	return recordProjection(p, projected, verdict)
}

func (s *steps) attachedStores(ctx context.Context, parent *v1alpha1.Barbican) ([]*v1alpha1.BarbicanSecretStore, error) {
	var list v1alpha1.BarbicanSecretStoreList
	if err := s.Client.List(ctx, &list, client.InNamespace(parent.Namespace),
		client.MatchingFields{IndexBarbicanRef: parent.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the stores of %s: %w", parent.Name, err)
	}
	stores := lo.ToSlicePtr(list.Items)
	slices.SortFunc(stores, func(a, b *v1alpha1.BarbicanSecretStore) int { return strings.Compare(a.Name, b.Name) })
	return stores, nil
}

// projectable says whether a store's credentials were validated for what its spec says now and its mount is there. A
// store that is merely unreachable stays: an outage is no reconfiguration.
func projectable(store *v1alpha1.BarbicanSecretStore) bool {
	if !store.DeletionTimestamp.IsZero() || store.Status.CredentialsHash == "" || store.Spec.OpenBao == nil {
		return false
	}
	provisioning := meta.FindStatusCondition(store.Status.Conditions, v1alpha1.ConditionProvisioningReady)
	if provisioning != nil && provisioning.Reason == v1alpha1.ReasonInstanceNotProvisioned {
		return false
	}
	credentials := meta.FindStatusCondition(store.Status.Conditions, api.ConditionCredentialsReady)
	if credentials == nil || credentials.ObservedGeneration != store.Generation {
		return false
	}
	return credentials.Reason == v1alpha1.ReasonCredentialsAvailable || credentials.Reason == v1alpha1.ReasonOpenBaoUnreachable
}

// project decides whether the stores form a configuration that Barbican accepts, and reads the default's credentials.
func (s *steps) project(ctx context.Context, p *pass, usable []*v1alpha1.BarbicanSecretStore) (projection, reconcile.Outcome) {
	defaults := lo.Filter(usable, func(store *v1alpha1.BarbicanSecretStore, _ int) bool { return store.Spec.IsDefault })
	openBao := lo.CountBy(usable, func(store *v1alpha1.BarbicanSecretStore) bool { return store.Spec.Type == v1alpha1.OpenBaoStore })
	switch {
	case len(defaults) != 1:
		return projection{}, reconcile.NotReady(v1alpha1.ReasonNoDefaultSecretStore, noDefault(defaults))
	case openBao > 1:
		return projection{}, reconcile.NotReady(v1alpha1.ReasonMultipleOpenBaoStores, fmt.Sprintf(
			"%d ready stores of type OpenBao are attached, Barbican takes one: delete all but one of %s", openBao, joinNames(usable)))
	}
	projected, err := s.assemble(ctx, p, usable, defaults[0])
	var problem unusableError
	switch {
	case errors.As(err, &problem):
		return projection{}, skipped(p.Object, string(problem))
	case err != nil:
		return projection{}, reconcile.Error(err)
	}
	return projected, reconcile.Ready(v1alpha1.ReasonAllStoresProjected, "Projected: "+joinNames(usable))
}

func (s *steps) assemble(
	ctx context.Context, p *pass, usable []*v1alpha1.BarbicanSecretStore, standard *v1alpha1.BarbicanSecretStore,
) (projection, error) {
	pair, err := s.pairOf(ctx, p, standard)
	if err != nil {
		return projection{}, err
	}
	mounts, err := mountsOf(ctx, p, standard, pair)
	if err != nil {
		return projection{}, err
	}
	stores, err := configStores(usable, pair.roleID)
	return projection{valid: true, stores: stores, mounts: mounts}, err
}

// unusableError says what somebody has to mend before the stores can be projected.
type unusableError string

func (e unusableError) Error() string { return string(e) }

func unusable(store *v1alpha1.BarbicanSecretStore, format string, args ...any) error {
	return unusableError("Store " + store.Name + ": " + fmt.Sprintf(format, args...))
}

func noDefault(defaults []*v1alpha1.BarbicanSecretStore) string {
	if len(defaults) == 0 {
		return "No ready store has isDefault: true; attach one, or see why CredentialsReady of the default store is not True"
	}
	return "More than one ready store has isDefault: true, keep it on one of " + joinNames(defaults)
}

func joinNames(stores []*v1alpha1.BarbicanSecretStore) string {
	return strings.Join(lo.Map(stores, func(store *v1alpha1.BarbicanSecretStore, _ int) string { return store.Name }), ", ")
}

// skipped warns when the problem is a new one.
func skipped(parent *v1alpha1.Barbican, problem string) reconcile.Outcome {
	o := reconcile.NotReady(v1alpha1.ReasonWaitingForSecretStores, problem)
	was := meta.FindStatusCondition(parent.Status.Conditions, v1alpha1.ConditionSecretStoresReady)
	if was != nil && was.Reason == v1alpha1.ReasonWaitingForSecretStores && was.Message == problem {
		return o
	}
	return o.Announce(corev1.EventTypeWarning, v1alpha1.EventBarbicanSecretStoreSkipped, problem)
}

// pairOf returns the pair that the store validated last. A rotated one is not used before that: until then the pair of
// before is taken from memory, whichever of Secret and status is seen first.
func (s *steps) pairOf(ctx context.Context, p *pass, store *v1alpha1.BarbicanSecretStore) (validatedPair, error) {
	name := store.CredentialsSecretName()
	secret, err := p.Children.Secrets.Get(ctx, types.NamespacedName{Namespace: store.Namespace, Name: name})
	switch {
	case apierrors.IsNotFound(err):
		return validatedPair{}, unusable(store, "its credentials Secret %s does not exist", name)
	case err != nil:
		return validatedPair{}, fmt.Errorf("reading the credentials of store %s: %w", store.Name, err)
	case secrets.MissingKey(secret, v1alpha1.RoleIDKey, v1alpha1.SecretIDKey) != "":
		return validatedPair{}, unusable(store, "Secret %s lacks %s or %s", name, v1alpha1.RoleIDKey, v1alpha1.SecretIDKey)
	case bytes.ContainsRune(secret.Data[v1alpha1.SecretIDKey], '$'):
		return validatedPair{}, unusable(store, "%s in Secret %s contains a dollar sign, which Barbican would interpolate; mint another one",
			v1alpha1.SecretIDKey, name)
	}
	found := openbao.Credentials{
		RoleID: string(secret.Data[v1alpha1.RoleIDKey]), SecretID: string(secret.Data[v1alpha1.SecretIDKey]),
	}
	hash, barbican := found.Hash(), client.ObjectKeyFromObject(p.Object)
	if hash == store.Status.CredentialsHash {
		pair := validatedPair{store: store.UID, roleID: found.RoleID, hash: hash}
		s.validated.keep(barbican, pair)
		return pair, nil
	}
	if last, ok := s.validated.lastOf(barbican, store.UID); ok && (last.hash == store.Status.CredentialsHash || last.hash == hash) {
		return last, nil
	}
	return validatedPair{}, unusable(store, "the credentials in Secret %s are not validated yet", name)
}

func mountsOf(ctx context.Context, p *pass, store *v1alpha1.BarbicanSecretStore, pair validatedPair) (storeMounts, error) {
	mounts := storeMounts{
		credentialsSecret: store.CredentialsSecretName(), credentialsHash: pair.hash, caSecret: store.CASecretName(),
	}
	if mounts.caSecret == "" {
		return mounts, nil
	}
	ca, err := p.Children.Secrets.Get(ctx, types.NamespacedName{Namespace: store.Namespace, Name: mounts.caSecret})
	switch {
	case apierrors.IsNotFound(err) || err == nil && len(ca.Data[v1alpha1.CABundleKey]) == 0:
		return mounts, unusable(store, "its CA Secret %s lacks %s", mounts.caSecret, v1alpha1.CABundleKey)
	case err != nil:
		return mounts, fmt.Errorf("reading the CA of store %s: %w", store.Name, err)
	}
	mounts.caHash = secrets.Digest(ca.Data[v1alpha1.CABundleKey])
	return mounts, nil
}

// configStores are the stores as the renderer takes them.
func configStores(usable []*v1alpha1.BarbicanSecretStore, roleID string) ([]config.Store, error) {
	stores := make([]config.Store, 0, len(usable))
	for _, store := range usable {
		rendered := config.Store{
			Name: store.Name, Default: store.Spec.IsDefault, URL: store.Spec.ServerURL(store.Namespace),
			Mount: store.Spec.KVMountpoint(), Namespace: store.Spec.OpenBao.Namespace, CA: store.CASecretName() != "",
			Options: store.Spec.ExtraOptions,
		}
		if store.Spec.IsDefault {
			rendered.RoleID = roleID
		}
		if err := rendered.Check(); err != nil {
			return nil, unusable(store, "it cannot stand in a configuration file: %s", err)
		}
		stores = append(stores, rendered)
	}
	return stores, nil
}

// recordProjection notes what is projected, so that an invalid projection can fall back on it, and says what leaves.
func recordProjection(p *pass, projected projection, verdict reconcile.Outcome) reconcile.Outcome {
	status := &p.Object.Status
	names := lo.Map(projected.stores, func(store config.Store, _ int) string { return store.Name })
	for _, gone := range lo.Without(status.ProjectedSecretStores, names...) {
		verdict = verdict.Announce(corev1.EventTypeWarning, v1alpha1.EventSecretStoreDetached, fmt.Sprintf(
			"Store %s left the configuration: secrets that were written through it cannot be read until it is back", gone))
	}
	status.ProjectedSecretStores, status.ProjectedSecretStoreHosts = names, projected.hosts
	return verdict
}
