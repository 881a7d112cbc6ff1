# SPDX-License-Identifier: Apache-2.0
"""Prints what the packaged Barbican makes of its configuration: read.py SECTION.OPTION... > JSON.

Credentials are read where they are used: in the token filter's Keystone plugin and in the client of the key store.
"""
import json
import sys

from barbican.common import config
from barbican.plugin import vault_secret_store
from keystonemiddleware import auth_token
from oslo_config import cfg

keystone = auth_token.AuthProtocol(lambda environ, start_response: [], {})._auth
store = vault_secret_store.VaultSecretStore().key_manager


def read(name):
    section, option = name.split(".", 1)
    if section == "vault_plugin":
        return getattr(store, "_" + option)
    if section == "keystone_authtoken" and hasattr(keystone, "_" + option):
        return getattr(keystone, "_" + option)
    try:
        return config.CONF[section][option]
    except (cfg.NoSuchGroupError, cfg.NoSuchOptError):
        config.CONF.register_opt(cfg.StrOpt(option), group=section)
        return config.CONF[section][option]


json.dump({name: read(name) for name in sys.argv[1:]}, sys.stdout)
