// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const fixtures = "../../../../tests/fixtures"

// fixture is a file of objects that are written in this order; an object that exists is updated. What the comments at its top
// say is read here too.
type fixture struct {
	name    string
	notes   map[string][]string
	objects []*unstructured.Unstructured
}

func (f fixture) note(key string) string { return strings.Join(f.notes[key], "") }

// TestInvalid writes every fixture whose last object must be refused: with the webhooks, and without them, when what the
// schema says must be refused all the same and the rest accepted.
func TestInvalid(t *testing.T) {
	t.Parallel()
	for _, f := range load(t, "invalid") {
		for _, admission := range []string{"on", "off"} {
			t.Run(f.name+"/"+admission, func(t *testing.T) {
				t.Parallel()
				by := f.note("by")
				if !slices.Contains([]string{"schema", "webhook"}, by) || f.note("expect") == "" || f.note("rule") == "" {
					t.Fatalf("fixture must say rule, by and expect: %v", f.notes)
				}
				c, _ := newClient(t)
				namespace := newNamespace(t, c, admission)
				last := len(f.objects) - 1
				for _, object := range f.objects[:last] {
					if err := write(t, c, namespace, object); err != nil {
						t.Fatalf("preparing: %v", err)
					}
				}
				err := write(t, c, namespace, f.objects[last])
				if by == "webhook" && admission == "off" {
					if err != nil {
						t.Fatalf("the schema refuses it too, so the fixture must say so: %v", err)
					}
					return
				}
				if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), f.note("expect")) {
					t.Fatalf("want an Invalid status with %q, got %v", f.note("expect"), err)
				}
			})
		}
	}
}

// TestValid writes every fixture that must be accepted, and compares the warnings of the webhook about its last object.
func TestValid(t *testing.T) {
	t.Parallel()
	for _, f := range load(t, "valid") {
		for _, admission := range []string{"on", "off"} {
			t.Run(f.name+"/"+admission, func(t *testing.T) {
				t.Parallel()
				c, heard := newClient(t)
				namespace := newNamespace(t, c, admission)
				for _, object := range f.objects {
					heard.take()
					if err := write(t, c, namespace, object); err != nil {
						t.Fatal(err)
					}
				}
				if admission == "on" {
					sameWarnings(t, heard.take(), f.notes["warn"])
				}
			})
		}
	}
}

func sameWarnings(t *testing.T, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("want %d warnings like %q, got %q", len(want), want, got)
	}
	for _, text := range want {
		if !slices.ContainsFunc(got, func(heard string) bool { return strings.Contains(heard, text) }) {
			t.Errorf("no warning has %q: %q", text, got)
		}
	}
}

func write(t *testing.T, c client.Client, namespace string, object *unstructured.Unstructured) error {
	t.Helper()
	object = object.DeepCopy()
	object.SetNamespace(namespace)
	live := object.DeepCopy()
	switch err := c.Get(t.Context(), client.ObjectKeyFromObject(object), live); {
	case apierrors.IsNotFound(err):
		return c.Create(t.Context(), object)
	case err != nil:
		t.Fatal(err)
	}
	object.SetResourceVersion(live.GetResourceVersion())
	return c.Update(t.Context(), object)
}

func load(t *testing.T, kind string) []fixture {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(fixtures, kind, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	all := make([]fixture, len(files))
	for i, file := range files {
		all[i] = read(t, file)
	}
	return all
}

func read(t *testing.T, file string) fixture {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f := fixture{name: strings.TrimSuffix(filepath.Base(file), ".yaml"), notes: map[string][]string{}}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan() && strings.HasPrefix(lines.Text(), "# "); {
		key, value, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "# "), ": ")
		f.notes[key] = append(f.notes[key], value)
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), len(text))
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return f
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		f.objects = append(f.objects, object)
	}
}
