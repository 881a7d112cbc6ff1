// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/workqueue"
)

func TestFlagDefaults(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"metrics-bind-address": ":8080", "metrics-secure": "false", "metrics-cert-dir": "",
		"health-probe-bind-address": ":8081", "pprof-bind-address": "0", "leader-elect": "false",
		"enable-webhooks": "true", "webhook-port": "9443", "webhook-cert-dir": "",
		"sync-period": "10m0s", "namespace": "", "clusters-namespace": "c5c3-clusters",
		"max-concurrent-reconciles": "2", "call-timeout": "10s", "kubeconfig": "",
		"zap-devel": "false", "zap-encoder": "", "zap-log-level": "", "zap-stacktrace-level": "", "zap-time-encoding": "",
	}
	got := map[string]string{}
	flagSet(&Flags{}).VisitAll(func(f *flag.Flag) { got[f.Name] = f.DefValue })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags and defaults (-want +got):\n%s", diff)
	}
	if f := DefaultFlags(); f.Concurrency != 2 || !f.Webhooks || f.ClustersNamespace != "c5c3-clusters" {
		t.Errorf("got %+v, want the defaults", f)
	}
}

func TestHelpExplainsEveryFlag(t *testing.T) {
	t.Parallel()
	set, out := flagSet(&Flags{}), &bytes.Buffer{}
	set.SetOutput(out)
	set.PrintDefaults()
	set.VisitAll(func(f *flag.Flag) {
		if len(f.Usage) < 20 || !strings.Contains(out.String(), "-"+f.Name) {
			t.Errorf("-%s: %q explains nothing", f.Name, f.Usage)
		}
	})
}

func TestFlagsAreRead(t *testing.T) {
	t.Parallel()
	var f Flags
	err := flagSet(&f).Parse([]string{
		"--metrics-bind-address=0", "--enable-webhooks=false", "--leader-elect", "--sync-period=1h", "--namespace=keys",
		"--clusters-namespace=", "--max-concurrent-reconciles=7", "--zap-log-level=debug",
	})
	if err != nil {
		t.Fatal(err)
	}
	if f.MetricsAddress != "0" || f.Webhooks || !f.LeaderElect || f.SyncPeriod != time.Hour || f.Namespace != "keys" ||
		f.ClustersNamespace != "" || f.Concurrency != 7 || f.Log.Level == nil {
		t.Errorf("got %+v", f)
	}
}

// --kubeconfig is a variable of the process.
func TestDefaultFlagsLeaveTheProcessAlone(t *testing.T) { //nolint:paralleltest // other tests bind the flag, too
	set := flagSet(&Flags{})
	if err := set.Parse([]string{"--kubeconfig=mine"}); err != nil {
		t.Fatal(err)
	}
	DefaultFlags()
	if got := set.Lookup("kubeconfig").Value.String(); got != "mine" {
		t.Errorf("--kubeconfig became %q", got)
	}
}

func TestFlagsAreChecked(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*Flags){
		"--sync-period=0s":     func(f *Flags) { f.SyncPeriod = 0 },
		"--call-timeout=-1s":   func(f *Flags) { f.CallTimeout = -time.Second },
		"--webhook-port=70000": func(f *Flags) { f.WebhookPort = 70000 },
	}
	for want, change := range tests {
		f := DefaultFlags()
		change(&f)
		if err := f.check(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want an error about %s", err, want)
		}
	}
	f := DefaultFlags()
	if err := f.check(); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
}

func TestControllerOptions(t *testing.T) {
	t.Parallel()
	for given, want := range map[int]int{-1: 2, 0: 2, 1: 1, 9: 9} {
		if got := ControllerOptions[string](Flags{Concurrency: given}).MaxConcurrentReconciles; got != want {
			t.Errorf("--max-concurrent-reconciles=%d: %d workers, want %d", given, got, want)
		}
	}
	limiter := ControllerOptions[string](DefaultFlags()).RateLimiter
	checkBackOff(t, limiter)
	if wait := limiter.When("healthy"); wait != firstRetry {
		t.Errorf("an object that fails for the first time waits %s behind the others", wait)
	}
}

func checkBackOff(t *testing.T, limiter workqueue.TypedRateLimiter[string]) {
	t.Helper()
	var waits []time.Duration
	for range 200 {
		waits = append(waits, limiter.When("dead"))
	}
	if waits[0] != 5*time.Millisecond || waits[1] != 10*time.Millisecond || waits[199] != 30*time.Second {
		t.Errorf("waits %s, %s, ..., %s; want 5ms, 10ms, ..., 30s", waits[0], waits[1], waits[199])
	}
}

func TestOperatorNamespace(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "namespace")
	if err := os.WriteFile(file, []byte("from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, variable, file, want string }{
		{"variable wins", "from-variable", file, "from-variable"},
		{"service account", "", file, "from-file"},
		{"outside of a cluster", "", file + "-not", ""},
	} {
		if got := operatorNamespace(tt.variable, tt.file); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func flagSet(f *Flags) *flag.FlagSet {
	set := flag.NewFlagSet("operator", flag.ContinueOnError)
	f.Bind(set)
	return set
}
