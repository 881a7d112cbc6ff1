// SPDX-License-Identifier: Apache-2.0

// Package openbao talks to an OpenBao or HashiCorp Vault server the way the
// store controller needs it: as the provisioner of an instance, and as the
// holder of AppRole credentials. Every session is revoked before a method
// returns or by Close, every call has a deadline, and no error carries a secret.
package openbao

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/openbao/openbao/api/v2"
)

// DefaultTimeout is how long one call may take.
const DefaultTimeout = 10 * time.Second

// Options say where a server is and how to reach it.
type Options struct {
	// URL of the server, https only.
	URL string
	// Namespace of the server; empty is the root namespace.
	Namespace string
	// CA in PEM is the only authority trusted; nil trusts those of the system.
	CA []byte
	// Dial reaches the server, nil dials directly.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Timeout of one call, default DefaultTimeout.
	Timeout time.Duration
}

// Client is a connection to one server. Close it when the conversation is over.
type Client struct {
	api       *api.Client
	transport *http.Transport
	timeout   time.Duration
}

// New prepares a client; it does not call the server yet. The environment
// (BAO_*, VAULT_*) has no say.
func New(o Options) (*Client, error) {
	if !strings.HasPrefix(o.URL, "https://") {
		return nil, &Error{Kind: Unreachable, Doing: "connecting", Detail: "the URL does not start with https://"}
	}
	transport, err := transportFor(o)
	if err != nil {
		return nil, err
	}
	config := api.NewConfig()
	config.Address = o.URL
	config.DisableEnvironment = true
	config.MaxRetries = 0
	config.Timeout = 0 // the deadline of each call is set by call
	config.HttpClient.Transport = bounded{transport}
	client, err := api.NewClient(config)
	if err != nil {
		return nil, &Error{Kind: Unreachable, Doing: "connecting", Detail: "the URL cannot be read"}
	}
	client.SetNamespace(o.Namespace)
	return &Client{api: client, transport: transport, timeout: cmp.Or(o.Timeout, DefaultTimeout)}, nil
}

func transportFor(o Options) (*http.Transport, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CA != nil {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(o.CA) {
			return nil, &Error{Kind: Unreachable, Doing: "connecting", Detail: "the CA bundle holds no certificate in PEM form"}
		}
	}
	transport := &http.Transport{
		TLSClientConfig:     config,
		TLSHandshakeTimeout: cmp.Or(o.Timeout, DefaultTimeout),
		DialContext:         o.Dial,
	}
	if o.Dial == nil {
		transport.Proxy = http.ProxyFromEnvironment
	}
	return transport, nil
}

// maxAnswer is far beyond what a server sends; the library reads errors to their end.
const maxAnswer = 1 << 20

type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(request)
	if response != nil {
		response.Body = http.MaxBytesReader(nil, response.Body, maxAnswer)
	}
	return response, err
}

// Close drops the connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// session is a logged-in client.
type session struct {
	*Client
	token string
	// secrets never appear in an error, even if the server repeats them.
	secrets []string
}

// login opens a session; the caller revokes it.
func (c *Client) login(ctx context.Context, doing, method string, body map[string]any, secrets ...string) (*session, error) {
	anonymous := &session{Client: c, secrets: secrets}
	answer, err := anonymous.call(ctx, doing, http.MethodPost, "auth/"+method+"/login", body)
	if err != nil {
		return nil, err
	}
	if answer == nil || answer.Auth == nil || answer.Auth.ClientToken == "" {
		return nil, &Error{Kind: Unexpected, Doing: doing, Detail: "the answer holds no token"}
	}
	token := answer.Auth.ClientToken
	return &session{Client: c, token: token, secrets: append(secrets, token)}, nil
}

// revoke ends the session even if the conversation was cancelled.
func (s *session) revoke(ctx context.Context) {
	if _, err := s.call(context.WithoutCancel(ctx), "revoking the session", http.MethodPost, "auth/token/revoke-self", nil); err != nil {
		logr.FromContextOrDiscard(ctx).Info("Key store session not revoked, it ends by itself", "error", err.Error())
	}
}

// call makes one request within the deadline. Unlike the library's Read it
// tells a missing thing from an empty answer: every 404 is an error.
func (s *session) call(ctx context.Context, doing, method, path string, body map[string]any) (*api.Secret, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	request := s.api.NewRequest(method, "/v1/"+path)
	request.ClientToken = s.token
	if body != nil {
		if err := request.SetJSONBody(body); err != nil {
			return nil, &Error{Kind: Unexpected, Doing: doing, Detail: "the request cannot be encoded"}
		}
	}
	response, err := s.api.RawRequestWithContext(ctx, request)
	if response != nil && response.Body != nil {
		defer func() { _ = response.Body.Close() }()
	}
	if err != nil {
		return nil, s.classify(doing, err)
	}
	answer, err := api.ParseSecret(response.Body)
	switch {
	case ctx.Err() != nil:
		return nil, s.classify(doing, ctx.Err())
	case err != nil:
		return nil, &Error{Kind: Unexpected, Doing: doing, Detail: "the answer is not what an OpenBao server sends"}
	}
	return answer, nil
}

// field reads a text from an answer.
func field(answer *api.Secret, name string) string {
	if answer == nil {
		return ""
	}
	text, _ := answer.Data[name].(string)
	return text
}

// IsKind tells whether err is an Error of one of the kinds.
func IsKind(err error, kinds ...Kind) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && slices.Contains(kinds, e.Kind)
}
