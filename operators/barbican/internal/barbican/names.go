// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"github.com/c5c3/cobaltcore/common/naming"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// App is the service's name in labels.
const App = "barbican"

// What a pod is made of, where more than one row knows it.
const (
	componentDBClean = "db-clean"
	componentDBSync  = "db-sync"

	volumeConfig  = "config"
	volumeStoreCA = "secret-store-ca"
	volumeDBTLS   = "db-tls"

	envDSN             = "OS_DATABASE__CONNECTION"
	envServicePassword = "OS_KEYSTONE_AUTHTOKEN__PASSWORD"
	envSecretID        = "OS_VAULT_PLUGIN__APPROLE_SECRET_ID"

	cronJobNameLimit = 52
)

func instance(b *v1alpha1.Barbican) naming.Instance { return naming.Instance{App: App, Name: b.Name} }

func connectionSecretName(b *v1alpha1.Barbican) string { return b.Name + "-db-connection" }

func dbSyncName(b *v1alpha1.Barbican) string { return b.Name + "-db-sync" }

func dbCleanName(b *v1alpha1.Barbican) string {
	return naming.Bounded(b.Name, "-db-clean", cronJobNameLimit)
}
