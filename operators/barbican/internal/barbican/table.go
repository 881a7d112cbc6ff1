// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

type (
	pass = reconcile.Pass[*v1alpha1.Barbican, handoff]
	step = reconcile.Step[*v1alpha1.Barbican, handoff]
)

// table is the whole of what is done for a Barbican, from top to bottom. DBClean stands ahead of Database because the
// clean-up must be paused before a migration starts, and a running migration ends the pass at Database.
func (s *steps) table() []step {
	return []step{
		{Name: "Secrets", Condition: api.ConditionSecretsReady, Run: s.secrets},
		{Name: "DBConnectionSecret", Condition: api.ConditionSecretsReady, Run: s.dbConnectionSecret},
		{Name: "SecretStores", Condition: v1alpha1.ConditionSecretStoresReady, Run: s.secretStores},
		{Name: "Config", Condition: api.ConditionSecretsReady, Run: s.config},
		{Name: "DBClean", Condition: v1alpha1.ConditionDBCleanReady, Run: s.dbClean},
		{Name: "Database", Condition: api.ConditionDatabaseReady, Run: s.database},
		{Name: "Deployment", Condition: api.ConditionDeploymentReady, Run: s.deployment},
		reconcile.Parallel(
			step{Name: "HTTPRoute", Condition: api.ConditionHTTPRouteReady, Run: s.httpRoute},
			step{Name: "HealthCheck", Condition: v1alpha1.ConditionBarbicanAPIReady, Run: s.healthCheck},
			step{Name: "HPA", Condition: api.ConditionHPAReady, Run: s.hpa},
			step{Name: "NetworkPolicy", Condition: api.ConditionNetworkPolicyReady, Run: s.networkPolicy},
		),
	}
}

// handoff is what earlier rows hand to later ones.
type handoff struct {
	password         api.SecretRef // Secrets: where pods take the service user's password from
	authTokenHash    string        // Secrets: fingerprint of that password
	dbConnectionHash string        // DBConnectionSecret: fingerprint of the DSN
	dbTLSHash        string        // DBConnectionSecret: digest of the CA and client certificate, empty without TLS
	stores           projection    // SecretStores
	mounts           mounts        // Config: what the pods mount of it; empty while there has never been a valid one
}
