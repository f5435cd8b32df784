package artifact

import (
	"cmp"
	"crypto/sha256"
	"os"
	"path/filepath"
)

// Known is a Description in a form that package encoding/gob writes, with what tells whether
// it still holds.
type Known struct {
	// Size and Modified are of metadata.json. Modified is in nanoseconds since 1970.
	Size, Modified int64
	Digest         [sha256.Size]byte // of metadata.json
	Metadata       Metadata
}

// Known returns d as a value that DescribeKnown takes.
func (d *Description) Known() *Known {
	return &Known{d.file.Size(), d.file.ModTime().UnixNano(), d.digest, d.meta}
}

// Same reports whether two values were read from the same metadata.json. Either may be nil.
func (k *Known) Same(other *Known) bool {
	if k == nil || other == nil {
		return k == other
	}
	return k.Size == other.Size && k.Modified == other.Modified && k.Digest == other.Digest
}

// DescribeKnown works like Describe, but reads metadata.json only if it has another size or
// modification time than when known was read. known may be nil.
func DescribeKnown(dir string, known *Known) (*Description, error) {
	if known == nil {
		return Describe(dir)
	}
	info, err := os.Stat(filepath.Join(dir, MetadataFile))
	if err != nil || !info.Mode().IsRegular() || info.Size() != known.Size || info.ModTime().UnixNano() != known.Modified {
		return Describe(dir)
	}
	d := &Description{dir, known.Metadata, known.Digest, info}
	if d.meta.Taxonomy == nil {
		d.meta.Taxonomy = map[string]Facet{} // gob leaves out empty maps
	}
	if err := cmp.Or(d.meta.checkFormat(dir), d.meta.checkContent(dir)); err != nil {
		return nil, err
	}
	return d, nil
}

// File returns the properties that metadata.json had when it was read.
func (d *Description) File() os.FileInfo { return d.file }
