// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"

	"github.com/c5c3/cobaltcore/common/api"
	"github.com/c5c3/cobaltcore/common/oslo"
)

// Sections of barbican.conf.
const (
	authToken    = "keystone_authtoken"
	secretStore  = "secretstore"
	vaultPlugin  = "vault_plugin"
	oslopolicy   = "oslo_policy"
	storeSection = secretStore + ":"
)

// Owned is the registry of the options that the operator sets itself.
var Owned = oslo.NewOwnedKeys(
	owned(oslo.DefaultSection, "db_auto_create", "the operator", "every API process migrates the schema when it starts"),
	owned(oslo.DefaultSection, "host_href", "spec.gateway, else the Service", "links in answers lead elsewhere"),
	owned("database", "connection", "the Secret of spec.database", "the environment of the pods still wins"),
	owned(authToken, "auth_type", "the operator", "tokens cannot be validated with the service user's password"),
	owned(authToken, "auth_url", "spec.keystoneEndpoint", "tokens are validated elsewhere than network policies allow"),
	owned(authToken, "www_authenticate_uri", "spec.keystonePublicEndpoint", "clients are sent elsewhere for a token"),
	owned(authToken, "username", "spec.serviceUser.username", "the password belongs to another user"),
	owned(authToken, "project_name", "spec.serviceUser.projectName", "the service user may not be known there"),
	owned(authToken, "project_domain_name", "spec.serviceUser.projectDomainName", "the service user may not be known there"),
	owned(authToken, "user_domain_name", "spec.serviceUser.userDomainName", "the service user may not be known there"),
	owned(authToken, "region_name", "spec.region", "another region's Keystone validates tokens"),
	owned(authToken, "memcached_servers", "spec.cache", "tokens are cached elsewhere than network policies allow"),
	refused(authToken, "password", "the Secret of spec.serviceUser"),
	owned(secretStore, "enable_multiple_secret_stores", "the attached stores", "the sections of the stores may be ignored"),
	owned(secretStore, "stores_lookup_suffix", "the attached stores", "secrets in stores that are left out do not resolve"),
	owned(vaultPlugin, "vault_url", "the default store", "secrets go to another server than the store says"),
	owned(vaultPlugin, "use_ssl", "the default store", "the connection may lose its protection"),
	owned(vaultPlugin, "ssl_ca_crt_file", "the default store", "the server's certificate is checked against another CA"),
	owned(vaultPlugin, "approle_role_id", "the default store", "the secret ID belongs to another role"),
	owned(vaultPlugin, "kv_mountpoint", "the default store", "secrets stored so far do not resolve"),
	owned(vaultPlugin, "namespace", "the default store", "secrets stored so far do not resolve"),
	refused(vaultPlugin, "approle_secret_id", "the credentials Secret of the default store"),
	refused(vaultPlugin, "root_token_id", "the credentials Secret of the default store"),
	owned("queue", "enable", "the operator", "orders wait for workers that nobody runs"),
	owned(oslopolicy, "policy_file", "spec.policyOverrides", "the operator's value wins while overrides are set"),
)

// Credentials are the options, beside the refused ones, that carry a credential in plain sight.
var Credentials = []oslo.Option{
	{Section: "database", Key: "connection"},
	{Section: "database", Key: "slave_connection"},
	{Section: oslo.DefaultSection, Key: "transport_url"},
	{Section: "oslo_messaging_notifications", Key: "transport_url"},
	{Section: "simple_crypto_plugin", Key: "kek"},
	{Section: "p11_crypto_plugin", Key: "login"},
	{Section: "kmip_plugin", Key: "password"},
}

// StoreOptions are the names that a store's extraOptions must not use, because the operator writes them or they would carry
// credentials.
var StoreOptions = []string{
	"vault_url", "use_ssl", "ssl_ca_crt_file", "approle_role_id", "approle_secret_id", "root_token_id", "kv_mountpoint",
	"namespace", "secret_store_plugin", "crypto_plugin", "global_default",
}

// Overrides names the operator's own options that spec.extraConfig or a plugin sets too, sorted and joined; empty when there
// is none.
func Overrides(extraConfig map[string]map[string]string, plugins []api.Plugin) string {
	if len(extraConfig) == 0 && len(plugins) == 0 {
		return ""
	}
	var names []string
	for _, key := range Owned.Reported(extraConfig) {
		names = append(names, key.Option.String()+" ("+key.Impact+")")
	}
	for _, plugin := range plugins {
		for _, key := range Owned.Reported(map[string]map[string]string{plugin.ConfigSection: plugin.Config}) {
			names = append(names, key.Option.String()+" (plugin "+plugin.Name+"; what the operator sets wins)")
		}
	}
	return strings.Join(names, ", ")
}

func owned(section, key, owner, impact string) oslo.OwnedKey {
	return oslo.OwnedKey{Option: oslo.Option{Section: section, Key: key}, Owner: owner, Impact: impact}
}

func refused(section, key, owner string) oslo.OwnedKey {
	o := owned(section, key, owner, "a credential would stand in a file that every pod mounts")
	o.Rejected = true
	return o
}
