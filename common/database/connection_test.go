// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

func withTLS(s api.DatabaseSpec, mode api.DatabaseTLSMode) api.DatabaseSpec {
	s.TLS = &api.DatabaseTLSSpec{Mode: mode, CABundleSecretRef: api.SecretRef{Name: "ca"}, ClientCertSecretRef: api.SecretRef{Name: "pair"}}
	return s
}

func TestConnect(t *testing.T) {
	t.Parallel()
	both := map[string]string{"username": "ann", "password": "p@ss/$w%"}
	port := brownfield()
	port.Port = 3307
	const files = "&ssl_ca=/tls/ca.crt&ssl_cert=/tls/tls.crt&ssl_key=/tls/tls.key"
	graded := func(name string) string {
		return "&ssl_ca=/tls/ca.crt&ssl_cert=/tls/tls.crt&ssl_check_hostname=" + name + "&ssl_key=/tls/tls.key"
	}
	for _, tt := range []struct {
		name   string
		spec   api.DatabaseSpec
		data   map[string]string
		dsn    string
		reason string
		says   string
	}{
		{name: "managed", spec: managed(), data: both, dsn: "mysql+pymysql://svc:p%40ss%2F%24w%25@db.ns.svc:3306/vault?charset=utf8"},
		{name: "managed needs no user name", spec: managed(), data: map[string]string{"password": "p"}, dsn: "mysql+pymysql://svc:p@db.ns.svc:3306/vault?charset=utf8"},
		{name: "dynamic", spec: dynamic(), data: both, dsn: "mysql+pymysql://ann:p%40ss%2F%24w%25@db.ns.svc:3306/vault?charset=utf8"},
		{name: "brownfield", spec: brownfield(), data: both, dsn: "mysql+pymysql://ann:p%40ss%2F%24w%25@db.example.org:3306/vault?charset=utf8"},
		{name: "another port", spec: port, data: both, dsn: "mysql+pymysql://ann:p%40ss%2F%24w%25@db.example.org:3307/vault?charset=utf8"},
		{name: "TLS by default encrypts", spec: withTLS(managed(), ""), data: both, dsn: "mysql+pymysql://svc:p%40ss%2F%24w%25@db.ns.svc:3306/vault?charset=utf8" + files},
		{name: "TLS verified", spec: withTLS(managed(), api.DatabaseTLSVerifyCA), data: both, dsn: "mysql+pymysql://svc:p%40ss%2F%24w%25@db.ns.svc:3306/vault?charset=utf8" + graded("false")},
		{name: "TLS verified with the name", spec: withTLS(managed(), api.DatabaseTLSVerifyFull), data: both, dsn: "mysql+pymysql://svc:p%40ss%2F%24w%25@db.ns.svc:3306/vault?charset=utf8" + graded("true")},
		{name: "TLS disabled", spec: withTLS(managed(), api.DatabaseTLSDisabled), data: both, dsn: "mysql+pymysql://svc:p%40ss%2F%24w%25@db.ns.svc:3306/vault?charset=utf8"},
		{name: "no Secret", spec: managed(), reason: api.ReasonWaitingForDBCredentials, says: "does not exist"},
		{name: "no password", spec: managed(), data: map[string]string{"username": "ann"}, reason: api.ReasonWaitingForDBCredentials, says: `"password"`},
		{name: "empty password", spec: managed(), data: map[string]string{"username": "ann", "password": ""}, reason: api.ReasonWaitingForDBCredentials, says: `"password"`},
		{name: "dynamic without user name", spec: dynamic(), data: map[string]string{"password": "p"}, reason: api.ReasonWaitingForDBCredentials, says: `"username"`},
		{name: "brownfield without user name", spec: brownfield(), data: map[string]string{"password": "p"}, reason: api.ReasonWaitingForDBCredentials, says: `"username"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var objects []client.Object
			if tt.data != nil {
				objects = append(objects, credentials(tt.data))
			}
			c := world(t, interceptor.Funcs{}, objects...)
			digest, got := Connect(t.Context(), c, service(), connection(tt.spec))
			expect(t, got, tt.reason, false)
			if !strings.Contains(got.Message(), tt.says) || strings.Contains(got.Message(), "p@ss") {
				t.Errorf("message = %q, want it to say %q", got.Message(), tt.says)
			}
			live := &corev1.Secret{}
			err := c.Reader.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "svc-db-connection"}, live)
			if tt.dsn == "" {
				if err == nil || digest != "" {
					t.Errorf("a Secret without DSN was written: %v, digest %q", live.Data, digest)
				}
				return
			}
			if string(live.Data[ConnectionKey]) != tt.dsn || digest != apply.Fingerprint(credentials(tt.data), []byte(tt.dsn)) {
				t.Errorf("DSN = %s, digest %s; want %s", live.Data[ConnectionKey], digest, tt.dsn)
			}
		})
	}
}

func connection(spec api.DatabaseSpec) Connection {
	return Connection{Spec: spec, Name: "svc-db-connection", Labels: map[string]string{"app": "svc"}, TLSDir: "/tls/"}
}

func TestConnectReplacesTheWholeSecret(t *testing.T) {
	t.Parallel()
	drifted := ownedBy(service(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "svc-db-connection", Labels: map[string]string{"theirs": "kept"}},
		Data:       map[string][]byte{"extra": []byte("x"), ConnectionKey: []byte("old")},
	})
	c := world(t, interceptor.Funcs{}, credentials(map[string]string{"password": "p"}), drifted)
	_, got := Connect(t.Context(), c, service(), connection(managed()))
	live := &corev1.Secret{}
	if err := c.Reader.Get(t.Context(), client.ObjectKeyFromObject(drifted), live); err != nil {
		t.Fatal(err)
	}
	if keys := slices.Collect(maps.Keys(live.Data)); !got.Done() || len(keys) != 1 || live.Labels["app"] != "svc" || live.Labels["theirs"] != "kept" {
		t.Errorf("outcome %q, keys %v, labels %v", got.Message(), keys, live.Labels)
	}
}

func TestConnectRefusesAForeignSecret(t *testing.T) {
	t.Parallel()
	for name, foreign := range map[string]*corev1.Secret{"of nobody": {}, "of another owner": ownedBy(stranger(), &corev1.Secret{})} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			foreign.Namespace, foreign.Name = "ns", "svc-db-connection"
			c := world(t, interceptor.Funcs{}, credentials(map[string]string{"password": "p"}), foreign)
			digest, got := Connect(t.Context(), c, service(), connection(managed()))
			expect(t, got, api.ReasonWaitingForDBCredentials, true)
			if digest != "" || !strings.Contains(got.Message(), "is not controlled by") {
				t.Errorf("digest %q, message %q", digest, got.Message())
			}
		})
	}
}

func TestAConvergedConnectionCostsNoRequest(t *testing.T) {
	t.Parallel()
	writes := 0
	c := world(t, interceptor.Funcs{Update: func(ctx context.Context, next client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
		writes++
		return next.Update(ctx, obj, opts...)
	}}, credentials(map[string]string{"password": "p"}))
	first, _ := Connect(t.Context(), c, service(), connection(managed()))
	second, _ := Connect(t.Context(), c, service(), connection(managed()))
	if writes != 0 || first != second {
		t.Errorf("%d writes, digests %s and %s", writes, first, second)
	}
}

func TestConnectPassesErrorsOn(t *testing.T) {
	t.Parallel()
	down := errors.New("connection refused")
	unwritable := world(t, interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
		return down
	}}, credentials(map[string]string{"password": "p"}))
	unreadable := world(t, interceptor.Funcs{})
	unreadable.Secrets = brokenReader{down}
	for name, c := range map[string]target.Cluster{"writing": unwritable, "reading": unreadable} {
		digest, got := Connect(t.Context(), c, service(), connection(managed()))
		if expect(t, got, "", true); digest != "" || !errors.Is(got.Err(), down) {
			t.Errorf("%s: digest = %q, error %v", name, digest, got.Err())
		}
	}
}

type brokenReader struct{ err error }

func (r brokenReader) Get(context.Context, types.NamespacedName) (*corev1.Secret, error) {
	return nil, r.err
}

func TestTLSVolume(t *testing.T) {
	t.Parallel()
	v := TLSVolume("db-tls", *withTLS(managed(), "").TLS)
	p := v.Projected
	if v.Name != "db-tls" || *p.DefaultMode != 0o440 || p.Sources[0].Secret.Name != "ca" || p.Sources[1].Secret.Name != "pair" {
		t.Errorf("TLSVolume() = %+v", v)
	}
	var files []string
	for _, s := range p.Sources {
		for _, item := range s.Secret.Items {
			files = append(files, item.Key+":"+item.Path)
		}
	}
	if want := []string{"ca.crt:ca.crt", "tls.crt:tls.crt", "tls.key:tls.key"}; !slices.Equal(files, want) {
		t.Errorf("files %v, want %v", files, want)
	}
}

func TestTLSDigest(t *testing.T) {
	t.Parallel()
	of := func(ca, cert, key string) (string, string) {
		c := world(t, interceptor.Funcs{},
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "ca"}, Data: map[string][]byte{"ca.crt": []byte(ca)}},
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pair"}, Data: map[string][]byte{"tls.crt": []byte(cert), "tls.key": []byte(key)}})
		digest, o := TLSDigest(t.Context(), c, service(), withTLS(managed(), ""))
		return digest, o.Reason()
	}
	base, _ := of("a", "b", "c")
	for name, files := range map[string][3]string{"CA": {"x", "b", "c"}, "certificate": {"a", "x", "c"}, "key": {"a", "b", "x"}} {
		if renewed, reason := of(files[0], files[1], files[2]); renewed == base || renewed == "" || reason != "" {
			t.Errorf("a renewed %s leaves the digest at %q (%s)", name, renewed, reason)
		}
	}
	for name, files := range map[string][3]string{"CA": {"", "b", "c"}, "certificate": {"a", "", "c"}, "key": {"a", "b", ""}} {
		if digest, reason := of(files[0], files[1], files[2]); digest != "" || reason != api.ReasonWaitingForDBCredentials {
			t.Errorf("without the %s: digest %q, reason %q", name, digest, reason)
		}
	}
	if digest, o := TLSDigest(t.Context(), world(t, interceptor.Funcs{}), service(), managed()); digest != "" || !o.Done() {
		t.Errorf("without TLS: digest %q, reason %q", digest, o.Reason())
	}
}
