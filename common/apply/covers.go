// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var (
	objectMetaType    = reflect.TypeFor[metav1.ObjectMeta]()
	intOrStringType   = reflect.TypeFor[intstr.IntOrString]()
	labelSelectorType = reflect.TypeFor[metav1.LabelSelector]()
)

// covers says whether live already holds everything that desired says beside metadata and status. What desired leaves
// unset is no opinion. It errs towards no: lists and maps must match in length, since only the API server knows which of
// them may grow; a no costs one apply that changes nothing, a wrong yes would leave drift standing.
func covers(live, desired client.Object) bool {
	l, d := reflect.ValueOf(live).Elem(), reflect.ValueOf(desired).Elem()
	for f := range contents(d.Type()) {
		if !coversField(l.Field(f.index), d.Field(f.index), false) {
			return false
		}
	}
	return true
}

// coversMeta is covers for labels and annotations, which are shared ground: others may add theirs.
func coversMeta(live, desired metav1.Object) bool {
	return includes(live.GetLabels(), desired.GetLabels()) && includes(live.GetAnnotations(), desired.GetAnnotations())
}

func includes(all, some map[string]string) bool {
	for k, v := range some {
		if got, ok := all[k]; !ok || got != v {
			return false
		}
	}
	return true
}

// coversField compares a field of a struct. Below a list entry an unset list, map or struct is an opinion too: the lists of
// NetworkPolicies and the like belong to us whole, and what is added there narrows or widens what we said.
func coversField(live, desired reflect.Value, entry bool) bool {
	if !unset(desired) {
		return coversValue(live, desired, entry)
	}
	switch live.Kind() {
	case reflect.Slice, reflect.Map:
		return !entry || live.Len() == 0
	case reflect.Pointer:
		return !entry || live.IsNil() || live.Type().Elem().Kind() != reflect.Struct
	default:
		return live.Type() != labelSelectorType || coversStruct(live, desired, entry)
	}
}

func coversValue(live, desired reflect.Value, entry bool) bool {
	switch desired.Kind() {
	case reflect.Pointer:
		if desired.IsNil() || live.IsNil() {
			return desired.IsNil() == live.IsNil()
		}
		return coversValue(live.Elem(), desired.Elem(), entry)
	case reflect.Struct:
		return coversStruct(live, desired, entry)
	case reflect.Slice, reflect.Array:
		return coversList(live, desired)
	case reflect.Map:
		return coversMap(live, desired, entry)
	case reflect.Interface:
		return reflect.DeepEqual(live.Interface(), desired.Interface())
	default:
		return live.Equal(desired)
	}
}

func coversStruct(live, desired reflect.Value, entry bool) bool {
	switch desired.Type() {
	case quantityType:
		l, d := quantityOf(live), quantityOf(desired)
		return l.Cmp(d) == 0
	case timeType:
		return true
	case objectMetaType:
		// Of a template: labels and annotations are shared ground there, too.
		l, d := live.Interface().(metav1.ObjectMeta), desired.Interface().(metav1.ObjectMeta)
		return coversMeta(&l, &d)
	case intOrStringType:
		return live.Equal(desired)
	case labelSelectorType:
		entry = true // whole: an expression that somebody adds selects something else
	}
	for _, f := range fieldsOf(desired.Type()) {
		if !coversField(live.Field(f.index), desired.Field(f.index), entry) {
			return false
		}
	}
	return true
}

func coversList(live, desired reflect.Value) bool {
	if live.Len() != desired.Len() {
		return false
	}
	if desired.Kind() == reflect.Slice && desired.Type().Elem().Kind() == reflect.Uint8 {
		return bytes.Equal(live.Bytes(), desired.Bytes())
	}
	for i := range desired.Len() {
		if !coversValue(live.Index(i), desired.Index(i), true) {
			return false
		}
	}
	return true
}

func coversMap(live, desired reflect.Value, entry bool) bool {
	if live.Len() != desired.Len() {
		return false
	}
	for keys := desired.MapRange(); keys.Next(); {
		l := live.MapIndex(keys.Key())
		if !l.IsValid() || !coversValue(l, keys.Value(), entry) {
			return false
		}
	}
	return true
}
