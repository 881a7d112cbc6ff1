// SPDX-License-Identifier: Apache-2.0

package openbao

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Server is one running stand-in. The embedded Namespace is the root namespace.
type Server struct {
	*Namespace

	http     *http.Server
	listener net.Listener
	ca       *authority
	stop     chan struct{}
	closing  sync.Once

	mu         sync.Mutex
	clock      func() time.Time
	namespaces map[string]*Namespace
	tokens     map[string]*token
	denied     map[string]bool
	calls      map[string]int
	rootToken  string
	sealed     bool
	standby    bool
	blackHole  chan struct{}
	delay      time.Duration
}

// Options tune a server; the zero value listens on a free loopback port.
type Options struct {
	// Address to listen on, default 127.0.0.1:0.
	Address string
	// Clock tells the time by which secret IDs, tokens and lockouts end, default time.Now.
	Clock func() time.Time
}

// Start serves a fresh, unsealed and empty instance until Close.
func Start(o Options) (*Server, error) {
	ca, err := newAuthority()
	if err != nil {
		return nil, fmt.Errorf("making the certificate authority: %w", err)
	}
	listener, err := net.Listen("tcp", cmp.Or(o.Address, "127.0.0.1:0"))
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	s := &Server{
		listener: listener, ca: ca, stop: make(chan struct{}),
		clock: o.Clock, rootToken: "root." + random(),
		namespaces: map[string]*Namespace{}, tokens: map[string]*token{},
		denied: map[string]bool{}, calls: map[string]int{},
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	s.Namespace = newNamespace(s)
	s.namespaces[""] = s.Namespace
	s.tokens[s.rootToken] = &token{policies: []string{rootPolicy}}
	s.http = &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		TLSConfig:         &tls.Config{GetCertificate: ca.certificateFor, MinVersion: tls.VersionTLS12},
		ErrorLog:          silent(),
	}
	go func() { _ = s.http.ServeTLS(listener, "", "") }()
	return s, nil
}

// Close ends the server and every call it still holds. Closing twice is fine.
func (s *Server) Close() {
	s.closing.Do(func() {
		close(s.stop)
		_ = s.http.Close()
		_ = s.listener.Close()
	})
}

// URL is the server's base address on loopback.
func (s *Server) URL() string { return "https://" + s.Address() }

// Address is the server's host and port on loopback.
func (s *Server) Address() string { return s.listener.Addr().String() }

// CA is the PEM bundle that verifies the server's certificate. The certificate
// is issued for whatever name the client asks for.
func (s *Server) CA() []byte { return s.ca.pem }

// RootToken may do everything.
func (s *Server) RootToken() string { return s.rootToken }

// Dial reaches this server whatever address is asked for, so that a client can
// use the name of an instance's Service.
func (s *Server) Dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, s.Address())
}

// Within is the named namespace, made on first use; clients choose it with the
// namespace header.
func (s *Server) Within(name string) *Namespace {
	s.mu.Lock()
	defer s.mu.Unlock()
	name = strings.Trim(name, "/")
	if s.namespaces[name] == nil {
		s.namespaces[name] = newNamespace(s)
	}
	return s.namespaces[name]
}

// request is one call after its body and token were read.
type request struct {
	ns     *Namespace
	op     string // GET, POST, DELETE or LIST
	path   string // without /v1/
	body   map[string]any
	query  map[string][]string
	bearer string
	token  *token // nil when the token is missing, unknown or expired
}

func (r request) text(field string) string {
	value, _ := r.body[field].(string)
	return value
}

// answer is a status code and a JSON body; a nil body sends none.
type answer struct {
	code int
	body any
}

func fail(code int, errors ...string) answer {
	if errors == nil {
		errors = []string{}
	}
	return answer{code, map[string]any{"errors": errors}}
}

func data(fields map[string]any) answer {
	return answer{http.StatusOK, map[string]any{"data": fields, "lease_duration": 0, "renewable": false}}
}

var (
	done             = answer{code: http.StatusNoContent}
	permissionDenied = fail(http.StatusForbidden, "1 error occurred:\n\t* permission denied\n\n")
)

func noHandler(path string) answer {
	return fail(http.StatusNotFound, fmt.Sprintf("no handler for route %q. route entry not found.", path))
}

// ServeHTTP answers one call.
func (s *Server) ServeHTTP(w http.ResponseWriter, raw *http.Request) {
	if !s.hold(raw.Context()) {
		return
	}
	a := s.respond(raw)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.code)
	if a.body != nil {
		_ = json.NewEncoder(w).Encode(a.body)
	}
}

// hold waits out the injected latency; false means the caller went away.
func (s *Server) hold(ctx context.Context) bool {
	s.mu.Lock()
	delay, hole := s.delay, s.blackHole
	s.mu.Unlock()
	if hole != nil {
		select {
		case <-hole:
		case <-ctx.Done():
			return false
		case <-s.stop:
			return false
		}
	}
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return false
		case <-s.stop:
			return false
		}
	}
	return true
}

func (s *Server) respond(raw *http.Request) answer {
	r := request{op: raw.Method, path: strings.TrimPrefix(raw.URL.Path, "/v1/"), query: raw.URL.Query()}
	switch {
	case r.op == http.MethodGet && raw.URL.Query().Get("list") == "true":
		r.op = "LIST"
	case r.op == http.MethodPut:
		r.op = http.MethodPost
	}
	if r.op == http.MethodPost {
		// An empty body is a call without parameters.
		_ = json.NewDecoder(http.MaxBytesReader(nil, raw.Body, 1<<20)).Decode(&r.body)
	}
	r.bearer = cmp.Or(raw.Header.Get("X-Vault-Token"), strings.TrimPrefix(raw.Header.Get("Authorization"), "Bearer "))
	namespace := strings.Trim(raw.Header.Get("X-Vault-Namespace"), "/")

	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[r.op+" "+r.path]++
	r.ns = s.namespaces[namespace]
	return s.route(r)
}

func (s *Server) route(r request) answer {
	if r.path == "sys/health" {
		return s.health(r)
	}
	switch {
	case s.sealed:
		return fail(http.StatusServiceUnavailable, "Vault is sealed")
	case s.standby:
		return fail(http.StatusInternalServerError, "local node not active but active cluster node not found")
	case r.ns == nil:
		return noHandler(r.path)
	case s.denied[r.path]:
		return permissionDenied
	}
	r.token = s.tokenOf(r)
	if login := r.ns.login(r); login != nil {
		return *login
	}
	if r.token == nil {
		return fail(http.StatusForbidden, "permission denied")
	}
	switch {
	case strings.HasPrefix(r.path, "sys/"):
		return r.ns.sys(r)
	case strings.HasPrefix(r.path, "auth/token/"):
		return s.tokenCall(r)
	case strings.HasPrefix(r.path, "auth/"):
		return r.ns.auth(r)
	}
	return r.ns.kv(r)
}

// health answers with the codes the client asked for.
func (s *Server) health(r request) answer {
	code, asked := http.StatusOK, ""
	switch {
	case s.sealed:
		code, asked = http.StatusServiceUnavailable, "sealedcode"
	case s.standby && r.query["standbyok"] == nil:
		code, asked = http.StatusTooManyRequests, "standbycode"
	}
	if values := r.query[asked]; len(values) > 0 {
		_, _ = fmt.Sscanf(values[0], "%d", &code)
	}
	return answer{code, map[string]any{
		"initialized": true, "sealed": s.sealed, "standby": s.standby,
		"server_time_utc": s.clock().Unix(), "version": "2.4.0", "cluster_name": "stand-in",
	}}
}

// Calls counts the calls of a method (GET, POST, DELETE, LIST) and path such as
// "auth/approle/login".
func (s *Server) Calls(method, path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method+" "+path]
}

// AllCalls counts every call by "METHOD path".
func (s *Server) AllCalls() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.calls)
}

// ForgetCalls starts counting anew.
func (s *Server) ForgetCalls() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.calls)
}
