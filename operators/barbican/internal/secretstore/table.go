// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

type (
	pass = reconcile.Pass[*v1alpha1.BarbicanSecretStore, handoff]
	step = reconcile.Step[*v1alpha1.BarbicanSecretStore, handoff]
)

// managed is the table of a store on an OpenBao instance of the namespace.
func (s *steps) managed() []step {
	return []step{
		{Name: "Provisioning", Condition: v1alpha1.ConditionProvisioningReady, Run: s.provisioning},
		{Name: "Credentials", Condition: api.ConditionCredentialsReady, Run: s.mintedCredentials},
		{Name: "Projection", Condition: api.ConditionConfigProjected, Run: s.projected},
	}
}

// brownfield is the table of a store on a server that others run.
func (s *steps) brownfield() []step {
	return []step{
		{Name: "Credentials", Condition: api.ConditionCredentialsReady, Run: s.givenCredentials},
		{Name: "Projection", Condition: api.ConditionConfigProjected, Run: s.projected},
	}
}

// handoff is what earlier rows hand to later ones.
type handoff struct {
	stored  credential // Provisioning: the pair in the Secret, or the one that belongs there
	foreign error      // Provisioning: why it could not be written there
	verdict verdict    // Provisioning
	known   bool       // Provisioning: verdict is about stored; else it is still being found
	ready   bool       // Credentials: the pair is valid
}
