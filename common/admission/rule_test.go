// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	webhook "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/c5c3/cobaltcore/common/admission"
)

type configMap = *corev1.ConfigMap

func data(c configMap) map[string]string { return c.Data }

func notBad(at *field.Path, data map[string]string) field.ErrorList {
	if data["key"] == "bad" {
		return field.ErrorList{field.Invalid(at, data["key"], "must be good")}
	}
	return nil
}

func shrunk(before, after map[string]string) admission.Findings {
	return admission.Findings{Warnings: []string{fmt.Sprintf("%d to %d", len(before), len(after))}}
}

func object(value string, change ...func(configMap)) configMap {
	c := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: "settings"},
		Data:       map[string]string{"key": value},
	}
	for _, f := range change {
		f(c)
	}
	return c
}

func labelled(c configMap)    { c.Labels = map[string]string{"a": "b"} }
func terminating(c configMap) { c.DeletionTimestamp = new(metav1.Now()) }

func TestValidator(t *testing.T) {
	t.Parallel()
	validator := admission.Validator[configMap]{
		admission.On(field.NewPath("data"), data, notBad),
		admission.OnUpdate(data, shrunk),
	}
	for _, test := range []struct {
		name        string
		before, now configMap
		refused     bool
		warnings    int
	}{
		{name: "created good", now: object("good")},
		{name: "created bad", now: object("bad"), refused: true},
		{name: "became bad", before: object("good"), now: object("bad"), refused: true, warnings: 1},
		{name: "stays bad, label changed", before: object("bad"), now: object("bad", labelled)},
		{name: "becomes bad while terminating", before: object("good"), now: object("bad", terminating)},
		{name: "becomes good", before: object("bad"), now: object("good"), warnings: 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var (
				warnings webhook.Warnings
				err      error
			)
			if test.before == nil {
				warnings, err = validator.ValidateCreate(t.Context(), test.now)
			} else {
				warnings, err = validator.ValidateUpdate(t.Context(), test.before, test.now)
			}
			if apierrors.IsInvalid(err) != test.refused || (err != nil && !test.refused) {
				t.Errorf("refused: want %v, got %v", test.refused, err)
			}
			if len(warnings) != test.warnings {
				t.Errorf("want %d warnings, got %q", test.warnings, warnings)
			}
		})
	}
}

func TestDeletionIsNeverJudged(t *testing.T) {
	t.Parallel()
	validator := admission.Validator[configMap]{admission.On(field.NewPath("data"), data, notBad)}
	if warnings, err := validator.ValidateDelete(t.Context(), object("bad")); err != nil || warnings != nil {
		t.Errorf("got %v, %v", warnings, err)
	}
}

func TestRefusalHasEveryViolation(t *testing.T) {
	t.Parallel()
	var validator admission.Validator[configMap]
	for i := range 3 {
		validator = append(validator, admission.On(field.NewPath("data").Index(i), data, notBad))
	}
	_, err := validator.ValidateCreate(t.Context(), object("bad"))
	var status apierrors.APIStatus
	if !errors.As(err, &status) || len(status.Status().Details.Causes) != 3 || status.Status().Details.Kind != "ConfigMap" {
		t.Fatalf("want three causes about a ConfigMap, got %v", err)
	}
}

func TestRefusalStaysReadable(t *testing.T) {
	t.Parallel()
	validator := admission.Validator[configMap]{
		admission.On(field.NewPath("data"), data, func(at *field.Path, _ map[string]string) field.ErrorList {
			violations := make(field.ErrorList, 5000)
			for i := range violations {
				violations[i] = field.Invalid(at.Index(i), i, "is wrong")
			}
			return violations
		}),
	}
	_, err := validator.ValidateCreate(t.Context(), object("bad"))
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "4900 more violations are left out") || len(err.Error()) > 10_000 {
		t.Fatalf("want a hundred violations and a count, got %.500v", err)
	}
}

func TestDefaulter(t *testing.T) {
	t.Parallel()
	defaulter := admission.Defaulter[configMap]{
		func(c configMap) { c.Data["first"] = "1" },
		func(c configMap) { c.Data["second"] = c.Data["first"] + "2" },
	}
	for _, test := range []struct {
		name      string
		operation admissionv1.Operation
		old, new  string
		object    configMap
		filled    bool
	}{
		{name: "created", operation: admissionv1.Create, new: `{"spec":{}}`, object: object("x"), filled: true},
		{name: "spec changed", operation: admissionv1.Update, old: `{"spec":{"a":9007199254740992}}`, new: `{"spec":{"a":9007199254740993}}`, object: object("x"), filled: true},
		{name: "metadata changed", operation: admissionv1.Update, old: `{"metadata":{},"spec":{"a":1,"b":2}}`, new: `{"metadata":{"labels":{}},"spec":{"b":2,"a":1}}`, object: object("x")},
		{name: "terminating", operation: admissionv1.Update, old: `{"spec":{}}`, new: `{"spec":{"a":1}}`, object: object("x", terminating)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ctx := webhook.NewContextWithRequest(context.Background(), webhook.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Operation: test.operation,
				Object:    runtime.RawExtension{Raw: []byte(test.new)},
				OldObject: runtime.RawExtension{Raw: []byte(test.old)},
			}})
			if err := defaulter.Default(ctx, test.object); err != nil {
				t.Fatal(err)
			}
			if filled := test.object.Data["second"] == "12"; filled != test.filled {
				t.Errorf("filled: want %v, got %v", test.filled, test.object.Data)
			}
		})
	}
}
