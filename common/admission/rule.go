// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Change is what an admission request asks for. Old is meaningless when the object is created.
type Change[T client.Object] struct {
	Old, New T
	Created  bool
}

// Findings of a rule: violations refuse the change, warnings reach the user beside its acceptance.
type Findings struct {
	Violations field.ErrorList
	Warnings   []string
}

// Rule judges a change.
type Rule[T client.Object] func(context.Context, Change[T]) Findings

// On makes a rule of a pure check. The check gets its path and its input, and runs on creation and whenever the input changed.
func On[T client.Object, I any](path *field.Path, input func(T) I, check func(*field.Path, I) field.ErrorList) Rule[T] {
	return Ask(input, func(_ context.Context, in I) Findings { return Findings{Violations: check(path, in)} })
}

// Ask makes a rule of a check that looks things up or warns. It runs as one made by On does.
func Ask[T client.Object, I any](input func(T) I, check func(context.Context, I) Findings) Rule[T] {
	return func(ctx context.Context, change Change[T]) Findings {
		in := input(change.New)
		if !change.Created && equality.Semantic.DeepEqual(input(change.Old), in) {
			return Findings{}
		}
		return check(ctx, in)
	}
}

// OnUpdate makes a rule of a check that compares the input before and after; it runs on updates that changed the input.
func OnUpdate[T client.Object, I any](input func(T) I, check func(before, after I) Findings) Rule[T] {
	return func(_ context.Context, change Change[T]) Findings {
		if change.Created {
			return Findings{}
		}
		before, after := input(change.Old), input(change.New)
		if equality.Semantic.DeepEqual(before, after) {
			return Findings{}
		}
		return check(before, after)
	}
}
