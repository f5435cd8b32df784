package oci

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/fault"
)

// ErrUnchanged is returned if a reference resolves to the manifest in
// Options.Known.
var ErrUnchanged = errors.New("unchanged")

// maxIndex is the maximum size of an index that can be pulled.
const maxIndex = 8 << 30

// Library is a library in a registry. Only its metadata has been downloaded.
type Library struct {
	// Reference is the requested reference. Digest is the digest of its manifest.
	Reference Reference
	Digest    string
	// Metadata is the library's metadata.
	Metadata artifact.Metadata

	repo  *remote.Repository
	index ocispec.Descriptor
	o     Options
}

// Find requests the description of the library at r from the registry. It returns the
// fault "registry_denied", "registry_missing" or "registry_failed"; the fault
// "bad_artifact" if r is not a library or does not match its digest; or a fault from
// artifact.Open. If r resolves to Options.Known, it returns ErrUnchanged.
func Find(ctx context.Context, r Reference, o Options) (*Library, error) {
	repo, err := repository(r, o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, wholeWait)
	defer cancel()
	l := &Library{Reference: r, repo: repo, o: o}
	described, err := l.readManifest(ctx)
	if err != nil {
		return nil, failed(pulling, r, err)
	}
	if l.Digest == o.Known {
		return l, ErrUnchanged
	}
	return l, failed(pulling, r, l.readMetadata(ctx, described))
}

// bad returns the fault for invalid content from a registry.
func (l *Library) bad(why, hint string) error {
	return fault.New("bad_artifact", fmt.Sprintf("%s is refused: %s", l.Reference, shown(why)), hint)
}

const pushAgain = "ask its owner to push it again, or use another registry"

// readManifest reads the manifest and returns the metadata layer.
func (l *Library) readManifest(ctx context.Context) (described ocispec.Descriptor, err error) {
	of, body, err := l.repo.FetchReference(ctx, l.repo.Reference.Reference)
	if err != nil {
		return described, l.sent("manifest", err)
	}
	defer body.Close()
	if of.Size > maxManifest {
		return described, l.bad(fmt.Sprintf("its manifest is larger than %d bytes", maxManifest), pushAgain)
	}
	text, err := content.ReadAll(body, of)
	if err != nil {
		return described, l.sent("manifest", err)
	}
	var m ocispec.Manifest
	if err := json.Unmarshal(text, &m); err != nil || of.MediaType != ocispec.MediaTypeImageManifest || m.ArtifactType != ArtifactType {
		return described, l.bad("it is not a deskhand library, but "+kindOf(of.MediaType, m), "push a library first: deskhand push LIBRARY REF")
	}
	for _, layer := range m.Layers {
		switch layer.MediaType {
		case MetadataType:
			described = layer
		case IndexType:
			l.index = layer
		}
	}
	switch {
	case len(m.Layers) != 2 || described.Size == 0 || l.index.Size == 0:
		return described, l.bad("its manifest does not have the two layers of a library", pushAgain)
	case described.Size > artifact.MaxMetadataBytes || l.index.Size > maxIndex || described.Size < 0 || l.index.Size < 0:
		return described, l.bad("its layers are too large", pushAgain)
	}
	if err := errors.Join(described.Digest.Validate(), l.index.Digest.Validate()); err != nil {
		return described, l.bad(err.Error(), pushAgain)
	}
	l.Digest = of.Digest.String()
	return described, nil
}

func kindOf(mediaType string, m ocispec.Manifest) string {
	for _, t := range []string{m.ArtifactType, m.Config.MediaType, mediaType} {
		if t != "" {
			return t
		}
	}
	return "something else"
}

func (l *Library) readMetadata(ctx context.Context, of ocispec.Descriptor) error {
	body, err := l.repo.Blobs().Fetch(ctx, of)
	if err != nil {
		return l.sent("metadata", err)
	}
	defer body.Close()
	text, err := content.ReadAll(body, of)
	if err != nil {
		return l.sent("metadata", err)
	}
	m, err := artifact.Decode(text, l.Reference.String())
	if err != nil {
		if f := fault.Of(err); f != nil {
			return fault.New(f.Code, f.Message, "use the deskhand version that pushed it, or push it again with this version")
		}
		return err
	}
	if m.Library == nil {
		return l.bad("its index has no name", "run \"deskhand add DIR --name NAME\", then push the library: deskhand push NAME REF")
	}
	if l.index.Digest.String() != "sha256:"+m.Index.SHA256 || l.index.Size != m.Index.Bytes {
		return l.bad("its manifest and its metadata name different indexes", pushAgain)
	}
	l.Metadata = m
	return nil
}

// Fetch writes the library's data file to w and compares it with its digest. It returns
// the same faults as Find.
func (l *Library) Fetch(ctx context.Context, w io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, wholeWait)
	defer cancel()
	body, err := l.repo.Blobs().Fetch(ctx, l.index)
	if err != nil {
		return failed(pulling, l.Reference, l.sent("index", err))
	}
	defer body.Close()
	verified := content.NewVerifyReader(&counted{Reader: body, total: l.index.Size, show: l.o.Progress}, l.index)
	if _, err = io.Copy(w, verified); err == nil {
		err = verified.Verify()
	}
	return failed(pulling, l.Reference, l.sent("index", err))
}

// sent returns the fault for an error in data that a registry sent.
func (l *Library) sent(what string, err error) error {
	switch {
	case errors.Is(err, content.ErrMismatchedDigest), err != nil && strings.Contains(err.Error(), "digest mismatch"):
		return l.bad("the registry sent a "+what+" that does not match its digest", pushAgain)
	case errors.Is(err, content.ErrTrailingData):
		return l.bad("the registry sent a longer "+what+" than it announced", pushAgain)
	case err != nil && strings.Contains(err.Error(), "mismatch Content-Length"):
		return l.bad("the registry announced two different sizes for the "+what, pushAgain)
	case errors.Is(err, content.ErrInvalidDescriptorSize), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return l.bad("the registry sent a shorter "+what+" than it announced", "retry; if that does not help, "+pushAgain)
	}
	return err
}
