// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/c5c3/cobaltcore/common/apply"
)

// path leads to a field as the API server's books name it: f:field, k:{keys of a list entry} or v:value of a set.
type path []string

func (p path) String() string { return strings.Join(p, " ") }

// ownedFields are the leaves, and the entries of lists, that the operator has applied.
func ownedFields(o *unstructured.Unstructured) []path {
	var paths []path
	for _, entry := range o.GetManagedFields() {
		if entry.Manager != string(apply.FieldManager) || entry.Subresource != "" {
			continue
		}
		var fields map[string]any
		Expect(json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields)).To(Succeed())
		paths = append(paths, leaves(fields, nil)...)
	}
	return paths
}

func leaves(fields map[string]any, above path) []path {
	var paths []path
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name == "." {
			continue
		}
		here := append(slices.Clone(above), name)
		below := leaves(fields[name].(map[string]any), here)
		if len(below) == 0 || strings.HasPrefix(name, "k:") {
			paths = append(paths, here)
		}
		paths = append(paths, below...)
	}
	return paths
}

// valueAt is what stands at a path, nil if nothing does.
func valueAt(content any, p path) any {
	var found any
	alter(content, p, func(v any) (any, bool) {
		found = v
		return v, true
	})
	return runtime.DeepCopyJSONValue(found)
}

// alter replaces what stands at a path, or removes it if keep is false.
func alter(content any, p path, change func(any) (changed any, keep bool)) (any, bool) {
	if len(p) == 0 {
		return change(content)
	}
	if name, ok := strings.CutPrefix(p[0], "f:"); ok {
		fields, _ := content.(map[string]any)
		if below, ok := fields[name]; ok {
			if changed, keep := alter(below, p[1:], change); keep {
				fields[name] = changed
			} else {
				delete(fields, name)
			}
		}
		return content, true
	}
	list, _ := content.([]any)
	for i, entry := range list {
		if !names(p[0], entry) {
			continue
		}
		if changed, keep := alter(entry, p[1:], change); keep {
			list[i] = changed
		} else {
			return slices.Delete(list, i, i+1), true
		}
	}
	return list, true
}

// names says whether an element of a path means this entry of a list.
func names(element string, entry any) bool {
	kind, text, _ := strings.Cut(element, ":")
	var want any
	Expect(json.Unmarshal([]byte(text), &want)).To(Succeed())
	if kind == "v" {
		return equality.Semantic.DeepEqual(plain(entry), want)
	}
	fields, _ := entry.(map[string]any)
	for key, value := range want.(map[string]any) {
		if got, ok := fields[key]; ok && !equality.Semantic.DeepEqual(plain(got), value) {
			return false
		}
	}
	return true
}

// plain is a value as encoding/json would read it.
func plain(v any) any {
	if n, ok := v.(int64); ok {
		return float64(n)
	}
	return v
}

// others are values that somebody might put in place of v.
func others(v any) []any {
	switch v := v.(type) {
	case string:
		return []any{v + "x", "other", "1", "7Mi"}
	case bool:
		return []any{!v}
	case int64:
		return []any{v + 1, v - 1}
	case []any:
		return []any{[]any{}, append(slices.Clone(v), "other")}
	case map[string]any:
		more := maps.Clone(v)
		more["other"] = "yes"
		return []any{more}
	}
	return nil
}
