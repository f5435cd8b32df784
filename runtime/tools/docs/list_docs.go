package docs

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/search"
)

type listDocsIn struct {
	Folder string `json:"folder"`
}

// Listing is what list_docs returns.
type Listing struct {
	Folder  string        `json:"folder"`
	Note    string        `json:"note,omitempty"`
	Total   int           `json:"total_pages"`
	Folders []FolderEntry `json:"folders"`
	Pages   []PageEntry   `json:"pages"`
	// Cut is how many entries were left out to keep the answer short.
	Cut int `json:"cut,omitempty"`
}

// FolderEntry is one folder right below.
type FolderEntry struct {
	Path  string `json:"path"`
	Note  string `json:"note,omitempty"`
	Total int    `json:"total_pages"`
}

// PageEntry is one page right below; its filepath is a chunk_id for get_doc.
type PageEntry struct {
	Filepath    string `json:"filepath"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	Sections    int    `json:"sections"`
}

func listDocs(engine *search.Engine, o Options) contract.Tool {
	schema := contract.Object(nil, contract.Property{Name: "folder", Schema: &jsonschema.Schema{Type: "string",
		Description: "Folder to list, as returned by an earlier call (e.g., 'guides'). Omit for the top of the documentation."}})
	spec := contract.Spec{
		Name: o.name("list_docs"), Title: "List the documentation",
		Description: fmt.Sprintf("List the folders and pages of the %s, one level at a time. Use this to learn what there is; read a page with get_doc and its filepath.",
			engine.Metadata().CorpusDescription),
		Input: contract.Freeze(schema), ReadOnly: true,
	}
	return contract.Define(spec, func(_ context.Context, _ contract.Caller, in listDocsIn) (contract.Result, error) {
		outline, err := engine.Outline(in.Folder)
		if err != nil {
			return contract.Result{}, err
		}
		text, listing := list(outline, o.maxBytes())
		return contract.Result{Text: []string{text}, Structured: listing}, nil
	})
}

// list words an outline in at most maxBytes of text.
func list(o search.Outline, maxBytes int) (string, Listing) {
	l := Listing{Folder: o.Folder, Note: o.Note, Total: o.Total, Folders: []FolderEntry{}, Pages: []PageEntry{}}
	var b strings.Builder
	name := o.Folder
	if name == "" {
		name = "The documentation"
	}
	fmt.Fprintf(&b, "%s: %d pages", name, o.Total)
	if o.Note != "" {
		fmt.Fprintf(&b, ". %s", o.Note)
	}
	fits := func(line string) bool {
		if b.Len()+len(line)+footRoom > maxBytes {
			l.Cut++
			return false
		}
		b.WriteString(line)
		return true
	}
	for _, f := range o.Folders {
		if fits(fmt.Sprintf("\n%s/ (%d pages)%s", f.Path, f.Total, after(f.Note))) {
			l.Folders = append(l.Folders, FolderEntry(f))
		}
	}
	for _, p := range o.Pages {
		if fits(fmt.Sprintf("\n%s%s%s", p.Path, after(p.Title), after(p.Description))) {
			l.Pages = append(l.Pages, PageEntry{Filepath: p.Path, Title: p.Title, Description: p.Description, Sections: p.Sections})
		}
	}
	if l.Cut > 0 {
		fmt.Fprintf(&b, "\n[Cut: %d entries more than fit in %d bytes. List a folder below, or find a page with search_docs.]", l.Cut, maxBytes)
	}
	return b.String(), l
}

func after(s string) string {
	if s = strings.Join(strings.Fields(s), " "); s == "" {
		return ""
	}
	return ": " + s
}
