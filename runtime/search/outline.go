package search

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Outline lists the contents of one folder of the corpus.
type Outline struct {
	// Folder is "" for the whole corpus.
	Folder string
	// Note is the corpus's description of the folder.
	Note string
	// Total is the number of pages below the folder at any depth.
	Total   int
	Folders []FolderEntry
	Pages   []PageEntry
}

// FolderEntry is a direct subfolder.
type FolderEntry struct {
	Path, Note string
	// Total is the number of pages below it at any depth.
	Total int
}

// PageEntry is a page directly in the folder.
type PageEntry struct {
	// ID is the page's ID, as Engine.Passage accepts it.
	ID, Path, Title, Description string
	// Sections is the number of the page's chunks.
	Sections int
}

// Outline lists the direct contents of a folder, in corpus order; "" and "/"
// stand for the whole corpus. A folder without pages is a fault with code
// "folder_not_found".
func (e *Engine) Outline(folder string) (o Outline, err error) {
	ed, release, err := e.use()
	if err != nil {
		return o, err
	}
	defer release()
	defer recoverAs(&err, ed)
	o.Folder = strings.Trim(path.Clean("/"+folder), "/")
	notes := ed.reader.Metadata().Folders
	o.Note = notes[cmp.Or(o.Folder, ".")]
	prefix := ""
	if o.Folder != "" {
		prefix = o.Folder + "/"
	}
	place := map[string]int{}
	for i := range ed.reader.Pages() {
		name, err := ed.reader.PagePath(i)
		if err != nil {
			return o, err
		}
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		o.Total++
		if below, _, deeper := strings.Cut(rest, "/"); deeper {
			at, ok := place[below]
			if !ok {
				at = len(o.Folders)
				place[below] = at
				o.Folders = append(o.Folders, FolderEntry{Path: prefix + below, Note: notes[prefix+below]})
			}
			o.Folders[at].Total++
			continue
		}
		p, err := ed.reader.Page(i)
		if err != nil {
			return o, err
		}
		o.Pages = append(o.Pages, PageEntry{ID: chunker.ID(p.Path, ""), Path: p.Path, Title: p.Title, Description: p.Description, Sections: p.Chunks})
	}
	if o.Total == 0 && o.Folder != "" {
		return o, fault.New("folder_not_found", fmt.Sprintf("Folder '%s' not found.", shorten(folder)), "Call list_docs without folder to see all folders and pages.")
	}
	return o, nil
}

// PagesWith returns the pages for whose facet values accept returns true.
func (e *Engine) PagesWith(accept func(metadata map[string]string) bool) (pages []PageEntry, err error) {
	ed, release, err := e.use()
	if err != nil {
		return nil, err
	}
	defer release()
	defer recoverAs(&err, ed)
	distinct, byPage, err := ed.pageFacets()
	if err != nil {
		return nil, err
	}
	accepted := make([]bool, len(distinct))
	for i, m := range distinct {
		accepted[i] = accept(m)
	}
	for i, m := range byPage {
		if !accepted[m] {
			continue
		}
		p, err := ed.reader.Page(i)
		if err != nil {
			return nil, err
		}
		pages = append(pages, PageEntry{ID: chunker.ID(p.Path, ""), Path: p.Path, Title: p.Title, Description: p.Description, Sections: p.Chunks})
	}
	return pages, nil
}
