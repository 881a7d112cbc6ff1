// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/c5c3/cobaltcore/common/manager"
	"github.com/c5c3/cobaltcore/operators/barbican/internal/operator"
)

// startOperator runs the same operator as the binary does, in this process, and waits until it is ready. The channel is closed when
// it has ended; if that is by itself, fail is told why.
func (w *world) startOperator(ctx context.Context, fail context.CancelCauseFunc) (ended <-chan struct{}, err error) {
	logger := zap.New(zap.WriteTo(w.log), zap.UseDevMode(true))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger.WithName("kubernetes"))
	probes, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	flags := manager.DefaultFlags()
	flags.MetricsAddress, flags.ProbeAddress = "0", probes
	flags.WebhookPort, flags.WebhookCertDir = w.env.Webhook.Port, w.env.Webhook.CertDir
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := operator.Run(ctx, w.env.Config, operator.Options{
			Flags: flags, Registry: prometheus.NewRegistry(), OneOfMany: true,
			HTTP: w.services.Transport(), Dial: w.services.Dial,
		})
		if ctx.Err() == nil {
			fail(fmt.Errorf("the operator ended: %w", err))
		}
	}()
	return done, untilReady(ctx, "http://"+probes+"/readyz")
}

func freeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

func untilReady(ctx context.Context, url string) error {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(errors.New("the operator did not become ready"), context.Cause(ctx))
		case <-ticker.C:
		}
	}
}
