// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/oslo"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

func render(t *testing.T, in Input) Files {
	t.Helper()
	if in.Spec.OpenStackRelease == "" {
		in.Spec.OpenStackRelease = "2026.1"
	}
	files, err := Render(in)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestEqualInputGivesEqualFiles(t *testing.T) {
	t.Parallel()
	want := render(t, full())
	for range 50 { // maps come in another order each time
		if diff := cmp.Diff(want, render(t, full())); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
	}
	if want.Name != want.Base+"-"+oslo.ContentHash(want.Data) || want.Base != "barbican-config" {
		t.Errorf("name %s, base %s", want.Name, want.Base)
	}
}

func TestStoresMayComeInAnyOrder(t *testing.T) {
	t.Parallel()
	in := minimal()
	other := Store{Name: "archive", URL: "https://other:8200", RoleID: "r", Mount: "m"}
	in.Stores = []Store{in.Stores[0], other}
	want := render(t, in)
	in.Stores = []Store{other, in.Stores[0]}
	if diff := cmp.Diff(want, render(t, in)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if in.Stores[0].Name != "archive" {
		t.Error("rendering reordered its input")
	}
	for _, line := range []string{"stores_lookup_suffix = archive,main\n", "[secretstore:archive]\nsecret_store_plugin = vault_plugin\n", "vault_url = https://bao."} {
		if !strings.Contains(string(want.Data[ConfFile]), line) {
			t.Errorf("no %q in\n%s", line, want.Data[ConfFile])
		}
	}
}

// changes alter one thing each that must reach a file.
var changes = map[string]func(*Input){
	"name":                  func(in *Input) { in.Name = "other" },
	"endpoint":              func(in *Input) { in.Endpoint += "x" },
	"release":               func(in *Input) { in.Spec.OpenStackRelease = "2025.2" },
	"keystone":              func(in *Input) { in.Spec.KeystoneEndpoint += "x" },
	"public keystone":       func(in *Input) { in.Spec.KeystonePublicEndpoint += "x" },
	"region":                func(in *Input) { in.Spec.Region += "x" },
	"user":                  func(in *Input) { in.Spec.ServiceUser.Username += "x" },
	"project":               func(in *Input) { in.Spec.ServiceUser.ProjectName += "x" },
	"user domain":           func(in *Input) { in.Spec.ServiceUser.UserDomainName += "x" },
	"project domain":        func(in *Input) { in.Spec.ServiceUser.ProjectDomainName += "x" },
	"cache server":          func(in *Input) { in.Spec.Cache.Servers[0] += "x" },
	"cache cluster":         func(in *Input) { in.Spec.Cache = api.CacheSpec{ClusterRef: &corev1.LocalObjectReference{Name: "x"}} },
	"log format":            func(in *Input) { in.Spec.Logging.Format = api.TextLog },
	"log level":             func(in *Input) { in.Spec.Logging.Debug = nil },
	"logger":                func(in *Input) { in.Spec.Logging.PerLoggerLevels["x"] = "INFO" },
	"inline rule":           func(in *Input) { in.Spec.PolicyOverrides.Rules["secrets:get"] = "!" },
	"ConfigMap rule":        func(in *Input) { in.Policy["x"] = "@" },
	"middleware":            func(in *Input) { in.Spec.Middleware[0].Name += "x" },
	"middleware factory":    func(in *Input) { in.Spec.Middleware[0].FilterFactory += "x" },
	"middleware position":   func(in *Input) { in.Spec.Middleware[0].Position = api.MiddlewareAfter },
	"middleware config":     func(in *Input) { in.Spec.Middleware[0].Config["note"] = "x" },
	"plugin section":        func(in *Input) { in.Spec.Plugins[0].ConfigSection += "x" },
	"plugin option":         func(in *Input) { in.Spec.Plugins[0].Config["library_path"] = "x" },
	"extra option":          func(in *Input) { in.Spec.ExtraConfig["database"]["max_pool_size"] = "x" },
	"store name":            func(in *Input) { in.Stores[0].Name += "x" },
	"store URL":             func(in *Input) { in.Stores[0].URL += "x" },
	"store role":            func(in *Input) { in.Stores[0].RoleID += "x" },
	"store mount":           func(in *Input) { in.Stores[0].Mount += "x" },
	"store namespace":       func(in *Input) { in.Stores[0].Namespace += "x" },
	"store CA":              func(in *Input) { in.Stores[0].CA = !in.Stores[0].CA },
	"store option":          func(in *Input) { in.Stores[0].Options["timeout"] = "x" },
	"another store":         func(in *Input) { in.Stores = append(in.Stores, Store{Name: "x"}) },
	"no policy any more":    func(in *Input) { in.Spec.PolicyOverrides, in.Policy = nil, nil },
	"no middleware anymore": func(in *Input) { in.Spec.Middleware = nil },
}

func TestEveryChangeChangesTheName(t *testing.T) {
	t.Parallel()
	before := render(t, full())
	for name, change := range changes {
		in := full()
		in.Spec.OpenStackRelease = "2026.1"
		change(&in)
		if after := render(t, in); after.Name == before.Name {
			t.Errorf("%s: still %s", name, after.Name)
		}
	}
}

// TestNothingSecret tries every way in for a credential. Whatever is rendered must not hold it.
func TestNothingSecret(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	tries := map[string]func(*Input){
		"nothing":  func(*Input) {},
		"password": func(in *Input) { in.Spec.ExtraConfig["keystone_authtoken"] = map[string]string{"password": secret} },
		"folded section": func(in *Input) {
			in.Spec.ExtraConfig[" Vault_PLUGIN"] = map[string]string{"approle_secret_id": secret}
		},
		"padded key": func(in *Input) { in.Spec.ExtraConfig["vault_plugin"] = map[string]string{" root_token_id ": secret} },
		"key with a value": func(in *Input) {
			in.Spec.ExtraConfig["vault_plugin"] = map[string]string{"root_token_id = " + secret + " ;": "x"}
		},
		"value with a line": func(in *Input) {
			in.Spec.ExtraConfig["quotas"] = map[string]string{"x": "1\n[vault_plugin]\nroot_token_id = " + secret}
		},
		"plugin": func(in *Input) {
			in.Spec.Plugins = []api.Plugin{{ConfigSection: "KEYSTONE_authtoken", Config: map[string]string{"password": secret}}}
		},
		"middleware":        func(in *Input) { in.Spec.Middleware[1].Config = map[string]string{"password": secret} },
		"store option":      func(in *Input) { in.Stores[0].Options["approle_secret_id"] = secret },
		"store with a line": func(in *Input) { in.Stores[0].RoleID = "r\napprole_secret_id = " + secret },
		"region":            func(in *Input) { in.Spec.Region = "r\npassword = " + secret },
		"host name":         func(in *Input) { in.Spec.Gateway.Hostname = "h\npassword = " + secret },
		"cache":             func(in *Input) { in.Spec.Cache.Servers[1] = "h\npassword = " + secret },
	}
	// Names and identity fields are shown to the author of a mistake; values that may be credentials are not.
	shown := map[string]bool{"key with a value": true, "region": true, "host name": true, "cache": true}
	for name, try := range tries {
		in := full()
		in.Spec.ExtraConfig = map[string]map[string]string{}
		in.Spec.OpenStackRelease = "2026.1"
		try(&in)
		files, err := Render(in)
		if (err == nil) != (name == "nothing") {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && !shown[name] && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the message shows the credential: %v", name, err)
		}
		for file, text := range files.Data {
			for _, word := range []string{secret, "password =", "secret_id", "root_token"} {
				if strings.Contains(string(text), word) {
					t.Errorf("%s: %s holds %q", name, file, word)
				}
			}
		}
	}
}

func TestRenderRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*Input)
		want   string
	}{
		"no store":               {func(in *Input) { in.Stores = nil }, "0 of 0"},
		"no default":             {func(in *Input) { in.Stores[0].Default = false }, "0 of 1"},
		"two defaults":           {func(in *Input) { in.Stores = append(in.Stores, Store{Name: "x", Default: true}) }, "2 of 2"},
		"two of a name":          {func(in *Input) { in.Stores = append(in.Stores, Store{Name: "main"}) }, "same name"},
		"store mount":            {func(in *Input) { in.Stores[0].Mount = "a\rb" }, "store main: mount must not contain line breaks"},
		"store name":             {func(in *Input) { in.Stores[0].Name = "a]b" }, "brackets"},
		"store option":           {func(in *Input) { in.Stores[0].Options["vault_url"] = "x" }, "the operator sets this option itself"},
		"middleware twice":       {func(in *Input) { in.Spec.Middleware = append(in.Spec.Middleware, in.Spec.Middleware[0]) }, "spec.middleware"},
		"plugin without section": {func(in *Input) { in.Spec.Plugins[0].ConfigSection = "" }, "spec.plugins[0].configSection"},
		"plugin section twice": {func(in *Input) {
			in.Spec.Plugins = append(in.Spec.Plugins, api.Plugin{ConfigSection: "p11_CRYPTO_plugin"})
		}, "spec.plugins[1].configSection"},
		"rule of the ConfigMap": {func(in *Input) { in.Policy["y"] = "" }, `policy rule "y" must not be empty`},
		"log level":             {func(in *Input) { in.Spec.Logging.Level = "TRACE" }, "spec.logging.level"},
		"control character":     {func(in *Input) { in.Spec.ExtraConfig["DEFAULT"]["x"] = "\x00" }, "control characters"},
		"same section twice":    {func(in *Input) { in.Spec.ExtraConfig["quotas"] = map[string]string{"x": "1"} }, "for the same"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := full()
			in.Spec.OpenStackRelease = "2026.1"
			tt.change(&in)
			if _, err := Render(in); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestHugeMapsRenderInReasonableTime(t *testing.T) {
	t.Parallel()
	in := minimal()
	in.Spec.ExtraConfig = map[string]map[string]string{"DEFAULT": {}}
	for i := range 50_000 {
		in.Spec.ExtraConfig["DEFAULT"][fmt.Sprintf("option_%d", i)] = "x"
	}
	if text := render(t, in).Data[ConfFile]; !strings.Contains(string(text), "option_49999 = x\n") {
		t.Error("the last option is missing")
	}
}

func TestOverrides(t *testing.T) {
	t.Parallel()
	if got := Overrides(nil, nil); got != "" {
		t.Errorf("nothing overrides %q", got)
	}
	got := Overrides(
		map[string]map[string]string{"Queue": {"enable": "True", "topic": "x"}, "database": {"connection": "x"}},
		[]api.Plugin{{Name: "p", ConfigSection: "vault_plugin", Config: map[string]string{"namespace": "x"}}},
	)
	const want = "[database] connection (the environment of the pods still wins), [queue] enable (orders wait for workers that nobody runs), " +
		"[vault_plugin] namespace (plugin p; what the operator sets wins)"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestOwnedKeysAreTheContract(t *testing.T) {
	t.Parallel()
	rejected := 0
	for _, key := range Owned {
		if key.Owner == "" || key.Impact == "" {
			t.Errorf("%s has no texts", key.Option)
		}
		if key.Rejected {
			rejected++
		}
	}
	if len(Owned) != 25 || rejected != 3 {
		t.Errorf("%d owned keys, %d of them rejected", len(Owned), rejected)
	}
}

func TestOwnedOptionsAreOwned(t *testing.T) {
	t.Parallel()
	// Everything rendered with optional parts set is either owned or known not to be.
	notOwned := map[string]bool{"max_retries": true, "connection_recycle_time": true, "debug": true, "log_config_append": true}
	section := ""
	in := full()
	in.Spec.ExtraConfig, in.Spec.Plugins, in.Stores[0].Options, in.Stores[0].CA = nil, nil, nil, true
	for line := range strings.Lines(string(render(t, in).Data[ConfFile])) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[]")
		}
		key, _, isOption := strings.Cut(line, " = ")
		if _, ok := Owned.Lookup(section, key); isOption && !ok && !notOwned[key] && !isStoreSection(section) {
			t.Errorf("[%s] %s is rendered and not owned", section, key)
		}
	}
}

func TestCheckOptions(t *testing.T) {
	t.Parallel()
	path := field.NewPath("spec", "extraConfig")
	tests := map[string]struct {
		release     string
		extraConfig map[string]map[string]string
		violations  string
		warnings    string
	}{
		"known":                 {"2026.1", map[string]map[string]string{"DEFAULT": {"debug": "true"}}, "", ""},
		"owned":                 {"2026.1", map[string]map[string]string{"keystone_authtoken": {"auth_url": "x"}}, "", ""},
		"section of a store":    {"2026.1", map[string]map[string]string{"secretstore:main": {"x": "y"}}, "", ""},
		"unknown section":       {"2026.1", map[string]map[string]string{"nonsense": {"x": "y"}}, `spec.extraConfig: Invalid value: "nonsense": Barbican 2026.1 has no such section`, ""},
		"unknown option":        {"2026.1", map[string]map[string]string{"DEFAULT": {"de-bug": "y"}}, `spec.extraConfig[DEFAULT]: Invalid value: "de-bug"`, ""},
		"gone in this release":  {"2026.1", map[string]map[string]string{"healthcheck": {"path": "y"}}, `"path"`, ""},
		"there in the former":   {"2025.2", map[string]map[string]string{"healthcheck": {"path": "y"}}, "", "has no replacement"},
		"new in this release":   {"2026.1", map[string]map[string]string{"database": {"synchronous_reader": "y"}}, "", ""},
		"not yet in the former": {"2025.2", map[string]map[string]string{"database": {"synchronous_reader": "y"}}, `"synchronous_reader"`, ""},
		"deprecated":            {"2026.1", map[string]map[string]string{"DEFAULT": {"logdir": "x"}}, "", "[DEFAULT] logdir is deprecated in Barbican 2026.1; use log_dir"},
		"without replacement":   {"2026.1", map[string]map[string]string{"oslo_policy": {"enforce_scope": "x"}}, "", "has no replacement"},
		"no catalogue":          {"2031.1", map[string]map[string]string{"x": {"y": "z"}}, "", "no option catalogue for release 2031.1"},
		"not a release":         {"latest", map[string]map[string]string{"x": {"y": "z"}}, "", `"latest" is not a release`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			violations, warnings := CheckOptions(path, tt.release, tt.extraConfig)
			text := ""
			if len(violations) > 0 {
				text = violations.ToAggregate().Error()
			}
			if (text == "") != (tt.violations == "") || !strings.Contains(text, tt.violations) {
				t.Errorf("got violations %q, want %q", text, tt.violations)
			}
			text = strings.Join(warnings, "\n")
			if (text == "") != (tt.warnings == "") || !strings.Contains(text, tt.warnings) || len(warnings) > 1 {
				t.Errorf("got warnings %q, want %q", text, tt.warnings)
			}
		})
	}
}

func TestCataloguesHaveTheSectionsOfTheContract(t *testing.T) {
	t.Parallel()
	want := strings.Fields(`DEFAULT audit_middleware_notifications cors crypto database dogtag_plugin healthcheck keystone_authtoken
		keystone_notifications oslo_messaging_kafka oslo_messaging_notifications oslo_messaging_rabbit oslo_middleware oslo_policy
		oslo_versionedobjects p11_crypto_plugin queue quotas retry_scheduler secretstore simple_crypto_plugin vault_plugin`)
	for _, release := range releases {
		catalogue := Catalogues().For(release + "-p1")
		if catalogue == nil {
			t.Fatalf("no catalogue for %s", release)
		}
		got := map[string]bool{}
		for section := range catalogue.Sections {
			got[section] = true
		}
		wanted := map[string]bool{}
		for _, section := range want {
			wanted[section] = true
		}
		if !maps.Equal(wanted, got) || catalogue.Service != "barbican" {
			t.Errorf("%s: %s", release, cmp.Diff(wanted, got))
		}
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	got := Warnings(field.NewPath("spec", "extraConfig"), map[string]map[string]string{
		"DATABASE": {"connection": "mysql://u:p@h/d"}, "simple_crypto_plugin": {"kek": "k"}, "DEFAULT": {"debug": "true"}})
	if len(got) != 2 || !strings.Contains(got[0], "spec.extraConfig: [database] connection carries a credential") || strings.Contains(got[0], "u:p") {
		t.Errorf("got %q", got)
	}
}

func TestGuardStore(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*v1alpha1.BarbicanSecretStoreSpec)
		want   string
	}{
		"fine":            {func(*v1alpha1.BarbicanSecretStoreSpec) {}, ""},
		"empty option":    {func(s *v1alpha1.BarbicanSecretStoreSpec) { s.ExtraOptions = map[string]string{"": "x"} }, "spec.extraOptions: Required"},
		"dashed option":   {func(s *v1alpha1.BarbicanSecretStoreSpec) { s.ExtraOptions = map[string]string{"a-b": "x"} }, "letters, digits and underscores"},
		"denied option":   {func(s *v1alpha1.BarbicanSecretStoreSpec) { s.ExtraOptions = map[string]string{"root_token_id": "x"} }, "spec.extraOptions[root_token_id]: Forbidden"},
		"line in a value": {func(s *v1alpha1.BarbicanSecretStoreSpec) { s.ExtraOptions = map[string]string{"timeout": "1\n2"} }, "control characters"},
		"mount":           {func(s *v1alpha1.BarbicanSecretStoreSpec) { s.OpenBao.KVMountpoint = "a\nb" }, "spec.openBao.kvMountpoint"},
		"namespace":       {func(s *v1alpha1.BarbicanSecretStoreSpec) { s.OpenBao.Namespace = "a\nb" }, "spec.openBao.namespace"},
		"URL":             {func(s *v1alpha1.BarbicanSecretStoreSpec) { s.OpenBao.Server.URL = "https://" }, "spec.openBao.server.url"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := v1alpha1.BarbicanSecretStoreSpec{OpenBao: &v1alpha1.OpenBaoSpec{KVMountpoint: "barbican", Server: &v1alpha1.OpenBaoServer{URL: "https://h:8200"}}}
			tt.change(&spec)
			text := ""
			if violations := GuardStore(&spec); len(violations) > 0 {
				text = violations.ToAggregate().Error()
			}
			if (text == "") != (tt.want == "") || !strings.Contains(text, tt.want) {
				t.Errorf("got %q, want %q", text, tt.want)
			}
		})
	}
}
