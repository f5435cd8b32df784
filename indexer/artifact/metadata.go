package artifact

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// MaxMetadataBytes is the maximum size of a metadata.json that Open reads. Prompts may
// make the file large.
const MaxMetadataBytes = 64 << 20

// DataFile matches the name of an artifact's data file.
var DataFile = regexp.MustCompile(`^index-[0-9a-f]{16}\.idx$`)

// ReadMetadata reads and checks the metadata of the artifact in dir without opening its
// data file. It returns the errors of Open.
func ReadMetadata(dir string) (Metadata, error) {
	d := Description{dir: dir}
	err := d.read()
	return d.meta, err
}

// read reads and checks metadata.json.
func (d *Description) read() error {
	dir := d.dir
	f, err := os.Open(filepath.Join(dir, MetadataFile))
	if errors.Is(err, os.ErrNotExist) {
		return noArtifact(dir)
	}
	if err != nil {
		return fmt.Errorf("open metadata: %w", err)
	}
	defer f.Close()
	if d.file, err = f.Stat(); err != nil {
		return fmt.Errorf("read metadata: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxMetadataBytes+1))
	if err != nil {
		return fmt.Errorf("read metadata: %w", err)
	}
	if len(text) > MaxMetadataBytes {
		return damaged(dir, fmt.Sprintf("metadata.json is larger than %d bytes", MaxMetadataBytes))
	}
	d.digest = sha256.Sum256(text)
	if d.meta, err = Decode(text, dir); err != nil && HoldsPages(dir) && !holdsData(dir) {
		return noArtifact(dir) // the metadata.json is that of a corpus
	}
	return err
}

// noArtifact returns the fault for a folder without an index. Many people first name the
// folder of their docs.
func noArtifact(dir string) error {
	if HoldsPages(dir) {
		return fault.New("no_artifact", dir+" holds markdown, not an index", fmt.Sprintf("build the index of it: deskhand index %s; or serve it as it changes: deskhand serve --watch %s", dir, dir))
	}
	return fault.New("no_artifact", "there is no index in "+dir, "build one: deskhand index DIR -o "+dir)
}

// mostLooked bounds the entries of a folder that HoldsPages looks at.
const mostLooked = 2000

// HoldsPages reports whether there is a markdown file in dir or in a folder in it. It
// skips names that begin with a dot, and looks at no more than 2,000 entries.
func HoldsPages(dir string) bool {
	looked, found := 0, false
	_ = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error { // what cannot be read holds none
		looked++
		switch {
		case err != nil && e != nil && e.IsDir():
			return filepath.SkipDir
		case err != nil || looked > mostLooked:
			return filepath.SkipAll
		case path != dir && strings.HasPrefix(e.Name(), "."):
			if e.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		ending := strings.ToLower(filepath.Ext(e.Name()))
		if found = !e.IsDir() && (ending == ".md" || ending == ".markdown" || ending == ".mdx"); found {
			return filepath.SkipAll
		}
		return nil
	})
	return found
}

// holdsData reports whether an artifact's data file is in dir.
func holdsData(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool { return DataFile.MatchString(e.Name()) })
}

// Decode parses the text of a metadata.json whose artifact is not in a folder, and
// checks it as Open does. It returns the same errors as Open. where is the artifact's
// name in these errors.
func Decode(text []byte, where string) (m Metadata, err error) {
	if err := json.Unmarshal(text, &m); err != nil {
		return m, damaged(where, "metadata.json: "+err.Error())
	}
	if err := m.checkFormat(where); err != nil {
		return m, err
	}
	if err := checkDigest(m, text); err != nil {
		return m, changed(where, err)
	}
	return m, m.checkContent(where)
}

// checkFormat returns a fault if this program cannot read the index.
func (m *Metadata) checkFormat(where string) error {
	switch major, _, _ := strings.Cut(m.MetadataVersion, "."); {
	case m.Index.Engine != engineName:
		return fault.New("artifact_foreign", fmt.Sprintf("the metadata.json in %s does not belong to a deskhand index (engine %q)", where, m.Index.Engine),
			"pass an index folder, or build an index: deskhand index DIR -o OUT")
	case major != "1" || m.Index.FormatVersion > LanguagesVersion:
		return fault.New("artifact_too_new", fmt.Sprintf("the index in %s has format %d (metadata %s); this deskhand reads format %d (metadata 1.x)",
			where, m.Index.FormatVersion, m.MetadataVersion, LanguagesVersion), "use a newer deskhand, or rebuild the index with this one")
	case m.Index.FormatVersion < FormatVersion:
		return fault.New("artifact_too_old", fmt.Sprintf("the index in %s has format %d; this deskhand reads format %d", where, m.Index.FormatVersion, FormatVersion),
			"rebuild it: deskhand index DIR -o "+where)
	}
	return nil
}

// checkContent returns a fault if a build cannot have written the metadata, and sorts the
// values of facets.
func (m *Metadata) checkContent(where string) error {
	for _, facet := range m.Taxonomy {
		slices.Sort(facet.Values) // lookups need sorted values, and metadata without a digest may have been edited
	}
	if err := checkTaxonomy(m.Taxonomy); err != nil {
		return damaged(where, "metadata.json: "+err.Error())
	}
	if !DataFile.MatchString(m.Index.Path) {
		return damaged(where, fmt.Sprintf("metadata.json has the invalid data file name %q", m.Index.Path))
	}
	return nil
}

func damaged(dir, why string) *fault.Fault {
	return fault.New("artifact_damaged", fmt.Sprintf("the index in %s is damaged: %s", dir, why), "rebuild it: deskhand index DIR -o "+dir)
}

// changed returns the error for a metadata.json that was damaged or edited after the
// build.
func changed(dir string, err error) error {
	return fault.New("artifact_damaged", fmt.Sprintf("the index in %s is damaged: metadata.json: %v", dir, err),
		"rebuild it: deskhand index DIR -o "+dir+"; make changes in the corpus's own metadata.json instead")
}

func (r *Reader) damagedBy(err error) error { return damaged(r.dir, err.Error()) }

// Limits of a taxonomy, the same as in docs-mcp. Each facet becomes a tool argument,
// and models reject tools that are too large.
const (
	MaxFacets      = 64
	MaxFacetKey    = 64
	MaxFacetValues = 512
	MaxFacetValue  = 128
)

// ReservedFacets lists the keys that facets must not use, because search_docs has
// arguments with these names.
var ReservedFacets = []string{"query", "limit", "cursor"}

// checkTaxonomy returns an error if a build cannot have written the taxonomy. An
// artifact without a digest may have been edited.
func checkTaxonomy(taxonomy map[string]Facet) error {
	if len(taxonomy) > MaxFacets {
		return fmt.Errorf("taxonomy has more than %d keys", MaxFacets)
	}
	for key, facet := range taxonomy {
		switch {
		case key == "" || len(key) > MaxFacetKey || slices.Contains(ReservedFacets, key):
			return fmt.Errorf("taxonomy has the key %q, which cannot be a facet", key)
		case len(facet.Values) > MaxFacetValues:
			return fmt.Errorf("taxonomy key %q has more than %d values", key, MaxFacetValues)
		case len(slices.Compact(slices.Sorted(slices.Values(facet.Values)))) != len(facet.Values):
			return fmt.Errorf("taxonomy key %q has a duplicate value", key)
		}
	}
	return nil
}
