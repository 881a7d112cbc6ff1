// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"maps"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// FieldManager owns, in the API server's books, every field that a Writer writes.
const FieldManager client.FieldOwner = "cobaltcore-operator"

// AnnotationApplied holds the Digest of what was last applied to a child. It lets a restarted operator see that a
// child is as desired, and that a field which is no longer desired must go.
const AnnotationApplied = "cobaltcore.c5c3.io/applied-hash"

// Writer writes the children that live on one cluster. It is safe for concurrent use.
type Writer struct {
	client client.Client
	live   client.Reader
	clock  clock.PassiveClock
	owners ownership
	memory memory
}

// NewWriter returns a Writer for the management cluster, whose children carry a controller reference. Reads of c
// should come from a cache; live reads the API server.
func NewWriter(c client.Client, live client.Reader) *Writer {
	return &Writer{client: c, live: live, clock: clock.RealClock{}, owners: ownership{scheme: c.Scheme()}}
}

// NewRemoteWriter returns a Writer for another cluster, whose children carry labels. It looks with live before it
// creates or adopts, since nothing but the label tells the owner there.
func NewRemoteWriter(c client.Client, live client.Reader) *Writer {
	return &Writer{client: c, live: live, clock: clock.RealClock{}, owners: ownership{scheme: c.Scheme(), remote: true}}
}

// Controls says whether obj is a child of owner.
func (w *Writer) Controls(owner, obj client.Object) bool { return w.owners.controls(owner, obj) }

// Forget drops what is remembered about the children of an owner that is gone.
func (w *Writer) Forget(owner types.NamespacedName) { w.memory.forget(owner) }

// Apply brings a child into the desired state by one forced server-side apply, or by none when it is already there.
// Afterwards desired holds the live object, which it may share with the cache: read it, do not change it.
// A child that is not controlled by owner is left alone and answered with a ForeignError.
func (w *Writer) Apply(ctx context.Context, owner, desired client.Object) error {
	gvk, err := apiutil.GVKForObject(desired, w.owners.scheme)
	if err != nil {
		return err
	}
	key := childKey{client.ObjectKeyFromObject(owner), gvk.GroupKind(), client.ObjectKeyFromObject(desired)}
	known, digest := w.memory.recall(key), Digest(desired)
	live, err := w.look(ctx, desired)
	if err != nil {
		return fmt.Errorf("reading %s: %w", w.owners.describe(desired), err)
	}
	if known.ahead(live, w.clock.Now()) {
		live = known.fresh
	}
	if live != nil {
		if !w.owners.controls(owner, live) {
			return w.owners.foreign(owner, live)
		}
		if w.settled(owner, key, known, digest, live, desired) {
			assign(desired, live)
			return nil
		}
	}
	if err := w.send(ctx, owner, live, desired, gvk, digest); err != nil {
		return fmt.Errorf("applying %s: %w", w.owners.describe(desired), err)
	}
	w.memory.remember(key, record{
		uid: desired.GetUID(), version: desired.GetResourceVersion(), desired: digest,
		fresh: desired.DeepCopyObject().(client.Object), at: w.clock.Now(),
	})
	return nil
}

// look returns the object that bears the child's name, nil when there is none.
func (w *Writer) look(ctx context.Context, child client.Object) (client.Object, error) {
	found, err := read(ctx, w.client, child, client.UnsafeDisableDeepCopy)
	if found == nil && err == nil && w.owners.remote {
		return read(ctx, w.live, child)
	}
	return found, err
}

func read(ctx context.Context, from client.Reader, child client.Object, opts ...client.GetOption) (client.Object, error) {
	found := blank(child)
	if err := from.Get(ctx, client.ObjectKeyFromObject(child), found, opts...); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return found, nil
}

// settled says whether an apply would change nothing.
func (w *Writer) settled(owner client.Object, key childKey, known record, digest string, live, desired client.Object) bool {
	same := known.desired == digest && known.describes(live)
	if same && (known.fresh == nil || live == known.fresh) {
		return true
	}
	if !same && (live.GetAnnotations()[AnnotationApplied] != digest || !w.owners.marked(owner, live) || !covers(live, desired)) {
		return false
	}
	w.memory.remember(key, record{uid: live.GetUID(), version: live.GetResourceVersion(), desired: digest})
	return true
}

func (w *Writer) send(
	ctx context.Context, owner, live, desired client.Object, gvk schema.GroupVersionKind, digest string,
) error {
	if err := w.owners.mark(owner, desired); err != nil {
		return err
	}
	desired.SetAnnotations(with(desired.GetAnnotations(), map[string]string{AnnotationApplied: digest}))
	body, err := patch(desired, gvk)
	if err != nil {
		return err
	}
	if live != nil {
		body.SetUID(live.GetUID()) // never recreates what was deleted since, nor adopts what took its place
	}
	applied := client.ApplyConfigurationFromUnstructured(body)
	if err := w.client.Apply(ctx, applied, FieldManager, client.ForceOwnership); err != nil {
		return err
	}
	fresh := blank(desired)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(body.Object, fresh); err != nil {
		return err
	}
	assign(desired, fresh)
	return nil
}

// patch is the body of an apply: what the builder said and nothing that the API server owns.
func patch(desired client.Object, gvk schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(desired)
	if err != nil {
		return nil, err
	}
	body := &unstructured.Unstructured{Object: withoutNulls(content)}
	body.SetGroupVersionKind(gvk)
	body.SetResourceVersion("")
	body.SetManagedFields(nil)
	delete(body.Object, "status")
	return body, nil
}

// withoutNulls drops the nulls of required fields without a value, such as creationTimestamp.
func withoutNulls(content map[string]any) map[string]any {
	maps.DeleteFunc(content, func(_ string, v any) bool { return v == nil })
	for _, v := range content {
		dropNulls(v)
	}
	return content
}

func dropNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		withoutNulls(v)
	case []any:
		for _, item := range v {
			dropNulls(item)
		}
	}
}

// Create writes a new child. An object of that name is an AlreadyExists error, whoever controls it.
func (w *Writer) Create(ctx context.Context, owner, obj client.Object) error {
	if err := w.owners.mark(owner, obj); err != nil {
		return err
	}
	if err := w.client.Create(ctx, obj, FieldManager); err != nil {
		return fmt.Errorf("creating %s: %w", w.owners.describe(obj), err)
	}
	return nil
}

// Replace makes a Secret of owner hold exactly the desired data: keys that somebody added are drift and go.
// Afterwards desired holds the live Secret.
func (w *Writer) Replace(ctx context.Context, owner client.Object, desired *corev1.Secret) error {
	live, err := w.look(ctx, desired)
	if live == nil && err == nil {
		// The cache holds only Secrets that carry our label: one that lost it is seen by the API server alone.
		if err = w.Create(ctx, owner, desired); !apierrors.IsAlreadyExists(err) {
			return err
		}
		if live, err = read(ctx, w.live, desired); live == nil && err == nil {
			return fmt.Errorf("%s appeared and vanished", w.owners.describe(desired))
		}
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", w.owners.describe(desired), err)
	}
	current := live.(*corev1.Secret)
	switch {
	case !w.owners.controls(owner, current):
		return w.owners.foreign(owner, current)
	case w.owners.marked(owner, current) && covers(current, desired):
		*desired = *current
		return nil
	}
	next := current.DeepCopy()
	next.Data = desired.Data
	next.Labels = with(current.Labels, desired.Labels)
	next.Annotations = with(current.Annotations, desired.Annotations)
	if err := w.owners.mark(owner, next); err != nil {
		return err
	}
	if err := w.client.Update(ctx, next, FieldManager); err != nil {
		return fmt.Errorf("replacing %s: %w", w.owners.describe(desired), err)
	}
	*desired = *next
	return nil
}

// Delete removes a child of owner in the background and reports whether nothing of it is left. An object that owner
// does not control, or a kind that the cluster does not serve, counts as gone.
func (w *Writer) Delete(ctx context.Context, owner, child client.Object) (gone bool, err error) {
	live, err := w.look(ctx, child)
	switch {
	case meta.IsNoMatchError(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("reading %s: %w", w.owners.describe(child), err)
	case live == nil || !w.owners.controls(owner, live):
		return true, nil
	case !live.GetDeletionTimestamp().IsZero():
		return false, nil
	}
	uid := live.GetUID()
	err = w.client.Delete(ctx, live, client.PropagationPolicy(metav1.DeletePropagationBackground),
		client.Preconditions{UID: &uid})
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("deleting %s: %w", w.owners.describe(child), err)
	}
	return false, nil
}

func blank(like client.Object) client.Object {
	return reflect.New(reflect.TypeOf(like).Elem()).Interface().(client.Object)
}

// assign makes dst the same object as src, of which it shares everything behind pointers.
func assign(dst, src client.Object) {
	reflect.ValueOf(dst).Elem().Set(reflect.ValueOf(src).Elem())
}
