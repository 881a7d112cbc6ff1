// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"iter"
	"math"
	"reflect"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Digest is a short, stable hash of what a value says: fields that are unset or empty do not count, map order does not
// matter, and equal quantities hash alike however they are written. It is not a secret-keeping hash.
func Digest(value any) string { return digestOf(value).String() }

// sum is a Digest before it is spelt out.
type sum [8]byte

func (s sum) String() string { return hex.EncodeToString(s[:]) }

func digestOf(value any) sum { return sumOf(reflect.ValueOf(value), appendValue) }

// contentSum is that of an object without its metadata and status: a change of it was an edit.
func contentSum(obj client.Object) sum {
	return sumOf(reflect.ValueOf(obj).Elem(), func(b []byte, v reflect.Value) []byte {
		for f := range contents(v.Type()) {
			b = appendField(b, f, v)
		}
		return b
	})
}

func sumOf(v reflect.Value, write func([]byte, reflect.Value) []byte) sum {
	scratch := buffers.Get().(*[]byte)
	defer buffers.Put(scratch)
	*scratch = write((*scratch)[:0], v)
	whole := sha256.Sum256(*scratch)
	return sum(whole[:8])
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

var (
	quantityType = reflect.TypeFor[resource.Quantity]()
	timeType     = reflect.TypeFor[metav1.Time]()
)

// appendValue writes v in a self-delimiting form.
func appendValue(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Invalid: // an untyped nil
		return append(b, 'n')
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return append(b, 'n')
		}
		return appendValue(append(b, 'p'), v.Elem())
	case reflect.Struct:
		return appendStruct(b, v)
	case reflect.Map:
		return appendMap(b, v)
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
			return appendString(b, string(v.Bytes()))
		}
		b = binary.AppendUvarint(append(b, 'l'), uint64(v.Len()))
		for i := range v.Len() {
			b = appendValue(b, v.Index(i))
		}
		return b
	case reflect.String:
		return appendString(b, v.String())
	case reflect.Bool:
		if v.Bool() {
			return append(b, 't')
		}
		return append(b, 'f')
	case reflect.Float32, reflect.Float64:
		return binary.AppendUvarint(append(b, 'd'), math.Float64bits(v.Float()))
	default:
		if v.CanInt() {
			return binary.AppendVarint(append(b, 'i'), v.Int())
		}
		return binary.AppendUvarint(append(b, 'u'), v.Uint())
	}
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(append(b, 's'), uint64(len(s))), s...)
}

func appendStruct(b []byte, v reflect.Value) []byte {
	switch v.Type() {
	case quantityType:
		return appendQuantity(b, quantityOf(v))
	case timeType:
		return append(b, 'T') // only the API server writes times into the objects that are applied
	}
	b = append(b, '{')
	for _, f := range fieldsOf(v.Type()) {
		b = appendField(b, f, v)
	}
	return append(b, '}')
}

func appendField(b []byte, f structField, v reflect.Value) []byte {
	field := v.Field(f.index)
	if unset(field) {
		return b
	}
	return appendValue(appendString(b, f.name), field)
}

// unset says whether a field holds nothing that would be sent. A pointer to zero is sent.
func unset(field reflect.Value) bool {
	switch field.Kind() {
	case reflect.Slice, reflect.Map:
		return field.Len() == 0
	default:
		return field.IsZero()
	}
}

func quantityOf(v reflect.Value) resource.Quantity {
	if v.CanAddr() {
		return *v.Addr().Interface().(*resource.Quantity)
	}
	return v.Interface().(resource.Quantity)
}

func appendQuantity(b []byte, q resource.Quantity) []byte {
	var scratch [32]byte
	number, suffix := q.CanonicalizeBytes(scratch[:0])
	return append(append(append(b, 'q'), number...), suffix...)
}

// appendMap spells out the two map types that every object carries, so that they cost no reflection.
func appendMap(b []byte, v reflect.Value) []byte {
	b = binary.AppendUvarint(append(b, 'm'), uint64(v.Len()))
	switch m := v.Interface().(type) {
	case map[string]string:
		var keys [16]string
		for _, k := range sortedKeys(m, keys[:0]) {
			b = appendString(appendString(b, k), m[k])
		}
	case corev1.ResourceList:
		var keys [16]corev1.ResourceName
		for _, k := range sortedKeys(m, keys[:0]) {
			b = appendQuantity(appendString(b, string(k)), m[k])
		}
	default:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(x, y reflect.Value) int {
			if x.String() < y.String() {
				return -1
			}
			return 1
		})
		for _, k := range keys {
			b = appendValue(appendValue(b, k), v.MapIndex(k))
		}
	}
	return b
}

// sortedKeys appends to keys, for which there is mostly room on the caller's stack.
func sortedKeys[K ~string, V any](m map[K]V, keys []K) []K {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

type structField struct {
	name  string
	index int
}

var structFields sync.Map // reflect.Type -> []structField

// fieldsOf remembers the fields of a type that say something: reflect allocates for each look.
func fieldsOf(t reflect.Type) []structField {
	if known, ok := structFields.Load(t); ok {
		return known.([]structField)
	}
	var fields []structField
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && f.Name != "TypeMeta" {
			fields = append(fields, structField{name: f.Name, index: i})
		}
	}
	structFields.Store(t, fields)
	return fields
}

// contents are the fields of an object's type beside metadata and status.
func contents(t reflect.Type) iter.Seq[structField] {
	return func(yield func(structField) bool) {
		for _, f := range fieldsOf(t) {
			if f.name != "ObjectMeta" && f.name != "Status" && !yield(f) {
				return
			}
		}
	}
}
