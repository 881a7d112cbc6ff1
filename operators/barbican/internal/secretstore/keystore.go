// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"context"

	"github.com/c5c3/cobaltcore/operators/barbican/internal/openbao"
)

// KeyStore is one key store server as the store controller needs it.
type KeyStore interface {
	// Validate proves that the pair logs in and tells what it may do on the mount, reading only.
	Validate(ctx context.Context, pair openbao.Credentials, mount string) (openbao.Grant, error)
	// LoginKubernetes opens a session that may mint, with a ServiceAccount token.
	LoginKubernetes(ctx context.Context, role, jwt string) (*openbao.Provisioner, error)
	Close()
}

// Connect prepares a KeyStore; it does not call the server yet.
type Connect func(openbao.Options) (KeyStore, error)

// OpenBao is the Connect of the real world.
func OpenBao(o openbao.Options) (KeyStore, error) { return openbao.New(o) }
