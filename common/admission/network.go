// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/c5c3/cobaltcore/common/api"
)

// Gateway wants a Gateway and a hostname without control characters.
func Gateway(path *field.Path, gateway *api.GatewaySpec) field.ErrorList {
	if gateway == nil {
		return nil
	}
	hostname := path.Child("hostname")
	violations := required(hostname, gateway.Hostname, "must be the name the API is reached at")
	violations = append(violations, Text(hostname, gateway.Hostname)...)
	return append(violations, required(path.Child("parentRef", "name"), gateway.ParentRef.Name, "must name a Gateway")...)
}

// NetworkPolicy wants at least one source: a policy without any would lock everybody out.
func NetworkPolicy(path *field.Path, policy *api.NetworkPolicySpec) field.ErrorList {
	if policy == nil || len(policy.Ingress) > 0 {
		return nil
	}
	return field.ErrorList{field.Required(path.Child("ingress"), "at least one ingress source must be set")}
}
