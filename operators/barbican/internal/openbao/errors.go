// SPDX-License-Identifier: Apache-2.0

package openbao

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"syscall"

	"github.com/openbao/openbao/api/v2"
)

// Kind says what an error means for the one who asked.
type Kind int

const (
	// Unexpected is an answer that an OpenBao server should not give.
	Unexpected Kind = iota
	// Unreachable is a server that does not answer, or not with a certificate we trust.
	Unreachable
	// Sealed is a server that answers but cannot serve: sealed, or a standby without an active node.
	Sealed
	// Denied is a 403: the permission is missing. On an AppRole login it may also mean that the role is locked out after too many failures.
	Denied
	// Refused is a 400 on a login: the credentials are wrong, expired or used up.
	Refused
	// Missing is a mount, a role or an auth method that does not exist.
	Missing
	// WrongEngine is a mount that is not a KV version 2 engine.
	WrongEngine
)

// Error is a failed call. Its text is stable: the same failure reads the same
// every time, so it can stand in a condition.
type Error struct {
	Kind   Kind
	Doing  string
	Detail string

	wordless bool
}

func (e *Error) Error() string { return e.Doing + ": " + e.Detail }

// isWordless recognises 404 without an error text: the mount is there, what was asked for is not.
func isWordless(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Kind == Missing && e.wordless
}

const maxDetail = 256

func (s *session) classify(doing string, err error) *Error {
	e := &Error{Doing: doing}
	if answer, ok := errors.AsType[*api.ResponseError](err); ok {
		e.Kind, e.Detail, e.wordless = kindOf(answer), s.detail(answer), len(answer.Errors) == 0
	} else {
		e.Kind, e.Detail = Unreachable, reachability(err, s.timeout.String())
	}
	return e
}

func kindOf(answer *api.ResponseError) Kind {
	text := strings.Join(answer.Errors, " ")
	login := strings.HasSuffix(answer.URL, "/login")
	switch answer.StatusCode {
	case http.StatusServiceUnavailable:
		return Sealed
	case http.StatusInternalServerError:
		if strings.Contains(text, "active cluster node not found") {
			return Sealed
		}
	case http.StatusForbidden:
		return Denied
	case http.StatusNotFound:
		return Missing
	case http.StatusBadRequest:
		switch {
		case strings.Contains(text, "No secret engine mount"), strings.Contains(text, "invalid role name"):
			return Missing
		case login:
			return Refused
		}
	}
	return Unexpected
}

// detail is the server's own words on one line, without anything secret or long.
func (s *session) detail(answer *api.ResponseError) string {
	text := strings.Join(answer.Errors, "; ")
	for _, secret := range s.secrets {
		if len(secret) > 3 {
			text = strings.ReplaceAll(text, secret, "(hidden)")
		}
	}
	if answer.RawError {
		text = "not an answer of an OpenBao server"
	}
	text = normalise(text)
	if text == "" {
		text = "not found"
		if answer.StatusCode != http.StatusNotFound {
			text = "no reason given"
		}
	}
	return fmt.Sprintf("status %d: %s", answer.StatusCode, text)
}

// reachability words a failed connection without addresses and ports that differ from try to try.
func reachability(err error, timeout string) string {
	var (
		dns       *net.DNSError
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError
		network   net.Error
	)
	switch {
	case errors.Is(err, context.Canceled):
		return "the call was cancelled"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "no answer within " + timeout
	case errors.As(err, &dns):
		return "the name of the server does not resolve"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET):
		return "connection reset"
	case errors.As(err, &authority):
		return "the server's certificate is not signed by the trusted CA"
	case errors.As(err, &hostname):
		return "the server's certificate is for another name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the server's certificate has expired or is not yet valid"
	case errors.As(err, &record):
		return "the server does not speak TLS"
	}
	// The outermost error repeats the URL, which the reader knows.
	var call interface{ Unwrap() error }
	if errors.As(err, &call) && call.Unwrap() != nil {
		err = call.Unwrap()
	}
	return normalise(err.Error())
}

var (
	spaces  = regexp.MustCompile(`\s+`)
	varying = regexp.MustCompile(`(\[[0-9a-fA-F:.]+\]|\b\d{1,3}(\.\d{1,3}){3})(:\d+)?(->\S+)?|0x[0-9a-fA-F]+`)
)

func normalise(text string) string {
	text = varying.ReplaceAllString(text, "(address)")
	text = strings.TrimSpace(spaces.ReplaceAllString(text, " "))
	text = strings.TrimPrefix(text, "1 error occurred: * ")
	if len(text) > maxDetail {
		text = strings.ToValidUTF8(text[:maxDetail], "") + "..."
	}
	return text
}
