// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/c5c3/cobaltcore/common/apply"
	"github.com/c5c3/cobaltcore/common/observe"
	"github.com/c5c3/cobaltcore/common/reconcile"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
)

// owner is a custom resource whose status remembers the Job that was counted.
type owner struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Status            struct {
		Conditions []metav1.Condition `json:"conditions,omitempty"`
		Counted    string             `json:"counted,omitempty"`
		Tallied    string             `json:"tallied,omitempty"`
	} `json:"status"`
}

func (o *owner) DeepCopyObject() runtime.Object {
	c := *o
	o.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	c.Status.Conditions = append([]metav1.Condition(nil), o.Status.Conditions...)
	return &c
}

func (o *owner) StatusConditions() *[]metav1.Condition { return &o.Status.Conditions }

func (o *owner) SetObservedGeneration(int64) {}

type silent struct{}

func (silent) Event(runtime.Object, string, string, string) {}

func (silent) Step(string, string) func(time.Duration, error) { return func(time.Duration, error) {} }

type notes struct {
	silent
	events []string
}

func (n *notes) Event(_ runtime.Object, eventType, reason, _ string) {
	n.events = append(n.events, eventType+" "+reason)
}

func TestAResultIsCountedOnceAndOnlyWhenThatIsRemembered(t *testing.T) {
	t.Parallel()
	s := runtime.NewScheme()
	s.AddKnownTypeWithName(schema.GroupVersionKind{Group: "test", Version: "v1", Kind: "Owner"}, &owner{})
	down, failing := errors.New("connection refused"), true
	c := interceptor.NewClient(
		fake.NewClientBuilder().WithScheme(s).WithStatusSubresource(&owner{}).WithObjects(&owner{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "one"}}).Build(),
		interceptor.Funcs{SubResourcePatch: func(ctx context.Context, next client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			if failing {
				return down
			}
			return next.SubResource(sub).Patch(ctx, obj, patch, opts...)
		}})
	var told []error
	count := func(_ Result, err error) { told = append(told, err) }
	metrics, registry, recorder := observe.New("svc"), prometheus.NewRegistry(), &notes{}
	tally := Tally{Metrics: metrics.Jobs("db_clean", "svc"), Recorder: recorder, Deferred: "CountedLater"}
	if err := metrics.Register(registry); err != nil {
		t.Fatal(err)
	}
	pipeline, err := reconcile.NewPipeline[*owner, struct{}](silent{}, reconcile.Step[*owner, struct{}]{
		Name: "Clean", Condition: "CleanReady",
		Run: func(_ context.Context, p *reconcile.Pass[*owner, struct{}]) reconcile.Outcome {
			j, status := migration("k", ended(batchv1.JobComplete)), &p.Object.Status
			return tally.Count(Once(reconcile.Ready("Scheduled", ""), j, &status.Counted, count), p.Object, j, &status.Tallied)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	controller := &reconcile.Controller[*owner, struct{}]{
		New: func() *owner { return &owner{} }, Client: c, Recorder: silent{}, Pipeline: pipeline,
		Targets: target.Local{Cluster: target.Cluster{Client: c, Reader: c, Writer: apply.NewWriter(c, c)}},
	}
	pass := func() {
		_, _ = controller.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: "one"}})
	}
	pass()
	if len(told) != 1 || !errors.Is(told[0], down) {
		t.Fatalf("told %v, want the failed write", told)
	}
	if n := samples(t, registry); n != 0 || !slices.Equal(recorder.events, []string{"Warning CountedLater"}) {
		t.Errorf("%d samples, events %v before the status is written", n, recorder.events)
	}
	failing = false
	for range 3 {
		pass()
	}
	if len(told) != 2 || told[1] != nil {
		t.Errorf("told %v, want the failed write and one success", told)
	}
	if n := samples(t, registry); n != 1 || len(recorder.events) != 1 {
		t.Errorf("%d samples, events %v in the end, want one of each", n, recorder.events)
	}
}

// samples are the Jobs that were counted.
func samples(t *testing.T, registry *prometheus.Registry) (n int) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			n += int(metric.GetCounter().GetValue())
		}
	}
	return n
}
