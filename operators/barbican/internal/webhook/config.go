// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/c5c3/cobaltcore/common/admission"
	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/config"
)

var (
	extraConfigAt = spec.Child("extraConfig")
	pluginsAt     = spec.Child("plugins")
)

// configRules ask what the renderer asks again before it writes a file.
func configRules() []admission.Rule[barbican] {
	return []admission.Rule[barbican]{
		admission.On(spec.Child("middleware"), middleware, guardMiddleware),
		admission.On(pluginsAt, plugins, guardPlugins),
		admission.On(extraConfigAt, extraConfig, guardExtraConfig),
		admission.Ask(catalogueInput, knownOptions),
		admission.Ask(plugins, pluginsInPlainSight),
		admission.Ask(extraConfig, extraConfigInPlainSight),
	}
}

type sections = map[string]map[string]string

func middleware(b barbican) []api.Middleware { return b.Spec.Middleware }
func plugins(b barbican) []api.Plugin        { return b.Spec.Plugins }
func extraConfig(b barbican) sections        { return b.Spec.ExtraConfig }

func guardMiddleware(at *field.Path, middleware []api.Middleware) field.ErrorList {
	return config.GuardMiddleware(at, &v1alpha1.BarbicanSpec{Middleware: middleware})
}

func guardPlugins(at *field.Path, plugins []api.Plugin) field.ErrorList {
	return admission.Plugins(at, plugins, config.Owned)
}

func guardExtraConfig(at *field.Path, extra sections) field.ErrorList {
	return admission.ExtraConfig(at, extra, config.Owned)
}

type releaseConfig struct {
	Release string
	Extra   sections
}

func catalogueInput(b barbican) releaseConfig {
	return releaseConfig{b.Spec.OpenStackRelease, b.Spec.ExtraConfig}
}

func knownOptions(_ context.Context, in releaseConfig) admission.Findings {
	violations, warnings := config.CheckOptions(extraConfigAt, in.Release, in.Extra)
	return admission.Findings{Violations: violations, Warnings: warnings}
}

func pluginsInPlainSight(_ context.Context, plugins []api.Plugin) admission.Findings {
	var found admission.Findings
	for i, plugin := range plugins {
		found.Warnings = append(found.Warnings, config.Warnings(pluginsAt.Index(i), sections{plugin.ConfigSection: plugin.Config})...)
	}
	return found
}

func extraConfigInPlainSight(_ context.Context, extra sections) admission.Findings {
	return admission.Findings{Warnings: config.Warnings(extraConfigAt, extra)}
}
