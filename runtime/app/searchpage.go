package app

import (
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/tools/docs"
	"github.com/deskhand/deskhand/runtime/web"
	"github.com/deskhand/deskhand/runtime/web/searchpage"
)

// searchPage mounts the page on which a person tries the docs tools.
func (a *App) searchPage(o *web.Options, lib *docsServer) {
	needShell(o, searchpage.Path)
	explaining := lib.tools
	explaining.Explain = true
	o.Mounts["GET "+searchpage.Path] = searchpage.New(searchpage.Options{
		Shell: o.Shell, NoToken: o.NoToken, Log: lib.log,
		Libraries: func() []string {
			if libraries := lib.libraries.Load(); libraries != nil {
				return docs.LibraryNames(libraries.Federation())
			}
			return nil
		},
		Tools: func() (search, read contract.Tool) {
			tools := lib.docsTools(explaining)
			return tools[0], tools[1]
		},
	})
}
