// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/c5c3/cobaltcore/common/api"
)

// Image wants exactly one of tag and digest.
func Image(path *field.Path, image api.ImageSpec) field.ErrorList {
	return ExactlyOne(path, image.Tag != "", image.Digest != "", "exactly one of tag and digest must be set")
}

// Database wants exactly one of clusterRef and host, and clusterRef for dynamic credentials.
func Database(path *field.Path, database api.DatabaseSpec) field.ErrorList {
	violations := ExactlyOne(path, database.ClusterRef != nil, database.Host != "", "exactly one of clusterRef and host must be set")
	if database.ClusterRef != nil {
		violations = append(violations, required(path.Child("clusterRef", "name"), database.ClusterRef.Name, "must name a MariaDB")...)
	}
	if database.Dynamic() && database.ClusterRef == nil {
		violations = append(violations, field.Invalid(path.Child("credentialsMode"), database.CredentialsMode, "credentialsMode Dynamic needs clusterRef"))
	}
	return violations
}

// Cache wants exactly one of clusterRef and servers, without control characters.
func Cache(path *field.Path, cache api.CacheSpec) field.ErrorList {
	violations := ExactlyOne(path, cache.ClusterRef != nil, len(cache.Servers) > 0, "exactly one of clusterRef and servers must be set")
	if cache.ClusterRef != nil {
		name := path.Child("clusterRef", "name")
		violations = append(violations, required(name, cache.ClusterRef.Name, "must name a memcached")...)
		violations = append(violations, Text(name, cache.ClusterRef.Name)...)
	}
	for i, server := range cache.Servers {
		violations = append(violations, Text(path.Child("servers").Index(i), server)...)
	}
	return violations
}

// SecretStoreRef wants a name and a kind that External Secrets serves.
func SecretStoreRef(path *field.Path, ref *api.SecretStoreRef) field.ErrorList {
	if ref == nil {
		return nil
	}
	violations := required(path.Child("name"), ref.Name, "must name a store")
	switch ref.WithDefaults().Kind {
	case api.ClusterSecretStoreKind, api.NamespacedSecretStoreKind:
		return violations
	}
	kinds := []api.SecretStoreKind{api.ClusterSecretStoreKind, api.NamespacedSecretStoreKind}
	return append(violations, field.NotSupported(path.Child("kind"), ref.Kind, kinds))
}

// TargetClusterRef wants a name.
func TargetClusterRef(path *field.Path, ref *api.TargetClusterRef) field.ErrorList {
	if ref == nil {
		return nil
	}
	return required(path.Child("name"), ref.Name, "must name a registered cluster")
}

// TargetClusterUnchanged refuses to add, change or remove a reference: the children would stay behind on the old cluster.
func TargetClusterUnchanged(path *field.Path, before, after *api.TargetClusterRef) field.ErrorList {
	if (before == nil) == (after == nil) && before.ClusterName() == after.ClusterName() {
		return nil
	}
	return field.ErrorList{field.Forbidden(path, "targetClusterRef is immutable: children would stay behind; delete and create the object anew")}
}
