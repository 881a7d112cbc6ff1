// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"hash/maphash"
	"reflect"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/secrets"
)

// sharedTexts and sharedValues are how many different values are looked for again; both are powers of two. What occurs in
// every object stays among them, because it comes back sooner than others need its place.
const (
	sharedTexts  = 1 << 12
	sharedValues = 1 << 11
)

// sharer makes cached objects use the same memory for what they have in common: every object is decoded with a copy of
// its own of the same labels, probes and messages. Nobody may change what is in a cache, so nobody sees the difference.
// It is safe for concurrent use.
type sharer struct {
	seed   maphash.Seed
	mu     sync.Mutex
	texts  [sharedTexts]string
	values [sharedValues]reflect.Value
}

func newSharer() *sharer { return &sharer{seed: maphash.MakeSeed()} }

// share replaces the parts of an object that were seen before by those that were seen.
func (s *sharer) share(obj client.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if secret, ok := obj.(*corev1.Secret); ok && secret.Labels[secrets.LabelBase] == "" {
		s.visit(reflect.ValueOf(&secret.ObjectMeta).Elem()) // what is shared is remembered, and must not be a password
		return
	}
	s.visit(reflect.ValueOf(obj).Elem())
}

// visit shares what is in v, as far as v can be set, and returns a hash of it. Of unexported fields only what they hold
// themselves counts: behind them may be anything.
func (s *sharer) visit(v reflect.Value) uint64 {
	switch v.Kind() {
	case reflect.String:
		return s.text(v)
	case reflect.Struct:
		return s.structure(v)
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if v.IsNil() || !v.CanInterface() {
			return 0
		}
		return s.reference(v)
	case reflect.Bool:
		if v.Bool() {
			return 1
		}
		return 0
	default:
		switch {
		case v.CanInt():
			return uint64(v.Int())
		case v.CanUint():
			return v.Uint()
		}
		return 0
	}
}

func (s *sharer) text(v reflect.Value) uint64 {
	if v.Len() == 0 {
		return 0
	}
	hash := maphash.String(s.seed, v.String())
	if v.CanSet() {
		known := &s.texts[hash%sharedTexts]
		if *known != v.String() {
			*known = v.String()
		}
		v.SetString(*known)
	}
	return hash
}

func (s *sharer) structure(v reflect.Value) (hash uint64) {
	fields := v.NumField() // v.Fields would allocate for each
	for i := range fields {
		hash = mix(hash, s.visit(v.Field(i)))
	}
	return hash
}

// reference is a pointer, a slice or a map: a value with memory of its own.
func (s *sharer) reference(v reflect.Value) (hash uint64) {
	switch v.Kind() {
	case reflect.Pointer:
		hash = s.visit(v.Elem())
	case reflect.Slice:
		hash = s.list(v)
	default:
		for entries := v.MapRange(); entries.Next(); {
			hash += mix(s.visit(entries.Key()), s.visit(entries.Value()))
		}
	}
	if !v.CanSet() {
		return hash
	}
	known := &s.values[mix(hash, uint64(v.Kind()))%sharedValues]
	if known.IsValid() && known.Type() == v.Type() && reflect.DeepEqual(known.Interface(), v.Interface()) {
		v.Set(*known)
		return hash
	}
	if v.Kind() == reflect.Map {
		v.Set(s.rebuilt(v))
	}
	*known = reflect.ValueOf(v.Interface()) // a copy: v is a part of its object and would keep the whole of it
	return hash
}

// list also takes back the room that a list was given to grow.
func (s *sharer) list(v reflect.Value) (hash uint64) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return maphash.Bytes(s.seed, v.Bytes())
	}
	if v.CanSet() && v.Cap() > v.Len() {
		exact := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(exact, v)
		v.Set(exact)
	}
	for i := range v.Len() {
		hash = mix(hash, s.visit(v.Index(i)))
	}
	return hash
}

// rebuilt is a map with shared keys and values, which cannot be set in place.
func (s *sharer) rebuilt(v reflect.Value) reflect.Value {
	compact := reflect.MakeMapWithSize(v.Type(), v.Len())
	for entries := v.MapRange(); entries.Next(); {
		compact.SetMapIndex(s.copied(entries.Key()), s.copied(entries.Value()))
	}
	return compact
}

func (s *sharer) copied(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	s.visit(c)
	return c
}

// mix is the hash of two values in that order.
func mix(a, b uint64) uint64 {
	const prime = 0x9e3779b97f4a7c15
	h := (a ^ b*prime) * prime
	return h ^ h>>29
}
