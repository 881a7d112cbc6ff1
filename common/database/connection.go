// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/oslo"
	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

// secretRetry is how long a pass waits for a Secret when no watch tells earlier.
const secretRetry = 15 * time.Second

// ConnectionKey is the only key of the Secret with the connection.
const ConnectionKey = "connection"

// Connection is how pods reach the database.
type Connection struct {
	Spec   api.DatabaseSpec
	Name   string // of the Secret that gets the DSN
	Labels map[string]string
	TLSDir string // where pods mount the TLSVolume
}

// Connect writes the DSN into a Secret and returns its Fingerprint. User and password come from one read of the credentials,
// so they belong together. As long as either is missing nothing is written: a service without a DSN would quietly use
// another database.
func Connect(ctx context.Context, c target.Cluster, owner client.Object, conn Connection) (digest string, o reconcile.Outcome) {
	keys := []string{PasswordKey}
	if conn.userFromSecret() {
		keys = []string{UsernameKey, PasswordKey}
	}
	credentials, o := await(ctx, c, owner, conn.Spec.SecretRef.Name, keys...)
	if !o.Done() {
		return "", o
	}
	dsn := []byte(conn.dsn(owner, credentials).String())
	desired := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: owner.GetNamespace(), Name: conn.Name, Labels: conn.Labels},
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{ConnectionKey: dsn},
	}
	if err := c.Writer.Replace(ctx, owner, desired); err != nil {
		return "", reconcile.Blame(api.ReasonWaitingForDBCredentials, err)
	}
	return apply.Fingerprint(credentials, dsn), reconcile.Outcome{}
}

// await reads a Secret and waits until each key has a value.
func await(ctx context.Context, c target.Cluster, owner client.Object, name string, keys ...string) (*corev1.Secret, reconcile.Outcome) {
	key := types.NamespacedName{Namespace: owner.GetNamespace(), Name: name}
	secret, err := c.Secrets.Get(ctx, key)
	if apierrors.IsNotFound(err) {
		return nil, reconcile.Wait(secretRetry, api.ReasonWaitingForDBCredentials, fmt.Sprintf(
			"Secret %q does not exist; it needs the keys %s", name, strings.Join(keys, ", ")))
	}
	if err != nil {
		return nil, reconcile.Error(fmt.Errorf("reading Secret %s: %w", key, err))
	}
	for _, k := range keys {
		if len(secret.Data[k]) == 0 {
			return nil, reconcile.Wait(secretRetry, api.ReasonWaitingForDBCredentials, fmt.Sprintf(
				"Secret %q has no value for the key %q", name, k))
		}
	}
	return secret, reconcile.Outcome{}
}

// userFromSecret says whether somebody else names the user; otherwise it is the one that Provision creates.
func (conn Connection) userFromSecret() bool { return !conn.Spec.Managed() || conn.Spec.Dynamic() }

func (conn Connection) dsn(owner metav1.Object, credentials *corev1.Secret) oslo.DSN {
	dsn := oslo.DSN{
		User:     owner.GetName(),
		Password: string(credentials.Data[PasswordKey]),
		Host:     conn.Spec.Host,
		Port:     strconv.Itoa(int(conn.Spec.EffectivePort())),
		Database: conn.Spec.Database,
		Query:    tlsQuery(conn.Spec, conn.TLSDir),
	}
	if conn.userFromSecret() {
		dsn.User = string(credentials.Data[UsernameKey])
	}
	if conn.Spec.Managed() {
		dsn.Host = conn.Spec.ClusterRef.Name + "." + owner.GetNamespace() + ".svc"
	}
	return dsn
}
