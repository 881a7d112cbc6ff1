// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// words are what a controller usually says in its condition.
type words struct{ reason, message, failedReason, failedMessage string }

var (
	mariaDBWords        = words{"StatefulSetReady", "Running", "StatefulSetNotReady", "Not ready"}
	sqlWords            = words{"Created", "Created", "Failed", "Error creating the resource in MariaDB"}
	externalSecretWords = words{"SecretSynced", "secret synced", "SecretSyncedError", "could not get secret data from provider"}
	secretStoreWords    = words{"Valid", "store validated", "InvalidProviderConfig", "unable to create client"}
	openBaoWords        = words{"Available", "all replicas are ready and unsealed", "Sealed", "no unsealed replica"}
)

// become is the script of the kinds that do nothing but report one condition.
func become(conditionType string, w words) script {
	return func(object client.Object, o Outcome, due bool) {
		if !due || o.verdict == hang {
			return
		}
		c := metav1.Condition{Type: conditionType, Status: metav1.ConditionTrue, Reason: w.reason, Message: w.message}
		if o.verdict != succeed {
			c.Status = metav1.ConditionFalse
			c.Reason, c.Message = o.or(w.failedReason, w.failedMessage)
		}
		u := object.(*unstructured.Unstructured)
		all, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		_ = unstructured.SetNestedSlice(u.Object, withCondition(all, c), "status", "conditions")
	}
}

// withCondition is a list with the condition. These kinds leave observedGeneration out.
func withCondition(list []any, c metav1.Condition) []any {
	var holder struct {
		Conditions []metav1.Condition `json:"conditions"`
	}
	content := map[string]any{"conditions": list}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &holder); err != nil {
		holder.Conditions = nil // unreadable conditions are replaced
	}
	if !meta.SetStatusCondition(&holder.Conditions, c) {
		return list
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&holder)
	if err != nil {
		panic(err) // conditions always convert
	}
	return content["conditions"].([]any)
}

const (
	routeController = "kubetest.invalid/gateway-controller"
	otherParent     = "another-gateway"
)

// playRoute is the script of a Gateway controller: it answers once for each parent that the route names.
func playRoute(object client.Object, o Outcome, due bool) {
	if !due || o.verdict == hang {
		return
	}
	u := object.(*unstructured.Unstructured)
	refs, _, _ := unstructured.NestedSlice(u.Object, "spec", "parentRefs")
	if o.verdict == acceptElsewhere {
		refs = []any{map[string]any{"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": otherParent}}
	}
	old, _, _ := unstructured.NestedSlice(u.Object, "status", "parents")
	parents := make([]any, len(refs))
	for i, ref := range refs {
		parent := map[string]any{"parentRef": ref, "controllerName": routeController}
		if i < len(old) {
			parent["conditions"], _, _ = unstructured.NestedSlice(old[i].(map[string]any), "conditions")
		}
		parents[i] = answer(parent, o, u.GetGeneration())
	}
	_ = unstructured.SetNestedSlice(u.Object, parents, "status", "parents")
}

func answer(parent map[string]any, o Outcome, generation int64) map[string]any {
	accepted := metav1.Condition{Type: "Accepted", Status: metav1.ConditionTrue, Reason: "Accepted", Message: "Route is accepted"}
	resolved := metav1.Condition{Type: "ResolvedRefs", Status: metav1.ConditionTrue, Reason: "ResolvedRefs", Message: "All references are resolved"}
	switch o.verdict {
	case fail, exceedDeadline:
		accepted.Status = metav1.ConditionFalse
		accepted.Reason, accepted.Message = o.or("NoMatchingParent", "No listener matches")
	case leaveRefsUnresolved:
		resolved.Status = metav1.ConditionFalse
		resolved.Reason, resolved.Message = o.or("BackendNotFound", "Service not found")
	}
	list, _ := parent["conditions"].([]any)
	for _, c := range []metav1.Condition{accepted, resolved} {
		c.ObservedGeneration = generation
		list = withCondition(list, c)
	}
	parent["conditions"] = list
	return parent
}

// writeSecret makes the Secret of an ExternalSecret, with a value for each key of spec.data. What is there already is kept, so a test
// can put its own values.
func (s *Simulation) writeSecret(ctx context.Context, object client.Object) error {
	u := object.(*unstructured.Unstructured)
	name, _, _ := unstructured.NestedString(u.Object, "spec", "target", "name")
	if name == "" {
		name = u.GetName()
	}
	key := client.ObjectKey{Namespace: u.GetNamespace(), Name: name}
	err := s.client.Get(ctx, key, &corev1.Secret{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: u.GetNamespace(),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(u, u.GroupVersionKind())},
		},
		StringData: map[string]string{},
	}
	data, _, _ := unstructured.NestedSlice(u.Object, "spec", "data")
	for _, entry := range data {
		secretKey, _, _ := unstructured.NestedString(entry.(map[string]any), "secretKey")
		secret.StringData[secretKey] = fmt.Sprintf("%s-of-%s", secretKey, name)
	}
	err = s.client.Create(ctx, secret)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// now has the resolution of the API, so that a status that was read back equals the one that was written.
func now() metav1.Time { return metav1.NewTime(time.Now().Truncate(time.Second)) }
