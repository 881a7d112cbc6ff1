// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files")

var releases = []string{"2025.1", "2025.2", "2026.1", "2026.2"}

// configurations are rendered for every release; hack/test-barbican loads the results into the real Barbican.
var configurations = map[string]func(*testing.T) Input{
	"minimal":  func(*testing.T) Input { return minimal() },
	"full":     func(*testing.T) Input { return full() },
	"literals": literals,
}

// minimal is what a user gets who sets nothing that is optional.
func minimal() Input {
	spec := &v1alpha1.BarbicanSpec{
		Database:         api.DatabaseSpec{ClusterRef: &corev1.LocalObjectReference{Name: "mariadb"}, Database: "barbican"},
		Cache:            api.CacheSpec{ClusterRef: &corev1.LocalObjectReference{Name: "memcached"}},
		KeystoneEndpoint: "http://keystone.openstack.svc.cluster.local:5000/v3",
	}
	return Input{
		Name:     "barbican",
		Spec:     spec,
		Stores:   []Store{{Name: "main", Default: true, URL: "https://bao.openstack.svc:8200", RoleID: "0f6e3c2a", Mount: "barbican", CA: true}},
		Endpoint: Endpoint("barbican", "openstack", nil),
	}
}

// full sets everything that reaches a file.
func full() Input {
	in := minimal()
	in.Spec.KeystonePublicEndpoint = "https://identity.example.org/v3"
	in.Spec.Region = "RegionOne"
	in.Spec.ServiceUser = api.ServiceUserSpec{
		Username: "key-manager", ProjectName: "services", UserDomainName: "service", ProjectDomainName: "service"}
	in.Spec.Cache = api.CacheSpec{Servers: []string{"cache-0.example.org:11211", "cache-1.example.org:11211"}}
	in.Spec.Gateway = &api.GatewaySpec{Hostname: "barbican.example.org"}
	in.Spec.Logging = &api.LoggingSpec{Format: api.JSONLog, Level: api.LogWarning, Debug: new(true),
		PerLoggerLevels: map[string]string{"sqlalchemy.engine": "ERROR", "barbican": "DEBUG"}}
	in.Spec.PolicyOverrides = &api.PolicyOverrides{Rules: map[string]string{"secrets:post": "role:creator", "secrets:get": "role:\"a b\" or rule:x"}}
	in.Policy = map[string]string{"x": "!", "secrets:post": "@"}
	in.Spec.Middleware = []api.Middleware{
		{Name: "sizelimit", FilterFactory: "oslo_middleware.sizelimit:RequestBodySizeLimiter.factory", Position: api.MiddlewareBefore,
			Config: map[string]string{"note": "100% of $it", "paste.filter_factory": "ignored:factory"}},
		{Name: "correlation", FilterFactory: "oslo_middleware:CorrelationId.factory", Position: api.MiddlewareAfter},
		{Name: "cors", FilterFactory: "ignored:factory", Position: api.MiddlewareAfter, Config: map[string]string{"ignored": "too"}},
	}
	in.Spec.Plugins = []api.Plugin{{Name: "p11", ConfigSection: "P11_crypto_plugin", Config: map[string]string{"library_path": "/usr/lib/p11.so"}}}
	in.Spec.ExtraConfig = map[string]map[string]string{
		"DEFAULT":  {"max_allowed_secret_in_bytes": "40000", "transport_url": "rabbit://"},
		"Quotas":   {"quota_secrets": "100"},
		"queue":    {"enable": "False", "topic": "$server_name"},
		"database": {"max_pool_size": "10"},
	}
	in.Stores[0].Namespace = "team"
	in.Stores[0].CA = false
	in.Stores[0].Options = map[string]string{"kv_version": "2", "timeout": "30"}
	in.Endpoint = Endpoint("barbican", "openstack", in.Spec.Gateway) + "/"
	return in
}

// literals has text in it that a reader could take for something else.
func literals(t *testing.T) Input {
	t.Helper()
	text, err := os.ReadFile("../../../../tests/barbican/literals.json")
	if err != nil {
		t.Fatal(err)
	}
	var value map[string]string
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	in := minimal()
	in.Spec.ServiceUser = api.ServiceUserSpec{
		Username:          value["keystone_authtoken.username"],
		ProjectName:       value["keystone_authtoken.project_name"],
		UserDomainName:    value["keystone_authtoken.user_domain_name"],
		ProjectDomainName: value["keystone_authtoken.project_domain_name"],
	}
	in.Spec.Region = value["keystone_authtoken.region_name"]
	in.Stores[0].RoleID = value["vault_plugin.approle_role_id"]
	in.Stores[0].Mount = value["vault_plugin.kv_mountpoint"]
	in.Stores[0].Namespace = value["vault_plugin.namespace"]
	in.Stores[0].URL = value["vault_plugin.vault_url"]
	in.Spec.Logging = &api.LoggingSpec{PerLoggerLevels: map[string]string{"100%, sure": "INFO"}}
	return in
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, input := range configurations {
		for _, release := range releases {
			t.Run(name+"/"+release, func(t *testing.T) {
				t.Parallel()
				in := input(t)
				in.Spec.OpenStackRelease = release
				files, err := Render(in)
				if err != nil {
					t.Fatal(err)
				}
				golden(t, filepath.Join("testdata", name, release), files.Data)
			})
		}
	}
}

func golden(t *testing.T, folder string, files map[string][]byte) {
	t.Helper()
	if *update {
		write(t, folder, files)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		want[entry.Name()] = string(text)
	}
	got := map[string]string{}
	for name, text := range files {
		got[name] = string(text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got (go test -update writes it):\n%s", diff)
	}
}

func write(t *testing.T, folder string, files map[string][]byte) {
	t.Helper()
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
