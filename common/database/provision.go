// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

// Retry is how long a pass waits for mariadb-operator or a migration when no watch tells earlier.
const Retry = 30 * time.Second

// The keys of the Secret with the database credentials.
const (
	UsernameKey = "username"
	PasswordKey = "password"
)

// MaxConnections is how many connections the database user of a service needs: one for each thread that may serve a
// request, in all pods and in the one more that a rollout adds, and two to spare for Jobs. It never wraps around.
func MaxConnections(pods, processes, threads int32) int32 {
	connections := (float64(pods)+1)*float64(processes)*float64(threads) + 2
	return int32(min(connections, math.MaxInt32))
}

// Schema is what a service needs in its MariaDB. The objects have the name and the namespace of the owner.
type Schema struct {
	Spec           api.DatabaseSpec
	Labels         map[string]string
	MaxConnections int32
}

// Provision creates the Database, and with static credentials the User and the Grant, all in one pass, and waits until
// each is Ready. A server that is not managed here is taken as it is.
func Provision(ctx context.Context, c target.Cluster, owner client.Object, s Schema) reconcile.Outcome {
	if !s.Spec.Managed() {
		return reconcile.Outcome{}
	}
	if gate := clusterGate(ctx, c, types.NamespacedName{Namespace: owner.GetNamespace(), Name: s.Spec.ClusterRef.Name}); !gate.Done() {
		return gate
	}
	var kinds []string
	pending := false
	for _, part := range s.parts(owner) {
		if err := c.Writer.Apply(ctx, owner, part.object); err != nil {
			return reconcile.Blame(api.ReasonWaitingForDatabase, err)
		}
		kinds = append(kinds, part.kind)
		pending = pending || !part.status.ready() || !part.object.GetDeletionTimestamp().IsZero()
	}
	if pending {
		// It names them all: a list that shrinks would cost a write of the status for each that becomes Ready.
		return reconcile.Wait(Retry, api.ReasonWaitingForDatabase, fmt.Sprintf(
			"Waiting for mariadb-operator until %s %q are Ready; see their conditions", strings.Join(kinds, ", "), owner.GetName()))
	}
	return reconcile.Outcome{}
}

func clusterGate(ctx context.Context, c target.Cluster, key types.NamespacedName) reconcile.Outcome {
	server := &MariaDB{}
	err := c.Client.Get(ctx, key, server, client.UnsafeDisableDeepCopy)
	switch {
	case apierrors.IsNotFound(err):
		return reconcile.Wait(Retry, api.ReasonClusterNotReady, fmt.Sprintf(
			"MariaDB %q does not exist; create it, or name another one in spec.database.clusterRef", key.Name))
	case meta.IsNoMatchError(err):
		return reconcile.Wait(Retry, api.ReasonClusterNotReady, fmt.Sprintf(
			"MariaDB %q cannot be looked up: the cluster serves no %s; install mariadb-operator", key.Name, GroupVersion))
	case err != nil:
		return reconcile.Fail(api.ReasonClusterNotReady, fmt.Errorf("reading MariaDB %s: %w", key, err))
	case !server.Status.ready():
		return reconcile.Wait(Retry, api.ReasonClusterNotReady, fmt.Sprintf("MariaDB %q is not Ready; see its conditions", key.Name))
	}
	return reconcile.Outcome{}
}

// part is an object of a Schema together with where its status will be once it is applied.
type part struct {
	kind   string
	object client.Object
	status *Status
}

func (s Schema) parts(owner metav1.Object) []part {
	database := s.database(owner)
	all := []part{{"Database", database, &database.Status}}
	if s.Spec.Dynamic() {
		return all // a User and a Grant of static times stay: running pods may still use them
	}
	user, grant := s.user(owner), s.grant(owner)
	return append(all, part{"User", user, &user.Status}, part{"Grant", grant, &grant.Status})
}

func (s Schema) meta(owner metav1.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: owner.GetNamespace(), Name: owner.GetName(), Labels: s.Labels}
}

func (s Schema) server() MariaDBRef { return MariaDBRef{Name: s.Spec.ClusterRef.Name} }

func (s Schema) database(owner metav1.Object) *Database {
	return &Database{ObjectMeta: s.meta(owner), Spec: SchemaSpec{
		MariaDBRef:    s.server(),
		CharacterSet:  "utf8",
		Collate:       "utf8_general_ci",
		Name:          s.Spec.Database,
		CleanupPolicy: s.cleanup(),
	}}
}

// cleanup errs on the side of the data.
func (s Schema) cleanup() CleanupPolicy {
	if s.Spec.Retained() {
		return CleanupSkip
	}
	return CleanupDelete
}

func (s Schema) user(owner metav1.Object) *User {
	return &User{ObjectMeta: s.meta(owner), Spec: UserSpec{
		MariaDBRef: s.server(),
		PasswordSecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: s.Spec.SecretRef.Name}, Key: PasswordKey,
		},
		MaxUserConnections: s.MaxConnections,
	}}
}

var allPrivileges = []string{"ALL PRIVILEGES"}

func (s Schema) grant(owner metav1.Object) *Grant {
	return &Grant{ObjectMeta: s.meta(owner), Spec: GrantSpec{
		MariaDBRef: s.server(),
		Privileges: allPrivileges,
		Database:   s.Spec.Database,
		Table:      "*",
		Username:   owner.GetName(),
	}}
}
