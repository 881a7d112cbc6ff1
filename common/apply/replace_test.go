// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func (c *cluster) secret() *corev1.Secret { return c.child("Secret").(*corev1.Secret) }

func mustReplace(t *testing.T, w *Writer, owner client.Object, desired *corev1.Secret) *corev1.Secret {
	t.Helper()
	if err := w.Replace(t.Context(), owner, desired); err != nil {
		t.Fatal(err)
	}
	return desired
}

func TestReplace(t *testing.T) {
	t.Parallel()
	for server, start := range apiServers {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			c := start(t)
			w := c.writer()
			mustReplace(t, w, c.owner, c.secret())
			c.sent(t, "create")
			mustReplace(t, w, c.owner, c.secret())
			mustReplace(t, c.writer(), c.owner, c.secret())
			c.sent(t)
			for name, edit := range map[string]func(*corev1.Secret){
				"a key more":       func(s *corev1.Secret) { s.Data["theirs"] = []byte("x") },
				"other data":       func(s *corev1.Secret) { s.Data["password"] = []byte("x") },
				"no data":          func(s *corev1.Secret) { s.Data = nil },
				"a label less":     func(s *corev1.Secret) { delete(s.Labels, "app.kubernetes.io/name") },
				"an annotation":    func(s *corev1.Secret) { s.Annotations["example.com/ours"] = "no" },
				"the reference":    func(s *corev1.Secret) { s.OwnerReferences = nil },
				"the owner's UID":  func(s *corev1.Secret) { delete(s.Annotations, AnnotationOwnerUID) },
				"a foreign label":  func(s *corev1.Secret) { s.Labels["theirs"] = "kept" },
				"another key less": func(s *corev1.Secret) { delete(s.Data, "password") },
			} {
				c.edit(t, c.secret(), func(o client.Object) { edit(o.(*corev1.Secret)) })
				got := mustReplace(t, w, c.owner, c.secret())
				if name == "a foreign label" {
					c.sent(t)
				} else {
					c.sent(t, "update")
				}
				live := c.get(t, c.secret()).(*corev1.Secret)
				if !cmp.Equal(live.Data, c.secret().Data) || !coversMeta(live, c.secret()) || !w.owners.marked(c.owner, live) || got.ResourceVersion != live.ResourceVersion {
					t.Errorf("drift of %s stands: %+v", name, live)
				}
			}
			if c.get(t, c.secret()).GetLabels()["theirs"] != "kept" {
				t.Error("a foreign label is lost")
			}
		})
	}
}

// The cache shows only Secrets with our label, and may lag behind those.
func TestReplaceOfAnUnseenSecret(t *testing.T) {
	t.Parallel()
	for server, start := range apiServers {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			c := start(t)
			w := c.writer()
			c.show(c.secret(), nil)
			old := mustReplace(t, w, c.owner, c.secret()).DeepCopy()
			c.sent(t, "create")
			mustReplace(t, w, c.owner, c.secret())
			c.sent(t)
			changed := func() *corev1.Secret {
				s := c.secret()
				s.Data["password"] = []byte("changed")
				return s
			}
			mustReplace(t, w, c.owner, changed())
			c.sent(t, "update")
			c.show(c.secret(), old)
			mustReplace(t, w, c.owner, changed())
			c.sent(t)

			c.show(c.secret(), nil)
			mustReplace(t, c.writer(), c.owner, c.secret())
			c.sent(t, "create", "get", "update")
			if live := c.get(t, c.secret()).(*corev1.Secret); string(live.Data["password"]) != "s3cr3t" {
				t.Errorf("the data is %q", live.Data)
			}
		})
	}
}

// A Secret that somebody strips of our label right after our write is never in the cache: what we wrote is not what is there.
func TestReplaceDoubtsWhatItWroteWhenTheServerDoes(t *testing.T) {
	t.Parallel()
	for server, start := range apiServers {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			c := start(t)
			w := c.writer()
			c.show(c.secret(), nil)
			mustReplace(t, w, c.owner, c.secret())
			c.edit(t, c.secret(), func(o client.Object) { o.SetLabels(nil) })
			changed := c.secret()
			changed.Data["password"] = []byte("changed")
			c.sent(t, "create")
			mustReplace(t, w, c.owner, changed)
			c.sent(t, "update", "get", "update")
			live := c.get(t, c.secret()).(*corev1.Secret)
			if string(live.Data["password"]) != "changed" || len(live.Labels) == 0 {
				t.Errorf("the data is %q, the labels are %v", live.Data, live.Labels)
			}
		})
	}
}

// Data is not kept beside the cache for longer than it takes the cache to catch up.
func TestReplaceForgetsWhatTheCacheShows(t *testing.T) {
	t.Parallel()
	for server, start := range apiServers {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			c := start(t)
			w := c.writer()
			mustReplace(t, w, c.owner, c.secret())
			mustReplace(t, w, c.owner, c.secret())
			if n := len(w.memory.owners[client.ObjectKeyFromObject(c.owner)]); n > 0 {
				t.Errorf("%d records remain", n)
			}
		})
	}
}

func TestReplaceTellsAFailedUpdate(t *testing.T) {
	t.Parallel()
	for server, start := range apiServers {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			c := start(t)
			w := c.writer()
			mustReplace(t, w, c.owner, c.secret())
			c.fail["update"] = errors.New("broken")
			changed := c.secret()
			changed.Data = nil
			if err := w.Replace(t.Context(), c.owner, changed); !errors.Is(err, c.fail["update"]) {
				t.Errorf("Replace() = %v", err)
			}
		})
	}
}
