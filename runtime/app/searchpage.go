package app

import (
	"os"
	"path/filepath"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/text"
	"github.com/deskhand/deskhand/runtime/tools/docs"
	"github.com/deskhand/deskhand/runtime/web"
	"github.com/deskhand/deskhand/runtime/web/searchpage"
)

// searchPage mounts the page on which a person tries the docs tools.
func (a *App) searchPage(o *web.Options, lib *docsServer) {
	needShell(o, searchpage.Path)
	explaining := lib.tools
	explaining.Explain = true
	typing := explaining
	typing.Missed = nil
	o.Mounts["GET "+searchpage.Path] = searchpage.New(searchpage.Options{
		Shell: o.Shell, NoToken: o.NoToken, Log: lib.log,
		Libraries: func() []string {
			if libraries := lib.libraries.Load(); libraries != nil {
				return docs.LibraryNames(libraries.Federation())
			}
			return nil
		},
		Corpus: lib.corpus,
		Tools: func(half bool) (search, read contract.Tool) {
			options := explaining
			if half {
				options = typing
			}
			tools := lib.docsTools(options)
			return tools[0], tools[1]
		},
	})
}

// corpus describes what is searched: the index, or the libraries of the shelf.
func (l *docsServer) corpus() (c searchpage.Corpus) {
	if libraries := l.libraries.Load(); libraries != nil {
		all, pages := libraries.Federation().Usual(), 0
		for _, one := range all {
			pages += one.Engine.Metadata().Stats.TotalFiles
		}
		c.Size = text.Count(len(all), "library") + ", " + text.Count(pages, "page")
		return c
	}
	if l.engine == nil {
		return c // the first build has not ended
	}
	m := l.engine.Metadata()
	c.Size = text.Count(m.Stats.TotalFiles, "page") + ", " + text.Count(m.Stats.TotalChunks, "section")
	c.Terms = m.Terms
	if info, err := os.Stat(filepath.Join(l.dir, artifact.MetadataFile)); err == nil {
		c.Date = info.ModTime().Format("2 January 2006, 15:04")
	}
	return c
}
