// SPDX-License-Identifier: Apache-2.0

package openbao

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"time"

	"github.com/openbao/openbao/api/v2"
)

// SecretID is a freshly minted secret ID.
type SecretID struct {
	ID       string
	Accessor string
	TTL      time.Duration // 0: never expires
}

// Provisioner is a session that may mint secret IDs for one AppRole.
type Provisioner struct{ session *session }

// LoginKubernetes opens a session with a ServiceAccount token. Close it.
func (c *Client) LoginKubernetes(ctx context.Context, role, jwt string) (*Provisioner, error) {
	s, err := c.login(ctx, "logging in as "+role, "kubernetes", map[string]any{"role": role, "jwt": jwt}, jwt)
	if err != nil {
		return nil, err
	}
	return &Provisioner{s}, nil
}

// Close revokes the session.
func (p *Provisioner) Close(ctx context.Context) { p.session.revoke(ctx) }

// CheckMount proves that the mount exists and is a KV version 2 engine.
func (p *Provisioner) CheckMount(ctx context.Context, mount string) error {
	answer, err := p.session.call(ctx, "reading the mount "+mount, http.MethodGet, "sys/mounts/"+mount, nil)
	if err != nil {
		return err
	}
	return kv2(answer, mount)
}

// RoleID reads the role ID of an AppRole.
func (p *Provisioner) RoleID(ctx context.Context, role string) (string, error) {
	doing := "reading the role ID of AppRole " + role
	answer, err := p.session.call(ctx, doing, http.MethodGet, "auth/approle/role/"+role+"/role-id", nil)
	if err != nil {
		return "", err
	}
	id := field(answer, "role_id")
	if id == "" {
		return "", &Error{Kind: Unexpected, Doing: doing, Detail: "the answer holds no role ID"}
	}
	return id, nil
}

// Mint makes a secret ID that carries the metadata. Its TTL is the one the
// server reports for it.
func (p *Provisioner) Mint(ctx context.Context, role string, metadata map[string]string) (SecretID, error) {
	doing := "minting a secret ID for AppRole " + role
	encoded, err := json.Marshal(metadata)
	if err != nil {
		return SecretID{}, &Error{Kind: Unexpected, Doing: doing, Detail: "the metadata cannot be encoded"}
	}
	path := "auth/approle/role/" + role + "/secret-id"
	answer, err := p.session.call(ctx, doing, http.MethodPost, path, map[string]any{"metadata": string(encoded)})
	if err != nil {
		return SecretID{}, err
	}
	minted := SecretID{ID: field(answer, "secret_id"), Accessor: field(answer, "secret_id_accessor"), TTL: seconds(answer, "secret_id_ttl")}
	if minted.ID == "" {
		return SecretID{}, &Error{Kind: Unexpected, Doing: doing, Detail: "the answer holds no secret ID"}
	}
	p.session.secrets = append(p.session.secrets, minted.ID)
	minted.TTL = p.lifetime(ctx, path, minted)
	return minted, nil
}

// lifetime asks the server how long the secret ID really lives; without the
// permission to ask, what the mint answered has to do.
func (p *Provisioner) lifetime(ctx context.Context, path string, minted SecretID) time.Duration {
	answer, err := p.session.call(ctx, "looking up the minted secret ID", http.MethodPost, path+"/lookup", map[string]any{"secret_id": minted.ID})
	if err != nil || answer == nil {
		return minted.TTL
	}
	created, createdErr := time.Parse(time.RFC3339Nano, field(answer, "creation_time"))
	expires, expiresErr := time.Parse(time.RFC3339Nano, field(answer, "expiration_time"))
	if createdErr == nil && expiresErr == nil && expires.After(created) {
		return expires.Sub(created).Truncate(time.Second)
	}
	return seconds(answer, "secret_id_ttl")
}

// Destroy makes the secret ID of the accessor invalid. One that is gone already is a success.
func (p *Provisioner) Destroy(ctx context.Context, role, accessor string) error {
	_, err := p.session.call(ctx, "destroying a replaced secret ID of AppRole "+role, http.MethodPost,
		"auth/approle/role/"+role+"/secret-id-accessor/destroy", map[string]any{"secret_id_accessor": accessor})
	if IsKind(err, Missing) {
		return nil
	}
	return err
}

// seconds reads a number of seconds; a missing one counts as 0.
func seconds(answer *api.Secret, name string) time.Duration {
	if answer == nil {
		return 0
	}
	number, ok := answer.Data[name].(json.Number)
	if !ok {
		return 0
	}
	n, err := number.Int64()
	if err != nil {
		return 0
	}
	return time.Duration(min(n, int64(math.MaxInt64/time.Second))) * time.Second
}
