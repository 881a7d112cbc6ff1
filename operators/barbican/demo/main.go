// SPDX-License-Identifier: Apache-2.0

// Command demo converges a Barbican on a real API server and shows how. Everything outside of the operator and the control plane is
// played by stand-ins, so it needs neither a node nor a network.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

type options struct {
	root    string        // of the repository
	check   bool          // exit once Ready
	timeout time.Duration // how long that may take
}

func main() {
	o := options{}
	flag.StringVar(&o.root, "root", "", "The repository; by default the folder of go.work, here or above.")
	flag.BoolVar(&o.check, "check", os.Getenv("CHECK") != "", "End once the Barbican is Ready, or tell why it is not. Default: CHECK is set.")
	flag.DurationVar(&o.timeout, "timeout", timeoutFromEnvironment(), "How long --check waits. Default: TIMEOUT, or 3m.")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func timeoutFromEnvironment() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("TIMEOUT")); err == nil {
		return d
	}
	return 3 * time.Minute
}

func run(interrupted context.Context, o options) (err error) {
	if o.root == "" {
		if o.root, err = repository(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancelCause(interrupted)
	defer cancel(nil)
	say("Starting etcd, kube-apiserver and kube-controller-manager on loopback ...")
	w, err := startWorld(ctx, filepath.Join(o.root, "operators/barbican/config"))
	if err != nil {
		return err
	}
	defer func() {
		say("Cleaning up ...")
		if interrupted.Err() != nil {
			err = nil // whatever it broke was asked for
		}
		err = errors.Join(err, w.stop())
	}()
	say("Starting the operator with its webhooks; its log is %s", w.logPath)
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
