// SPDX-License-Identifier: Apache-2.0

// Package webhook fills in and checks the operator's kinds at admission. What the schema can say stands in the schema and is
// checked here once more, for clusters whose CRDs are older than the operator; the rest is here only.
package webhook

import (
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/c5c3/cobaltcore/common/admission"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/config"
)

// SetupWithManager serves the webhooks of both kinds on the manager's webhook server. What they look up is read live, so that an
// object created a moment ago counts.
func SetupWithManager(mgr ctrl.Manager) error {
	config.Catalogues() // a broken one must stop the start, not the first request
	reader := mgr.GetAPIReader()
	if err := admission.Register(mgr, &v1alpha1.Barbican{}, barbicanDefaults(), barbicanRules(reader)); err != nil {
		return fmt.Errorf("registering the webhooks of Barbican: %w", err)
	}
	if err := admission.Register(mgr, &v1alpha1.BarbicanSecretStore{}, secretStoreDefaults(), secretStoreRules(reader)); err != nil {
		return fmt.Errorf("registering the webhooks of BarbicanSecretStore: %w", err)
	}
	return nil
}
