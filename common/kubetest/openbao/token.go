// SPDX-License-Identifier: Apache-2.0

package openbao

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

const rootPolicy = "root"

// Policy grants capabilities on paths; a path may end in "*".
type Policy map[string][]string

// defaultPolicy is what every session may do besides its policies.
var defaultPolicy = Policy{
	"auth/token/lookup-self":  {"read"},
	"auth/token/revoke-self":  {"update"},
	"sys/capabilities-self":   {"update"},
	"sys/internal/ui/mounts*": {"read"},
}

type token struct {
	ns       *Namespace
	policies []string
	expires  time.Time // zero: never
	session  bool
	accessor string
}

func (t *token) expired(now time.Time) bool { return !t.expires.IsZero() && !now.Before(t.expires) }

// tokenOf is the valid token of a call, which works in its own namespace only.
func (s *Server) tokenOf(r request) *token {
	t := s.tokens[r.bearer]
	if t == nil || t.expired(s.clock()) || t.ns != nil && t.ns != r.ns {
		return nil
	}
	return t
}

func (s *Server) issue(ns *Namespace, policies []string, ttl time.Duration) answer {
	id, accessor := "s."+random(), random()
	t := &token{ns: ns, policies: policies, session: true, accessor: accessor}
	if ttl > 0 {
		t.expires = s.clock().Add(ttl)
	}
	s.tokens[id] = t
	return answer{http.StatusOK, map[string]any{"auth": map[string]any{
		"client_token": id, "accessor": accessor, "policies": append([]string{"default"}, policies...),
		"lease_duration": int(ttl.Seconds()), "renewable": true,
	}}}
}

func (s *Server) tokenCall(r request) answer {
	switch r.op + " " + strings.TrimPrefix(r.path, "auth/token/") {
	case "POST revoke-self":
		delete(s.tokens, r.bearer)
		return done
	case "GET lookup-self":
		return data(map[string]any{"accessor": r.token.accessor, "policies": r.token.policies})
	}
	return noHandler(r.path)
}

// capabilities of the token on a path: the most specific rule of each policy counts.
func (n *Namespace) capabilities(t *token, path string) []string {
	if slices.Contains(t.policies, rootPolicy) {
		return []string{rootPolicy}
	}
	granted := defaultPolicy.on(path)
	for _, name := range t.policies {
		granted = append(granted, n.policies[name].on(path)...)
	}
	if len(granted) == 0 {
		return []string{"deny"}
	}
	slices.Sort(granted)
	return slices.Compact(granted)
}

func (n *Namespace) may(r request, capability string) bool {
	granted := n.capabilities(r.token, r.path)
	return slices.Contains(granted, capability) || slices.Contains(granted, rootPolicy)
}

func (p Policy) on(path string) []string {
	if exact, ok := p[path]; ok {
		return slices.Clone(exact)
	}
	longest, granted := -1, []string(nil)
	for pattern, capabilities := range p {
		prefix, glob := strings.CutSuffix(pattern, "*")
		if glob && strings.HasPrefix(path, prefix) && len(prefix) > longest {
			longest, granted = len(prefix), capabilities
		}
	}
	return slices.Clone(granted)
}

// touches tells whether the policy grants anything below a mount.
func (p Policy) touches(mount string) bool {
	for pattern := range p {
		if strings.HasPrefix(pattern, mount+"/") {
			return true
		}
	}
	return false
}
