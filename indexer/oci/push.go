package oci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Pushed is the result of Push.
type Pushed struct {
	// Reference is the address that was pushed to, including Prefix. Digest is the
	// digest of the manifest.
	Reference string `json:"reference"`
	Digest    string `json:"digest"`
	// Bytes is the size of all layers. Sent is the size of the layers that the registry
	// did not have.
	Bytes int64 `json:"bytes"`
	Sent  int64 `json:"sent_bytes"`
	// Unchanged is true if the reference already resolved to this manifest.
	Unchanged bool `json:"unchanged"`
}

// Push sends the index in dir to r. It first verifies every byte of the index. It
// does not send layers that the registry already has. It returns the faults of
// artifact.Open and Reader.Verify, fault "bad_source" if r is a digest, and faults
// "registry_denied", "registry_missing" and "registry_failed".
func Push(ctx context.Context, dir string, r Reference, o Options) (Pushed, error) {
	if r.IsDigest() {
		return Pushed{}, fault.New("bad_source", fmt.Sprintf("cannot push to the digest %s", r), "use a tag instead: HOST/REPOSITORY:TAG")
	}
	index, err := artifact.Open(dir)
	if err != nil {
		return Pushed{}, err
	}
	defer index.Close()
	if err := index.Verify(); err != nil {
		return Pushed{}, err
	}
	p, err := pack(*index.Metadata(), o.Annotations)
	if err != nil {
		return Pushed{}, fmt.Errorf("pack %s: %w", dir, err)
	}
	repo, err := repository(r, o)
	if err != nil {
		return Pushed{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, wholeWait)
	defer cancel()
	done, err := p.push(ctx, repo, index.Data(), o)
	done.Reference = r.String()
	return done, failed(pushing, r, err)
}

func (p packed) push(ctx context.Context, repo *remote.Repository, data io.Reader, o Options) (Pushed, error) {
	done := Pushed{Digest: p.of.Digest.String(), Bytes: p.described.Size + p.indexed.Size}
	there, err := repo.Resolve(ctx, repo.Reference.Reference)
	switch {
	case err == nil && there.Digest == p.of.Digest:
		done.Unchanged = true
		return done, nil
	case err != nil && !errors.Is(err, errdef.ErrNotFound):
		return done, err
	}
	blobs := repo.Blobs()
	if err := send(ctx, blobs, ocispec.DescriptorEmptyJSON, bytes.NewReader(ocispec.DescriptorEmptyJSON.Data), nil); err != nil {
		return done, err
	}
	if err := send(ctx, blobs, p.described, bytes.NewReader(p.metadata), &done.Sent); err != nil {
		return done, err
	}
	if err := send(ctx, blobs, p.indexed, &counted{Reader: data, total: p.indexed.Size, show: o.Progress}, &done.Sent); err != nil {
		return done, err
	}
	return done, repo.PushReference(ctx, p.of, bytes.NewReader(p.manifest), repo.Reference.Reference)
}

// send sends a layer unless the registry already has it. If sent is not nil, send
// adds the size of the layer to it.
func send(ctx context.Context, blobs registry.BlobStore, d ocispec.Descriptor, from io.Reader, sent *int64) error {
	there, err := blobs.Exists(ctx, d)
	if err != nil || there {
		return err
	}
	if err := blobs.Push(ctx, d, from); err != nil {
		return err
	}
	if sent != nil {
		*sent += d.Size
	}
	return nil
}

// counted is a reader that reports how many bytes have been read from it.
type counted struct {
	io.Reader
	done, total int64
	show        func(done, total int64)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if c.done += int64(n); c.show != nil && n > 0 {
		c.show(c.done, c.total)
	}
	return n, err
}
