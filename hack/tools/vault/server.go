// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"
	kubernetes "github.com/hashicorp/vault-plugin-auth-kubernetes"
	kv "github.com/hashicorp/vault-plugin-secrets-kv"
	"github.com/hashicorp/vault/builtin/credential/approle"
	vaulthttp "github.com/hashicorp/vault/http"
	"github.com/hashicorp/vault/internalshared/configutil"
	"github.com/hashicorp/vault/sdk/helper/consts"
	"github.com/hashicorp/vault/sdk/logical"
	"github.com/hashicorp/vault/sdk/physical/file"
	"github.com/hashicorp/vault/vault"
)

// backends are what can be mounted beside what every core has: the token store, the identity store and its own system paths.
type backends map[consts.PluginType]map[string]logical.Factory

var available = backends{
	consts.PluginTypeCredential: {"approle": approle.Factory, "kubernetes": kubernetes.Factory},
	consts.PluginTypeSecrets:    {"kv": kv.Factory},
}

func serve(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("server", flag.ContinueOnError)
	listen := flags.String("listen", ":8200", "`address` to listen on")
	certificate := flags.String("tls-cert", "", "`file` with the certificate chain")
	key := flags.String("tls-key", "", "`file` with its private key")
	storage := flags.String("storage", "", "`folder` to keep the encrypted data in")
	if err := flags.Parse(args); err != nil {
		return err
	}

	logger := hclog.New(&hclog.LoggerOptions{Name: "vault", Output: os.Stderr, Level: hclog.Info})
	core, err := newCore(logger, *storage, "https://"+*listen)
	if err != nil {
		return fmt.Errorf("starting the core: %w", err)
	}
	defer func() { _ = core.ShutdownWait() }()
	return listenAndServe(ctx, core, *listen, *certificate, *key)
}

func newCore(logger hclog.Logger, folder, address string) (*vault.Core, error) {
	storage, err := file.NewFileBackend(map[string]string{"path": folder}, logger.Named("storage"))
	if err != nil {
		return nil, err
	}
	return vault.NewCore(&vault.CoreConfig{
		Physical:           storage,
		StorageType:        "file",
		Logger:             logger,
		RedirectAddr:       address,
		DisableMlock:       true,
		CredentialBackends: available[consts.PluginTypeCredential],
		LogicalBackends:    available[consts.PluginTypeSecrets],
		BuiltinRegistry:    available,
	})
}

func listenAndServe(ctx context.Context, core *vault.Core, listen, certificate, key string) error {
	server := &http.Server{
		Addr:              listen,
		Handler:           vaulthttp.Handler.Handler(&vault.HandlerProperties{Core: core, ListenerConfig: &configutil.Listener{}}),
		TLSConfig:         &tls.Config{MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: 10 * time.Second,
	}
	stopped := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stopped()
	if err := server.ListenAndServeTLS(certificate, key); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Get implements plugincatalog.BuiltinRegistry.
func (b backends) Get(name string, kind consts.PluginType) (func() (any, error), bool) {
	factory, ok := b[kind][name]
	return func() (any, error) { return factory, nil }, ok
}

// Contains implements plugincatalog.BuiltinRegistry.
func (b backends) Contains(name string, kind consts.PluginType) bool {
	return b[kind][name] != nil
}

// Keys implements plugincatalog.BuiltinRegistry.
func (b backends) Keys(kind consts.PluginType) []string {
	var names []string
	for name := range b[kind] {
		names = append(names, name)
	}
	return names
}

// DeprecationStatus implements plugincatalog.BuiltinRegistry.
func (b backends) DeprecationStatus(name string, kind consts.PluginType) (consts.DeprecationStatus, bool) {
	return consts.Supported, b.Contains(name, kind)
}

// IsBuiltinEntPlugin implements plugincatalog.BuiltinRegistry.
func (b backends) IsBuiltinEntPlugin(string, consts.PluginType) bool {
	return false
}
