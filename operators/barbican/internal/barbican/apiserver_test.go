// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/c5c3/cobaltcore/common/database"
	"github.com/c5c3/cobaltcore/common/network"
	"github.com/c5c3/cobaltcore/common/reconcile/target"
	"github.com/c5c3/cobaltcore/common/secrets"
	"github.com/c5c3/cobaltcore/operators/barbican/api/v1alpha1"
)

// known are the kinds of the world and no more: the fake client goes through all of them for each write.
var known = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, autoscalingv2.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme,
		policyv1.AddToScheme, v1alpha1.AddToScheme, secrets.AddToScheme, database.AddToScheme, network.AddToScheme,
	} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return s
})

var served = sync.OnceValue(func() meta.RESTMapper { return testrestmapper.TestOnlyStaticRESTMapper(known()) })

// indexer registers indexes with a fake client.
type indexer struct{ *fake.ClientBuilder }

func (i indexer) IndexField(_ context.Context, o client.Object, field string, get client.IndexerFunc) error {
	i.WithIndex(o, field, get)
	return nil
}

type secretReader struct{ client.Reader }

func (r secretReader) Get(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	s := &corev1.Secret{}
	return s, r.Reader.Get(ctx, key, s)
}

var errBroken = errors.New("the API server is on fire")

// failingReader cannot read one Secret.
type failingReader struct {
	target.SecretReader
	name string
	err  error
}

func (r failingReader) Get(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	if key.Name == r.name {
		return nil, r.err
	}
	return r.SecretReader.Get(ctx, key)
}

func (w *world) request(verb string, o client.Object) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests = append(w.requests, verb+" "+kindOf(w.live.Scheme(), o))
	if w.fault == nil {
		return nil
	}
	return w.fault(verb, o)
}

func kindOf(scheme *runtime.Scheme, o runtime.Object) string {
	if kinds, _, err := scheme.ObjectKinds(o); err == nil {
		return kinds[0].Kind
	}
	return o.GetObjectKind().GroupVersionKind().Kind
}

// writes notes the requests that change something. Reads are answered by caches, unless a fault is set for them.
func (w *world) writes() interceptor.Funcs {
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if w.fault != nil {
				if err := w.fault("get", o); err != nil {
					return err
				}
			}
			return c.Get(ctx, key, o, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := w.request("create", o); err != nil {
				return err
			}
			o.SetUID(w.newUID())
			o.SetCreationTimestamp(metav1.Now())
			return c.Create(ctx, o, opts...)
		},
		Apply: w.apply,
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			if err := w.request("update", o); err != nil {
				return err
			}
			return c.Update(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := w.request("patch", o); err != nil {
				return err
			}
			return c.Patch(ctx, o, p, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if err := w.request("delete", o); err != nil {
				return err
			}
			return c.Delete(ctx, o, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := w.request(sub, o); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	}
}

// apply gives new objects a UID and counts the generations of Deployments, neither of which a fake client does.
func (w *world) apply(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	applied := o.(client.Object)
	kind := applied.GetObjectKind().GroupVersionKind()
	if err := w.request("apply", &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: kind.Kind}}); err != nil {
		return err
	}
	before := w.look(ctx, c, kind, applied)
	if err := c.Apply(ctx, o, opts...); err != nil {
		return err
	}
	after := w.look(ctx, c, kind, applied)
	switch {
	case before == nil:
		after.SetUID(w.newUID())
		after.SetGeneration(1)
	case kind.Kind != "Deployment" || equality.Semantic.DeepEqual(before.(*appsv1.Deployment).Spec, after.(*appsv1.Deployment).Spec):
		return nil
	default:
		after.SetGeneration(before.GetGeneration() + 1)
	}
	if err := c.Update(ctx, after); err != nil {
		return err
	}
	applied.SetUID(after.GetUID())
	applied.SetGeneration(after.GetGeneration())
	applied.SetResourceVersion(after.GetResourceVersion())
	return nil
}

// look returns the object under a name, nil if there is none.
func (w *world) look(ctx context.Context, c client.Reader, kind schema.GroupVersionKind, like client.Object) client.Object {
	w.Helper()
	found, err := known().New(kind)
	if err != nil {
		w.Fatal(err)
	}
	if c.Get(ctx, client.ObjectKeyFromObject(like), found.(client.Object)) != nil {
		return nil
	}
	return found.(client.Object)
}

func (w *world) newUID() types.UID {
	return types.UID(fmt.Sprintf("uid-%d", w.uids.Add(1)))
}

// reads notes what is read past the caches.
func (w *world) reads() interceptor.Funcs {
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if err := w.request("read", o); err != nil {
				return err
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.requests = append(w.requests, "list "+strings.TrimSuffix(kindOf(w.live.Scheme(), list), "List"))
			return c.List(ctx, list, opts...)
		},
	}
}

// taken are the requests since it was asked last.
func (w *world) taken() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	requests := w.requests
	w.requests = nil
	return requests
}

// writesTaken are the writes since it was asked last, those of the status left out.
func (w *world) writesTaken() []string {
	return slices.DeleteFunc(w.taken(), func(r string) bool {
		return strings.HasPrefix(r, "read") || strings.HasPrefix(r, "list") || r == "status Barbican"
	})
}
