// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/onsi/gomega/types"
	"github.com/samber/lo"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Live reads the object anew each time, for Eventually and Consistently (with WithContext). An object that is gone reads as nil.
func Live[T client.Object](c client.Reader, object T) func(context.Context) (client.Object, error) {
	return func(ctx context.Context) (client.Object, error) {
		live := object.DeepCopyObject().(T)
		err := c.Get(ctx, client.ObjectKeyFromObject(object), live)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return live, err
	}
}

// Restricted are the labels of a namespace that admits only pods of the restricted Pod Security level.
var Restricted = map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}

// NewNamespace makes a namespace, with labels if need be, for one test. It stays until the environment ends: without a namespace
// controller it could not go.
func NewNamespace(t testing.TB, c client.Client, labels ...map[string]string) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-", Labels: lo.Assign(labels...)}}
	if err := c.Create(t.Context(), namespace); err != nil {
		t.Fatalf("creating a namespace: %v", err)
	}
	return namespace.Name
}

// HaveCondition matches an object whose status has the condition. An empty reason stands for any.
func HaveCondition(conditionType string, status metav1.ConditionStatus, reason string) *ConditionMatcher {
	return &ConditionMatcher{want: metav1.Condition{Type: conditionType, Status: status, Reason: reason}}
}

// BeReady matches an object whose condition Ready is True for its current generation.
func BeReady() *ConditionMatcher {
	return &ConditionMatcher{want: metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue}, current: true}
}

// ConditionMatcher matches an object that has StatusConditions, any object whose status.conditions are standard ones, or a list of conditions.
type ConditionMatcher struct {
	want    metav1.Condition
	message string
	current bool
}

var _ types.GomegaMatcher = &ConditionMatcher{}

// Saying also demands that the message contains the text.
func (m *ConditionMatcher) Saying(text string) *ConditionMatcher {
	m.message = text
	return m
}

// Current also demands that the condition was found at the object's current generation.
func (m *ConditionMatcher) Current() *ConditionMatcher {
	m.current = true
	return m
}

// Match implements GomegaMatcher.
func (m *ConditionMatcher) Match(actual any) (bool, error) {
	all, err := conditions(actual)
	if err != nil {
		return false, err
	}
	got := meta.FindStatusCondition(all, m.want.Type)
	if got == nil || got.Status != m.want.Status || m.want.Reason != "" && got.Reason != m.want.Reason {
		return false, nil
	}
	object, ok := actual.(client.Object)
	stale := m.current && ok && got.ObservedGeneration != object.GetGeneration()
	return !stale && strings.Contains(got.Message, m.message), nil
}

// FailureMessage implements GomegaMatcher.
func (m *ConditionMatcher) FailureMessage(actual any) string { return m.explain(actual, "to have") }

// NegatedFailureMessage implements GomegaMatcher.
func (m *ConditionMatcher) NegatedFailureMessage(actual any) string {
	return m.explain(actual, "not to have")
}

func (m *ConditionMatcher) explain(actual any, verb string) string {
	var b strings.Builder
	b.WriteString("Expected")
	object, ok := actual.(client.Object)
	if ok {
		fmt.Fprintf(&b, " %T %s at generation %d", object, client.ObjectKeyFromObject(object), object.GetGeneration())
	}
	fmt.Fprintf(&b, " %s %s=%s/%s", verb, m.want.Type, m.want.Status, m.want.Reason)
	if m.message != "" {
		fmt.Fprintf(&b, " saying %q", m.message)
	}
	all, err := conditions(actual)
	if err != nil {
		fmt.Fprintf(&b, ": %v", err)
	}
	for _, c := range all {
		fmt.Fprintf(&b, "\n  %s=%s/%s (generation %d): %s", c.Type, c.Status, c.Reason, c.ObservedGeneration, c.Message)
	}
	return b.String()
}

func conditions(actual any) ([]metav1.Condition, error) {
	switch a := actual.(type) {
	case nil:
		return nil, nil // an object that does not exist yet
	case []metav1.Condition:
		return a, nil
	case interface {
		StatusConditions() *[]metav1.Condition
	}:
		return *a.StatusConditions(), nil
	case client.Object:
		return readConditions(a)
	default:
		return nil, fmt.Errorf("%T has no conditions", actual)
	}
}

func readConditions(object client.Object) ([]metav1.Condition, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	list, _, err := unstructured.NestedSlice(content, "status", "conditions")
	if err != nil {
		return nil, err
	}
	var holder struct {
		Conditions []metav1.Condition `json:"conditions"`
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"conditions": list}, &holder)
	return holder.Conditions, err
}

// BeGone matches what Live reads for an object that does not exist.
func BeGone() types.GomegaMatcher { return goneMatcher{} }

type goneMatcher struct{}

func (goneMatcher) Match(actual any) (bool, error) { return actual == nil, nil }

func (goneMatcher) FailureMessage(actual any) string {
	object, ok := actual.(client.Object)
	if !ok {
		return fmt.Sprintf("Expected %v to be gone", actual)
	}
	return fmt.Sprintf("Expected %T %s to be gone (deletion %v, finalizers %v)",
		actual, client.ObjectKeyFromObject(object), object.GetDeletionTimestamp(), object.GetFinalizers())
}

func (goneMatcher) NegatedFailureMessage(any) string { return "Expected the object to exist" }
