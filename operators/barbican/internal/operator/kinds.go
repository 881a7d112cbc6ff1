// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/c5c3/cobaltcore/common/database"
	"github.com/c5c3/cobaltcore/common/manager"
	"github.com/c5c3/cobaltcore/common/network"
	"github.com/c5c3/cobaltcore/common/secrets"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/secretstore"
)

// Scheme knows every kind that the operator reads or writes.
func Scheme() (*runtime.Scheme, error) {
	return manager.NewScheme(v1alpha1.AddToScheme, database.AddToScheme, secrets.AddToScheme, secretstore.AddToScheme, network.AddToScheme)
}

// kinds are cached from the start; controllers watch no other.
func kinds() []manager.Kind {
	const own = "the CRDs of this operator"
	return append([]manager.Kind{
		{Object: &v1alpha1.Barbican{}, Part: own},
		{Object: &v1alpha1.BarbicanSecretStore{}, Part: own},
		{Object: &secretstore.OpenBaoCluster{}, Part: "openbao-operator"},
	}, manager.ServiceKinds()...)
}
