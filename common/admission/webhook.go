// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Register serves the defaults and rules of a kind at the conventional paths /mutate-<group>-<version>-<kind> and
// /validate-<group>-<version>-<kind>, dots as dashes.
func Register[T client.Object](mgr manager.Manager, kind T, defaults []func(T), rules []Rule[T]) error {
	return builder.WebhookManagedBy(mgr, kind).
		WithDefaulter(Defaulter[T](defaults)).
		WithValidator(Validator[T](rules)).
		Complete()
}

// Defaulter fills in what an object leaves out, by a list of functions.
type Defaulter[T client.Object] []func(T)

// Default implements the webhook interface. Updates that leave the spec alone stay as they are, also where an object lacks
// defaults because it was written while no webhook served.
func (d Defaulter[T]) Default(ctx context.Context, object T) error {
	if !object.GetDeletionTimestamp().IsZero() || specUnchanged(ctx) {
		return nil
	}
	for _, fill := range d {
		fill(object)
	}
	return nil
}

func specUnchanged(ctx context.Context) bool {
	req, err := admission.RequestFromContext(ctx)
	if err != nil || req.Operation != admissionv1.Update {
		return false
	}
	before, err := spec(req.OldObject.Raw)
	if err != nil {
		return false
	}
	after, err := spec(req.Object.Raw)
	return err == nil && reflect.DeepEqual(before, after)
}

func spec(raw []byte) (any, error) {
	var object struct{ Spec any }
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // two large numbers must not look alike
	err := decoder.Decode(&object)
	return object.Spec, err
}

// Validator judges an object by a list of rules. A refusal is one Invalid status with every violation, up to a hundred.
type Validator[T client.Object] []Rule[T]

// ValidateCreate implements the webhook interface.
func (v Validator[T]) ValidateCreate(ctx context.Context, object T) (admission.Warnings, error) {
	return v.judge(ctx, Change[T]{New: object, Created: true})
}

// ValidateUpdate implements the webhook interface. A terminating object passes, whatever it says: its finalizers must be
// able to go.
func (v Validator[T]) ValidateUpdate(ctx context.Context, before, after T) (admission.Warnings, error) {
	if !after.GetDeletionTimestamp().IsZero() {
		return nil, nil
	}
	return v.judge(ctx, Change[T]{Old: before, New: after})
}

// ValidateDelete implements the webhook interface; a deletion passes. The webhook is not registered for it either.
func (v Validator[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) {
	return nil, nil
}

func (v Validator[T]) judge(ctx context.Context, change Change[T]) (admission.Warnings, error) {
	var (
		warnings   admission.Warnings
		violations field.ErrorList
	)
	for _, rule := range v {
		found := rule(ctx, change)
		warnings = append(warnings, found.Warnings...)
		violations = append(violations, found.Violations...)
	}
	if len(violations) == 0 {
		return warnings, nil
	}
	kind := change.New.GetObjectKind().GroupVersionKind().GroupKind()
	return warnings, apierrors.NewInvalid(kind, change.New.GetName(), Readable(violations))
}

// Readable cuts a list that nobody would read to the end at a hundred violations and tells how many more there are. Joining
// tens of thousands of them takes longer than the API server waits.
func Readable(violations field.ErrorList) field.ErrorList {
	const limit = 100
	rest := len(violations) - limit
	if rest <= 0 {
		return violations
	}
	return append(violations[:limit:limit], field.Forbidden(field.NewPath("spec"), fmt.Sprintf("%d more violations are left out", rest)))
}
