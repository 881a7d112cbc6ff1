// SPDX-License-Identifier: Apache-2.0

package openbao

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/openbao/openbao/api/v2"
)

// Credentials are those of an AppRole.
type Credentials struct {
	RoleID   string
	SecretID string
}

// Grant is what AppRole credentials may do on the data of a mount.
type Grant struct {
	// Missing are the capabilities Barbican needs and does not have.
	Missing []string
	// Update tells that existing secrets may be overwritten. With it a write to a lost mount is answered 404 instead of 403,
	// which Barbican takes for success.
	Update bool
}

var needed = []string{"create", "read", "delete"}

// Validate logs in and proves, reading only, that the mount answers, is a KV
// version 2 engine and what it grants. A LoginError is a login that failed; a
// mount that is gone is Missing.
func (c *Client) Validate(ctx context.Context, credentials Credentials, mount string) (Grant, error) {
	s, err := c.login(ctx, "logging in with the AppRole", "approle",
		map[string]any{"role_id": credentials.RoleID, "secret_id": credentials.SecretID}, credentials.SecretID, credentials.RoleID)
	if err != nil {
		return Grant{}, &LoginError{err}
	}
	defer s.revoke(ctx)
	mount = strings.Trim(mount, "/")
	denied, err := s.checkMount(ctx, mount)
	if err != nil {
		return Grant{}, err
	}
	grant, err := s.grant(ctx, mount+"/data/probe")
	if err == nil && len(grant.Missing) == 0 {
		err = denied
	}
	return grant, err
}

// LoginError is a login that failed, as opposed to what comes after it.
type LoginError struct{ cause error }

func (e *LoginError) Error() string { return e.cause.Error() }

// Unwrap gives access to the Error.
func (e *LoginError) Unwrap() error { return e.cause }

// checkMount uses what every token may ask. A read of an absent secret tells an
// existing mount from a missing one; the description tells the engine. Denied
// is a refused read, which the capabilities should explain.
func (s *session) checkMount(ctx context.Context, mount string) (denied, err error) {
	_, err = s.call(ctx, "reading from the mount "+mount, http.MethodGet, mount+"/data/probe", nil)
	switch {
	case IsKind(err, Denied):
		denied = err
	case err != nil && !isWordless(err):
		return nil, err
	}
	answer, err := s.call(ctx, "describing the mount "+mount, http.MethodGet, "sys/internal/ui/mounts/"+mount, nil)
	if IsKind(err, Denied) {
		return denied, nil // not every server describes its mounts
	}
	if err != nil {
		return nil, err
	}
	return denied, kv2(answer, mount)
}

func kv2(answer *api.Secret, mount string) error {
	var options map[string]any
	if answer != nil {
		options, _ = answer.Data["options"].(map[string]any)
	}
	if field(answer, "type") == "kv" && options["version"] == "2" {
		return nil
	}
	return &Error{Kind: WrongEngine, Doing: "describing the mount " + mount, Detail: "it is not a KV version 2 engine"}
}

func (s *session) grant(ctx context.Context, path string) (Grant, error) {
	answer, err := s.call(ctx, "asking for the capabilities on "+path, http.MethodPost, "sys/capabilities-self",
		map[string]any{"paths": []string{path}})
	if err != nil {
		return Grant{}, err
	}
	if answer == nil {
		return Grant{}, &Error{Kind: Unexpected, Doing: "asking for the capabilities on " + path, Detail: "the answer is empty"}
	}
	granted, _ := answer.Data[path].([]any)
	has := func(capability string) bool {
		return slices.Contains(granted, any(capability)) || slices.Contains(granted, any("root"))
	}
	g := Grant{Update: has("update")}
	for _, capability := range needed {
		if !has(capability) {
			g.Missing = append(g.Missing, capability)
		}
	}
	return g, nil
}
