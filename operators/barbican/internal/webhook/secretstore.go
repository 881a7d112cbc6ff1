// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/admission"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/config"
)

type secretStore = *v1alpha1.BarbicanSecretStore

var (
	openBaoAt = spec.Child("openBao")

	// The name of a store is the tail of its section; tools that look at tails would take it for the section itself.
	reservedStoreNames = []string{
		"default", "database", "keystone_authtoken", "secretstore", "vault_plugin", "queue", "oslo_policy", "oslo_middleware", "healthcheck",
	}
)

func secretStoreRules(reader client.Reader) []admission.Rule[secretStore] {
	siblings := siblingReader{reader}
	return []admission.Rule[secretStore]{
		admission.On(nameAt, name[secretStore], maxLength(v1alpha1.MaxSecretStoreNameLength)),
		admission.On(nameAt, name[secretStore], notReserved),
		admission.On(openBaoAt, storeType, blockMatchesType),
		admission.On(openBaoAt, openBao, serverOrInstance),
		admission.On(openBaoAt, openBao, managedLimits),
		admission.On(openBaoAt, openBao, serverText),
		admission.On(spec.Child("extraOptions"), extraOptions, config.GuardOptions),
		admission.Ask(defaultMark, siblings.oneDefault),
		admission.Ask(kind, siblings.oneOpenBao),
	}
}

func openBao(s secretStore) *v1alpha1.OpenBaoSpec  { return s.Spec.OpenBao }
func extraOptions(s secretStore) map[string]string { return s.Spec.ExtraOptions }

func notReserved(at *field.Path, name string) field.ErrorList {
	if slices.Contains(reservedStoreNames, strings.ToLower(name)) {
		return field.ErrorList{field.Invalid(at, name, "metadata.name must not be the name of a section of barbican.conf")}
	}
	return nil
}

type typeInput struct {
	Type  v1alpha1.SecretStoreType
	Block bool
}

func storeType(s secretStore) typeInput { return typeInput{s.Spec.Type, s.Spec.OpenBao != nil} }

func blockMatchesType(at *field.Path, in typeInput) field.ErrorList {
	switch {
	case in.Type == v1alpha1.OpenBaoStore && !in.Block:
		return field.ErrorList{field.Required(at, "openBao must be set exactly when type is OpenBao")}
	case in.Type != v1alpha1.OpenBaoStore && in.Block:
		return field.ErrorList{field.Forbidden(at, "openBao must be set exactly when type is OpenBao")}
	}
	return nil
}

func serverOrInstance(at *field.Path, block *v1alpha1.OpenBaoSpec) field.ErrorList {
	if block == nil {
		return nil
	}
	return admission.ExactlyOne(at, block.InstanceRef != nil, block.Server != nil, "exactly one of instanceRef and server must be set")
}

func managedLimits(at *field.Path, block *v1alpha1.OpenBaoSpec) field.ErrorList {
	if block == nil || block.InstanceRef == nil {
		return nil
	}
	var violations field.ErrorList
	if block.KVMountpoint != "" && block.KVMountpoint != v1alpha1.DefaultKVMountpoint {
		violations = append(violations, field.Invalid(at.Child("kvMountpoint"), block.KVMountpoint, "kvMountpoint of a managed store must be barbican"))
	}
	if block.Namespace != "" {
		violations = append(violations, field.Forbidden(at.Child("namespace"), "a managed store has no namespace"))
	}
	return violations
}

// serverText asks what the renderer asks again before it writes a file, and for a connection that nobody reads along.
func serverText(at *field.Path, block *v1alpha1.OpenBaoSpec) field.ErrorList {
	violations := config.GuardStore(&v1alpha1.BarbicanSecretStoreSpec{OpenBao: block})
	if block != nil && block.Server != nil && !strings.HasPrefix(block.Server.URL, "https://") {
		violations = append(violations, field.Invalid(at.Child("server", "url"), block.Server.URL, "must start with https://"))
	}
	return violations
}
