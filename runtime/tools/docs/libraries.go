package docs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/clients"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/search"
	"github.com/deskhand/deskhand/runtime/text"
)

// For a shelf, search_docs has one more argument, hits name their library, and IDs
// have the form LIBRARY:ID. Otherwise, the tools are the same as for a single
// index.
const (
	// maxListedLibraries is the maximum number of libraries that the argument's
	// schema lists. If there are more, a name is checked only when it is used.
	maxListedLibraries = 100
	// maxNamedLibraries is the maximum number of libraries that the description of
	// search_docs names.
	maxNamedLibraries = 30
	// maxLibraryDescription is the maximum length of a library's description in the
	// argument's schema in characters, and maxDescriptions that of all in bytes.
	maxLibraryDescription = 120
	maxDescriptions       = 4 << 10
	// maxStrangeValue and maxStrangeWords limit a facet value of a library whose texts the
	// user does not trust, in characters and in words. maxStrangeFacets limits the values of
	// all its facets in bytes.
	maxStrangeValue  = 40
	maxStrangeWords  = 4
	maxStrangeFacets = 4 << 10
)

// ShelfCatalog returns everything that the libraries offer. Call it again when they
// change.
func ShelfCatalog(f *search.Federation, o Options) contract.Catalog {
	return contract.Catalog{Tools: ShelfTools(f, o), Instructions: Instructions(o)}
}

// ShelfTools returns the tools over several libraries.
func ShelfTools(f *search.Federation, o Options) []contract.Tool {
	return []contract.Tool{searchLibraries(f, o), getFromLibraries(f, o), listLibraries(f, o)}
}

func searchLibraries(f *search.Federation, o Options) contract.Tool {
	taxonomy := facetsOf(f)
	schema := searchDocsSchema(taxonomy)
	if schema.Properties["library"] == nil { // otherwise it replaces a facet with that name
		schema.PropertyOrder = slices.Insert(slices.Clone(schema.PropertyOrder), 3, "library")
	}
	schema.Properties["library"] = libraryArgument(f)
	spec := contract.Spec{
		Name: o.name("search_docs"), Title: "Search the documentation",
		Description: fmt.Sprintf("Search the documentation of %s. Use this to find relevant documentation, guides, or API references. %s", namedLibraries(f), howToAsk),
		Input:       contract.Freeze(schema),
		NonBlank:    []string{"query"},
		ReadOnly:    true,
		Reword: func(r contract.Refusal) string {
			if r.Field == "library" && r.Kind == contract.NotAllowed {
				return f.Unknown(r.Value)
			}
			return ""
		},
	}
	return contract.Define(spec, func(ctx context.Context, caller contract.Caller, in searchDocsIn) (contract.Result, error) {
		library := in.Filters["library"]
		delete(in.Filters, "library")
		q := search.Query{Text: in.Query, Filters: in.Filters, Limit: in.Limit, Cursor: in.Cursor, Explain: o.Explain}
		answer, result, err := SearchLibraries(ctx, f, library, q, o.maxBytes(caller))
		if err != nil {
			return contract.Result{}, err
		}
		r := contract.Result{Text: []string{answer}, Structured: json.RawMessage(answer)}
		if result.Lexical != "" {
			r.Meta = map[string]any{"deskhand/lexical": result.Lexical}
		}
		return r, nil
	})
}

// facetsOf returns the facets of all libraries, each with the values of all
// libraries.
func facetsOf(f *search.Federation) map[string]artifact.Facet {
	all := map[string]artifact.Facet{}
	for _, l := range f.Libraries() {
		m := l.Engine.Metadata()
		facets := m.Taxonomy
		if m.Library != nil && !m.Library.Texts {
			facets = named(facets)
		}
		for key, facet := range facets {
			values := append(slices.Clone(all[key].Values), facet.Values...)
			slices.Sort(values)
			all[key] = artifact.Facet{Values: slices.Compact(values)}
		}
	}
	return all
}

// named returns the facets of a library whose texts the user does not trust, without values
// that may be sentences, because a model reads the schema as instructions. It also limits
// their total size.
func named(facets map[string]artifact.Facet) map[string]artifact.Facet {
	kept, size := map[string]artifact.Facet{}, 0
	for _, key := range slices.Sorted(maps.Keys(facets)) {
		var values []string
		for _, v := range facets[key].Values {
			if utf8.RuneCountInString(v) > maxStrangeValue || len(strings.Fields(v)) > maxStrangeWords || strings.ContainsFunc(v, unicode.IsControl) {
				continue
			}
			if size += len(v); size > maxStrangeFacets {
				return kept
			}
			values = append(values, v)
		}
		if len(values) > 0 {
			kept[key] = artifact.Facet{Values: values}
		}
	}
	return kept
}

// libraryArgument returns the schema of the argument library.
func libraryArgument(f *search.Federation) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string", Description: "Search only this library. Omit to search all."}
	if len(f.Usual()) < len(f.Libraries()) {
		s.Description = "Search only this library. Omit to search all, in the versions that this project uses."
	}
	names := LibraryNames(f)
	if len(names) > maxListedLibraries {
		s.Description += " list_docs lists them."
		return s
	}
	for _, name := range names {
		s.Enum = append(s.Enum, name)
	}
	s.Description += describedLibraries(f)
	return s
}

// describedLibraries lists the libraries that have a description of their own, one per line.
// A library that the user does not trust has none.
func describedLibraries(f *search.Federation) string {
	var b strings.Builder
	for _, l := range f.Usual() {
		about := text.OneLine(l.Engine.Metadata().CorpusDescription)
		if about == "" || about == l.Name+" documentation" {
			continue
		}
		if line := "\n" + l.Name + ": " + text.Shorten(about, maxLibraryDescription); b.Len()+len(line) <= maxDescriptions && !strings.Contains(b.String(), line) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// LibraryNames returns the names that the argument accepts: every library, and
// every version of a library that has several.
func LibraryNames(f *search.Federation) (names []string) {
	versions := map[string]int{}
	for _, l := range f.Libraries() {
		versions[l.Name]++
	}
	for _, l := range f.Libraries() {
		if !slices.Contains(names, l.Name) {
			names = append(names, l.Name)
		}
		if l.ID != l.Name && versions[l.Name] > 1 {
			names = append(names, l.ID)
		}
	}
	return names
}

// namedLibraries lists the libraries for a description.
func namedLibraries(f *search.Federation) string {
	var ids []string
	for _, l := range f.Usual() {
		ids = append(ids, l.ID)
	}
	if more := len(ids) - maxNamedLibraries; more > 0 {
		return fmt.Sprintf("%s and %d more libraries", strings.Join(ids[:maxNamedLibraries], ", "), more)
	}
	return strings.Join(ids, ", ")
}

// SearchLibraries works like [Search], but over several libraries. library is an
// ID or a name; empty means all.
func SearchLibraries(ctx context.Context, f *search.Federation, library string, q search.Query, maxBytes int) (string, SearchResult, error) {
	return pageOf(&q, maxBytes, func(q search.Query) (SearchResult, error) {
		page, err := f.Search(ctx, library, q)
		if err != nil {
			return SearchResult{}, err
		}
		result := word(search.Page{Next: page.Next, Hint: page.Hint, Lexical: page.Lexical})
		for _, h := range page.Hits {
			hit := hitOf(h.Hit)
			hit.ChunkID, hit.Library = h.Library.ID+":"+hit.ChunkID, h.Library.ID
			result.Hits = append(result.Hits, hit)
		}
		return result, nil
	})
}

func getFromLibraries(f *search.Federation, o Options) contract.Tool {
	spec := getDocSpec(o, "")
	return contract.Define(spec, func(_ context.Context, caller contract.Caller, in getDocIn) (contract.Result, error) {
		answer, doc, err := GetFromLibraries(f, in.ChunkID, in.Context, o.maxBytes(caller))
		if clients.Of(caller.Name).Shows != clients.Either {
			return contract.Result{Text: []string{answer}}, err
		}
		return contract.Result{Text: []string{answer}, Structured: doc}, err
	})
}

// GetFromLibraries works like [Get] for LIBRARY:ID, or for an ID that only one
// library has.
func GetFromLibraries(f *search.Federation, id string, context, maxBytes int) (string, Doc, error) {
	l, rest, err := f.Split(id)
	if err != nil {
		return "", Doc{}, err
	}
	return get(l.Engine, l.ID, rest, context, maxBytes)
}

func listLibraries(f *search.Federation, o Options) contract.Tool {
	spec := listDocsSpec(o, "List the libraries, and the folders and pages of one, one level at a time. Use this to get an overview; read a page with get_doc and its chunk_id.",
		"Library to list, or a folder in it, as returned by an earlier call (e.g., 'LIBRARY:guides'). Omit for the libraries.")
	return contract.Define(spec, func(_ context.Context, caller contract.Caller, in listDocsIn) (contract.Result, error) {
		if in.Folder == "" {
			text, listing := listOfLibraries(f, in.After, o.maxBytes(caller))
			return contract.Result{Text: []string{text}, Structured: listing}, nil
		}
		l, folder, err := folderIn(f, in.Folder)
		if err != nil {
			return contract.Result{}, err
		}
		outline, err := l.Engine.Outline(folder)
		if err != nil {
			return contract.Result{}, err
		}
		prefix(&outline, l.ID+":")
		text, listing := list(outline, in.After, o.maxBytes(caller))
		return contract.Result{Text: []string{text}, Structured: listing}, nil
	})
}

// folderIn returns the library and the folder in it that LIBRARY or LIBRARY:FOLDER
// names.
func folderIn(f *search.Federation, folder string) (search.Library, string, error) {
	if named := f.Named(strings.TrimSuffix(folder, ":")); named != nil {
		return named[len(named)-1], "", nil
	}
	l, rest, err := f.Split(folder)
	if unknown := fault.Of(err); unknown != nil && unknown.Code == "chunk_not_found" {
		library, _, _ := strings.Cut(folder, ":")
		err = fault.New(unknown.Code, f.Unknown(library), "")
	}
	return l, rest, err
}

// prefix puts the library before the paths of an outline.
func prefix(o *search.Outline, library string) {
	o.Folder = library + o.Folder
	for i := range o.Folders {
		o.Folders[i].Path = library + o.Folders[i].Path
	}
	for i := range o.Pages {
		o.Pages[i].ID, o.Pages[i].Path = library+o.Pages[i].ID, library+o.Pages[i].Path
	}
}

// listOfLibraries returns the top level, in which each library is a folder.
func listOfLibraries(f *search.Federation, after string, maxBytes int) (string, Listing) {
	var top search.Outline
	for _, l := range f.Libraries() {
		m := l.Engine.Metadata()
		note := cmp.Or(m.Folders[""], m.CorpusDescription)
		if l.Locked {
			note = "used by this project; " + note
		}
		top.Total += m.Stats.TotalFiles
		top.Folders = append(top.Folders, search.FolderEntry{Path: l.ID + ":", Total: m.Stats.TotalFiles, Note: note})
	}
	return list(top, after, maxBytes)
}
