// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// edit changes one thing that desired says in an object of the same type.
type edit struct {
	path  string
	apply func(live client.Object)
}

// edits are all single changes of what desired says beside its metadata: each value replaced (by each candidate, since the API
// server knows enumerations that reflection does not), each list and map shortened, each pointer dropped.
func edits(desired client.Object) []edit {
	var found []edit
	for f := range contents(reflect.TypeOf(desired).Elem()) {
		walk(reflect.ValueOf(desired).Elem().Field(f.index), f.name, func(root reflect.Value) reflect.Value {
			return root.Field(f.index)
		}, func(path string, locate func(reflect.Value) reflect.Value, change func(reflect.Value)) {
			found = append(found, edit{path, func(live client.Object) { change(locate(reflect.ValueOf(live).Elem())) }})
		})
	}
	return found
}

type found func(path string, locate func(reflect.Value) reflect.Value, change func(reflect.Value))

func walk(v reflect.Value, path string, locate func(reflect.Value) reflect.Value, report found) {
	if unset(v) {
		return
	}
	zero := func(at reflect.Value) { at.SetZero() }
	switch v.Interface().(type) {
	case resource.Quantity:
		report(path, locate, func(at reflect.Value) { at.Set(reflect.ValueOf(resource.MustParse("77m"))) })
		return
	case intstr.IntOrString:
		report(path, locate, func(at reflect.Value) { at.Set(reflect.ValueOf(intstr.FromInt32(7))) })
		report(path, locate, func(at reflect.Value) { at.Set(reflect.ValueOf(intstr.FromString("7%"))) })
		return
	case metav1.Time:
		return
	case []byte:
		report(path, locate, func(at reflect.Value) { at.SetBytes([]byte("drift")) })
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		report(path+" dropped", locate, zero)
		walk(v.Elem(), path, func(root reflect.Value) reflect.Value { return locate(root).Elem() }, report)
	case reflect.Struct:
		for _, f := range fieldsOf(v.Type()) {
			walk(v.Field(f.index), path+"."+f.name, func(root reflect.Value) reflect.Value { return locate(root).Field(f.index) }, report)
		}
	case reflect.Slice:
		report(path+" shortened", locate, func(at reflect.Value) { at.SetLen(at.Len() - 1) })
		for i := range v.Len() {
			walk(v.Index(i), fmt.Sprintf("%s[%d]", path, i), func(root reflect.Value) reflect.Value { return locate(root).Index(i) }, report)
		}
	case reflect.Map:
		walkMap(v, path, locate, report)
	default:
		for _, other := range others(v) {
			report(fmt.Sprintf("%s=%v", path, other), locate, func(at reflect.Value) { at.Set(other) })
		}
	}
}

func walkMap(v reflect.Value, path string, locate func(reflect.Value) reflect.Value, report found) {
	for _, k := range v.MapKeys() {
		entry := fmt.Sprintf("%s[%v]", path, k)
		report(entry+" dropped", locate, func(at reflect.Value) { at.SetMapIndex(k, reflect.Value{}) })
		value := reflect.ValueOf("drift")
		switch v.Type().Elem() {
		case quantityType:
			value = reflect.ValueOf(resource.MustParse("77m"))
		case reflect.TypeFor[[]byte]():
			value = reflect.ValueOf([]byte("drift"))
		}
		report(entry, locate, func(at reflect.Value) { at.SetMapIndex(k, value) })
	}
}

// others are values that a plain one may be edited to.
func others(v reflect.Value) []reflect.Value {
	switch {
	case v.Kind() == reflect.Bool:
		return []reflect.Value{reflect.ValueOf(!v.Bool()).Convert(v.Type())}
	case v.CanInt():
		return []reflect.Value{reflect.ValueOf(v.Int() + 1).Convert(v.Type())}
	}
	texts := []string{v.String() + "x"}
	switch v.Interface().(type) {
	case corev1.Protocol:
		texts = []string{"UDP"}
	case corev1.PullPolicy:
		texts = []string{"Always"}
	}
	switch v.String() {
	case "Forbid":
		texts = []string{"Replace"}
	case "Skip":
		texts = []string{"Delete"}
	case "PathPrefix":
		texts = []string{"Exact"}
	case "RuntimeDefault":
		texts = []string{"Unconfined"}
	case "ScheduleAnyway":
		texts = []string{"DoNotSchedule"}
	case "NoSchedule":
		texts = []string{"NoExecute"}
	case "1 0 * * *":
		texts = []string{"2 0 * * *"}
	case "10.0.0.0/8":
		texts = []string{"10.0.0.0/9"}
	case "10.1.0.0/16":
		texts = []string{"10.2.0.0/16"}
	case "spec.nodeName":
		texts = []string{"status.podIP"}
	case "Ingress":
		texts = []string{"Egress"}
	case "ClusterIP":
		texts = []string{"NodePort"}
	}
	values := make([]reflect.Value, 0, len(texts))
	for _, text := range texts {
		values = append(values, reflect.ValueOf(text).Convert(v.Type()))
	}
	return values
}
