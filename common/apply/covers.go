// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var objectMetaType = reflect.TypeFor[metav1.ObjectMeta]()

// covers says whether live already holds everything that desired says. What desired leaves unset is no opinion. It errs
// towards no: lists and maps must match in length, since only the API server knows which of them may grow; a no costs
// one apply that changes nothing, a wrong yes would leave drift standing.
func covers(live, desired any) bool {
	return coversValue(reflect.ValueOf(live), reflect.ValueOf(desired))
}

func coversValue(live, desired reflect.Value) bool {
	switch desired.Kind() {
	case reflect.Pointer, reflect.Interface:
		if desired.IsNil() || live.IsNil() {
			return desired.IsNil()
		}
		if desired.Elem().Kind() != reflect.Struct && desired.Elem().Kind() != reflect.Interface {
			return reflect.DeepEqual(live.Interface(), desired.Interface())
		}
		return coversValue(live.Elem(), desired.Elem())
	case reflect.Struct:
		return coversStruct(live, desired)
	case reflect.Slice, reflect.Array:
		return coversList(live, desired)
	case reflect.Map:
		return live.Len() == desired.Len() && coversKeys(live, desired)
	default:
		return desired.IsZero() || live.Equal(desired)
	}
}

func coversStruct(live, desired reflect.Value) bool {
	switch desired.Type() {
	case quantityType:
		l, d := quantityOf(live), quantityOf(desired)
		return l.Cmp(d) == 0
	case timeType:
		return true
	case objectMetaType:
		// Labels and annotations are shared ground: others may add theirs.
		return coversKeys(live.FieldByName("Labels"), desired.FieldByName("Labels")) &&
			coversKeys(live.FieldByName("Annotations"), desired.FieldByName("Annotations"))
	}
	for _, f := range fieldsOf(desired.Type()) {
		if d := desired.Field(f.index); f.name != "Status" && !d.IsZero() && !coversValue(live.Field(f.index), d) {
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
		if !coversEntry(live.Index(i), desired.Index(i)) {
			return false
		}
	}
	return true
}

func coversKeys(live, desired reflect.Value) bool {
	for keys := desired.MapRange(); keys.Next(); {
		l := live.MapIndex(keys.Key())
		if !l.IsValid() || !coversEntry(l, keys.Value()) {
			return false
		}
	}
	return true
}

// coversEntry compares an entry of a list or map. A plain value is an opinion there even when it is zero.
func coversEntry(live, desired reflect.Value) bool {
	switch desired.Kind() {
	case reflect.Struct, reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		return coversValue(live, desired)
	default:
		return live.Equal(desired)
	}
}
