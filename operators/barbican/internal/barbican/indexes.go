// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/watch"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// Field indexes of both kinds. They find who refers to an object that changed.
const (
	IndexBarbicanRef  = "spec.barbicanRef.name"
	IndexInstanceRef  = "spec.openBao.instanceRef.name"
	IndexStoreSecrets = "spec.openBao.secretRefs.name"

	indexSecrets     = "spec.secretRefs.name"
	indexMariaDB     = "spec.database.clusterRef.name"
	indexSecretStore = "spec.secretStoreRef"
	indexPolicy      = "spec.policyOverrides.configMapRef.name"
)

// AddIndexes registers the indexes of both kinds; both controllers need them.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	type (
		barbican = *v1alpha1.Barbican
		store    = *v1alpha1.BarbicanSecretStore
	)
	for name, get := range map[string]func(barbican) []string{
		indexSecrets: referencedSecrets,
		indexMariaDB: func(b barbican) []string {
			if b.Spec.Database.ClusterRef == nil {
				return nil
			}
			return []string{b.Spec.Database.ClusterRef.Name}
		},
		indexSecretStore: func(b barbican) []string {
			ref := b.Spec.SecretStoreRef.WithDefaults()
			return []string{secretStoreKey(ref.Kind, ref.Name)}
		},
		indexPolicy: func(b barbican) []string {
			if b.Spec.PolicyOverrides == nil || b.Spec.PolicyOverrides.ConfigMapRef == nil {
				return nil
			}
			return []string{b.Spec.PolicyOverrides.ConfigMapRef.Name}
		},
	} {
		if err := watch.Index(ctx, indexer, &v1alpha1.Barbican{}, name, get); err != nil {
			return err
		}
	}
	for name, get := range map[string]func(store) []string{
		IndexBarbicanRef: func(s store) []string { return []string{s.Spec.BarbicanRef.Name} },
		IndexInstanceRef: func(s store) []string {
			if !s.Spec.Managed() {
				return nil
			}
			return []string{s.Spec.OpenBao.InstanceRef.Name}
		},
		IndexStoreSecrets: func(s store) []string { return []string{s.CredentialsSecretName(), s.CASecretName()} },
	} {
		if err := watch.Index(ctx, indexer, &v1alpha1.BarbicanSecretStore{}, name, get); err != nil {
			return err
		}
	}
	return nil
}

func referencedSecrets(b *v1alpha1.Barbican) []string {
	names := []string{b.Spec.ServiceUser.SecretRef.Name, b.Spec.Database.SecretRef.Name}
	if tls := b.Spec.Database.TLS; tls != nil {
		names = append(names, tls.CABundleSecretRef.Name, tls.ClientCertSecretRef.Name)
	}
	return names
}

func secretStoreKey(kind api.SecretStoreKind, name string) string { return string(kind) + "/" + name }
