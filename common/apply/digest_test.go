// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// sample has a field for each way of Go and Kubernetes to say something.
type sample struct {
	Text     string
	Number   *int32
	Flag     *bool
	Ratio    float64
	Unsigned uint8
	Bytes    []byte
	List     []string
	Strings  map[string]string
	Named    map[corev1.ResourceName]string
	Any      any
	Array    [2]int
	Amount   resource.Quantity
	Amounts  corev1.ResourceList
	When     metav1.Time
	Port     intstr.IntOrString
	Nested   struct{ Text string }

	hidden string
}

func TestDigestTellsValuesApart(t *testing.T) {
	t.Parallel()
	values := []any{
		nil, sample{}, sample{Text: "a"}, sample{Text: "ab"}, sample{Number: new(int32(0))}, sample{Number: new(int32(1))},
		sample{Number: new(int32(-1))}, sample{Flag: new(false)}, sample{Flag: new(true)}, sample{Ratio: 0.1}, sample{Ratio: 0.2},
		sample{Unsigned: 1}, sample{Bytes: []byte("a")}, sample{List: []string{""}}, sample{List: []string{"a", "b"}}, sample{List: []string{"ab"}},
		sample{List: []string{"b", "a"}}, sample{Strings: map[string]string{"a": "b"}}, sample{Strings: map[string]string{"b": "a"}},
		sample{Strings: map[string]string{"ab": ""}}, sample{Strings: map[string]string{"a": "b", "c": "d"}},
		sample{Named: map[corev1.ResourceName]string{"a": "b"}}, sample{Any: "a"}, sample{Any: int64(1)}, sample{Array: [2]int{0, 1}},
		sample{Amount: resource.MustParse("1")}, sample{Amount: resource.MustParse("1m")},
		sample{Amounts: corev1.ResourceList{"cpu": resource.MustParse("1")}}, sample{Amounts: corev1.ResourceList{"memory": resource.MustParse("1")}},
		sample{Port: intstr.FromInt32(80)}, sample{Port: intstr.FromString("80")}, sample{Nested: struct{ Text string }{"a"}},
	}
	seen := map[string]int{}
	for i, v := range values {
		d := Digest(v)
		if other, ok := seen[d]; ok {
			t.Errorf("%+v and %+v share a digest", values[other], v)
		}
		seen[d] = i
	}
}

func TestDigestIgnoresWhatSaysNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		a, b any
	}{
		{"empty and nil", sample{}, sample{Bytes: []byte{}, List: []string{}, Strings: map[string]string{}, Amounts: corev1.ResourceList{}}},
		{"unexported fields", sample{}, sample{hidden: "a"}},
		{"times", sample{When: metav1.Unix(1, 0)}, sample{When: metav1.Unix(2, 0)}},
		{"spelling of quantities", sample{Amount: resource.MustParse("0.5")}, sample{Amount: resource.MustParse("500m")}},
		{"spelling of quantities in lists", sample{Amounts: corev1.ResourceList{"memory": resource.MustParse("1024Mi")}}, sample{Amounts: corev1.ResourceList{"memory": resource.MustParse("1Gi")}}},
		{"type meta", corev1.Secret{}, corev1.Secret{TypeMeta: metav1.TypeMeta{Kind: "Secret"}}},
		{"other pointers to the same", sample{Number: new(int32(7))}, sample{Number: new(int32(7))}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if Digest(tt.a) != Digest(tt.b) {
				t.Errorf("%+v and %+v differ", tt.a, tt.b)
			}
		})
	}
}

// Digests stand on the children of running clusters: another algorithm re-applies every child once.
func TestDigestIsStable(t *testing.T) {
	t.Parallel()
	const want = "ed189468289ce588"
	for range 20 { // map order
		if got := Digest(deployment()); got != want {
			t.Fatalf("Digest(deployment) = %q, want %q", got, want)
		}
	}
}

func TestDigestDoesNotDependOnMapOrder(t *testing.T) {
	t.Parallel()
	up, down := map[corev1.ResourceName]string{}, map[corev1.ResourceName]string{}
	for i := range 50 {
		up[corev1.ResourceName(fmt.Sprint(i))], down[corev1.ResourceName(fmt.Sprint(49-i))] = "v", "v"
	}
	if Digest(up) != Digest(down) {
		t.Error("equal maps have two digests")
	}
}

func TestContentDigestLeavesOutMetadataAndStatus(t *testing.T) {
	t.Parallel()
	a, b := deployment(), deployment()
	b.Labels, b.ResourceVersion, b.Status.Replicas = nil, "7", 3
	if contentSum(a) != contentSum(b) {
		t.Error("metadata or status count as content")
	}
	b.Spec.Paused = true
	if contentSum(a) == contentSum(b) {
		t.Error("an edit of the spec is not seen")
	}
}
