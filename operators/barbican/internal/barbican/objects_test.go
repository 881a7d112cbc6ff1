// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/database"
	"github.com/c5c3/cobaltcore/common/secrets"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/openbao"
)

// minimal is a Barbican as a user writes it who sets nothing that is optional.
func minimal() *v1alpha1.Barbican {
	return &v1alpha1.Barbican{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "uid", Generation: 1},
		Spec: v1alpha1.BarbicanSpec{
			OpenStackRelease: "2025.2", Image: api.ImageSpec{Repository: "registry/barbican", Tag: "2025.2"},
			Database: api.DatabaseSpec{
				ClusterRef: &corev1.LocalObjectReference{Name: "mariadb"}, Database: "barbican", SecretRef: api.SecretRef{Name: "db-credentials"},
			},
			Cache:            api.CacheSpec{ClusterRef: &corev1.LocalObjectReference{Name: "memcached"}},
			KeystoneEndpoint: "http://keystone:5000/v3",
			ServiceUser:      api.ServiceUserSpec{SecretRef: api.SecretRef{Name: "service-user"}},
		},
	}
}

func clusterStore(ready corev1.ConditionStatus) *secrets.ClusterSecretStore {
	return &secrets.ClusterSecretStore{
		ObjectMeta: metav1.ObjectMeta{Name: "openbao-cluster-store"},
		Status:     secrets.SyncStatus{Conditions: []secrets.SyncCondition{{Type: "Ready", Status: ready}}},
	}
}

func mariaDB(ready metav1.ConditionStatus) *database.MariaDB {
	return &database.MariaDB{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "mariadb"},
		Status:     database.Status{Conditions: []metav1.Condition{{Type: "Ready", Status: ready, Reason: "Test"}}},
	}
}

func secret(name string, pairs ...string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		s.Data[pairs[i]] = []byte(pairs[i+1])
	}
	return s
}

// credentials is the Secret that the managed store of a world mints.
func credentials(pair openbao.Credentials) *corev1.Secret {
	return secret("main-approle", v1alpha1.RoleIDKey, pair.RoleID, v1alpha1.SecretIDKey, pair.SecretID)
}

// store is a managed default store that has validated pair, changed by the edits.
func store(name string, edits ...func(*v1alpha1.BarbicanSecretStore)) *v1alpha1.BarbicanSecretStore {
	s := &v1alpha1.BarbicanSecretStore{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-of-store-" + name), Generation: 1},
		Spec: v1alpha1.BarbicanSecretStoreSpec{
			BarbicanRef: v1alpha1.BarbicanRef{Name: "barbican"}, Type: v1alpha1.OpenBaoStore, IsDefault: true,
			OpenBao: &v1alpha1.OpenBaoSpec{InstanceRef: &v1alpha1.OpenBaoInstanceRef{Name: "bao"}},
		},
		Status: v1alpha1.BarbicanSecretStoreStatus{CredentialsHash: pair.Hash()},
	}
	setCondition(s, api.ConditionCredentialsReady, metav1.ConditionTrue, v1alpha1.ReasonCredentialsAvailable)
	setCondition(s, v1alpha1.ConditionProvisioningReady, metav1.ConditionTrue, v1alpha1.ReasonProvisioned)
	for _, edit := range edits {
		edit(s)
	}
	return s
}

func setCondition(s *v1alpha1.BarbicanSecretStore, of string, status metav1.ConditionStatus, reason string) {
	meta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{
		Type: of, Status: status, Reason: reason, ObservedGeneration: s.Generation,
	})
}

// full sets everything that can be set together, and what it refers to has to be put into the world.
func full(b *v1alpha1.Barbican) {
	b.Spec.Gateway = &api.GatewaySpec{ParentRef: api.GatewayParentRef{Name: "gateway", Namespace: "edge"}, Hostname: "keys.example.org"}
	b.Spec.Autoscaling = &api.AutoscalingSpec{MinReplicas: new(int32(2)), MaxReplicas: 6, TargetCPUUtilization: new(int32(70))}
	b.Spec.NetworkPolicy = &api.NetworkPolicySpec{Ingress: []api.IngressSource{{}}}
}
