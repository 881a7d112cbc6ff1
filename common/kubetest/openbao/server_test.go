// SPDX-License-Identifier: Apache-2.0

package openbao

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// world is a provisioned server with a client that trusts it.
type world struct {
	*Server
	t       *testing.T
	client  *http.Client
	roleID  string
	seconds atomic.Int64 // passed since the start
}

func start(t *testing.T) *world {
	t.Helper()
	w := &world{t: t}
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	server, err := Start(Options{Clock: func() time.Time {
		return epoch.Add(time.Duration(w.seconds.Load()) * time.Second)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(server.CA())
	w.Server, w.roleID = server, server.Provision("keys")
	w.client = &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, DialContext: server.Dial,
	}}
	return w
}

// call returns the status, the decoded body and its raw text.
func (w *world) call(token, method, path, body string, header ...string) (int, map[string]any, string) {
	w.t.Helper()
	// The name is nobody's: Dial and the certificate serve every name.
	request, err := http.NewRequestWithContext(context.Background(), method, "https://bao.test.svc:8200/v1/"+path, bytes.NewBufferString(body))
	if err != nil {
		w.t.Fatal(err)
	}
	request.Header.Set("X-Vault-Token", token)
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := w.client.Do(request)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	raw, _ := io.ReadAll(response.Body)
	decoded := map[string]any{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &decoded); err != nil {
			w.t.Fatalf("%s %s answered %q: %v", method, path, raw, err)
		}
	}
	return response.StatusCode, decoded, string(raw)
}

func (w *world) login(secretID string) (int, string) {
	w.t.Helper()
	code, body, _ := w.call("", "POST", "auth/approle/login", `{"role_id":"`+w.roleID+`","secret_id":"`+secretID+`"}`)
	auth, _ := body["auth"].(map[string]any)
	token, _ := auth["client_token"].(string)
	return code, token
}

func (w *world) service() string {
	w.t.Helper()
	id, _ := w.MintSecretID("keys")
	code, token := w.login(id)
	if code != http.StatusOK {
		w.t.Fatalf("login answered %d", code)
	}
	return token
}

func (w *world) provisioner() string {
	w.t.Helper()
	code, body, _ := w.call("", "POST", "auth/kubernetes/login", `{"role":"provisioner","jwt":"any"}`)
	if code != http.StatusOK {
		w.t.Fatalf("login answered %d", code)
	}
	return body["auth"].(map[string]any)["client_token"].(string)
}

// TestAnswers goes through what a real server was seen to answer, call by call.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const nobody, root, service, provisioner = "nobody", "root", "service", "provisioner"
	tests := []struct {
		name         string
		given        func(*world)
		as           string
		method, path string
		body         string
		code         int
		contains     string
	}{
		{name: "health", as: nobody, method: "GET", path: "sys/health", code: 200, contains: `"sealed":false`},
		{name: "health of a sealed server", given: func(w *world) { w.Seal() }, as: nobody, method: "GET", path: "sys/health", code: 503, contains: `"sealed":true`},
		{name: "health with the code asked for", given: func(w *world) { w.Seal() }, as: nobody, method: "GET", path: "sys/health?sealedcode=299", code: 299},
		{name: "health of a standby", given: func(w *world) { w.StandBy() }, as: nobody, method: "GET", path: "sys/health", code: 429},
		{name: "login at a sealed server", given: func(w *world) { w.Seal() }, as: nobody, method: "POST", path: "auth/approle/login", code: 503, contains: "sealed"},
		{name: "login at a standby", given: func(w *world) { w.StandBy() }, as: nobody, method: "POST", path: "auth/approle/login", code: 500, contains: "active cluster node not found"},
		{name: "no token", as: nobody, method: "GET", path: "sys/mounts/keys", code: 403, contains: "permission denied"},

		{name: "mount", as: provisioner, method: "GET", path: "sys/mounts/keys", code: 200, contains: `"version":"2"`},
		{name: "missing mount", given: func(w *world) { w.DropMount("keys") }, as: provisioner, method: "GET", path: "sys/mounts/keys", code: 400, contains: "No secret engine mount at keys/"},
		{name: "mount without permission", as: service, method: "GET", path: "sys/mounts/keys", code: 403},
		{name: "mount seen by a service", as: service, method: "GET", path: "sys/internal/ui/mounts/keys", code: 200, contains: `"version":"2"`},
		{name: "KV v1 mount seen by a service", given: func(w *world) { w.EnableKV("keys", 1) }, as: service, method: "GET", path: "sys/internal/ui/mounts/keys", code: 200, contains: `"version":"1"`},
		{name: "missing mount seen by a service", given: func(w *world) { w.DropMount("keys") }, as: service, method: "GET", path: "sys/internal/ui/mounts/keys", code: 403},
		{name: "mount of others seen by a service", given: func(w *world) { w.EnableKV("others", 2) }, as: service, method: "GET", path: "sys/internal/ui/mounts/others", code: 403},

		{name: "absent secret", as: service, method: "GET", path: "keys/data/absent", code: 404, contains: `{"errors":[]}`},
		{name: "absent secret on a missing mount", given: func(w *world) { w.DropMount("keys") }, as: service, method: "GET", path: "keys/data/absent", code: 404, contains: `no handler for route`},
		{name: "write", as: service, method: "POST", path: "keys/data/new", body: `{"data":{"a":"b"}}`, code: 200, contains: `"version":1`},
		{name: "write to a missing mount", given: func(w *world) { w.DropMount("keys") }, as: service, method: "POST", path: "keys/data/new", body: `{"data":{"a":"b"}}`, code: 403},
		{name: "write to a missing mount with update", given: func(w *world) {
			w.DropMount("keys")
			w.WritePolicy("keys", Policy{"keys/data/*": {"create", "update"}})
		}, as: service, method: "POST", path: "keys/data/new", body: `{"data":{"a":"b"}}`, code: 404, contains: "no handler for route"},
		{name: "write to a KV v1 mount", given: func(w *world) { w.EnableKV("keys", 1) }, as: service, method: "POST", path: "keys/data/new", body: `{"data":{"a":"b"}}`, code: 204},
		{name: "delete", as: service, method: "DELETE", path: "keys/data/new", code: 204},
		{name: "secret of others", as: service, method: "GET", path: "others/data/a", code: 403},

		{name: "capabilities", as: service, method: "POST", path: "sys/capabilities-self", body: `{"paths":["keys/data/x"]}`, code: 200, contains: `"keys/data/x":["create","delete","read"]`},
		{name: "capabilities on a missing mount are the same", given: func(w *world) { w.DropMount("keys") }, as: service, method: "POST", path: "sys/capabilities-self", body: `{"paths":["keys/data/x"]}`, code: 200, contains: `"keys/data/x":["create","delete","read"]`},
		{name: "no capability", as: service, method: "POST", path: "sys/capabilities-self", body: `{"path":"others/x"}`, code: 200, contains: `["deny"]`},
		{name: "root capability", as: root, method: "POST", path: "sys/capabilities-self", body: `{"path":"others/x"}`, code: 200, contains: `["root"]`},

		{name: "role", as: root, method: "GET", path: "auth/approle/role/keys", code: 200, contains: `"secret_id_ttl":2592000`},
		{name: "missing role", as: root, method: "GET", path: "auth/approle/role/none", code: 404},
		{name: "role ID", as: provisioner, method: "GET", path: "auth/approle/role/keys/role-id", code: 200, contains: `"role_id"`},
		{name: "role ID of a missing role", given: func(w *world) { w.DropAppRole("keys") }, as: provisioner, method: "GET", path: "auth/approle/role/keys/role-id", code: 404, contains: `"errors":[]`},
		{name: "role ID without permission", as: service, method: "GET", path: "auth/approle/role/keys/role-id", code: 403},
		{name: "mint", as: provisioner, method: "POST", path: "auth/approle/role/keys/secret-id", code: 200, contains: `"secret_id_ttl":2592000`},
		{name: "mint with a shorter life", as: provisioner, method: "POST", path: "auth/approle/role/keys/secret-id", body: `{"ttl":"60s"}`, code: 200, contains: `"secret_id_ttl":60`},
		{name: "mint with a longer life than the role's", as: provisioner, method: "POST", path: "auth/approle/role/keys/secret-id", body: `{"ttl":"9000h"}`, code: 400, contains: "ttl"},
		{name: "mint for a missing role", given: func(w *world) { w.DropAppRole("keys") }, as: provisioner, method: "POST", path: "auth/approle/role/keys/secret-id", code: 404, contains: "keys"},
		{name: "lookup of an unknown secret ID", as: provisioner, method: "POST", path: "auth/approle/role/keys/secret-id/lookup", body: `{"secret_id":"x"}`, code: 204},
		{name: "lookup of an unknown accessor", as: root, method: "POST", path: "auth/approle/role/keys/secret-id-accessor/lookup", body: `{"secret_id_accessor":"x"}`, code: 404},

		{name: "no auth mount", given: func(w *world) { w.DropAuth("approle") }, as: nobody, method: "POST", path: "auth/approle/login", body: `{"role_id":"a"}`, code: 404},
		{name: "kubernetes login without a token", as: nobody, method: "POST", path: "auth/kubernetes/login", body: `{"role":"provisioner"}`, code: 400},
		{name: "kubernetes login to a missing role", as: nobody, method: "POST", path: "auth/kubernetes/login", body: `{"role":"x","jwt":"y"}`, code: 400, contains: "invalid role name"},
		{name: "kubernetes login refused", given: func(w *world) {
			w.ReviewTokens(func(KubernetesRole, string) error { return errors.New("invalid audience (aud) claim") })
		}, as: nobody, method: "POST", path: "auth/kubernetes/login", body: `{"role":"provisioner","jwt":"y"}`, code: 403, contains: "audience"},
		{name: "denied path", given: func(w *world) { w.Deny("auth/approle/login") }, as: nobody, method: "POST", path: "auth/approle/login", code: 403},

		{name: "enable approle twice", as: root, method: "POST", path: "sys/auth/approle", body: `{"type":"approle"}`, code: 400},
		{name: "enable a method", as: root, method: "POST", path: "sys/auth/other", body: `{"type":"approle"}`, code: 204},
		{name: "mount an engine", as: root, method: "POST", path: "sys/mounts/more", body: `{"type":"kv","options":{"version":"2"}}`, code: 204},
		{name: "write a policy", as: root, method: "PUT", path: "sys/policies/acl/p", body: `{"policy":"{\"path\":{\"more/*\":{\"capabilities\":[\"read\"]}}}"}`, code: 204},
		{name: "write a role", as: root, method: "POST", path: "auth/approle/role/more", body: `{"token_policies":"p","secret_id_ttl":"1h","token_ttl":60}`, code: 204},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			token := map[string]func() string{
				nobody: func() string { return "" }, root: w.RootToken, service: w.service, provisioner: w.provisioner,
			}[test.as]()
			if test.given != nil {
				test.given(w)
			}
			code, _, raw := w.call(token, test.method, test.path, test.body)
			if code != test.code || !strings.Contains(raw, test.contains) {
				t.Errorf("answered %d %s, want %d with %q", code, raw, test.code, test.contains)
			}
		})
	}
}

func TestLifeOfASecretID(t *testing.T) {
	t.Parallel()
	w := start(t)
	token := w.provisioner()
	_, body, _ := w.call(token, "POST", "auth/approle/role/keys/secret-id", `{"ttl":"1h","metadata":"{\"store\":\"a\"}"}`)
	minted := body["data"].(map[string]any)
	id, accessor := minted["secret_id"].(string), minted["secret_id_accessor"].(string)

	if code, session := w.login(id); code != 200 || session == "" {
		t.Fatalf("a fresh secret ID logs in with %d", code)
	}
	if metadata := w.SecretIDs("keys")[accessor]; metadata["store"] != "a" {
		t.Errorf("metadata is %v", metadata)
	}
	_, _, raw := w.call(token, "POST", "auth/approle/role/keys/secret-id/lookup", `{"secret_id":"`+id+`"}`)
	if !strings.Contains(raw, `"expiration_time":"2026-01-01T01:00:00Z"`) || !strings.Contains(raw, `"secret_id_ttl":3600`) {
		t.Errorf("lookup answered %s", raw)
	}
	if _, listed, raw := w.call(w.RootToken(), "LIST", "auth/approle/role/keys/secret-id", ""); !strings.Contains(raw, accessor) {
		t.Errorf("list answered %v", listed)
	}

	w.seconds.Store(3601)
	if code, _ := w.login(id); code != 400 {
		t.Errorf("an expired secret ID logs in with %d, want 400", code)
	}
	other, otherAccessor := w.MintSecretID("keys")
	_, session := w.login(other)
	if session == "" {
		t.Fatal("the other secret ID does not log in")
	}
	if code, _, _ := w.call(w.provisioner(), "POST", "auth/approle/role/keys/secret-id-accessor/destroy", `{"secret_id_accessor":"`+otherAccessor+`"}`); code != 204 {
		t.Errorf("destroy answered %d", code)
	}
	if code, _ := w.login(other); code != 400 {
		t.Errorf("a destroyed secret ID logs in with %d, want 400", code)
	}
	if code, _, _ := w.call(session, "GET", "keys/data/x", ""); code != 404 {
		t.Errorf("the session of a destroyed secret ID answers %d, want it to live on", code)
	}
}

func TestLockout(t *testing.T) {
	t.Parallel()
	w := start(t)
	good, _ := w.MintSecretID("keys")
	for i := range lockoutThreshold {
		if code, _ := w.login("wrong"); code != 400 {
			t.Fatalf("failed login %d answered %d", i, code)
		}
	}
	if code, _ := w.login(good); code != 403 {
		t.Errorf("a valid secret ID of a locked role logs in with %d, want 403", code)
	}
	if _, _, raw := w.call(w.RootToken(), "GET", "sys/locked-users", ""); !strings.Contains(raw, w.roleID) {
		t.Errorf("locked users: %s", raw)
	}
	if code, _, _ := w.call(w.RootToken(), "POST", "sys/locked-users/auth_approle/unlock/"+w.roleID, ""); code != 204 {
		t.Errorf("unlock answered %d", code)
	}
	if code, _ := w.login(good); code != 200 {
		t.Errorf("after the unlock a valid secret ID logs in with %d", code)
	}

	w.LockOut(w.roleID)
	w.seconds.Store(int64(lockoutDuration.Seconds()))
	if code, _ := w.login(good); code != 200 {
		t.Errorf("after the lockout's end a valid secret ID logs in with %d", code)
	}

	w.LockOut(w.roleID)
	w.call(w.RootToken(), "POST", "sys/auth/approle/tune", `{"user_lockout_config":{"lockout_disable":true}}`)
	if code, _ := w.login(good); code != 200 {
		t.Errorf("with lockout disabled a valid secret ID logs in with %d", code)
	}
}

func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	w := start(t)
	token := w.service()
	if w.OpenSessions() != 1 {
		t.Fatalf("%d open sessions, want 1", w.OpenSessions())
	}
	if code, _, _ := w.call(token, "POST", "auth/token/revoke-self", ""); code != 204 || w.OpenSessions() != 0 {
		t.Errorf("revoking answered %d and left %d sessions", code, w.OpenSessions())
	}
	if code, _, _ := w.call(token, "GET", "keys/data/x", ""); code != 403 {
		t.Errorf("a revoked token reads with %d, want 403", code)
	}
	token = w.service()
	w.seconds.Store(3600)
	if code, _, _ := w.call(token, "GET", "keys/data/x", ""); code != 403 {
		t.Errorf("an expired token reads with %d, want 403", code)
	}
	w.RevokeSessions()
	if w.OpenSessions() != 0 {
		t.Error("sessions are left")
	}
}

func TestNamespacesAreApart(t *testing.T) {
	t.Parallel()
	w := start(t)
	team := w.Within("team")
	roleID := team.WriteAppRole("keys", AppRole{Policies: []string{"keys"}})
	id, _ := team.MintSecretID("keys")
	body := `{"role_id":"` + roleID + `","secret_id":"` + id + `"}`
	if code, _, _ := w.call("", "POST", "auth/approle/login", body); code != 400 {
		t.Errorf("login in the root namespace answered %d, want 400", code)
	}
	code, answer, _ := w.call("", "POST", "auth/approle/login", body, "X-Vault-Namespace", "team/")
	if code != 200 {
		t.Fatalf("login in the namespace answered %d", code)
	}
	token := answer["auth"].(map[string]any)["client_token"].(string)
	if code, _, _ := w.call(token, "GET", "auth/token/lookup-self", ""); code != 403 {
		t.Errorf("the token works in the root namespace: %d", code)
	}
	if code, _, _ := w.call(token, "GET", "keys/data/x", "", "X-Vault-Namespace", "none"); code != 404 {
		t.Errorf("an unknown namespace answered %d, want 404", code)
	}
}

func TestBlackHoleHoldsCallsUntilAnswered(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.BlackHole()
	ctx, cancel := context.WithCancel(context.Background())
	request, _ := http.NewRequestWithContext(ctx, http.MethodGet, w.URL()+"/v1/sys/health", nil)
	cancel()
	if response, err := w.client.Do(request); err == nil {
		_ = response.Body.Close()
		t.Error("a black hole answered")
	}
	w.Answer()
	w.Delay(time.Millisecond)
	if code, _, _ := w.call("", "GET", "sys/health", ""); code != 200 {
		t.Errorf("after the black hole health answers %d", code)
	}
}

func TestCallsAreCounted(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.service()
	w.service()
	if n := w.Calls("POST", "auth/approle/login"); n != 2 {
		t.Errorf("counted %d logins, want 2", n)
	}
	w.ForgetCalls()
	if all := w.AllCalls(); len(all) != 0 {
		t.Errorf("still counting %v", all)
	}
}
