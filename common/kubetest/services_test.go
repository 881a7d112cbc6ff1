// SPDX-License-Identifier: Apache-2.0

package kubetest_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/c5c3/cobaltcore/common/kubetest"
)

func saying(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
}

func fetch(client *http.Client, url string) (string, error) {
	response, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return http.StatusText(response.StatusCode) + " " + string(body), err
}

func TestServicesAreReachedByTheirNames(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	one, others := httptest.NewServer(saying("one")), httptest.NewServer(saying("others"))
	defer one.Close()
	defer others.Close()
	var services kubetest.Services
	services.Serve(key("a", "one"), 9311, one.Listener.Addr().String())
	services.Serve(key("", ""), 9311, others.Listener.Addr().String())
	services.Serve(key("a", "down"), 9311, "127.0.0.1:1")
	client := &http.Client{Transport: services.Transport()}

	g.Expect(fetch(client, "http://one.a.svc:9311")).To(Equal("OK one"))
	g.Expect(fetch(client, "http://one.a.svc.cluster.local:9311")).To(Equal("OK one"))
	g.Expect(fetch(client, "http://two.a.svc:9311")).To(Equal("OK others"))
	g.Expect(fetch(client, one.URL)).To(Equal("OK one"))
	_, err := fetch(client, "http://down.a.svc:9311")
	g.Expect(errors.Is(err, syscall.ECONNREFUSED)).To(BeTrue(), "%v", err)
	for _, unknown := range []string{"http://one.a.svc:80", "http://one.a:9311", "http://example.org"} {
		_, err := fetch(client, unknown)
		var dns *net.DNSError
		g.Expect(errors.As(err, &dns) && dns.IsNotFound).To(BeTrue(), "%s: %v", unknown, err)
	}
	services.Forget(key("a", "one"), 9311)
	client.CloseIdleConnections()
	g.Expect(fetch(client, "http://one.a.svc:9311")).To(Equal("OK others"))
}

func TestAnotherProcessReachesServicesThroughAProxy(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	plain, secure := httptest.NewServer(saying("plain")), httptest.NewTLSServer(saying("secure"))
	defer plain.Close()
	defer secure.Close()
	var services kubetest.Services
	services.Serve(key("a", "plain"), 80, plain.Listener.Addr().String())
	services.Serve(key("a", "secure"), 443, secure.Listener.Addr().String())
	address, err := services.Proxy(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	proxy, err := url.Parse(address)
	g.Expect(err).NotTo(HaveOccurred())
	trusted := secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	client := &http.Client{Transport: &http.Transport{
		Proxy:           http.ProxyURL(proxy),
		TLSClientConfig: &tls.Config{RootCAs: trusted, ServerName: "example.com"}, // a name in httptest's certificate
	}}

	g.Expect(fetch(client, "http://plain.a.svc")).To(Equal("OK plain"))
	g.Expect(fetch(client, "https://secure.a.svc")).To(Equal("OK secure"))
	g.Expect(fetch(client, "http://unknown.a.svc")).To(HavePrefix("Bad Gateway"))
	_, err = fetch(client, "https://unknown.a.svc")
	g.Expect(err).To(MatchError(ContainSubstring("Bad Gateway")))
}
