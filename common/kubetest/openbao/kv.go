// SPDX-License-Identifier: Apache-2.0

package openbao

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// mount is a key-value engine; secrets are kept by their path below it.
type mount struct {
	version int
	secrets map[string]any
}

func (m *mount) description(path string) map[string]any {
	return map[string]any{
		"type": "kv", "path": path + "/", "accessor": "kv_" + path,
		"options": map[string]any{"version": strconv.Itoa(m.version)},
	}
}

// kv serves a key-value mount. Without a mount a write is judged as an update,
// which is how a real server answers 404 to a policy that grants update and 403
// to one that does not.
func (n *Namespace) kv(r request) answer {
	path, key, found := n.mountOf(r.path)
	if !found {
		if !n.may(r, capabilityOf(r.op, true)) {
			return permissionDenied
		}
		return noHandler(r.path)
	}
	m := n.mounts[path]
	_, exists := m.secrets[key]
	if !n.may(r, capabilityOf(r.op, exists)) {
		return permissionDenied
	}
	if m.version == 2 && !strings.HasPrefix(key, "data/") && !strings.HasPrefix(key, "metadata/") {
		return fail(http.StatusNotFound, "Invalid path for a versioned K/V secrets engine")
	}
	switch r.op {
	case http.MethodPost:
		return m.write(r, key)
	case http.MethodDelete:
		delete(m.secrets, key)
		return done
	case http.MethodGet:
		if !exists {
			return fail(http.StatusNotFound)
		}
		return m.read(key)
	}
	return fail(http.StatusNotFound)
}

func (m *mount) write(r request, key string) answer {
	if m.version == 1 {
		m.secrets[key] = r.body
		return done
	}
	if r.body["data"] == nil {
		return fail(http.StatusBadRequest, "no data provided")
	}
	m.secrets[key] = r.body["data"]
	return data(map[string]any{"version": 1, "destroyed": false})
}

func (m *mount) read(key string) answer {
	if m.version == 1 {
		fields, _ := m.secrets[key].(map[string]any)
		return data(fields)
	}
	return data(map[string]any{"data": m.secrets[key], "metadata": map[string]any{"version": 1, "destroyed": false}})
}

func (n *Namespace) mountOf(path string) (mount, key string, found bool) {
	for name := range n.mounts {
		if rest, ok := strings.CutPrefix(path, name+"/"); ok && len(name) > len(mount) {
			mount, key, found = name, rest, true
		}
	}
	return mount, key, found
}

func capabilityOf(op string, exists bool) string {
	switch op {
	case http.MethodGet:
		return "read"
	case http.MethodDelete:
		return "delete"
	case "LIST":
		return "list"
	}
	if exists {
		return "update"
	}
	return "create"
}

func parsePolicy(text string) (Policy, error) {
	var document struct {
		Path map[string]struct {
			Capabilities []string `json:"capabilities"`
		} `json:"path"`
	}
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		return nil, err
	}
	policy := Policy{}
	for path, rule := range document.Path {
		policy[path] = rule.Capabilities
	}
	return policy, nil
}
