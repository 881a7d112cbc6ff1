// SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

// Cache is the custom resource of the examples: a cache in front of a service.
type Cache struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Size string `json:"size,omitempty"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64              `json:"observedGeneration,omitempty"`
		Conditions         []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status"`
}

// StatusConditions implements reconcile.Object.
func (c *Cache) StatusConditions() *[]metav1.Condition { return &c.Status.Conditions }

// SetObservedGeneration implements reconcile.Object.
func (c *Cache) SetObservedGeneration(generation int64) { c.Status.ObservedGeneration = generation }

// DeepCopyObject is what controller-gen would write.
func (c *Cache) DeepCopyObject() runtime.Object {
	out := *c
	out.ObjectMeta = *c.ObjectMeta.DeepCopy()
	out.Status.Conditions = append([]metav1.Condition(nil), c.Status.Conditions...)
	return &out
}

// handoff is what earlier steps find and later ones use.
type handoff struct {
	password string // set by Secrets
}

type (
	step = reconcile.Step[*Cache, handoff]
	pass = reconcile.Pass[*Cache, handoff]
)

// metrics measures nothing; observe.Metrics is the real one.
type metrics struct{}

func (metrics) Step(string, string) func(time.Duration, error) { return func(time.Duration, error) {} }

func secrets(_ context.Context, p *pass) reconcile.Outcome {
	p.Values.password = "s3cr3t"
	return reconcile.Ready("SecretsAvailable", "The password is there")
}

// config applies a child. There is no request when it is already as desired.
func config(ctx context.Context, p *pass) reconcile.Outcome {
	err := p.Children.Writer.Apply(ctx, p.Object, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: p.Object.Name, Namespace: p.Object.Namespace},
		Data:       map[string]string{"size": p.Object.Spec.Size},
	})
	if err != nil {
		return reconcile.Fail("ConfigError", err)
	}
	return reconcile.Ready("Configured", "The configuration is in place").Note()
}

func ExampleNewPipeline() {
	table, err := reconcile.NewPipeline(metrics{},
		step{Name: "Secrets", Condition: "SecretsReady", Run: secrets},
		step{Name: "Config", Condition: "ConfigReady", Run: config},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(table.Steps(), table.Conditions())

	_, err = reconcile.NewPipeline(metrics{}, step{Name: "Secrets", Run: secrets})
	fmt.Println(err)
	// Output:
	// [Secrets Config] [SecretsReady ConfigReady]
	// step "Secrets" lacks a name, a condition or something to run
}

// Members of a group run at the same time and to the end: a failure of one keeps none of the others from reporting.
func ExampleParallel() {
	table, err := reconcile.NewPipeline(metrics{},
		step{Name: "Secrets", Condition: "SecretsReady", Run: secrets},
		reconcile.Parallel(
			step{Name: "Route", Condition: "RouteReady", Run: func(context.Context, *pass) reconcile.Outcome {
				return reconcile.Poll(10*time.Second, "RouteNotAccepted", "Gateway keys/public has not accepted route keys/cache")
			}},
			step{Name: "Config", Condition: "ConfigReady", Run: config},
		),
	)
	fmt.Println(table.Steps(), err)
	// Output: [Secrets Route Config] <nil>
}

func ExampleController() {
	cluster := newCluster()
	table, err := reconcile.NewPipeline(metrics{},
		step{Name: "Secrets", Condition: "SecretsReady", Run: secrets},
		step{Name: "Config", Condition: "ConfigReady", Run: config},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	controller := &reconcile.Controller[*Cache, handoff]{
		New: func() *Cache { return &Cache{} }, Client: cluster.Client, Recorder: printer{},
		Targets: target.Local{Cluster: cluster}, Gate: "SecretsReady", Finalizer: "example.com/cache", Pipeline: table,
	}
	request := ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "keys", Name: "front"}}
	result, err := controller.Reconcile(context.Background(), request)
	fmt.Println(result.RequeueAfter, err)

	var front Cache
	err = cluster.Client.Get(context.Background(), request.NamespacedName, &front)
	fmt.Println(front.Finalizers, err)
	for _, c := range front.Status.Conditions {
		fmt.Println(c.Type, c.Status, c.Reason, "-", c.Message)
	}
	// Output:
	// Normal Configured The configuration is in place
	// 0s <nil>
	// [example.com/cache] <nil>
	// SecretsReady True SecretsAvailable - The password is there
	// ConfigReady True Configured - The configuration is in place
	// Ready True AllReady - All conditions are True
}

// What a step finds says whether the steps below may run, and when to look again.
func ExampleOutcome() {
	for _, o := range []reconcile.Outcome{
		reconcile.Ready("DeploymentReady", "3 of 3 pods are ready").After(time.Minute),
		reconcile.Poll(10*time.Second, "WaitingForDeployment", "1 of 3 pods is ready"),
		reconcile.Wait(15*time.Second, "WaitingForDBCredentials", "Secret keys/dsn does not exist"),
		reconcile.Fail("ConfigError", errors.New("read tcp 10.0.0.1:40112->10.0.0.2:443: connection reset")),
	} {
		fmt.Println("done:", o.Done(), "stops:", o.Stops(), "back in", o.ComesBack(), "-", o.Message())
	}
	// Output:
	// done: true stops: false back in 1m0s - 3 of 3 pods are ready
	// done: false stops: false back in 10s - 1 of 3 pods is ready
	// done: false stops: true back in 15s - Secret keys/dsn does not exist
	// done: false stops: true back in 0s - read tcp 10.0.0.2:443: connection reset
}

func ExampleStableText() {
	for _, port := range []int{40112, 40113} {
		fmt.Println(reconcile.StableText(fmt.Errorf("read tcp 10.0.0.1:%d->10.0.0.2:443: i/o timeout", port)))
	}
	// Output:
	// read tcp 10.0.0.2:443: i/o timeout
	// read tcp 10.0.0.2:443: i/o timeout
}

// printer raises events on the terminal.
type printer struct{}

func (printer) Event(_ runtime.Object, eventType, reason, message string) {
	fmt.Fprintln(os.Stdout, eventType, reason, message)
}

// newCluster is a management cluster with one Cache.
func newCluster() target.Cluster {
	scheme := runtime.NewScheme()
	group := schema.GroupVersion{Group: "example.com", Version: "v1"}
	scheme.AddKnownTypes(group, &Cache{})
	metav1.AddToGroupVersion(scheme, group)
	_ = corev1.AddToScheme(scheme) // fails for no scheme of one's own
	front := &Cache{ObjectMeta: metav1.ObjectMeta{Namespace: "keys", Name: "front", UID: "1", Generation: 1}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(front).WithStatusSubresource(front).Build()
	return target.Cluster{Client: c, Reader: c, Writer: apply.NewWriter(c, c)}
}
