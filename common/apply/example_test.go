// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/c5c3/cobaltcore/common/apply"
)

func ExampleWriter_Apply() {
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "keys", Name: "taken"}}
	api := fake.NewClientBuilder().WithObjects(theirs).Build() // reads of a manager's client come from its cache
	writer := apply.NewWriter(api, api)

	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "keys", Name: "owner", UID: "1"}}
	for _, name := range []string{"config", "config", "taken"} {
		desired := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "keys", Name: name}, Data: map[string]string{"size": "3"},
		}
		err := writer.Apply(context.Background(), owner, desired) // the second one sends nothing
		fmt.Println(writer.Controls(owner, desired), err, apply.IsForeign(err))
	}
	// Output:
	// true <nil> false
	// true <nil> false
	// false ConfigMap keys/taken exists and is not controlled by ConfigMap keys/owner: delete or rename one of the two true
}

func ExampleWriter_Delete() {
	api := fake.NewClientBuilder().Build()
	writer := apply.NewWriter(api, api)
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "keys", Name: "owner", UID: "1"}}
	child := func() client.Object {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "keys", Name: "api"}}
	}
	fmt.Println(writer.Apply(context.Background(), owner, child()))
	for range 2 {
		fmt.Println(writer.Delete(context.Background(), owner, child()))
	}
	// Output:
	// <nil>
	// false <nil>
	// true <nil>
}

func ExampleDigest() {
	one := apply.Digest(corev1.ConfigMap{Data: map[string]string{"a": "1", "b": "2"}})
	same := apply.Digest(corev1.ConfigMap{Data: map[string]string{"b": "2", "a": "1"}, Immutable: nil})
	other := apply.Digest(corev1.ConfigMap{Data: map[string]string{"a": "1"}})
	fmt.Println(one == same, one == other)
	// Output: true false
}
