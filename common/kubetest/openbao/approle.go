// SPDX-License-Identifier: Apache-2.0

package openbao

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	lockoutThreshold = 5
	lockoutDuration  = 15 * time.Minute
)

// AppRole is a role of the approle auth method.
type AppRole struct {
	Policies    []string
	SecretIDTTL time.Duration // 0: secret IDs never expire
	TokenTTL    time.Duration
}

type role struct {
	AppRole
	id        string
	secretIDs map[string]*secretID // by accessor
}

type secretID struct {
	id       string
	created  time.Time
	ttl      time.Duration
	metadata map[string]any
}

func (s *secretID) expired(now time.Time) bool { return s.ttl > 0 && !now.Before(s.created.Add(s.ttl)) }

// failures counts the failed logins of one role ID.
type failures struct {
	count int
	last  time.Time
}

// KubernetesRole is a role of the kubernetes auth method.
type KubernetesRole struct {
	Name     string
	Audience string
	Policies []string
	TokenTTL time.Duration
}

// WriteAppRole makes a role, enables the auth method if need be and returns the
// role ID. Writing a role again keeps its role ID and secret IDs.
func (n *Namespace) WriteAppRole(name string, r AppRole) (roleID string) {
	n.server.set(func() {
		n.authTypes["approle"] = "approle"
		roleID = n.writeRole(name, r)
	})
	return roleID
}

func (n *Namespace) writeRole(name string, r AppRole) string {
	if existing := n.roles[name]; existing != nil {
		existing.AppRole = r
		return existing.id
	}
	n.roles[name] = &role{AppRole: r, id: random(), secretIDs: map[string]*secretID{}}
	return n.roles[name].id
}

// DropAppRole removes a role and its secret IDs.
func (n *Namespace) DropAppRole(name string) { n.server.set(func() { delete(n.roles, name) }) }

// WriteKubernetesRole makes a role of the kubernetes auth method and enables the method if need be.
func (n *Namespace) WriteKubernetesRole(r KubernetesRole) {
	n.server.set(func() {
		n.authTypes["kubernetes"] = "kubernetes"
		n.kubernetes[r.Name] = r
	})
}

// ReviewTokens replaces the check of ServiceAccount tokens, which accepts every
// non-empty one; an error is answered as 403.
func (n *Namespace) ReviewTokens(review func(role KubernetesRole, jwt string) error) {
	n.server.set(func() { n.review = review })
}

// MintSecretID hands out a secret ID the way an administrator would.
func (n *Namespace) MintSecretID(roleName string) (id, accessor string) {
	n.server.set(func() {
		if r := n.roles[roleName]; r != nil {
			var minted *secretID
			minted, accessor = n.mint(r, r.SecretIDTTL, nil)
			id = minted.id
		}
	})
	return id, accessor
}

// DestroySecretID makes a secret ID (or the one of an accessor) invalid, as expiry does.
func (n *Namespace) DestroySecretID(idOrAccessor string) {
	n.server.set(func() {
		for _, r := range n.roles {
			maps.DeleteFunc(r.secretIDs, func(accessor string, s *secretID) bool {
				return accessor == idOrAccessor || s.id == idOrAccessor
			})
		}
	})
}

// SecretIDs are the accessors of a role's valid secret IDs with their metadata.
func (n *Namespace) SecretIDs(roleName string) map[string]map[string]any {
	found := map[string]map[string]any{}
	n.server.set(func() {
		if r := n.roles[roleName]; r != nil {
			for accessor, s := range r.secretIDs {
				if !s.expired(n.server.clock()) {
					found[accessor] = maps.Clone(s.metadata)
				}
			}
		}
	})
	return found
}

// LockOut answers 403 to every login with the role ID, valid or not, until Unlock
// or the lockout's end.
func (n *Namespace) LockOut(roleID string) {
	n.server.set(func() { n.failures[roleID] = &failures{count: lockoutThreshold, last: n.server.clock()} })
}

// Unlock lets the role ID log in again.
func (n *Namespace) Unlock(roleID string) { n.server.set(func() { delete(n.failures, roleID) }) }

// DisableLockout is the tuned auth mount that never locks anybody out.
func (n *Namespace) DisableLockout() { n.server.set(func() { n.lockout = false }) }

func (n *Namespace) mint(r *role, ttl time.Duration, metadata map[string]any) (*secretID, string) {
	accessor := random()
	r.secretIDs[accessor] = &secretID{id: random(), created: n.server.clock(), ttl: ttl, metadata: metadata}
	return r.secretIDs[accessor], accessor
}

// login answers the calls that need no token; nil means the path is none of them.
func (n *Namespace) login(r request) *answer {
	method, found := strings.CutSuffix(r.path, "/login")
	method, auth := strings.CutPrefix(method, "auth/")
	if !found || !auth || r.op != http.MethodPost {
		return nil
	}
	var a answer
	switch n.authTypes[method] {
	case "approle":
		a = n.loginAppRole(r)
	case "kubernetes":
		a = n.loginKubernetes(r)
	default:
		a = noHandler(r.path)
	}
	return &a
}

func (n *Namespace) loginAppRole(r request) answer {
	roleID, now := r.text("role_id"), n.server.clock()
	if roleID == "" {
		return fail(http.StatusBadRequest, "missing role_id")
	}
	if n.lockedOut(roleID) {
		return fail(http.StatusForbidden, "permission denied")
	}
	for _, candidate := range n.roles {
		if candidate.id != roleID {
			continue
		}
		for _, s := range candidate.secretIDs {
			if s.id == r.text("secret_id") && !s.expired(now) {
				delete(n.failures, roleID)
				return n.server.issue(n, candidate.Policies, cmp.Or(candidate.TokenTTL, time.Hour))
			}
		}
	}
	f := cmp.Or(n.failures[roleID], &failures{})
	f.count, f.last = f.count+1, now
	n.failures[roleID] = f
	return fail(http.StatusBadRequest, "invalid role or secret ID")
}

func (n *Namespace) lockedOut(roleID string) bool {
	f := n.failures[roleID]
	if f == nil || !n.lockout {
		return false
	}
	if n.server.clock().Sub(f.last) >= lockoutDuration {
		delete(n.failures, roleID)
		return false
	}
	return f.count >= lockoutThreshold
}

func (n *Namespace) loginKubernetes(r request) answer {
	role, known := n.kubernetes[r.text("role")]
	jwt := r.text("jwt")
	switch {
	case jwt == "":
		return fail(http.StatusBadRequest, "missing jwt")
	case !known:
		return fail(http.StatusBadRequest, fmt.Sprintf("invalid role name %q", r.text("role")))
	}
	if n.review != nil {
		if err := n.review(role, jwt); err != nil {
			return fail(http.StatusForbidden, err.Error())
		}
	}
	return n.server.issue(n, role.Policies, cmp.Or(role.TokenTTL, time.Hour))
}

// auth serves auth/approle/role/... to a valid token.
func (n *Namespace) auth(r request) answer {
	rest, ok := strings.CutPrefix(r.path, "auth/approle/role/")
	if !ok || n.authTypes["approle"] == "" {
		if !n.may(r, capabilityOf(r.op, true)) {
			return permissionDenied
		}
		return noHandler(r.path)
	}
	name, call, _ := strings.Cut(rest, "/")
	existing := n.roles[name]
	if !n.may(r, capabilityOf(r.op, existing != nil || call != "")) {
		return permissionDenied
	}
	if call == "" {
		return n.roleCall(r, name)
	}
	if existing == nil {
		if r.op == http.MethodPost {
			return fail(http.StatusNotFound, fmt.Sprintf("role %q does not exist", name))
		}
		return fail(http.StatusNotFound)
	}
	return n.secretIDCall(r, existing, call)
}

func (n *Namespace) roleCall(r request, name string) answer {
	existing := n.roles[name]
	switch {
	case r.op == http.MethodPost:
		ttl, err := duration(r.body["secret_id_ttl"])
		tokenTTL, tokenErr := duration(r.body["token_ttl"])
		if err = cmp.Or(err, tokenErr); err != nil {
			return fail(http.StatusBadRequest, err.Error())
		}
		n.writeRole(name, AppRole{Policies: list(r.body["token_policies"]), SecretIDTTL: ttl, TokenTTL: tokenTTL})
		return done
	case r.op == http.MethodDelete:
		delete(n.roles, name)
		return done
	case existing == nil:
		return fail(http.StatusNotFound)
	}
	return data(map[string]any{
		"secret_id_ttl": int(existing.SecretIDTTL.Seconds()), "token_ttl": int(existing.TokenTTL.Seconds()),
		"token_policies": existing.Policies, "secret_id_num_uses": 0, "bind_secret_id": true,
	})
}

func (n *Namespace) secretIDCall(r request, existing *role, call string) answer {
	switch r.op + " " + call {
	case "GET role-id":
		return data(map[string]any{"role_id": existing.id})
	case "POST secret-id":
		return n.mintCall(r, existing)
	case "LIST secret-id":
		if len(existing.secretIDs) == 0 {
			return fail(http.StatusNotFound)
		}
		return data(map[string]any{"keys": slices.Sorted(maps.Keys(existing.secretIDs))})
	case "POST secret-id/lookup":
		for accessor, s := range existing.secretIDs {
			if s.id == r.text("secret_id") && !s.expired(n.server.clock()) {
				return data(s.description(accessor))
			}
		}
		return done
	case "POST secret-id-accessor/lookup", "POST secret-id-accessor/destroy":
		accessor := r.text("secret_id_accessor")
		s := existing.secretIDs[accessor]
		if s == nil || s.expired(n.server.clock()) {
			return fail(http.StatusNotFound, fmt.Sprintf("failed to find accessor entry for secret_id_accessor: %q", accessor))
		}
		if strings.HasSuffix(call, "lookup") {
			return data(s.description(accessor))
		}
		delete(existing.secretIDs, accessor)
		return done
	}
	return noHandler(r.path)
}

func (n *Namespace) mintCall(r request, existing *role) answer {
	ttl, err := duration(r.body["ttl"])
	metadata := map[string]any{}
	if text := r.text("metadata"); text != "" && err == nil {
		err = json.Unmarshal([]byte(text), &metadata)
	}
	switch limit := existing.SecretIDTTL; {
	case err != nil:
		return fail(http.StatusBadRequest, err.Error())
	case limit > 0 && ttl > limit:
		return fail(http.StatusBadRequest, "ttl cannot be longer than role's secret_id_ttl")
	}
	s, accessor := n.mint(existing, cmp.Or(ttl, existing.SecretIDTTL), metadata)
	return data(map[string]any{
		"secret_id": s.id, "secret_id_accessor": accessor,
		"secret_id_ttl": int(s.ttl.Seconds()), "secret_id_num_uses": 0,
	})
}

func (s *secretID) description(accessor string) map[string]any {
	expires := "0001-01-01T00:00:00Z"
	if s.ttl > 0 {
		expires = s.created.Add(s.ttl).UTC().Format(time.RFC3339Nano)
	}
	return map[string]any{
		"secret_id_accessor": accessor, "creation_time": s.created.UTC().Format(time.RFC3339Nano),
		"expiration_time": expires, "secret_id_ttl": int(s.ttl.Seconds()), "secret_id_num_uses": 0, "metadata": s.metadata,
	}
}

// lockedUsers answers GET sys/locked-users and POST sys/locked-users/<accessor>/unlock/<role id>.
func (n *Namespace) lockedUsers(r request, path string) answer {
	if !n.may(r, capabilityOf(r.op, true)) {
		return permissionDenied
	}
	if _, roleID, ok := strings.Cut(path, "/unlock/"); ok && r.op == http.MethodPost {
		delete(n.failures, roleID)
		return done
	}
	locked := slices.DeleteFunc(slices.Sorted(maps.Keys(n.failures)), func(id string) bool { return !n.lockedOut(id) })
	return data(map[string]any{"total": len(locked), "by_namespace": []any{map[string]any{
		"mount_accessors": []any{map[string]any{"mount_accessor": "auth_approle", "alias_identifiers": locked}},
	}}})
}

// duration reads a number of seconds or a Go duration, as the real API does.
func duration(value any) (time.Duration, error) {
	switch v := value.(type) {
	case nil:
		return 0, nil
	case float64:
		return time.Duration(v) * time.Second, nil
	case string:
		if d, err := time.ParseDuration(v); err == nil || v == "" {
			return d, nil
		}
		return time.ParseDuration(v + "s")
	}
	return 0, fmt.Errorf("cannot read %T as a duration", value)
}

// list reads a JSON list or a comma-separated text.
func list(value any) []string {
	switch v := value.(type) {
	case string:
		return strings.Split(v, ",")
	case []any:
		names := make([]string, 0, len(v))
		for _, name := range v {
			names = append(names, fmt.Sprint(name))
		}
		return names
	}
	return nil
}
