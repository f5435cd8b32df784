package docs

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/search"
)

type listDocsIn struct {
	Folder string `json:"folder"`
	After  string `json:"after"`
}

// Listing is the result of list_docs.
type Listing struct {
	Folder  string        `json:"folder"`
	Note    string        `json:"note,omitempty"`
	Total   int           `json:"total_pages"`
	Folders []FolderEntry `json:"folders"`
	Pages   []PageEntry   `json:"pages"`
	// Cut is the number of entries left out to keep the answer short. Next
	// continues the list with these entries; pass it in the argument "after".
	Cut  int    `json:"cut,omitempty"`
	Next string `json:"next,omitempty"`
}

// FolderEntry is a direct subfolder.
type FolderEntry struct {
	Path  string `json:"path"`
	Note  string `json:"note,omitempty"`
	Total int    `json:"total_pages"`
}

// PageEntry is a page directly in the folder. ChunkID is the page's ID for get_doc.
// It differs from the path only if the path contains special characters.
type PageEntry struct {
	Filepath    string `json:"filepath"`
	ChunkID     string `json:"chunk_id"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	Sections    int    `json:"sections"`
}

// listDocsSpec returns the spec of list_docs. folder describes its argument folder.
func listDocsSpec(o Options, description, folder string) contract.Spec {
	schema := contract.Object(nil,
		contract.Property{Name: "folder", Schema: &jsonschema.Schema{Type: "string",
			Description: folder}},
		contract.Property{Name: "after", Schema: &jsonschema.Schema{Type: "string",
			Description: "List only the entries after this path, which is given at the end of a truncated list. Omit to start at the beginning."}},
	)
	return contract.Spec{
		Name: o.name("list_docs"), Title: "List the documentation", Description: description,
		Input: contract.Freeze(schema), ReadOnly: true,
	}
}

func listDocs(engine *search.Engine, o Options) contract.Tool {
	spec := listDocsSpec(o,
		fmt.Sprintf("List the folders and pages of the %s, one level at a time. Use this to get an overview; read a page with get_doc and its chunk_id.", engine.Metadata().CorpusDescription),
		"Folder to list, as returned by an earlier call (e.g., 'guides'). Omit for the top of the documentation.")
	return contract.Define(spec, func(_ context.Context, caller contract.Caller, in listDocsIn) (contract.Result, error) {
		outline, err := engine.Outline(in.Folder)
		if err != nil {
			return contract.Result{}, err
		}
		text, listing := list(outline, in.After, o.maxBytes(caller))
		return contract.Result{Text: []string{text}, Structured: listing}, nil
	})
}

// list formats an outline in at most maxBytes of text, starting after the entry
// with the given name. Folders come before pages, each in corpus order.
func list(o search.Outline, from string, maxBytes int) (string, Listing) {
	l := Listing{Folder: o.Folder, Note: o.Note, Total: o.Total, Folders: []FolderEntry{}, Pages: []PageEntry{}}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", cmp.Or(o.Folder, "The documentation"), pages(o.Total))
	if o.Note != "" {
		fmt.Fprintf(&b, ". %s", o.Note)
	}
	skipping := from != ""
	fits := func(name, line string) bool {
		if skipping {
			skipping = name != from
			return false
		}
		if l.Cut > 0 || b.Len()+len(line)+footRoom > maxBytes {
			l.Cut++
			return false
		}
		b.WriteString(line)
		l.Next = name
		return true
	}
	for _, f := range o.Folders {
		if fits(f.Path, fmt.Sprintf("\n%s/ (%s)%s", f.Path, pages(f.Total), after(f.Note))) {
			l.Folders = append(l.Folders, FolderEntry(f))
		}
	}
	for _, p := range o.Pages {
		if fits(p.ID, fmt.Sprintf("\n%s%s%s", p.ID, after(p.Title), after(p.Description))) {
			l.Pages = append(l.Pages, PageEntry{Filepath: p.Path, ChunkID: p.ID, Title: p.Title, Description: p.Description, Sections: p.Sections})
		}
	}
	if l.Cut == 0 {
		l.Next = ""
	}
	if l.Cut > 0 {
		fmt.Fprintf(&b, "\n[Cut: %d entries do not fit in %d bytes. Pass after %q to list them, or find a page with search_docs.]", l.Cut, maxBytes, l.Next)
	}
	return b.String(), l
}

func pages(n int) string {
	if n == 1 {
		return "1 page"
	}
	return fmt.Sprintf("%d pages", n)
}

func after(s string) string {
	if s = strings.Join(strings.Fields(s), " "); s == "" {
		return ""
	}
	return ": " + s
}
