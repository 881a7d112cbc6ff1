// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/c5c3/cobaltcore/common/api"
)

func all() []client.Object {
	name := metav1.ObjectMeta{Namespace: "ns", Name: "svc", Finalizers: []string{"k8s.mariadb.com/finalizer"}}
	return []client.Object{
		ownedBy(service(), &Database{ObjectMeta: *name.DeepCopy(), Spec: SchemaSpec{CleanupPolicy: CleanupSkip}}),
		ownedBy(service(), &User{ObjectMeta: *name.DeepCopy()}),
		ownedBy(service(), &Grant{ObjectMeta: *name.DeepCopy()}),
	}
}

func TestFinalizeDeletesHoldsOnePassAndLetsGo(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]api.DatabaseSpec{"static": managed(), "dynamic": dynamic(), "brownfield by now": brownfield()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := world(t, interceptor.Funcs{}, all()...)
			got := Finalize(t.Context(), c, service(), Schema{Spec: spec})
			if got.Done() || got.ComesBack() != Retry {
				t.Errorf("the first pass says %q", got.Message())
			}
			for _, obj := range []client.Object{&Database{}, &User{}, &Grant{}} {
				if !exists(t, c, obj) || obj.GetDeletionTimestamp().IsZero() {
					t.Errorf("%T is not being deleted", obj)
				}
			}
			// They still exist, since mariadb-operator holds them: that must not hold the service.
			if got := Finalize(t.Context(), c, service(), Schema{Spec: spec}); !got.Done() {
				t.Errorf("the second pass says %q", got.Message())
			}
		})
	}
}

func TestFinalizeSettlesTheFateOfTheSchemaFirst(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spec       api.DatabaseSpec
		live, want CleanupPolicy
	}{
		"retained":                         {managed(), CleanupSkip, CleanupSkip},
		"retained right before":            {managed(), CleanupDelete, CleanupSkip},
		"retained, written by someone old": {managed(), "", CleanupSkip},
		"dropped":                          {dropped(), CleanupDelete, CleanupDelete},
		"dropped by a late wish":           {dropped(), CleanupSkip, CleanupDelete},
		"brownfield by now":                {brownfield(), CleanupDelete, CleanupSkip},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := all()
			objects[0].(*Database).Spec.CleanupPolicy = tt.live
			var atDeletion CleanupPolicy
			hooks := interceptor.Funcs{Delete: func(ctx context.Context, next client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
				if _, ok := obj.(*Database); ok {
					live := &Database{}
					if err := next.Get(ctx, client.ObjectKeyFromObject(obj), live); err != nil {
						return err
					}
					atDeletion = live.Spec.CleanupPolicy
				}
				return next.Delete(ctx, obj, opts...)
			}}
			Finalize(t.Context(), world(t, hooks, objects...), service(), Schema{Spec: tt.spec})
			if atDeletion != tt.want {
				t.Errorf("deleted with clean-up policy %q, want %q", atDeletion, tt.want)
			}
		})
	}
}

func TestFinalizeDoesNotDropWhatItCannotRetain(t *testing.T) {
	t.Parallel()
	objects := all()
	objects[0].(*Database).Spec.CleanupPolicy = CleanupDelete
	c := world(t, interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
		return errors.New("refused")
	}}, objects...)
	if got := Finalize(t.Context(), c, service(), Schema{Spec: managed()}); got.Err() == nil {
		t.Errorf("outcome = %+v", got)
	}
	database := &Database{}
	if !exists(t, c, database) || !database.DeletionTimestamp.IsZero() {
		t.Error("the Database is being deleted")
	}
}

func TestFinalizeLeavesForeignObjectsAlone(t *testing.T) {
	t.Parallel()
	theirs := &Database{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "svc"}, Spec: SchemaSpec{CleanupPolicy: CleanupDelete}}
	c := world(t, interceptor.Funcs{}, ownedBy(stranger(), theirs))
	if got := Finalize(t.Context(), c, service(), Schema{Spec: managed()}); !got.Done() {
		t.Errorf("outcome = %+v", got)
	}
	if live := (&Database{}); !exists(t, c, live) || live.Spec.CleanupPolicy != CleanupDelete {
		t.Errorf("the foreign Database is %+v", live)
	}
}

func TestFinalizeWithoutMariaDBOperator(t *testing.T) {
	t.Parallel()
	c := world(t, interceptor.Funcs{})
	failing := func(err error) client.Reader {
		return interceptor.NewClient(c.Client.(client.WithWatch), interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return err
		}})
	}
	c.Reader = failing(&meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Database"}})
	if got := Finalize(t.Context(), c, service(), Schema{Spec: brownfield()}); !got.Done() {
		t.Errorf("outcome = %+v", got)
	}
	c.Reader = failing(errors.New("connection refused"))
	if got := Finalize(t.Context(), c, service(), Schema{Spec: brownfield()}); got.Err() == nil {
		t.Errorf("outcome = %+v", got)
	}
}
