// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/c5c3/cobaltcore/common/api"
)

func TestClusterGate(t *testing.T) {
	t.Parallel()
	failing := func(err error) interceptor.Funcs {
		return interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return err
		}}
	}
	for _, tt := range []struct {
		name    string
		objects []client.Object
		hooks   interceptor.Funcs
		reason  string
		fails   bool
		says    string
	}{
		{"missing", nil, interceptor.Funcs{}, api.ReasonClusterNotReady, false, `MariaDB "db" does not exist`},
		{"silent", []client.Object{server(Status{})}, interceptor.Funcs{}, api.ReasonClusterNotReady, false, "not Ready"},
		{"not installed", nil, failing(&meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "MariaDB"}}), api.ReasonClusterNotReady, false, "install mariadb-operator"},
		{"kept out of the cache", nil, failing(errors.New("unknown namespace for the cache")), api.ReasonClusterNotReady, true, "unknown namespace"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := world(t, tt.hooks, tt.objects...)
			got := Provision(t.Context(), c, service(), Schema{Spec: managed()})
			expect(t, got, tt.reason, tt.fails)
			if !strings.Contains(got.Message(), tt.says) || got.Done() {
				t.Errorf("message = %q, want it to say %q", got.Message(), tt.says)
			}
			if exists(t, c, &Database{}) {
				t.Error("a Database was created before its server was ready")
			}
		})
	}
}

func TestProvisionCreatesAllInOnePassAndWaits(t *testing.T) {
	t.Parallel()
	c := world(t, interceptor.Funcs{}, server(isReady))
	s := Schema{Spec: managed(), Labels: map[string]string{"app": "svc"}, MaxConnections: MaxConnections(3, 2, 1)}
	provision := func() string {
		got := Provision(t.Context(), c, service(), s)
		if got.Done() {
			return ""
		}
		expect(t, got, api.ReasonWaitingForDatabase, false)
		return got.Message()
	}
	first := provision()
	if !strings.Contains(first, `Database, User, Grant "svc"`) {
		t.Errorf("message = %q", first)
	}
	database, user, grant := &Database{}, &User{}, &Grant{}
	makeReady(t, c, database)
	makeReady(t, c, user)
	if m := provision(); m != first {
		t.Errorf("the message changes from %q to %q, which writes the status for nothing", first, m)
	}
	makeReady(t, c, grant)
	if m := provision(); m != "" {
		t.Errorf("message = %q", m)
	}
	ref := MariaDBRef{Name: "db"}
	for _, diff := range []string{
		cmp.Diff(SchemaSpec{MariaDBRef: ref, CharacterSet: "utf8", Collate: "utf8_general_ci", Name: "vault", CleanupPolicy: CleanupSkip}, database.Spec),
		cmp.Diff(UserSpec{MariaDBRef: ref, MaxUserConnections: 10, PasswordSecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "db-credentials"}, Key: "password"}}, user.Spec),
		cmp.Diff(GrantSpec{MariaDBRef: ref, Privileges: []string{"ALL PRIVILEGES"}, Database: "vault", Table: "*", Username: "svc"}, grant.Spec),
	} {
		if diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if database.Labels["app"] != "svc" || !c.Writer.Controls(service(), user) {
		t.Errorf("labels %v, owners %v", database.Labels, user.OwnerReferences)
	}
}

func TestProvisionLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	t.Run("a server that is not managed", func(t *testing.T) {
		t.Parallel()
		c := world(t, interceptor.Funcs{})
		if got := Provision(t.Context(), c, service(), Schema{Spec: brownfield()}); !got.Done() || exists(t, c, &Database{}) {
			t.Errorf("outcome = %+v", got)
		}
	})
	t.Run("users that somebody else issues", func(t *testing.T) {
		t.Parallel()
		static := ownedBy(service(), &User{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "svc"}, Spec: UserSpec{MaxUserConnections: 5}})
		c := world(t, interceptor.Funcs{}, server(isReady), static)
		Provision(t.Context(), c, service(), Schema{Spec: dynamic(), MaxConnections: 9})
		makeReady(t, c, &Database{})
		if got := Provision(t.Context(), c, service(), Schema{Spec: dynamic(), MaxConnections: 9}); !got.Done() {
			t.Errorf("outcome = %q", got.Message())
		}
		left := &User{}
		if !exists(t, c, left) || left.Spec.MaxUserConnections != 5 || exists(t, c, &Grant{}) {
			t.Errorf("the User of static times is %+v", left)
		}
	})
	for name, foreign := range map[string]client.Object{
		"Database": &Database{Spec: SchemaSpec{Name: "theirs"}}, "User": &User{}, "Grant": &Grant{},
	} {
		t.Run("a foreign "+name, func(t *testing.T) {
			t.Parallel()
			foreign.SetNamespace("ns")
			foreign.SetName("svc")
			c := world(t, interceptor.Funcs{}, server(isReady), ownedBy(stranger(), foreign))
			got := Provision(t.Context(), c, service(), Schema{Spec: managed()})
			expect(t, got, api.ReasonWaitingForDatabase, true)
			if !strings.Contains(got.Message(), name+" ns/svc exists and is not controlled by") {
				t.Errorf("message = %q", got.Message())
			}
		})
	}
}

func TestProvisionRepairsDrift(t *testing.T) {
	t.Parallel()
	c := world(t, interceptor.Funcs{}, server(isReady))
	s := Schema{Spec: managed(), MaxConnections: 9}
	Provision(t.Context(), c, service(), s)
	for _, obj := range []client.Object{&Database{}, &User{}, &Grant{}} {
		makeReady(t, c, obj)
	}
	if got := Provision(t.Context(), c, service(), s); !got.Done() {
		t.Fatalf("outcome = %q", got.Message())
	}
	database, user := &Database{}, &User{}
	_, _ = exists(t, c, database), exists(t, c, user)
	database.Spec.CleanupPolicy, user.Spec.MaxUserConnections = CleanupDelete, 1
	if err := errors.Join(c.Client.Update(t.Context(), database), c.Client.Update(t.Context(), user), c.Client.Delete(t.Context(), s.grant(service()))); err != nil {
		t.Fatal(err)
	}
	expect(t, Provision(t.Context(), c, service(), s), api.ReasonWaitingForDatabase, false) // for the new Grant
	_, _ = exists(t, c, database), exists(t, c, user)
	if database.Spec.CleanupPolicy != CleanupSkip || user.Spec.MaxUserConnections != 9 || !exists(t, c, &Grant{}) {
		t.Errorf("drift stays: %+v, %+v", database.Spec, user.Spec)
	}
}

func TestAConvergedSchemaCostsNoWrite(t *testing.T) {
	t.Parallel()
	writes := 0
	hooks := interceptor.Funcs{Apply: func(ctx context.Context, next client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
		writes++
		return next.Apply(ctx, obj, opts...)
	}}
	c := world(t, hooks, server(isReady))
	s := Schema{Spec: managed(), MaxConnections: 9}
	Provision(t.Context(), c, service(), s)
	for _, obj := range []client.Object{&Database{}, &User{}, &Grant{}} {
		makeReady(t, c, obj)
	}
	for range 3 {
		if got := Provision(t.Context(), c, service(), s); !got.Done() {
			t.Fatalf("outcome = %q", got.Message())
		}
	}
	if writes > 6 { // one each to create, and one each to make sure that the status was all that changed
		t.Errorf("%d writes", writes)
	}
	before := writes
	Provision(t.Context(), c, service(), s)
	if writes != before {
		t.Errorf("%d writes of a converged pass", writes-before)
	}
}

func TestCleanupPolicy(t *testing.T) {
	t.Parallel()
	for policy, want := range map[api.DatabaseDeletionPolicy]CleanupPolicy{
		"": CleanupSkip, api.RetainDatabase: CleanupSkip, "Unknown": CleanupSkip, api.DeleteDatabase: CleanupDelete,
	} {
		s := managed()
		s.DeletionPolicy = policy
		if got := (Schema{Spec: s}).database(service()).Spec.CleanupPolicy; got != want {
			t.Errorf("deletion policy %q becomes %q, want %q", policy, got, want)
		}
	}
}

func TestMaxConnections(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pods, processes, threads, want int32 }{
		{3, 4, 2, (3+1)*4*2 + 2},
		{1 << 30, 1 << 30, 1 << 30, math.MaxInt32},
		{math.MaxInt32, 1, 1, math.MaxInt32},
	} {
		if got := MaxConnections(c.pods, c.processes, c.threads); got != c.want {
			t.Errorf("MaxConnections(%d, %d, %d) = %d, want %d", c.pods, c.processes, c.threads, got, c.want)
		}
	}
}
