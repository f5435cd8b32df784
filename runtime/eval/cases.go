package eval

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Case is one graded query.
type Case struct {
	// Name is unique among the cases that one call to Load returns; Compare
	// matches cases by it.
	Name string
	// Category groups cases in a report; "other" if the file sets none.
	Category string
	// Query is the query; never blank.
	Query string
	// Asked holds, by reader, the query that this reader would send after reading
	// the description of search_docs. It is nil if there are no readers.
	Asked map[string]string
	// Filters holds facet values by facet; nil means none.
	Filters map[string]string
	// Limit is the number of hits per page, 1 to 50; 0 uses Options.Limit.
	Limit int
	// MaxRounds is how many pages may be read to find a good hit, 1 to 100. Zero
	// means one page; rounds are then not counted.
	MaxRounds int
	// Expected is never empty.
	Expected []Entry
	// Good is the minimum grade of a hit that answers the query, for MRR, hit
	// rate and recall: 2 if the entries are graded, otherwise 1.
	Good int
}

// Entry is one location that answers a query. If ChunkID is set, only that chunk
// matches. Otherwise a hit matches if its file is Filepath or one of AltFilepaths,
// and if one of these is true:
//
//   - The hit is the whole file.
//   - With HasHeading: Heading is the hit's own heading (with HeadingPath: under
//     the same parent, if the hit's breadcrumb has two or more parts), or a
//     heading line in the hit's text, or, with Subtree, in the hit's breadcrumb.
//     An empty Heading means the text before the first heading: a hit without a
//     heading, with an ID ending in "#_preamble", or headed by the file's title
//     or name. With Subtree, an empty Heading matches any hit of the file.
//   - With Contains: The hit's text contains it, ignoring white space.
//   - With Slug: It is the slug of the hit's heading, of a part of its breadcrumb
//     or of its ID, ignoring a final -2 or -part-2.
//   - None of HasHeading, Contains and Slug is set.
//
// Headings are compared without markup, case and repeated spaces.
type Entry struct {
	// Grade is 3 for the full answer, 2 for a large part of it, 1 for a weak
	// match, 0 for none. A missing grade means 1.
	Grade int
	// Same is the number of a group of entries that are the same answer in
	// several languages; see Options.Collapse. Zero means no group.
	Same int

	ChunkID      string
	Filepath     string
	AltFilepaths []string
	HasHeading   bool
	Heading      string
	HeadingPath  []string
	Subtree      bool
	Contains     string
	Slug         string
}

// files returns the files that the entry may be in, at least one.
func (e Entry) files() []string {
	if e.ChunkID != "" {
		file, _, _ := strings.Cut(e.ChunkID, "#")
		return []string{file}
	}
	return append([]string{e.Filepath}, e.AltFilepaths...)
}

// label returns a readable name for the entry.
func (e Entry) label() string {
	part := cmp.Or(e.Heading, e.Slug, e.Contains)
	switch {
	case e.ChunkID != "":
		return e.ChunkID
	case part == "":
		return e.Filepath
	}
	return e.Filepath + "#" + part
}

// maxFileBytes is the maximum size of a case file or report. The largest set in use
// has 300 cases in 100 KB, so there is room for about 200,000 cases.
const maxFileBytes = 64 << 20

// Load reads files of graded queries: each a JSON list of cases, or an object
// whose field "cases" is that list. A case is
//
//	{"name", "category", "query", "filters": {facet: value}, "expected": [entry, ...]}
//
// with query and expected required. An entry is one of
//
//	{"filepath", "heading", "grade", "heading_path"?, "subtree"?, "same"?}
//	{"filepath", "heading_slug"?, "contains"?, "grade"?}
//	{"chunk_id", "grade"?}
//
// The first two may have "alt_filepaths". Instead of "expected", a case may have
// "expectedChunkId" (or "expected_chunk_id"): one chunk to find within "maxRounds"
// pages (3) of "limit" hits (5). A file may mix these forms. A case without a name
// gets its query as the name.
//
// Warnings are sentences about probable mistakes: unknown fields, duplicate names
// (the later case gets a number), a case that no hit can answer well. The error is
// the fault "bad_cases", which names the file, the case and the reason, or
// "no_cases" if a file does not exist.
func Load(paths ...string) (cases []Case, warnings []string, err error) {
	l := loader{names: map[string]int{}, unknown: map[string]*mention{}}
	for _, path := range paths {
		data, err := readFile(path, "cases")
		if err != nil {
			return nil, nil, err
		}
		if err := l.file(path, data); err != nil {
			return nil, nil, err
		}
	}
	return l.cases, l.allWarnings(), nil
}

// readFile reads a file of the given kind, "cases" or "report". The fault codes are
// "no_" and "bad_" followed by the kind.
func readFile(path, what string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New("no_"+what, fmt.Sprintf("%s does not exist", path), "check the path")
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", what, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	if len(data) > maxFileBytes {
		return nil, fault.New("bad_"+what, fmt.Sprintf("%s is longer than %d MiB", path, maxFileBytes>>20), "split it into several files")
	}
	return data, nil
}
