package search

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Outline is what the corpus holds below one folder.
type Outline struct {
	// Folder is "" for the whole corpus.
	Folder string
	// Note is what the corpus says of the folder.
	Note string
	// Total is the number of pages at any depth below.
	Total   int
	Folders []FolderEntry
	Pages   []PageEntry
}

// FolderEntry is one folder right below.
type FolderEntry struct {
	Path, Note string
	// Total is the number of pages at any depth below.
	Total int
}

// PageEntry is one page right below.
type PageEntry struct {
	// ID is Path as Engine.Passage takes it.
	ID, Path, Title, Description string
	// Sections is how many chunks it has.
	Sections int
}

// Outline lists what is right below a folder of the corpus, in corpus order;
// "" or "/" is all of it. A folder without pages is a fault with code
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
		return o, fault.New("folder_not_found", fmt.Sprintf("Folder '%s' not found.", shorten(folder)), "Call list_docs without folder to see what there is.")
	}
	return o, nil
}

// PagesWith returns the pages whose facet values accept says yes to.
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
