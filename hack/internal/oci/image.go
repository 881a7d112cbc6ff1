// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// layer is a tree as an uncompressed layer. It is read twice, for the digest and for the archive, and held nowhere.
type layer struct {
	tree tree
	hash v1.Hash
	size int64
}

func newLayer(t tree) (*layer, error) {
	digest, counter := sha256.New(), &counter{}
	if err := t.write(io.MultiWriter(digest, counter)); err != nil {
		return nil, err
	}
	return &layer{
		tree: t,
		hash: v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(digest.Sum(nil))},
		size: counter.bytes,
	}, nil
}

type counter struct{ bytes int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.bytes += int64(len(p))
	return len(p), nil
}

func (l *layer) Digest() (v1.Hash, error)             { return l.hash, nil }
func (l *layer) DiffID() (v1.Hash, error)             { return l.hash, nil }
func (l *layer) Size() (int64, error)                 { return l.size, nil }
func (l *layer) MediaType() (types.MediaType, error)  { return types.OCIUncompressedLayer, nil }
func (l *layer) Compressed() (io.ReadCloser, error)   { return l.open() }
func (l *layer) Uncompressed() (io.ReadCloser, error) { return l.open() }

func (l *layer) open() (io.ReadCloser, error) {
	reader, writer := io.Pipe()
	go func() {
		buffer := bufio.NewWriterSize(writer, 1<<20)
		writer.CloseWithError(errors.Join(l.tree.write(buffer), buffer.Flush()))
	}()
	return reader, nil
}

// image returns the image that r describes, made of the given trees.
func image(r *request, trees []tree) (v1.Image, error) {
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.ConfigFile(img, &v1.ConfigFile{
		Architecture: runtime.GOARCH,
		OS:           "linux",
		RootFS:       v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User: r.user, Env: r.environment, Entrypoint: r.entrypoint, WorkingDir: "/",
		},
	})
	if err != nil {
		return nil, err
	}
	for _, t := range trees {
		l, err := newLayer(t)
		if err != nil {
			return nil, err
		}
		img, err = mutate.Append(img, mutate.Addendum{Layer: l, History: v1.History{CreatedBy: "hack/images"}})
		if err != nil {
			return nil, err
		}
	}
	return img, nil
}
