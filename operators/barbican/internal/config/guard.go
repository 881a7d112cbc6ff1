// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/c5c3/cobaltcore/common/admission"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// Guard judges everything in a spec that reaches a file. The webhook refuses what it finds; the renderer asks again, since an
// object may have reached the cluster without the webhook.
func Guard(spec *v1alpha1.BarbicanSpec) field.ErrorList {
	path := field.NewPath("spec")
	violations := admission.OptionalURL(path.Child("keystoneEndpoint"), spec.KeystoneEndpoint)
	violations = append(violations, admission.OptionalURL(path.Child("keystonePublicEndpoint"), spec.KeystonePublicEndpoint)...)
	violations = append(violations, admission.ServiceUser(path.Child("serviceUser"), spec.ServiceUser)...)
	violations = append(violations, admission.Text(path.Child("region"), spec.Region)...)
	violations = append(violations, admission.Cache(path.Child("cache"), spec.Cache)...)
	if spec.Gateway != nil {
		violations = append(violations, admission.Text(path.Child("gateway", "hostname"), spec.Gateway.Hostname)...)
	}
	violations = append(violations, admission.Logging(path.Child("logging"), spec.Logging)...)
	violations = append(violations, admission.PolicyOverrides(path.Child("policyOverrides"), spec.PolicyOverrides)...)
	violations = append(violations, GuardMiddleware(path.Child("middleware"), spec)...)
	violations = append(violations, admission.Plugins(path.Child("plugins"), spec.Plugins, Owned)...)
	return append(violations, admission.ExtraConfig(path.Child("extraConfig"), spec.ExtraConfig, Owned)...)
}

// GuardMiddleware judges spec.middleware. The token filter takes its options from its own section too, so the names of
// refused options are refused there as well.
func GuardMiddleware(path *field.Path, spec *v1alpha1.BarbicanSpec) field.ErrorList {
	violations := admission.Middleware(path, spec.Middleware)
	for i, middleware := range spec.Middleware {
		for _, key := range slices.Sorted(maps.Keys(middleware.Config)) {
			for _, owned := range Owned {
				if owned.Rejected && owned.Key == key {
					violations = append(violations, field.Forbidden(path.Index(i).Child("config").Key(key), "credentials must not stand in a file that every pod mounts"))
				}
			}
		}
	}
	return violations
}

var optionName = regexp.MustCompile(`^[A-Za-z0-9_]+$`)

// GuardStore judges everything in a store's spec that reaches a file.
func GuardStore(spec *v1alpha1.BarbicanSecretStoreSpec) field.ErrorList {
	path := field.NewPath("spec")
	violations := GuardOptions(path.Child("extraOptions"), spec.ExtraOptions)
	if spec.OpenBao == nil {
		return violations
	}
	path = path.Child("openBao")
	violations = append(violations, admission.Text(path.Child("kvMountpoint"), spec.OpenBao.KVMountpoint)...)
	violations = append(violations, admission.Text(path.Child("namespace"), spec.OpenBao.Namespace)...)
	if spec.OpenBao.Server != nil {
		violations = append(violations, admission.URL(path.Child("server", "url"), spec.OpenBao.Server.URL)...)
	}
	return violations
}

// GuardOptions judges a store's extraOptions.
func GuardOptions(path *field.Path, options map[string]string) field.ErrorList {
	var violations field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(options)) {
		switch {
		case key == "":
			violations = append(violations, field.Required(path, "option names must not be empty"))
		case !optionName.MatchString(key):
			violations = append(violations, field.Invalid(path, key, "option names must consist of letters, digits and underscores"))
		case slices.Contains(StoreOptions, key):
			violations = append(violations, field.Forbidden(path.Key(key), "the operator sets this option itself"))
		default:
			violations = append(violations, admission.Options(path, vaultPlugin, map[string]string{key: options[key]})...)
		}
	}
	return violations
}
