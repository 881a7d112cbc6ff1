// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// file is what a test puts into a root folder, or finds in an image.
type file struct {
	content string
	link    string
	mode    os.FileMode
}

// installed is a root folder as a package manager leaves it: some of it belongs into an image.
var installed = map[string]file{
	"bin":                            {link: "usr/bin"},
	"usr/bin/serve":                  {content: "program", mode: 0o4750},
	"usr/share/doc/serve/README":     {content: "words", mode: 0o644},
	"etc/serve/serve.conf":           {content: "[DEFAULT]", mode: 0o640},
	"etc/serve/password":             {content: "secret", mode: 0o600},
	"etc/resolv.conf":                {content: "nameserver 192.0.2.1", mode: 0o644},
	"etc/hosts":                      {content: "192.0.2.2 builder", mode: 0o644},
	"etc/hostname":                   {content: "builder", mode: 0o644},
	"etc/machine-id":                 {content: "0123", mode: 0o444},
	"etc/apt/sources.list":           {content: "deb http://192.0.2.3 here", mode: 0o644},
	"etc/shadow":                     {content: "root:*", mode: 0o640},
	"var/log/dpkg.log":               {content: "2026-01-01 installed", mode: 0o644},
	"var/cache/apt/pkgcache.bin":     {content: "cache", mode: 0o644},
	"var/lib/dpkg/status":            {content: "Package: serve", mode: 0o644},
	"tmp/left":                       {content: "over", mode: 0o644},
	"usr/lib/python3/a/tests/one.py": {content: "assert", mode: 0o644},
	"usr/lib/python3/a/b/one.py":     {content: "pass", mode: 0o644},
}

func rootFolder(t *testing.T, files map[string]file) string {
	t.Helper()
	root := t.TempDir()
	for name, f := range files {
		target := filepath.Join(root, name)
		err := os.MkdirAll(filepath.Dir(target), 0o755)
		if f.link != "" {
			err = errors.Join(err, os.Symlink(f.link, target))
		} else {
			err = errors.Join(err, os.WriteFile(target, []byte(f.content), 0o600), os.Chmod(target, f.mode))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// archive runs the program and returns what it wrote.
func archive(t *testing.T, arguments ...string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "image.tar")
	if err := run(append([]string{"-out", out}, arguments...)); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// unpack returns the index of an archive, and the image that all of its references name.
func unpack(t *testing.T, content []byte) (*v1.IndexManifest, v1.Image) {
	t.Helper()
	folder := t.TempDir()
	for name, entry := range entries(t, bytes.NewReader(content)) {
		target := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(target), 0o755), os.WriteFile(target, entry.content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index, validate.Fast); err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	img, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return manifest, img
}

type packed struct {
	*tar.Header
	content []byte
}

func entries(t *testing.T, r io.Reader) map[string]packed {
	t.Helper()
	found := map[string]packed{}
	for reader := tar.NewReader(r); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		content, readErr := io.ReadAll(reader)
		if err := errors.Join(err, readErr); err != nil {
			t.Fatal(err)
		}
		found[strings.TrimSuffix(header.Name, "/")] = packed{header, content}
	}
}

// layers returns the entries of every layer, from the bottom up.
func layers(t *testing.T, img v1.Image) []map[string]packed {
	t.Helper()
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]packed
	for _, l := range layers {
		blob, err := l.Compressed()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(blob)
		if err != nil {
			t.Fatal(err)
		}
		sum, _, sumErr := v1.SHA256(bytes.NewReader(content))
		digest, digestErr := l.Digest()
		diffID, diffErr := l.DiffID()
		if err := errors.Join(sumErr, digestErr, diffErr); err != nil || sum != digest || sum != diffID {
			t.Fatalf("content is %s, digest %s, diff %s (%v)", sum, digest, diffID, err)
		}
		all = append(all, entries(t, bytes.NewReader(content)))
	}
	return all
}

func TestSameFilesGiveSameBytes(t *testing.T) {
	t.Parallel()
	first, second := rootFolder(t, installed), rootFolder(t, installed)
	for name := range installed {
		if err := os.Chtimes(filepath.Join(second, name), time.Unix(1, 0), time.Unix(2, 0)); name != "bin" && err != nil {
			t.Fatal(err)
		}
	}
	made := archive(t, "-ref", "r:1", "-root", first)
	if !bytes.Equal(made, archive(t, "-ref", "r:1", "-root", second)) {
		t.Error("two folders that differ in times only made different archives")
	}
	if err := os.WriteFile(filepath.Join(second, "usr/bin/serve"), []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(made, archive(t, "-ref", "r:1", "-root", second)) {
		t.Error("another program made the same archive")
	}
}

func TestRootLeavesForeignFilesOut(t *testing.T) {
	t.Parallel()
	_, img := unpack(t, archive(t, "-ref", "r:1", "-root", rootFolder(t, installed),
		"-without", "usr/share/doc", "-without", "usr/lib/python3/**/tests"))
	found := layers(t, img)
	if len(found) != 1 {
		t.Fatalf("%d layers, not one", len(found))
	}
	want := []string{
		"bin", "etc", "etc/serve", "etc/serve/serve.conf", "tmp", "usr", "usr/bin", "usr/bin/serve",
		"usr/lib", "usr/lib/python3", "usr/lib/python3/a", "usr/lib/python3/a/b", "usr/lib/python3/a/b/one.py",
		"usr/share", "var", "var/cache", "var/lib", "var/log",
	}
	if got := slices.Sorted(maps.Keys(found[0])); !slices.Equal(got, want) {
		t.Errorf("found\n%q, not\n%q", got, want)
	}
	for name, mode := range map[string]int64{"usr/bin/serve": 0o755, "etc/serve/serve.conf": 0o644, "etc/serve": 0o755} {
		entry := found[0][name]
		if entry.Mode != mode || entry.Uid != 0 || entry.Gid != 0 || entry.ModTime.Unix() != 0 {
			t.Errorf("%s: mode %o, owner %d:%d, time %s", name, entry.Mode, entry.Uid, entry.Gid, entry.ModTime)
		}
	}
}

func TestImageIsWhatTheFlagsSay(t *testing.T) {
	t.Parallel()
	own := rootFolder(t, map[string]file{"etc/passwd": {content: "nobody", mode: 0o644}, "opt/start": {content: "#!", mode: 0o755}})
	index, img := unpack(t, archive(t,
		"-ref", "example.test/serve:1", "-ref", "example.test/serve:2", "-user", "42:43", "-env", "A=b", "-env", "C=d",
		"-root", rootFolder(t, installed), "-file", own+"=/", "-dir", "/var/lib/serve=42:43:700", "-dir", "/tmp=0:0:1777",
		"/opt/start", "-v"))

	var names []string
	for _, manifest := range index.Manifests {
		if manifest.Digest != index.Manifests[0].Digest {
			t.Errorf("reference of another manifest: %s", manifest.Digest)
		}
		names = append(names, manifest.Annotations["io.containerd.image.name"])
	}
	if want := []string{"example.test/serve:1", "example.test/serve:2"}; !slices.Equal(names, want) {
		t.Errorf("references %q, not %q", names, want)
	}

	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if c := config.Config; c.User != "42:43" || !slices.Equal(c.Env, []string{"A=b", "C=d"}) || !slices.Equal(c.Entrypoint, []string{"/opt/start", "-v"}) {
		t.Errorf("configuration %+v", c)
	}

	last := layers(t, img)[1]
	want := []string{"etc/passwd", "opt", "opt/start", "tmp", "var/lib/serve"}
	if got := slices.Sorted(maps.Keys(last)); !slices.Equal(got, want) {
		t.Errorf("the last layer has %q, not %q: folders of the root keep their owner and mode", got, want)
	}
	if home := last["var/lib/serve"]; home.Uid != 42 || home.Gid != 43 || home.Mode != 0o700 {
		t.Errorf("home is %o of %d:%d", home.Mode, home.Uid, home.Gid)
	}
	if last["tmp"].Mode != 0o1777 || last["opt/start"].Mode != 0o755 {
		t.Errorf("modes %o and %o", last["tmp"].Mode, last["opt/start"].Mode)
	}
}

func TestMistakesLeaveNoArchive(t *testing.T) {
	t.Parallel()
	for name, arguments := range map[string][]string{
		"no reference":      {"-file", "main.go=/main.go"},
		"no tag":            {"-ref", "r", "-file", "main.go=/main.go"},
		"no such file":      {"-ref", "r:1", "-file", "absent=/absent"},
		"file without path": {"-ref", "r:1", "-file", "main.go"},
		"folder, no mode":   {"-ref", "r:1", "-dir", "/home=1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			if err := run(append([]string{"-out", filepath.Join(folder, "image.tar")}, arguments...)); err == nil {
				t.Error("no error")
			}
			if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
				t.Errorf("left %v behind (%v)", left, err)
			}
		})
	}
}

func TestChangedFilesAreRefused(t *testing.T) {
	t.Parallel()
	root := rootFolder(t, map[string]file{"a": {content: "before", mode: 0o644}})
	found, err := rootTree(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	img, err := image(&request{}, []tree{found})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "a"), []byte("behind"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "image.tar")
	if err := save(out, img, []string{"r:1"}); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Errorf("error %v", err)
	}
}
