// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/admission"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// identity says which store of which Barbican is judged.
type identity struct {
	Namespace, Name, Parent string
}

type defaultInput struct {
	identity
	Default bool
}

type kindInput struct {
	identity
	Type v1alpha1.SecretStoreType
}

func identify(s secretStore) identity { return identity{s.Namespace, s.Name, s.Spec.BarbicanRef.Name} }

func defaultMark(s secretStore) defaultInput { return defaultInput{identify(s), s.Spec.IsDefault} }
func kind(s secretStore) kindInput           { return kindInput{identify(s), s.Spec.Type} }

// siblingReader finds the other stores of a Barbican. Two stores created at the same moment may still miss each other; the
// controller reports them then.
type siblingReader struct{ client.Reader }

func (r siblingReader) oneDefault(ctx context.Context, in defaultInput) admission.Findings {
	if !in.Default {
		return admission.Findings{}
	}
	return r.none(ctx, in.identity, spec.Child("isDefault"), true, func(s secretStore) string {
		if !s.Spec.IsDefault {
			return ""
		}
		return fmt.Sprintf("store %q is the default of Barbican %q already: unset it there first", s.Name, in.Parent)
	})
}

func (r siblingReader) oneOpenBao(ctx context.Context, in kindInput) admission.Findings {
	if in.Type != v1alpha1.OpenBaoStore {
		return admission.Findings{}
	}
	return r.none(ctx, in.identity, spec.Child("type"), in.Type, func(s secretStore) string {
		if s.Spec.Type != v1alpha1.OpenBaoStore {
			return ""
		}
		return fmt.Sprintf("Barbican %q has the OpenBao store %q already, and it does not start with two", in.Parent, s.Name)
	})
}

// none wants no live sibling against which there is an objection.
func (r siblingReader) none(ctx context.Context, self identity, at *field.Path, value any, objection func(secretStore) string) admission.Findings {
	var stores v1alpha1.BarbicanSecretStoreList
	if err := r.List(ctx, &stores, client.InNamespace(self.Namespace)); err != nil {
		return admission.Findings{Violations: field.ErrorList{field.InternalError(at, fmt.Errorf("looking up the other stores: %w", err))}}
	}
	var violations field.ErrorList
	for i := range stores.Items {
		other := &stores.Items[i]
		if other.Name == self.Name || other.Spec.BarbicanRef.Name != self.Parent || !other.DeletionTimestamp.IsZero() {
			continue
		}
		if detail := objection(other); detail != "" {
			violations = append(violations, field.Invalid(at, value, detail))
		}
	}
	return admission.Findings{Violations: violations}
}
