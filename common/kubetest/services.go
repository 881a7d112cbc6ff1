// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Services stands in for cluster DNS and kube-proxy: it reaches the names of Services at loopback addresses, and is as unhelpful as the
// originals about the others. The zero value knows no Service.
type Services struct {
	mu       sync.Mutex
	backends map[string]string
}

// Serve sends connections to a port of a Service to an address. An empty key stands for every Service that has no address of its own.
func (s *Services) Serve(service client.ObjectKey, port int, address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.backends == nil {
		s.backends = map[string]string{}
	}
	s.backends[backend(service, strconv.Itoa(port))] = address
}

// Forget makes the Service unknown again.
func (s *Services) Forget(service client.ObjectKey, port int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.backends, backend(service, strconv.Itoa(port)))
}

func backend(service client.ObjectKey, port string) string { return service.String() + ":" + port }

// Dial connects to NAME.NAMESPACE.svc or NAME.NAMESPACE.svc.cluster.local. Any other name does not resolve, as in a cluster whose DNS does not
// know it; an address dials itself.
func (s *Services) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if net.ParseIP(host) == nil {
		if address = s.lookUp(host, port); address == "" {
			return nil, &net.OpError{Op: "dial", Net: network, Err: &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}}
		}
	}
	var dialer net.Dialer
	return dialer.DialContext(ctx, network, address)
}

func (s *Services) lookUp(host, port string) string {
	parts := strings.Split(strings.TrimSuffix(host, ".cluster.local"), ".")
	if len(parts) != 3 || parts[2] != "svc" {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if address, ok := s.backends[backend(client.ObjectKey{Namespace: parts[1], Name: parts[0]}, port)]; ok {
		return address
	}
	return s.backends[backend(client.ObjectKey{}, port)]
}

// Transport is a transport for the clients of Services.
func (s *Services) Transport() *http.Transport { return &http.Transport{DialContext: s.Dial} }

// Proxy serves HTTP proxy requests for Services until the context ends, for an operator in another process: give it the URL as HTTP_PROXY
// and HTTPS_PROXY. Loopback addresses, that of the API server among them, are never asked of a proxy.
func (s *Services) Proxy(ctx context.Context) (url string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listening for proxy requests: %w", err)
	}
	forward := &httputil.ReverseProxy{
		Rewrite:   func(*httputil.ProxyRequest) {},
		Transport: s.Transport(),
		ErrorLog:  log.New(io.Discard, "", 0), // the client is told
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect {
			s.tunnel(w, r)
			return
		}
		forward.ServeHTTP(w, r)
	})}
	go func() { _ = server.Serve(listener) }() // until Close
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return "http://" + listener.Addr().String(), nil
}

func (s *Services) tunnel(w http.ResponseWriter, r *http.Request) {
	backend, err := s.Dial(r.Context(), "tcp", r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer backend.Close()
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	if _, err := io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		return
	}
	// Either side ends both: what is left on the other is of no use to anybody.
	var directions sync.WaitGroup
	directions.Go(func() { defer client.Close(); _, _ = io.Copy(backend, buffered) })
	directions.Go(func() { defer backend.Close(); _, _ = io.Copy(client, backend) })
	directions.Wait()
}
