// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"reflect"
	"time"
	"unique"

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

// NewRemoteWriter returns a Writer for another cluster, whose children carry labels.
func NewRemoteWriter(c client.Client, live client.Reader) *Writer {
	return &Writer{client: c, live: live, clock: clock.RealClock{}, owners: ownership{scheme: c.Scheme(), remote: true}}
}

// Controls says whether obj is a child of owner.
func (w *Writer) Controls(owner, obj client.Object) bool { return w.owners.controls(owner, obj) }

// Marked says whether obj is a child of owner that has lost nothing of its ownership mark.
func (w *Writer) Marked(owner, obj client.Object) bool { return w.owners.marked(owner, obj) }

// Reclaims says whether a write of owner would restore the mark on obj: it is a child, or was one until somebody took away half
// of the mark.
func (w *Writer) Reclaims(owner, obj client.Object) bool { return w.owners.writable(owner, obj) }

// Doubt says, once, after how long to look again at the children of an owner: the cache did not show one that we have just
// written, because it lags or because somebody has deleted it. Zero is no doubt.
func (w *Writer) Doubt(owner types.UID) time.Duration {
	if w.memory.doubted(owner) {
		return cacheLag
	}
	return 0
}

// Shown tells that the cache shows this version of an object: if it is a child, what was kept beside the cache goes.
func (w *Writer) Shown(cached client.Object) {
	owner := metav1.GetControllerOfNoCopy(cached)
	gvk, err := apiutil.GVKForObject(cached, w.owners.scheme)
	if owner == nil || err != nil {
		return
	}
	key := client.ObjectKeyFromObject(cached)
	w.memory.shown(types.NamespacedName{Namespace: key.Namespace, Name: owner.Name}, childKey{unique.Make(gvk.GroupKind()), key}, cached)
}

// Forget drops what is remembered about the children of an owner that is gone.
func (w *Writer) Forget(owner types.NamespacedName) { w.memory.forget(owner) }

// Apply brings a child into the desired state by one forced server-side apply, or by none when it is already there.
// Afterwards desired holds the live object, which it may share with the cache: read it, do not change it.
// A child that is not controlled by owner is left alone and answered with a ForeignError. Edits of ours are drift, the
// loss of the ownership mark included; fields of others are kept.
func (w *Writer) Apply(ctx context.Context, owner, desired client.Object) error {
	c, err := w.child(owner, desired)
	if err != nil {
		return err
	}
	digest := digestOf(desired)
	live, err := w.look(ctx, c)
	if err != nil {
		return err
	}
	err = w.apply(ctx, c, live, digest)
	if live == nil && apierrors.IsConflict(err) {
		// The cache does not show everything: what is there may be too new for it, or outside of its filter.
		if live, err = w.lookClosely(ctx, c); err != nil {
			return err
		}
		return w.apply(ctx, c, live, digest)
	}
	return err
}

// child is one object in one call.
type child struct {
	client.Object
	owner    client.Object
	ownerKey types.NamespacedName
	key      childKey
	gvk      schema.GroupVersionKind
	known    record
}

func (w *Writer) child(owner, obj client.Object) (child, error) {
	gvk, err := apiutil.GVKForObject(obj, w.owners.scheme)
	if err != nil {
		return child{}, err
	}
	c := child{
		Object: obj, owner: owner, gvk: gvk,
		ownerKey: client.ObjectKeyFromObject(owner), key: childKey{unique.Make(gvk.GroupKind()), client.ObjectKeyFromObject(obj)},
	}
	c.known = w.memory.recall(c.ownerKey, c.key)
	return c, nil
}

// look returns the newer of what the cache shows under the child's name and what we wrote, nil when there is neither.
func (w *Writer) look(ctx context.Context, c child) (client.Object, error) {
	live, err := w.read(ctx, w.client, c, client.UnsafeDisableDeepCopy)
	switch {
	case err != nil || c.known.answer == nil:
		return live, err
	case !c.known.ahead(live, w.clock.Now()):
		if live != nil {
			w.memory.shown(c.ownerKey, c.key, live)
		}
		return live, nil
	case live == nil:
		w.memory.doubt(c.owner.GetUID())
	}
	return c.known.answer.Object, nil
}

// lookClosely asks the API server for an object that a create ran into.
func (w *Writer) lookClosely(ctx context.Context, c child) (client.Object, error) {
	live, err := w.read(ctx, w.live, c)
	if live == nil && err == nil {
		return nil, fmt.Errorf("%s appeared and vanished", w.owners.describe(c.Object))
	}
	return live, err
}

func (w *Writer) read(ctx context.Context, from client.Reader, c child, opts ...client.GetOption) (client.Object, error) {
	found := blank(c.Object)
	switch err := from.Get(ctx, c.key.name, found, opts...); {
	case err == nil: // first: the other questions allocate
		return found, nil
	case apierrors.IsNotFound(err):
		return nil, nil
	default:
		return nil, fmt.Errorf("reading %s: %w", w.owners.describe(c.Object), err)
	}
}

func (w *Writer) apply(ctx context.Context, c child, live client.Object, digest sum) error {
	if live != nil && !w.owners.writable(c.owner, live) {
		return w.owners.foreign(c.owner, live)
	}
	if live != nil && w.settled(c, live, digest) {
		assign(c.Object, live)
		return nil
	}
	err := w.send(ctx, c, live, digest)
	if live != nil && apierrors.IsInvalid(err) && w.rewrite(ctx, c, live) == nil {
		err = w.send(ctx, c, live, digest)
	}
	if err != nil {
		return fmt.Errorf("applying %s: %w", w.owners.describe(c.Object), err)
	}
	w.wrote(ctx, c, digest)
	return nil
}

// wrote remembers the answer to a write, which c holds now, unless the cache was quicker than the answer.
func (w *Writer) wrote(ctx context.Context, c child, digest sum) {
	r := recordOf(c.Object, digest)
	r.answer = &answer{c.DeepCopyObject().(client.Object), w.clock.Now()}
	r.answer.SetManagedFields(nil) // half of its size, and nobody reads them
	w.memory.remember(c.ownerKey, c.key, r)
	if cached, err := w.read(ctx, w.client, c, client.UnsafeDisableDeepCopy); err == nil && cached != nil {
		w.memory.shown(c.ownerKey, c.key, cached)
	}
}

// settled says whether an apply would change nothing. Any edit since our last look costs an apply, unless there was no
// such look: then the hash on the object tells what was applied, and covers whether it is still there.
func (w *Writer) settled(c child, live client.Object, digest sum) bool {
	same := c.known.desired == digest && c.known.uid == live.GetUID()
	if same && c.known.version == live.GetResourceVersion() {
		return true
	}
	if live.GetAnnotations()[AnnotationApplied] != digest.String() || !w.owners.marked(c.owner, live) || !coversMeta(live, c.Object) {
		return false
	}
	r := recordOf(live, digest)
	if same && r.content != c.known.content || !same && !covers(live, c.Object) {
		return false
	}
	w.memory.remember(c.ownerKey, c.key, r)
	return true
}

// noVersion is the version of no object: an apply that demands it creates, or conflicts with what is there.
const noVersion = "9223372036854775807"

func (w *Writer) send(ctx context.Context, c child, live client.Object, digest sum) error {
	if err := w.owners.mark(c.owner, c.Object); err != nil {
		return err
	}
	c.SetAnnotations(with(c.GetAnnotations(), map[string]string{AnnotationApplied: digest.String()}))
	body, err := patch(c.Object, c.gvk)
	if err != nil {
		return err
	}
	if live == nil {
		body.SetResourceVersion(noVersion)
	} else {
		body.SetUID(live.GetUID()) // never recreates what was deleted since, nor adopts what took its place
	}
	applied := client.ApplyConfigurationFromUnstructured(body)
	if err := w.client.Apply(ctx, applied, FieldManager, client.ForceOwnership); err != nil {
		return err
	}
	fresh := blank(c.Object)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(body.Object, fresh); err != nil {
		return err
	}
	assign(c.Object, fresh)
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

// Replace makes a Secret of owner hold exactly the desired data: keys that somebody added are drift and go. Its type
// stays as it was created. Afterwards desired holds the live Secret, which it may share with the cache.
func (w *Writer) Replace(ctx context.Context, owner client.Object, desired *corev1.Secret) error {
	c, err := w.child(owner, desired)
	if err != nil {
		return err
	}
	live, err := w.look(ctx, c)
	if err != nil {
		return err
	}
	if live == nil {
		if err = w.Create(ctx, owner, desired); err == nil {
			w.wrote(ctx, c, sum{})
		}
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		// The cache holds only Secrets that carry our label: one that lost it is seen by the API server alone.
		if live, err = w.lookClosely(ctx, c); err != nil {
			return err
		}
	}
	err = w.replace(ctx, c, live.(*corev1.Secret), desired)
	if apierrors.IsConflict(err) {
		// Neither the cache nor what we wrote is what is there: without a look we would run into it again and again.
		if live, err = w.lookClosely(ctx, c); err == nil {
			err = w.replace(ctx, c, live.(*corev1.Secret), desired)
		}
	}
	return err
}

func (w *Writer) replace(ctx context.Context, c child, live, desired *corev1.Secret) error {
	if !w.owners.writable(c.owner, live) {
		return w.owners.foreign(c.owner, live)
	}
	if w.owners.marked(c.owner, live) && coversMeta(live, desired) && maps.EqualFunc(live.Data, desired.Data, bytes.Equal) {
		*desired = *live
		return nil
	}
	next := live.DeepCopy()
	next.Data = desired.Data
	next.Labels = with(live.Labels, desired.Labels)
	next.Annotations = with(live.Annotations, desired.Annotations)
	if err := w.owners.mark(c.owner, next); err != nil {
		return err
	}
	if err := w.client.Update(ctx, next, FieldManager); err != nil {
		return fmt.Errorf("replacing %s: %w", w.owners.describe(desired), err)
	}
	*desired = *next
	w.wrote(ctx, c, sum{})
	return nil
}

// Delete removes a child of owner in the background and reports whether nothing of it is left. An object that owner
// does not control, or a kind that the cluster does not serve, counts as gone.
func (w *Writer) Delete(ctx context.Context, owner, obj client.Object) (gone bool, err error) {
	c, err := w.child(owner, obj)
	if err != nil {
		return false, err
	}
	live, err := w.look(ctx, c)
	switch {
	case meta.IsNoMatchError(err):
		return true, nil
	case err != nil:
		return false, err
	case live == nil || !w.owners.controls(owner, live):
		w.memory.drop(c.ownerKey, c.key)
		return true, nil
	case !live.GetDeletionTimestamp().IsZero():
		return false, nil
	}
	uid := live.GetUID()
	err = w.client.Delete(ctx, live, client.PropagationPolicy(metav1.DeletePropagationBackground),
		client.Preconditions{UID: &uid})
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("deleting %s: %w", w.owners.describe(obj), err)
	}
	w.memory.drop(c.ownerKey, c.key)
	return false, nil
}

func blank(like client.Object) client.Object {
	return reflect.New(reflect.TypeOf(like).Elem()).Interface().(client.Object)
}

// assign makes dst the same object as src, of which it shares everything behind pointers.
func assign(dst, src client.Object) {
	reflect.ValueOf(dst).Elem().Set(reflect.ValueOf(src).Elem())
}
