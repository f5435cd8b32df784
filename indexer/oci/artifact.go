package oci

import (
	"cmp"
	"encoding/json"
	"maps"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"

	"github.com/deskhand/deskhand/indexer/artifact"
)

// Media types of a library in a registry. A library is a manifest with the empty config
// and two layers, which are the two files of an index. A generic registry client can
// therefore pull a folder that deskhand can serve.
const (
	ArtifactType = "application/vnd.deskhand.library.v1"
	MetadataType = "application/vnd.deskhand.library.metadata.v1+json"
	IndexType    = "application/vnd.deskhand.library.index.v1"
)

// ownAnnotations is the prefix of annotations that the OCI specification does not
// define.
const ownAnnotations = "com.github.deskhand."

// packed is a library in the form that is sent to a registry. It contains no timestamp,
// so the same library always has the same bytes.
type packed struct {
	manifest           []byte
	metadata           []byte
	of                 ocispec.Descriptor // descriptor of the manifest
	described, indexed ocispec.Descriptor // descriptors of the layers
}

func pack(m artifact.Metadata, more map[string]string) (p packed, err error) {
	m = Published(m)
	if p.metadata, err = m.Encode(); err != nil {
		return p, err
	}
	p.described = content.NewDescriptorFromBytes(MetadataType, p.metadata)
	p.described.Annotations = map[string]string{ocispec.AnnotationTitle: artifact.MetadataFile}
	p.indexed = ocispec.Descriptor{
		MediaType: IndexType, Digest: digest.NewDigestFromEncoded(digest.SHA256, m.Index.SHA256), Size: m.Index.Bytes,
		Annotations: map[string]string{ocispec.AnnotationTitle: m.Index.Path},
	}
	all := annotations(m)
	maps.Copy(all, more)
	p.manifest, err = json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: ArtifactType,
		Config: ocispec.DescriptorEmptyJSON, Layers: []ocispec.Descriptor{p.described, p.indexed}, Annotations: all,
	})
	p.of = content.NewDescriptorFromBytes(ocispec.MediaTypeImageManifest, p.manifest)
	p.of.ArtifactType = ArtifactType
	return p, err
}

// Published returns m in the form that is sent to a registry. It does not contain
// this machine's local paths and settings, and its source is the origin of the
// library.
func Published(m artifact.Metadata) artifact.Metadata {
	if m.Library == nil {
		return m
	}
	l := *m.Library
	if o := l.Origin; o != nil {
		l.Source, l.Path, l.Revision, l.Digest, l.Origin = o.Source, o.Path, o.Revision, o.Digest, nil
	}
	if isLocal(l.Source) {
		l.Source = ""
	}
	l.Texts = false
	m.Library = &l
	return m
}

// isLocal reports whether a source is a path on the machine that built the library.
func isLocal(source string) bool {
	return filepath.IsAbs(source) || strings.HasPrefix(source, "/") || strings.HasPrefix(source, "file://") || drive().MatchString(source)
}

var (
	drive  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:[A-Za-z]:)?\\|^[A-Za-z]:/`) })
	commit = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{40,64}$`) })
)

// annotations returns the manifest's annotations for all known values.
func annotations(m artifact.Metadata) map[string]string {
	all := map[string]string{
		ocispec.AnnotationDescription: m.CorpusDescription,
		ownAnnotations + "format":     strconv.Itoa(m.Index.FormatVersion),
		ownAnnotations + "pages":      strconv.Itoa(m.Stats.TotalFiles),
		ownAnnotations + "chunks":     strconv.Itoa(m.Stats.TotalChunks),
	}
	if m.Embedding != nil {
		all[ownAnnotations+"embedding"] = m.Embedding.String()
	}
	revision := ""
	if l := m.Library; l != nil {
		all[ocispec.AnnotationTitle], all[ocispec.AnnotationVersion], all[ocispec.AnnotationLicenses] = l.Name, l.Version, l.Licence
		if at, _, _ := strings.Cut(l.Source, "#"); strings.Contains(at, "://") {
			all[ocispec.AnnotationSource] = at
		}
		if commit().MatchString(l.Revision) {
			revision = l.Revision
		}
	}
	if c := m.Stats.SourceCommit; c != nil {
		revision = cmp.Or(revision, *c)
	}
	all[ocispec.AnnotationRevision] = revision
	if at := m.Stats.IndexedAt; at != nil {
		all[ocispec.AnnotationCreated] = *at
	}
	maps.DeleteFunc(all, func(_, v string) bool { return v == "" })
	return all
}
