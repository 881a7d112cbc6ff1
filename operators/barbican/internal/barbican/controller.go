// SPDX-License-Identifier: Apache-2.0

// Package barbican converges Barbican resources. Start at table.go, which is the whole of it; each row has a file of
// its own, but for the group at the end.
package barbican

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/job"
	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/common/reconcile/probe"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/config"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/metrics"
)

// Controller reconciles Barbicans.
type Controller = reconcile.Controller[*v1alpha1.Barbican, handoff]

// Dependencies are what the rows work with.
type Dependencies struct {
	Client            client.Client // of the management cluster
	Recorder          reconcile.Recorder
	Targets           target.Resolver
	Health            *probe.HTTP
	Metrics           *metrics.Metrics
	OperatorNamespace string // whose pods may reach the API; empty when unknown
	NoRoutes          bool   // the management cluster served no HTTPRoutes when the process started
}

// steps are the rows' code and what they keep from pass to pass.
type steps struct {
	Dependencies
	renderer  *config.Renderer
	validated validatedPairs
	jobs      job.Runner
}

// HealthReasons name the outcomes of the API's health check.
var HealthReasons = probe.Reasons{
	Healthy: api.ReasonAPIHealthy, Unhealthy: api.ReasonAPIUnhealthy, NotReady: api.ReasonEndpointNotReady,
	Timeout: api.ReasonHealthCheckTimeout, Refused: api.ReasonConnectionFailed, Failed: api.ReasonHealthCheckFailed,
}

// rememberedConfigurations bounds the memory of the renderer.
const rememberedConfigurations = 2000

// NewController checks the table and puts the life cycle around it.
func NewController(d Dependencies) (*Controller, error) { return newSteps(d).controller() }

func newSteps(d Dependencies) *steps {
	return &steps{Dependencies: d, renderer: config.NewRenderer(rememberedConfigurations)}
}

func (s *steps) controller() (*Controller, error) {
	pipeline, err := reconcile.NewPipeline(s.Metrics, s.table()...)
	if err != nil {
		return nil, err
	}
	return &Controller{
		New:      func() *v1alpha1.Barbican { return &v1alpha1.Barbican{} },
		Client:   s.Client,
		Recorder: s.Recorder,
		Pipeline: pipeline,
		Targets:  s.Targets,
		Place: func(_ context.Context, b *v1alpha1.Barbican) (string, reconcile.Outcome) {
			return b.Spec.TargetClusterRef.ClusterName(), reconcile.Outcome{}
		},
		Gate:      api.ConditionSecretsReady,
		Finalizer: v1alpha1.Finalizer,
		Cleanup:   s.cleanUp,
		Swept:     target.ServiceKinds,
		Gone:      s.gone,
	}, nil
}

// gone drops what is kept for a Barbican that is no more.
func (s *steps) gone(key types.NamespacedName, uid types.UID) {
	s.Metrics.ForgetBarbican(key)
	s.Health.Cache.Forget(key)
	s.renderer.Evict(uid)
	s.validated.forget(key)
}
