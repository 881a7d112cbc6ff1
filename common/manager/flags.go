// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"flag"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// Flags are the options of every binary that the user sets. Both the controllers of a binary and its clients of other
// services follow them.
type Flags struct {
	MetricsAddress string
	MetricsSecure  bool
	MetricsCertDir string
	ProbeAddress   string
	PprofAddress   string

	LeaderElect bool

	Webhooks       bool
	WebhookPort    int
	WebhookCertDir string

	SyncPeriod        time.Duration
	Namespace         string
	ClustersNamespace string

	Concurrency int
	CallTimeout time.Duration

	Log zap.Options
}

// DefaultFlags are the flags of a binary that is started without any.
func DefaultFlags() Flags {
	var f Flags
	f.bind(flag.NewFlagSet("", flag.ContinueOnError))
	return f
}

// Bind defines the flags in a set and gives f their defaults. It also defines --kubeconfig, which is the process's: nobody
// else may set it up at the same time.
func (f *Flags) Bind(set *flag.FlagSet) {
	f.bind(set)
	config.RegisterFlags(set)
}

func (f *Flags) bind(set *flag.FlagSet) {
	f.bindServers(set)
	set.BoolVar(&f.LeaderElect, "leader-elect", false,
		"Let only one of several replicas work, the holder of a lease in the operator's namespace. The others keep warm caches and serve webhooks.")
	set.DurationVar(&f.SyncPeriod, "sync-period", 10*time.Minute,
		"How often every cached object is looked at again although nothing happened. This asks the API server for nothing.")
	set.StringVar(&f.Namespace, "namespace", "",
		"The only `namespace` to work in, for which a Role is enough; empty stands for all. Kinds that exist outside of namespaces "+
			"are left aside unless the account may list them.")
	set.StringVar(&f.ClustersNamespace, "clusters-namespace", "c5c3-clusters",
		"The `namespace` of the Secrets that register target clusters; empty switches target clusters off.")
	set.IntVar(&f.Concurrency, "max-concurrent-reconciles", defaultConcurrency,
		"How many objects of one kind are worked on at the same time, by each controller.")
	set.DurationVar(&f.CallTimeout, "call-timeout", 10*time.Second,
		"How long a key store may take for one answer.")
	f.Log.BindFlags(set)
}

func (f *Flags) bindServers(set *flag.FlagSet) {
	set.StringVar(&f.MetricsAddress, "metrics-bind-address", ":8080", "The `address` that serves /metrics; 0 serves none.")
	set.BoolVar(&f.MetricsSecure, "metrics-secure", false,
		"Serve /metrics over TLS, and only to those whom the API server knows by their token and allows to get the URL /metrics.")
	set.StringVar(&f.MetricsCertDir, "metrics-cert-dir", "",
		"The `folder` of tls.crt and tls.key for --metrics-secure; empty stands for a self-signed certificate.")
	set.StringVar(&f.ProbeAddress, "health-probe-bind-address", ":8081",
		"The `address` that serves /healthz and /readyz; 0 serves none. Ready means that the caches are filled and the webhooks served.")
	set.StringVar(&f.PprofAddress, "pprof-bind-address", "0",
		"The `address` that serves profiles of the process to whoever asks, so a loopback one; 0 serves none.")
	set.BoolVar(&f.Webhooks, "enable-webhooks", true, "Serve the admission webhooks.")
	set.IntVar(&f.WebhookPort, "webhook-port", 9443, "The `port` of the webhooks.")
	set.StringVar(&f.WebhookCertDir, "webhook-cert-dir", "",
		"The `folder` of tls.crt and tls.key of the webhooks; empty stands for k8s-webhook-server/serving-certs in the folder for temporary files.")
}

// check answers values that would do something else than what they say.
func (f *Flags) check() error {
	switch {
	case f.SyncPeriod <= 0:
		return fmt.Errorf("--sync-period=%s: must be positive", f.SyncPeriod)
	case f.CallTimeout <= 0:
		return fmt.Errorf("--call-timeout=%s: must be positive", f.CallTimeout)
	case f.WebhookPort < 0 || f.WebhookPort > 65535:
		return fmt.Errorf("--webhook-port=%d: must be a TCP port", f.WebhookPort)
	}
	return nil
}
