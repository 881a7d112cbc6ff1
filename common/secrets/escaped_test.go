// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/apply"
)

func TestEscaped(t *testing.T) {
	t.Parallel()
	c := world(t, interceptor.Funcs{})
	e, given := Escaped{Name: "svc-authtoken"}, api.SecretRef{Name: "user", Key: "pass"}
	copied := func() (string, error) {
		var s corev1.Secret
		err := c.Reader.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "svc-authtoken"}, &s)
		return string(s.Data["password"]), err
	}
	if source, err := e.Source(t.Context(), c, service(), given, []byte("plain")); err != nil || source != given {
		t.Errorf("a plain password comes from %v, %v", source, err)
	}
	if _, err := copied(); !apierrors.IsNotFound(err) {
		t.Errorf("it is copied for nothing: %v", err)
	}
	source, err := e.Source(t.Context(), c, service(), given, []byte("pa$word"))
	if err != nil || source != (api.SecretRef{Name: "svc-authtoken", Key: "password"}) {
		t.Errorf("a password with a dollar comes from %v, %v", source, err)
	}
	if got, err := copied(); err != nil || got != "pa$$word" {
		t.Errorf("the copy holds %q, %v", got, err)
	}
	if err := e.Drop(t.Context(), c, service(), source); err != nil {
		t.Error(err)
	}
	if _, err := copied(); err != nil {
		t.Errorf("the copy is dropped while it is used: %v", err)
	}
	if err := e.Drop(t.Context(), c, service(), given); err != nil {
		t.Error(err)
	}
	if _, err := copied(); !apierrors.IsNotFound(err) {
		t.Errorf("the copy stays: %v", err)
	}
}

func TestEscapedLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	c := world(t, interceptor.Funcs{}, ownedBy(stranger(), secret("svc-authtoken", map[string][]byte{"password": []byte("theirs")})))
	e := Escaped{Name: "svc-authtoken"}
	if _, err := e.Source(t.Context(), c, service(), api.SecretRef{Name: "user"}, []byte("$")); !apply.IsForeign(err) {
		t.Errorf("Source: %v", err)
	}
	if err := e.Drop(t.Context(), c, service(), api.SecretRef{Name: "user"}); err != nil {
		t.Error(err)
	}
	var s corev1.Secret
	if err := c.Reader.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "svc-authtoken"}, &s); err != nil || string(s.Data["password"]) != "theirs" {
		t.Errorf("it holds %q, %v", s.Data["password"], err)
	}
}
