// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func secret(name string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "keys", Name: name, Generation: 1, ResourceVersion: "1",
			Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"},
		},
		Data: map[string][]byte{"key": []byte("value")},
	}
}

func TestPredicates(t *testing.T) {
	t.Parallel()
	data := func(s *corev1.Secret) any { return s.Data }
	predicates := map[string]predicate.Predicate{
		"Edited": Edited(), "Changed": Changed(), "Part": Part(data), "Desired": Desired(data),
	}
	for _, tt := range []struct {
		name   string
		change func(*corev1.Secret)
		passes []string
	}{
		{"resync", func(*corev1.Secret) {}, nil},
		{"version", func(s *corev1.Secret) { s.ResourceVersion = "2" }, []string{"Changed"}},
		{"generation", func(s *corev1.Secret) { s.Generation = 2 }, []string{"Edited"}},
		{"label", func(s *corev1.Secret) { s.Labels["a"] = "x" }, []string{"Desired", "Edited"}},
		{"label gone", func(s *corev1.Secret) { s.Labels = nil }, []string{"Desired", "Edited"}},
		{"annotation", func(s *corev1.Secret) { s.Annotations["c"] = "x" }, []string{"Desired", "Edited"}},
		{"data", func(s *corev1.Secret) { s.Data["key"] = []byte("x") }, []string{"Desired", "Part"}},
		{"empty labels", func(s *corev1.Secret) { s.Finalizers = []string{} }, nil},
		{"deletion", func(s *corev1.Secret) { s.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }, []string{"Desired", "Edited"}},
		{"owner", func(s *corev1.Secret) { s.OwnerReferences = []metav1.OwnerReference{{Name: "x"}} }, []string{"Desired"}},
		{"managed fields", func(s *corev1.Secret) { s.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "x"}} }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			was, is := secret("a"), secret("a")
			tt.change(is)
			for name, p := range predicates {
				if got, want := p.Update(event.UpdateEvent{ObjectOld: was, ObjectNew: is}), slices.Contains(tt.passes, name); got != want {
					t.Errorf("%s passes: %v, want %v", name, got, want)
				}
			}
		})
	}
	for name, p := range predicates {
		if !p.Create(event.CreateEvent{Object: secret("a")}) || !p.Delete(event.DeleteEvent{Object: secret("a")}) || !p.Generic(event.GenericEvent{Object: secret("a")}) {
			t.Errorf("%s drops a creation, a deletion or a wake-up", name)
		}
	}
}

func TestPartComparesLikeTheAPIServer(t *testing.T) {
	t.Parallel()
	part := Part(func(q *corev1.ResourceQuota) any { return q.Spec })
	quota := func(cpu string) *corev1.ResourceQuota {
		return &corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"cpu": resource.MustParse(cpu)}}}
	}
	if part.Update(event.UpdateEvent{ObjectOld: quota("1"), ObjectNew: quota("1000m")}) {
		t.Error("another spelling is a change")
	}
	if !part.Update(event.UpdateEvent{ObjectOld: quota("1"), ObjectNew: secret("a")}) {
		t.Error("an object that it does not know is dropped")
	}
}

// queue collects what is woken.
type queue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	woken []string
}

func (q *queue) Add(r reconcile.Request) { q.woken = append(q.woken, r.String()) }

func wake(t *testing.T, h handler.EventHandler, changed client.Object) []string {
	t.Helper()
	q := &queue{}
	h.Generic(t.Context(), event.GenericEvent{Object: changed}, q)
	slices.Sort(q.woken)
	return q.woken
}

// podIndex holds the names of the Secrets that a Pod mounts.
const podIndex = "mounts"

func mounts(p *corev1.Pod) []string {
	names := make([]string, 0, len(p.Spec.Volumes))
	for _, v := range p.Spec.Volumes {
		names = append(names, v.Secret.SecretName)
	}
	return names
}

func pod(namespace, name string, secrets ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name}}}
	for _, s := range secrets {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: s}}})
	}
	return p
}

type indexer struct {
	extract client.IndexerFunc
	err     error
}

func (i *indexer) IndexField(_ context.Context, _ client.Object, _ string, extract client.IndexerFunc) error {
	i.extract = extract
	return i.err
}

func TestIndex(t *testing.T) {
	t.Parallel()
	i := &indexer{}
	if err := Index(t.Context(), i, &corev1.Pod{}, podIndex, mounts); err != nil {
		t.Fatal(err)
	}
	if got := i.extract(pod("keys", "a", "x", "", "y", "x")); !slices.Equal(got, []string{"x", "y"}) {
		t.Errorf("indexed by %q", got)
	}
	i.err = errors.New("broken")
	if err := Index(t.Context(), i, &corev1.Pod{}, podIndex, mounts); !errors.Is(err, i.err) || !strings.Contains(err.Error(), "indexing *v1.Pod by mounts") {
		t.Errorf("Index() = %v", err)
	}
}

func indexed(t *testing.T, pods ...client.Object) client.Client {
	t.Helper()
	i := &indexer{}
	if err := Index(t.Context(), i, &corev1.Pod{}, podIndex, mounts); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(pods...).WithIndex(&corev1.Pod{}, podIndex, i.extract).Build()
}

func TestReferrers(t *testing.T) {
	t.Parallel()
	c := indexed(t, pod("keys", "a", "dsn", "ca"), pod("keys", "b", "dsn"), pod("keys", "c", "other"), pod("elsewhere", "d", "dsn"))
	for name, tt := range map[string]struct {
		toRequest func(client.Object) types.NamespacedName
		changed   client.Object
		want      []string
	}{
		"by name":          {nil, secret("dsn"), []string{"keys/a", "keys/b"}},
		"by another name":  {nil, secret("ca"), []string{"keys/a"}},
		"by nobody":        {nil, secret("unused"), nil},
		"metadata":         {nil, &metav1.PartialObjectMetadata{ObjectMeta: secret("dsn").ObjectMeta}, []string{"keys/a", "keys/b"}},
		"through a parent": {func(client.Object) types.NamespacedName { return types.NamespacedName{Name: "parent"} }, secret("dsn"), []string{"/parent"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := wake(t, Referrers(c, &corev1.PodList{}, podIndex, tt.toRequest), tt.changed); !slices.Equal(got, tt.want) {
				t.Errorf("woken %q, want %q", got, tt.want)
			}
		})
	}
}

func TestMatching(t *testing.T) {
	t.Parallel()
	c := indexed(t, pod("keys", "a"), pod("keys", "b"), pod("elsewhere", "a"))
	shared := []client.ListOption{client.InNamespace("keys")}
	h := Matching(c, &corev1.PodList{}, func(o client.Object) []client.ListOption {
		return append(shared, client.MatchingLabels{"app": o.GetName()})
	})
	if got := wake(t, h, secret("a")); !slices.Equal(got, []string{"keys/a"}) {
		t.Errorf("woken %q", got)
	}
}

func TestAFailedListWakesNobody(t *testing.T) {
	t.Parallel()
	unindexed := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build()
	if got := wake(t, Referrers(unindexed, &corev1.PodList{}, podIndex, nil), secret("dsn")); got != nil {
		t.Errorf("woken %q", got)
	}
}
