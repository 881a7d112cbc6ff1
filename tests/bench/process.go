// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// passesMetric counts the passes of all controllers of an operator.
const passesMetric = "controller_runtime_reconcile_total"

// process is a running operator.
type process struct {
	cmd     *exec.Cmd
	done    chan error
	metrics string
	probes  string
}

// start runs an operator until it is ready.
func (w *world) start(ctx context.Context, path, logPath string) (*process, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := &process{done: make(chan error, 1)}
	if p.metrics, err = freeAddress(ctx); err != nil {
		return nil, err
	}
	if p.probes, err = freeAddress(ctx); err != nil {
		return nil, err
	}
	p.cmd = exec.CommandContext(ctx, path, "--kubeconfig="+w.env.KubeConfig, "--enable-webhooks=false", //nolint:gosec // the operator that the user names
		"--metrics-bind-address="+p.metrics, "--health-probe-bind-address="+p.probes)
	p.cmd.Env = append(os.Environ(), "HTTP_PROXY="+w.proxy, "HTTPS_PROXY="+w.proxy, "NO_PROXY=127.0.0.1")
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { p.done <- p.cmd.Wait() }()
	return p, p.awaitReady(ctx)
}

func freeAddress(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func (p *process) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return until(ctx, "the operator to be ready", func() (bool, error) {
		select {
		case err := <-p.done:
			return false, fmt.Errorf("the operator ended: %w", errors.Join(err))
		default:
		}
		_, err := get(ctx, "http://"+p.probes+"/readyz")
		return err == nil, nil
	})
}

// stop ends the operator as Kubernetes would.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-p.done:
		return err
	case <-time.After(30 * time.Second):
		return errors.Join(errors.New("the operator does not end"), p.cmd.Process.Kill())
	}
}

// metric is the sum over all series of a counter or gauge of the operator.
func (p *process) metric(ctx context.Context, name string) (float64, error) {
	text, err := get(ctx, "http://"+p.metrics+"/metrics")
	if err != nil {
		return 0, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return 0, err
	}
	return sum(families[name]), nil
}

func sum(family *dto.MetricFamily) float64 {
	total := 0.0
	for _, m := range family.GetMetric() {
		total += m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	return total
}

// passed waits until n more objects were looked at since before.
func (p *process) passed(ctx context.Context, before, n float64) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return until(ctx, fmt.Sprintf("%v passes", n), func() (bool, error) {
		now, err := p.passes(ctx)
		return now-before >= n, err
	})
}

func (p *process) passes(ctx context.Context) (float64, error) {
	return p.metric(ctx, passesMetric)
}

// memory is the resident memory in MB.
func (p *process) memory() (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.SplitSeq(string(status), "\n") {
		if text, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kilobytes, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "kB")), 64)
			return kilobytes / 1024, err
		}
	}
	return 0, errors.New("the kernel tells no VmRSS")
}

func until(ctx context.Context, what string, done func() (bool, error)) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		case <-ticker.C:
		}
	}
}

func get(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var body bytes.Buffer
	if _, err := body.ReadFrom(answer.Body); err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %d", url, answer.StatusCode)
	}
	return body.Bytes(), nil
}
