// SPDX-License-Identifier: Apache-2.0

// Command vault is an OpenBao-compatible key store for tests, server and client in one program.
//
// It wraps the core of HashiCorp Vault, which OpenBao was forked from and whose API it still answers, because OpenBao's own server
// cannot be had as a Go module. That core is under the Business Source License 1.1: this program is for the test-suites of
// this repository only and must never become part of anything that is shipped.
//
//	vault server -tls-cert FILE -tls-key FILE -storage FOLDER    serves, sealed until somebody unseals it
//	vault init                                                   initialises and unseals; prints root token and unseal key as JSON
//	vault apply                                                  performs requests from standard input
//	vault request OPERATION PATH [DATA]                          performs one request and prints the answer
//
// The clients find the server through VAULT_ADDR, VAULT_CACERT and VAULT_TOKEN, or -address, -ca-cert and -token.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

var commands = map[string]func(ctx context.Context, args []string) error{
	"server":  serve,
	"init":    initialize,
	"apply":   apply,
	"request": request,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "vault:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		if command, ok := commands[args[0]]; ok {
			return command(ctx, args[1:])
		}
	}
	return fmt.Errorf("%w: vault server|init|apply|request [ARGUMENT...]", flag.ErrHelp)
}
