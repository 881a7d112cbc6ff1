// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/admission"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

type barbican = *v1alpha1.Barbican

var (
	nameAt = field.NewPath("metadata", "name")
	spec   = field.NewPath("spec")
)

func barbicanRules(reader client.Reader) []admission.Rule[barbican] {
	return slices.Concat(
		[]admission.Rule[barbican]{admission.On(nameAt, name[barbican], maxLength(v1alpha1.MaxNameLength))},
		admission.ServiceRules("barbican", reader, service),
		dbCleanRules(),
		configRules(),
	)
}

func service(b barbican) admission.Service {
	s := b.Spec
	all := admission.Service{
		Image: s.Image, Deployment: s.Deployment, Database: s.Database, Cache: s.Cache,
		SecretStoreRef: s.SecretStoreRef, TargetClusterRef: s.TargetClusterRef,
		KeystoneEndpoint: s.KeystoneEndpoint, KeystonePublicEndpoint: s.KeystonePublicEndpoint, Region: s.Region, ServiceUser: s.ServiceUser,
		Gateway: s.Gateway, NetworkPolicy: s.NetworkPolicy, Autoscaling: s.Autoscaling, Logging: s.Logging, PolicyOverrides: s.PolicyOverrides,
	}
	if s.APIServer != nil {
		all.UWSGI = s.APIServer.UWSGI
	}
	return all
}

func name[T client.Object](object T) string { return object.GetName() }

func maxLength(limit int) func(*field.Path, string) field.ErrorList {
	return func(at *field.Path, value string) field.ErrorList { return admission.MaxLength(at, value, limit) }
}
