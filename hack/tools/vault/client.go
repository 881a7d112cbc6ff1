// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// client talks to one server, over TLS only.
type client struct {
	http    *http.Client
	address string
	token   string
}

// operation is one request, in the words of OpenBao's self-initialisation.
type operation struct {
	Name         string          `json:"name"`
	Operation    string          `json:"operation"`
	Path         string          `json:"path"`
	Data         json.RawMessage `json:"data,omitempty"`
	AllowFailure bool            `json:"allow_failure,omitempty"`
}

var methods = map[string]string{
	"create": http.MethodPost,
	"update": http.MethodPut,
	"read":   http.MethodGet,
	"list":   "LIST",
	"delete": http.MethodDelete,
}

// initialize gives a new server a single key share, so that one key unseals it.
func initialize(ctx context.Context, args []string) error {
	c, _, err := connect("init", args)
	if err != nil {
		return err
	}
	answer, err := c.do(ctx, operation{Operation: "update", Path: "sys/init", Data: json.RawMessage(`{"secret_shares":1,"secret_threshold":1}`)})
	if err != nil {
		return err
	}
	var made struct {
		Keys      []string `json:"keys_base64"`
		RootToken string   `json:"root_token"`
	}
	if err := json.Unmarshal(answer, &made); err != nil {
		return fmt.Errorf("reading the answer of sys/init: %w", err)
	}
	key, err := json.Marshal(map[string]string{"key": made.Keys[0]})
	if err != nil {
		return err
	}
	if _, err := c.do(ctx, operation{Operation: "update", Path: "sys/unseal", Data: key}); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]string{"root-token": made.RootToken, "unseal-key": made.Keys[0]})
}

// apply performs a sequence of JSON objects from standard input, up to the first that fails and must not.
func apply(ctx context.Context, args []string) error {
	c, _, err := connect("apply", args)
	if err != nil {
		return err
	}
	operations := json.NewDecoder(os.Stdin)
	operations.DisallowUnknownFields()
	for {
		var next operation
		if err := operations.Decode(&next); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading operations: %w", err)
		}
		if _, err := c.do(ctx, next); err != nil && !next.AllowFailure {
			return fmt.Errorf("operation %s: %w", next.Name, err)
		}
	}
}

func request(ctx context.Context, args []string) error {
	c, rest, err := connect("request", args)
	if err != nil {
		return err
	}
	if len(rest) < 2 || len(rest) > 3 {
		return errors.New("usage: vault request create|update|read|list|delete PATH [DATA]")
	}
	one := operation{Operation: rest[0], Path: rest[1]}
	if len(rest) == 3 {
		one.Data = json.RawMessage(rest[2])
	}
	answer, err := c.do(ctx, one)
	if err == nil {
		_, err = os.Stdout.Write(answer)
	}
	return err
}

// connect parses the flags that the clients share and returns the arguments after them.
func connect(command string, args []string) (*client, []string, error) {
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	address := flags.String("address", cmp.Or(os.Getenv("VAULT_ADDR"), "https://localhost:8200"), "`URL` of the server")
	authority := flags.String("ca-cert", os.Getenv("VAULT_CACERT"), "`file` with the certificate of the authority")
	token := flags.String("token", os.Getenv("VAULT_TOKEN"), "`token` to use")
	if err := flags.Parse(args); err != nil {
		return nil, nil, err
	}
	pem, err := os.ReadFile(*authority)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the authority: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, nil, fmt.Errorf("no certificate in %s", *authority)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	return &client{
		http:    &http.Client{Transport: transport, Timeout: 30 * time.Second},
		address: strings.TrimRight(*address, "/"),
		token:   *token,
	}, flags.Args(), nil
}

// do returns the answer's body, and an error that holds it when the server refused.
func (c *client) do(ctx context.Context, o operation) ([]byte, error) {
	method, ok := methods[o.Operation]
	if !ok {
		return nil, fmt.Errorf("unknown operation %q", o.Operation)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.address+"/v1/"+o.Path, bytes.NewReader(o.Data))
	if err != nil {
		return nil, err
	}
	if c.token != "" {
		r.Header.Set("X-Vault-Token", c.token)
	}
	response, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the answer of %s: %w", o.Path, err)
	}
	if response.StatusCode >= http.StatusBadRequest {
		return nil, fmt.Errorf("%s %s: %s: %s", o.Operation, o.Path, response.Status, bytes.TrimSpace(body))
	}
	return body, nil
}
