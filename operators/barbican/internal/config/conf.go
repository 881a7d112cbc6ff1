// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/c5c3/cobaltcore/common/oslo"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// placeholderDSN parses and reaches nothing: without its environment variable a pod must not fall back to SQLite, which
// Barbican does when it finds no connection at all.
const placeholderDSN = "mysql+pymysql://set-by-environment@database.invalid/barbican?charset=utf8"

const storePlugin = vaultPlugin

// conf writes barbican.conf. Later layers win: plugins, the operator's own options, extraConfig, the policy file.
func conf(in Input) ([]byte, error) {
	d := oslo.NewDocument(48)
	for _, plugin := range in.Spec.Plugins {
		d.Overlay(map[string]map[string]string{plugin.ConfigSection: plugin.Config})
	}
	addService(d, in)
	addAuthToken(d, in.Spec)
	if err := addStores(d, in.Stores); err != nil {
		return nil, err
	}
	d.Overlay(in.Spec.ExtraConfig)
	if len(in.rules()) > 0 {
		d.Set(oslopolicy, "policy_file", Directory+"/"+PolicyFile)
	}
	return d.Bytes(), nil
}

func addService(d *oslo.Document, in Input) {
	debug := in.Spec.Logging != nil && in.Spec.Logging.Debug != nil && *in.Spec.Logging.Debug
	d.Set(oslo.DefaultSection, "db_auto_create", "false")
	d.Set(oslo.DefaultSection, "debug", strconv.FormatBool(debug))
	d.Set(oslo.DefaultSection, "host_href", oslo.Escape(strings.TrimRight(in.Endpoint, "/")))
	d.Set(oslo.DefaultSection, "log_config_append", Directory+"/"+LogFile)
	d.Set("database", "connection", placeholderDSN)
	d.Set("database", "connection_recycle_time", "600")
	d.Set("database", "max_retries", "-1")
	d.Set("queue", "enable", "false")
}

func addAuthToken(d *oslo.Document, spec *v1alpha1.BarbicanSpec) {
	user := spec.EffectiveServiceUser()
	d.Set(authToken, "auth_type", "password")
	d.Set(authToken, "auth_url", oslo.Escape(spec.KeystoneEndpoint))
	d.Set(authToken, "www_authenticate_uri", oslo.Escape(spec.EffectiveKeystonePublicEndpoint()))
	d.Set(authToken, "username", oslo.Escape(user.Username))
	d.Set(authToken, "project_name", oslo.Escape(user.ProjectName))
	d.Set(authToken, "user_domain_name", oslo.Escape(user.UserDomainName))
	d.Set(authToken, "project_domain_name", oslo.Escape(user.ProjectDomainName))
	setUnlessEmpty(d, authToken, "region_name", spec.Region)
	setUnlessEmpty(d, authToken, "memcached_servers", strings.Join(spec.Cache.Addresses(), ","))
}

func addStores(d *oslo.Document, stores []Store) error {
	stores = slices.Clone(stores)
	slices.SortFunc(stores, func(a, b Store) int { return strings.Compare(a.Name, b.Name) })
	names := make([]string, 0, len(stores))
	defaults := 0
	for _, store := range stores {
		if err := store.Check(); err != nil {
			return err
		}
		names = append(names, store.Name)
		section := storeSection + store.Name
		d.Set(section, "secret_store_plugin", storePlugin)
		if store.Default {
			defaults++
			d.Set(section, "global_default", "True")
			addVaultPlugin(d, store)
		}
	}
	if defaults != 1 {
		return fmt.Errorf("exactly one secret store must be the default, %d of %d are", defaults, len(stores))
	}
	if len(slices.Compact(names)) < len(stores) {
		return errors.New("two secret stores have the same name")
	}
	d.Set(secretStore, "enable_multiple_secret_stores", "true")
	d.Set(secretStore, "stores_lookup_suffix", strings.Join(names, ","))
	return nil
}

// addVaultPlugin writes the process-wide section of the plugin, which only the default store contributes to. What the
// operator writes itself stays, whatever a store's options say.
func addVaultPlugin(d *oslo.Document, store Store) {
	for key, value := range store.Options {
		d.Set(vaultPlugin, key, StoreLiteral(value))
	}
	d.Set(vaultPlugin, "vault_url", StoreLiteral(store.URL))
	d.Set(vaultPlugin, "use_ssl", strconv.FormatBool(strings.HasPrefix(store.URL, "https://")))
	d.Set(vaultPlugin, "approle_role_id", StoreLiteral(store.RoleID))
	d.Set(vaultPlugin, "kv_mountpoint", StoreLiteral(store.Mount))
	if store.Namespace != "" {
		d.Set(vaultPlugin, "namespace", StoreLiteral(store.Namespace))
	}
	if store.CA {
		d.Set(vaultPlugin, "ssl_ca_crt_file", CABundle)
	}
}

// StoreLiteral makes a literal safe as a value of [vault_plugin], in the file or in the environment. Barbican hands these values
// on to an oslo.config of its client library, so they are interpolated twice.
func StoreLiteral(literal string) string { return oslo.Escape(oslo.Escape(literal)) }

func setUnlessEmpty(d *oslo.Document, section, key, value string) {
	if value != "" {
		d.Set(section, key, oslo.Escape(value))
	}
}
