// SPDX-License-Identifier: Apache-2.0

package openbao_test

import (
	"context"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	standin "github.com/c5c3/cobaltcore/common/kubetest/openbao"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/openbao"
)

const service = "barbican"

type world struct {
	*standin.Server
	options openbao.Options
	pair    openbao.Credentials
}

func start(t *testing.T) *world {
	t.Helper()
	server, err := standin.Start(standin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	w := &world{Server: server}
	w.pair.RoleID = server.Provision(service)
	w.pair.SecretID, _ = server.MintSecretID(service)
	w.options = openbao.Options{URL: "https://bao.keys.svc:8200", CA: server.CA(), Dial: server.Dial, Timeout: 5 * time.Second}
	return w
}

func (w *world) connect(t *testing.T) *openbao.Client {
	t.Helper()
	client, err := openbao.New(w.options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func TestValidate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		given   func(*world)
		kind    openbao.Kind
		login   bool
		text    string
		missing []string
		update  bool
	}{
		{name: "fine"},
		{
			name: "update is told", update: true,
			given: func(w *world) {
				w.WritePolicy(service, standin.Policy{"barbican/data/*": {"create", "read", "update", "delete", "list"}})
			},
		},
		{
			name: "root may do everything", update: true,
			given: func(w *world) { w.WriteAppRole(service, standin.AppRole{Policies: []string{"root"}}) },
		},
		{
			name: "missing capabilities", missing: []string{"create", "delete"},
			given: func(w *world) { w.WritePolicy(service, standin.Policy{"barbican/data/*": {"read"}}) },
		},
		{
			name: "no capability at all", missing: []string{"create", "read", "delete"},
			given: func(w *world) { w.WritePolicy(service, standin.Policy{}) },
		},
		{
			name: "wrong secret ID", kind: openbao.Refused, login: true, text: "logging in with the AppRole: status 400: invalid role or secret ID",
			given: func(w *world) { w.pair.SecretID = "wrong" },
		},
		{
			name: "destroyed secret ID", kind: openbao.Refused, login: true,
			given: func(w *world) { w.DestroySecretID(w.pair.SecretID) },
		},
		{
			name: "locked out", kind: openbao.Denied, login: true, text: "logging in with the AppRole: status 403: permission denied",
			given: func(w *world) { w.LockOut(w.pair.RoleID) },
		},
		{
			name: "no auth mount", kind: openbao.Missing, login: true,
			given: func(w *world) { w.DropAuth("approle") },
		},
		{
			name: "missing mount", kind: openbao.Missing, text: `reading from the mount barbican: status 404: no handler for route "barbican/data/probe". route entry not found.`,
			given: func(w *world) { w.DropMount(service) },
		},
		{
			name: "missing mount behind a policy that grants update", kind: openbao.Missing,
			given: func(w *world) {
				w.WritePolicy(service, standin.Policy{"barbican/data/*": {"create", "read", "update", "delete"}})
				w.DropMount(service)
			},
		},
		{
			name: "KV v1", kind: openbao.WrongEngine,
			given: func(w *world) { w.EnableKV(service, 1) },
		},
		{
			name: "mount not described", given: func(w *world) { w.Deny("sys/internal/ui/mounts/barbican") },
		},
		{
			name: "read refused against the policy", kind: openbao.Denied,
			given: func(w *world) { w.Deny("barbican/data/probe") },
		},
		{
			name: "capabilities not told", kind: openbao.Denied,
			given: func(w *world) { w.Deny("sys/capabilities-self") },
		},
		{
			name: "sealed", kind: openbao.Sealed, login: true, text: "logging in with the AppRole: status 503: Vault is sealed",
			given: func(w *world) { w.Seal() },
		},
		{
			name: "standby", kind: openbao.Sealed, login: true,
			given: func(w *world) { w.StandBy() },
		},
		{
			name: "black hole", kind: openbao.Unreachable, login: true, text: "logging in with the AppRole: no answer within 50ms",
			given: func(w *world) { w.options.Timeout = 50 * time.Millisecond; w.BlackHole() },
		},
		{
			name: "connection refused", kind: openbao.Unreachable, login: true, text: "logging in with the AppRole: connection refused",
			given: func(w *world) {
				w.options.Dial = func(context.Context, string, string) (net.Conn, error) {
					return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
				}
			},
		},
		{
			name: "unknown name", kind: openbao.Unreachable, login: true, text: "logging in with the AppRole: the name of the server does not resolve",
			given: func(w *world) {
				w.options.Dial = func(context.Context, string, string) (net.Conn, error) {
					return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "bao.keys.svc", Server: "10.0.0.1:53", IsNotFound: true}}
				}
			},
		},
		{
			name: "unworded failure", kind: openbao.Unreachable, login: true, text: "logging in with the AppRole: tunnel (address) to (address) broke",
			given: func(w *world) {
				w.options.Dial = func(context.Context, string, string) (net.Conn, error) {
					return nil, errors.New("tunnel 0xc0001234 to\n10.1.2.3:41234 broke")
				}
			},
		},
		{
			name: "another CA", kind: openbao.Unreachable, login: true, text: "logging in with the AppRole: the server's certificate is not signed by the trusted CA",
			given: func(w *world) {
				other, err := standin.Start(standin.Options{})
				if err != nil {
					panic(err)
				}
				defer other.Close()
				w.options.CA = other.CA()
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			if test.given != nil {
				test.given(w)
			}
			grant, err := w.connect(t).Validate(context.Background(), w.pair, service)
			wantError := test.kind != openbao.Unexpected
			if wantError != (err != nil) || wantError && !openbao.IsKind(err, test.kind) {
				t.Fatalf("error %v, want kind %v", err, test.kind)
			}
			var login *openbao.LoginError
			if errors.As(err, &login) != test.login {
				t.Errorf("login error: %v, want %v (%v)", !test.login, test.login, err)
			}
			if err != nil && test.text != "" && err.Error() != test.text {
				t.Errorf("text %q, want %q", err, test.text)
			}
			if err != nil && strings.Contains(err.Error(), w.pair.SecretID) && w.pair.SecretID != "wrong" {
				t.Error("the secret ID is in the error")
			}
			if !slices.Equal(grant.Missing, test.missing) || err == nil && grant.Update != test.update {
				t.Errorf("grant %+v, want missing %v, update %v", grant, test.missing, test.update)
			}
			if w.OpenSessions() != 0 {
				t.Errorf("%d sessions are left", w.OpenSessions())
			}
		})
	}
}

func TestValidateInANamespace(t *testing.T) {
	t.Parallel()
	w := start(t)
	team := w.Within("team")
	w.pair.RoleID = team.Provision(service)
	w.pair.SecretID, _ = team.MintSecretID(service)
	if _, err := w.connect(t).Validate(context.Background(), w.pair, service); !openbao.IsKind(err, openbao.Refused) {
		t.Errorf("in the root namespace: %v, want a refusal", err)
	}
	w.options.Namespace = "team"
	if _, err := w.connect(t).Validate(context.Background(), w.pair, service); err != nil {
		t.Errorf("in the namespace: %v", err)
	}
}

func TestTheEnvironmentHasNoSay(t *testing.T) { //nolint:paralleltest // sets environment variables
	w := start(t)
	for name, value := range map[string]string{
		"BAO_ADDR": "https://127.0.0.1:1", "VAULT_ADDR": "https://127.0.0.1:1", "BAO_NAMESPACE": "other", "VAULT_NAMESPACE": "other",
		"BAO_TOKEN": "token", "VAULT_TOKEN": "token", "BAO_CACERT": "/nowhere", "VAULT_CACERT": "/nowhere", "BAO_SKIP_VERIFY": "true",
		"BAO_WRAP_TTL": "5m", "VAULT_MAX_RETRIES": "9",
	} {
		t.Setenv(name, value)
	}
	if _, err := w.connect(t).Validate(context.Background(), w.pair, service); err != nil {
		t.Errorf("validation failed: %v", err)
	}
	w.options.CA = nil
	if _, err := w.connect(t).Validate(context.Background(), w.pair, service); !openbao.IsKind(err, openbao.Unreachable) {
		t.Errorf("an unknown CA was accepted: %v", err)
	}
}

func TestMountMayHaveSlashes(t *testing.T) {
	t.Parallel()
	w := start(t)
	if grant, err := w.connect(t).Validate(context.Background(), w.pair, "/barbican/"); err != nil || len(grant.Missing) > 0 {
		t.Errorf("%v, %v", grant, err)
	}
}

// A server that is none, or not a friendly one, costs neither memory nor time, and its words are not repeated.
func TestStrangeAnswers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		handler http.HandlerFunc
		timeout time.Duration
		kind    openbao.Kind
		text    string
	}{
		{name: "a web page", kind: openbao.Unexpected, text: "not what an OpenBao server sends", handler: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<html>private</html>"))
		}},
		{name: "an error page", kind: openbao.Unexpected, text: "status 502: not an answer of an OpenBao server", handler: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = w.Write([]byte("private"))
		}},
		{name: "no token", kind: openbao.Unexpected, text: "holds no token", handler: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("{}"))
		}},
		{name: "nothing", kind: openbao.Unexpected, text: "holds no token", handler: func(http.ResponseWriter, *http.Request) {}},
		{name: "an endless error", kind: openbao.Unreachable, text: "too large", handler: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			for chunk := make([]byte, 1<<16); ; {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}},
		{name: "an endless answer", timeout: 100 * time.Millisecond, kind: openbao.Unreachable, text: "no answer within 100ms", handler: func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte("{"))
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewTLSServer(test.handler)
			t.Cleanup(server.Close)
			ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
			client, err := openbao.New(openbao.Options{URL: server.URL, CA: ca, Timeout: test.timeout})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			_, err = client.Validate(context.Background(), openbao.Credentials{RoleID: "r", SecretID: "s"}, service)
			if !openbao.IsKind(err, test.kind) || !strings.Contains(err.Error(), test.text) || strings.Contains(err.Error(), "private") {
				t.Errorf("%v, want kind %v with %q", err, test.kind, test.text)
			}
		})
	}
}

func TestOneCallIsNotRepeated(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.StandBy() // answers 500, which the library repeats by default
	_, _ = w.connect(t).Validate(context.Background(), w.pair, service)
	if n := w.Calls("POST", "auth/approle/login"); n != 1 {
		t.Errorf("%d logins, want 1", n)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]openbao.Options{
		"http":         {URL: "http://bao:8200"},
		"no URL":       {},
		"broken URL":   {URL: "https://%zz"},
		"CA not PEM":   {URL: "https://bao:8200", CA: []byte("not PEM")},
		"CA but empty": {URL: "https://bao:8200", CA: []byte{}},
	} {
		if _, err := openbao.New(options); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestProvisioner(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	tests := []struct {
		name  string
		given func(*world)
		do    func(*openbao.Provisioner) error
		kind  openbao.Kind
		text  string
	}{
		{name: "mount", do: func(p *openbao.Provisioner) error { return p.CheckMount(ctx, service) }},
		{
			name: "missing mount", kind: openbao.Missing, text: "reading the mount barbican: status 400: No secret engine mount at barbican/",
			given: func(w *world) { w.DropMount(service) },
			do:    func(p *openbao.Provisioner) error { return p.CheckMount(ctx, service) },
		},
		{
			name: "KV v1 mount", kind: openbao.WrongEngine,
			given: func(w *world) { w.EnableKV(service, 1) },
			do:    func(p *openbao.Provisioner) error { return p.CheckMount(ctx, service) },
		},
		{
			name: "mount denied", kind: openbao.Denied, text: "reading the mount barbican: status 403: permission denied",
			given: func(w *world) { w.Deny("sys/mounts/barbican") },
			do:    func(p *openbao.Provisioner) error { return p.CheckMount(ctx, service) },
		},
		{
			name: "missing role", kind: openbao.Missing, text: "reading the role ID of AppRole barbican: status 404: not found",
			given: func(w *world) { w.DropAppRole(service) },
			do:    func(p *openbao.Provisioner) error { _, err := p.RoleID(ctx, service); return err },
		},
		{
			name: "mint for a missing role", kind: openbao.Missing,
			given: func(w *world) { w.DropAppRole(service) },
			do:    func(p *openbao.Provisioner) error { _, err := p.Mint(ctx, service, nil); return err },
		},
		{
			name: "mint denied", kind: openbao.Denied,
			given: func(w *world) { w.Deny("auth/approle/role/barbican/secret-id") },
			do:    func(p *openbao.Provisioner) error { _, err := p.Mint(ctx, service, nil); return err },
		},
		{name: "destroying what is gone", do: func(p *openbao.Provisioner) error { return p.Destroy(ctx, service, "gone") }},
		{
			name: "destroying denied", kind: openbao.Denied,
			given: func(w *world) { w.Deny("auth/approle/role/barbican/secret-id-accessor/destroy") },
			do:    func(p *openbao.Provisioner) error { return p.Destroy(ctx, service, "any") },
		},
		{
			name: "sealed in between", kind: openbao.Sealed,
			given: func(w *world) { w.Seal() },
			do:    func(p *openbao.Provisioner) error { _, err := p.RoleID(ctx, service); return err },
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			p, err := w.connect(t).LoginKubernetes(ctx, "provisioner", "jwt")
			if err != nil {
				t.Fatal(err)
			}
			if test.given != nil {
				test.given(w)
			}
			err = test.do(p)
			if (err != nil) != (test.kind != openbao.Unexpected) || err != nil && !openbao.IsKind(err, test.kind) {
				t.Errorf("error %v, want kind %v", err, test.kind)
			}
			if test.text != "" && err.Error() != test.text {
				t.Errorf("text %q, want %q", err, test.text)
			}
			w.Unseal()
			p.Close(ctx)
			if w.OpenSessions() != 0 {
				t.Errorf("%d sessions are left", w.OpenSessions())
			}
		})
	}
}

func TestLoginKubernetes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := start(t)
	w.ReviewTokens(func(role standin.KubernetesRole, jwt string) error {
		if jwt == "stale" {
			return errors.New("token " + jwt + " has another audience")
		}
		return nil
	})
	client := w.connect(t)
	_, err := client.LoginKubernetes(ctx, "provisioner", "stale")
	if !openbao.IsKind(err, openbao.Denied) || strings.Contains(err.Error(), "stale") {
		t.Errorf("wrong audience: %v, want a denial that does not repeat the token", err)
	}
	if _, err := client.LoginKubernetes(ctx, "nobody", "jwt"); !openbao.IsKind(err, openbao.Missing) {
		t.Errorf("missing role: %v", err)
	}
	w.DropAuth("kubernetes")
	if _, err := client.LoginKubernetes(ctx, "provisioner", "jwt"); !openbao.IsKind(err, openbao.Missing) {
		t.Errorf("missing auth method: %v", err)
	}
}

func TestMint(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := start(t)
	client := w.connect(t)
	p, err := client.LoginKubernetes(ctx, "provisioner", "jwt")
	if err != nil {
		t.Fatal(err)
	}
	roleID, err := p.RoleID(ctx, service)
	if err != nil || roleID != w.pair.RoleID {
		t.Fatalf("role ID %q, %v", roleID, err)
	}
	minted, err := p.Mint(ctx, service, map[string]string{"store": "keys/main"})
	if err != nil {
		t.Fatal(err)
	}
	if minted.TTL != 720*time.Hour {
		t.Errorf("TTL %v, want the role's", minted.TTL)
	}
	if metadata := w.SecretIDs(service)[minted.Accessor]; metadata["store"] != "keys/main" {
		t.Errorf("metadata %v", metadata)
	}
	if _, err := client.Validate(ctx, openbao.Credentials{RoleID: roleID, SecretID: minted.ID}, service); err != nil {
		t.Errorf("the minted pair does not work: %v", err)
	}

	w.Deny("auth/approle/role/barbican/secret-id/lookup")
	if again, err := p.Mint(ctx, service, nil); err != nil || again.TTL != 720*time.Hour {
		t.Errorf("without the permission to look up: %+v, %v", again, err)
	}
	if err := p.Destroy(ctx, service, minted.Accessor); err != nil {
		t.Fatal(err)
	}
	if _, found := w.SecretIDs(service)[minted.Accessor]; found {
		t.Error("the destroyed secret ID is still there")
	}
}

// A session that outlives its conversation's context is revoked all the same.
func TestSessionsAreRevokedAfterCancellation(t *testing.T) {
	t.Parallel()
	w := start(t)
	ctx, cancel := context.WithCancel(context.Background())
	p, err := w.connect(t).LoginKubernetes(ctx, "provisioner", "jwt")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	p.Close(ctx)
	if w.OpenSessions() != 0 {
		t.Errorf("%d sessions are left", w.OpenSessions())
	}
}
