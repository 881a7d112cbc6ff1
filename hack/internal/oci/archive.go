// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// save writes an OCI layout with the image to file, which exists only when all of it was written.
func save(file string, img v1.Image, references []string) error {
	index, err := index(img, references)
	if err != nil {
		return err
	}
	partial := file + ".partial"
	out, err := os.Create(partial)
	if err != nil {
		return err
	}
	buffer := bufio.NewWriterSize(out, 1<<20)
	if err := errors.Join(write(buffer, img, index), buffer.Flush(), out.Close()); err != nil {
		return errors.Join(err, os.Remove(partial))
	}
	return os.Rename(partial, file)
}

// index names the image once for each reference, in the way that containerd looks for.
func index(img v1.Image, references []string) ([]byte, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, reference := range references {
		_, tag, ok := strings.Cut(reference, ":")
		if !ok {
			return nil, fmt.Errorf("reference %q has no tag", reference)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Annotations: map[string]string{
			"io.containerd.image.name":          reference,
			"org.opencontainers.image.ref.name": tag,
		}}})
	}
	return index.RawManifest()
}

func write(w io.Writer, img v1.Image, index []byte) error {
	archive := tar.NewWriter(w)
	put := func(name string, size int64, content io.Reader) error {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, ModTime: time.Unix(0, 0)}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		_, err := io.Copy(archive, content)
		return err
	}
	text := func(name string, content []byte) error {
		return put(name, int64(len(content)), bytes.NewReader(content))
	}

	manifest, config, names, err := documents(img)
	if err != nil {
		return err
	}
	err = errors.Join(
		text("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)),
		text("index.json", index),
		text(names[0], manifest),
		text(names[1], config),
	)
	if err != nil {
		return err
	}
	layers, err := img.Layers()
	if err != nil {
		return err
	}
	for _, l := range layers {
		if err := putLayer(put, l); err != nil {
			return err
		}
	}
	return archive.Close()
}

// documents returns the manifest and the configuration, and the paths of their blobs.
func documents(img v1.Image) (manifest, config []byte, names [2]string, err error) {
	manifest, manifestErr := img.RawManifest()
	config, configErr := img.RawConfigFile()
	digest, digestErr := img.Digest()
	configName, nameErr := img.ConfigName()
	return manifest, config, [2]string{blob(digest), blob(configName)}, errors.Join(manifestErr, configErr, digestErr, nameErr)
}

func blob(digest v1.Hash) string { return "blobs/" + digest.Algorithm + "/" + digest.Hex }

// putLayer reads the layer once more, and refuses what differs from the digest that the manifest holds by now.
func putLayer(put func(string, int64, io.Reader) error, l v1.Layer) error {
	digest, digestErr := l.Digest()
	size, sizeErr := l.Size()
	content, err := l.Compressed()
	if err := errors.Join(digestErr, sizeErr, err); err != nil {
		return err
	}
	defer content.Close()
	sum := sha256.New()
	if err := put(blob(digest), size, io.TeeReader(content, sum)); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != digest.Hex {
		return fmt.Errorf("files changed while they were read: layer %s is now %s", digest.Hex, got)
	}
	return nil
}
