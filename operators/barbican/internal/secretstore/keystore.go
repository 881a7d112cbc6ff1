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
	// Provisioner opens a session that may mint, with a ServiceAccount token.
	Provisioner(ctx context.Context, jwt string) (Provisioner, error)
	Close()
}

// Provisioner is a session on an instance whose AppRole the operator holds.
type Provisioner interface {
	CheckMount(ctx context.Context, mount string) error
	RoleID(ctx context.Context, role string) (string, error)
	Mint(ctx context.Context, role string, metadata map[string]string) (openbao.SecretID, error)
	Destroy(ctx context.Context, role, accessor string) error
	Close(ctx context.Context)
}

// Connect prepares a KeyStore; it does not call the server yet.
type Connect func(openbao.Options) (KeyStore, error)

// OpenBao is the Connect of the real world.
func OpenBao(o openbao.Options) (KeyStore, error) {
	client, err := openbao.New(o)
	if err != nil {
		return nil, err
	}
	return server{client}, nil
}

type server struct{ *openbao.Client }

func (s server) Provisioner(ctx context.Context, jwt string) (Provisioner, error) {
	p, err := s.LoginKubernetes(ctx, provisioner, jwt)
	if err != nil {
		return nil, err // a nil *Provisioner in the interface would not be nil
	}
	return p, nil
}
