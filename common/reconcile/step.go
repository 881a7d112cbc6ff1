// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

// Object is a custom resource that reports standard conditions.
type Object interface {
	client.Object
	StatusConditions() *[]metav1.Condition
	SetObservedGeneration(int64)
}

// Pass is one reconcile of one object. V is what earlier steps hand to later ones. Steps read the object's
// conditions and may set its status fields; the engine writes both.
type Pass[T Object, V any] struct {
	Object   T              // members of a group get their own copy
	Children target.Cluster // the cluster that this object's children live on
	Values   V
}

// Step is one row of a table.
type Step[T Object, V any] struct {
	Name      string // label of the step's metrics
	Condition string // the one condition that the step may report
	Run       func(context.Context, *Pass[T, V]) Outcome

	members []Step[T, V] // of a group, which has none of the above
}

// Parallel is a row whose members run at the same time, to the end, each on its own copy of the object. A member's
// status fields and values are lost; its outcome counts.
func Parallel[T Object, V any](members ...Step[T, V]) Step[T, V] {
	return Step[T, V]{members: append([]Step[T, V]{}, members...)}
}

// Observer measures steps.
type Observer interface {
	// Step is asked once for each row; what it returns is called after every run of that row.
	Step(name, condition string) func(took time.Duration, err error)
}
