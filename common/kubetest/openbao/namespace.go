// SPDX-License-Identifier: Apache-2.0

package openbao

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Namespace holds mounts, policies and auth methods. Each method takes effect
// at once for running clients.
type Namespace struct {
	server *Server

	mounts     map[string]*mount
	policies   map[string]Policy
	authTypes  map[string]string // path -> type
	roles      map[string]*role
	kubernetes map[string]KubernetesRole
	review     func(KubernetesRole, string) error
	failures   map[string]*failures
	lockout    bool
}

func newNamespace(s *Server) *Namespace {
	return &Namespace{
		server: s, lockout: true,
		mounts: map[string]*mount{}, policies: map[string]Policy{}, authTypes: map[string]string{},
		roles: map[string]*role{}, kubernetes: map[string]KubernetesRole{}, failures: map[string]*failures{},
	}
}

// EnableKV mounts an empty key-value engine of the given version (1 or 2).
func (n *Namespace) EnableKV(path string, version int) {
	n.server.set(func() { n.mounts[path] = &mount{version: version, secrets: map[string]any{}} })
}

// DropMount unmounts an engine; its secrets are lost.
func (n *Namespace) DropMount(path string) { n.server.set(func() { delete(n.mounts, path) }) }

// WritePolicy makes or replaces a policy.
func (n *Namespace) WritePolicy(name string, p Policy) { n.server.set(func() { n.policies[name] = p }) }

// EnableAuth mounts an auth method: "approle" or "kubernetes".
func (n *Namespace) EnableAuth(method string) { n.server.set(func() { n.authTypes[method] = method }) }

// DropAuth unmounts an auth method and forgets its roles.
func (n *Namespace) DropAuth(method string) {
	n.server.set(func() {
		delete(n.authTypes, method)
		if method == "approle" {
			clear(n.roles)
		} else {
			clear(n.kubernetes)
		}
	})
}

// sys serves the system backend to a valid token.
func (n *Namespace) sys(r request) answer {
	path := strings.TrimPrefix(r.path, "sys/")
	switch {
	case path == "capabilities-self":
		return n.capabilitiesSelf(r)
	case strings.HasPrefix(path, "internal/ui/mounts/"):
		return n.uiMount(r, strings.Trim(strings.TrimPrefix(path, "internal/ui/mounts/"), "/"))
	case strings.HasPrefix(path, "mounts/"):
		return n.mountCall(r, strings.TrimPrefix(path, "mounts/"))
	case strings.HasPrefix(path, "policies/acl/") && r.op == http.MethodPost:
		return n.policyCall(r, strings.TrimPrefix(path, "policies/acl/"))
	case strings.HasPrefix(path, "auth/"):
		return n.authMount(r, strings.TrimPrefix(path, "auth/"))
	case strings.HasPrefix(path, "locked-users"):
		return n.lockedUsers(r, strings.TrimPrefix(path, "locked-users"))
	}
	return noHandler(r.path)
}

func (n *Namespace) capabilitiesSelf(r request) answer {
	if !n.may(r, "update") {
		return permissionDenied
	}
	paths, _ := r.body["paths"].([]any)
	if path := r.text("path"); path != "" {
		paths = append(paths, path)
	}
	fields := map[string]any{}
	for _, path := range paths {
		name := fmt.Sprint(path)
		fields[name] = n.capabilities(r.token, name)
		fields["capabilities"] = fields[name]
	}
	return data(fields)
}

func (n *Namespace) uiMount(r request, path string) answer {
	m := n.mounts[path]
	visible := slices.ContainsFunc(r.token.policies, func(name string) bool {
		return name == rootPolicy || n.policies[name].touches(path)
	})
	if m == nil || !visible {
		return fail(http.StatusForbidden, "1 error occurred:\n\t* preflight capability check returned 403, please ensure client's policies grant access to path \""+path+"/\"\n\n")
	}
	return data(m.description(path))
}

func (n *Namespace) mountCall(r request, path string) answer {
	path = strings.Trim(path, "/")
	switch r.op {
	case http.MethodGet:
		switch m := n.mounts[path]; {
		case !n.may(r, "read"):
			return permissionDenied
		case m == nil:
			return fail(http.StatusBadRequest, fmt.Sprintf("No secret engine mount at %s/", path))
		default:
			return data(m.description(path))
		}
	case http.MethodPost:
		if !n.may(r, "update") {
			return permissionDenied
		}
		version := 1
		if options, ok := r.body["options"].(map[string]any); ok && fmt.Sprint(options["version"]) == "2" {
			version = 2
		}
		n.mounts[path] = &mount{version: version, secrets: map[string]any{}}
		return done
	case http.MethodDelete:
		if !n.may(r, "delete") {
			return permissionDenied
		}
		delete(n.mounts, path)
		return done
	}
	return noHandler(r.path)
}

// policyCall takes policies in their JSON form only.
func (n *Namespace) policyCall(r request, name string) answer {
	if !n.may(r, "update") {
		return permissionDenied
	}
	policy, err := parsePolicy(r.text("policy"))
	if err != nil {
		return fail(http.StatusBadRequest, "failed to parse policy: "+err.Error())
	}
	n.policies[name] = policy
	return done
}

func (n *Namespace) authMount(r request, path string) answer {
	if !n.may(r, "update") && !n.may(r, "sudo") {
		return permissionDenied
	}
	method, tune := strings.CutSuffix(path, "/tune")
	switch {
	case tune && n.authTypes[method] == "":
		return fail(http.StatusBadRequest, fmt.Sprintf("no mount entry found for %q", path))
	case tune:
		if config, ok := r.body["user_lockout_config"].(map[string]any); ok {
			n.lockout = config["lockout_disable"] != true
		}
	case n.authTypes[method] != "":
		return fail(http.StatusBadRequest, fmt.Sprintf("path is already in use at %s/", path))
	default:
		n.authTypes[method] = r.text("type")
	}
	return done
}
