// SPDX-License-Identifier: Apache-2.0

// Command demo converges a Barbican on a real API server and shows how. Everything outside of the operator and the control plane is
// played by stand-ins, so it needs neither a node nor a network.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

type options struct {
	root    string        // of the repository
	check   bool          // exit once Ready
	timeout time.Duration // how long that may take
	logs    string        // folder of the operator's log; empty: that for temporary files
}

func main() {
	o, err := parse(os.Args[1:], os.Getenv)
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err = run(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// parse reads the flags, whose defaults make can set by the environment.
func parse(arguments []string, getenv func(string) string) (o options, err error) {
	flags := flag.NewFlagSet("demo", flag.ExitOnError)
	flags.StringVar(&o.root, "root", "", "The repository. Default: the folder of go.work, here or above.")
	check := flags.String("check", cmp.Or(getenv("CHECK"), "false"), "End once the Barbican is Ready, or tell why it is not. Default: $CHECK.")
	timeout := flags.String("timeout", cmp.Or(getenv("TIMEOUT"), "3m"), "How long check waits. Default: $TIMEOUT, or 3m.")
	if err := flags.Parse(arguments); err != nil {
		return o, err
	}
	if o.check, err = strconv.ParseBool(*check); err != nil {
		return o, fmt.Errorf("check %q is neither 1 nor 0", *check)
	}
	if o.timeout, err = time.ParseDuration(*timeout); err != nil {
		return o, fmt.Errorf("timeout %q is no duration such as 90s", *timeout)
	}
	if o.root == "" {
		o.root, err = repository()
	}
	return o, err
}

func run(interrupted context.Context, o options) (err error) {
	ctx, cancel := context.WithCancelCause(interrupted)
	defer cancel(nil)
	say("Starting etcd, kube-apiserver and kube-controller-manager on loopback ...")
	w, err := startWorld(ctx, o)
	if err != nil {
		return err
	}
	defer func() {
		say("Cleaning up ...")
		if interrupted.Err() != nil {
			err = nil // whatever it broke was asked for
		}
		err = errors.Join(err, w.stop(err == nil))
	}()
	say("Starting the operator with its webhooks; its log is %s", w.log.Name())
	ended, err := w.startOperator(ctx, cancel)
	if ended != nil {
		defer func() {
			cancel(nil)
			<-ended
		}()
	}
	if err != nil {
		return err
	}
	if err := w.apply(ctx, "manifests/barbican.yaml"); err != nil {
		return err
	}
	say("Applied operators/barbican/demo/manifests/barbican.yaml\n")
	return show(ctx, o, w)
}

// show draws the board until the Barbican is Ready, and from then on either ends or stays.
func show(ctx context.Context, o options, w *world) error {
	limit := ctx
	if o.check {
		var cancel context.CancelFunc
		limit, cancel = context.WithTimeout(ctx, o.timeout)
		defer cancel()
	}
	b := newBoard(os.Stdout)
	err := b.follow(limit, w.client)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("not Ready after %s: %w\n%s", b.elapsed(), err, b.unmet())
	}
	say("\nReady after %s.", b.elapsed())
	if o.check {
		return nil
	}
	w.explain()
	<-ctx.Done()
	return context.Cause(ctx)
}

func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("this is not the repository: there is no go.work here or above; use --root")
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }
