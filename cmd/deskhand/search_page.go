package main

import (
	"net/http"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/tools/docs"
	"github.com/deskhand/deskhand/runtime/web"
	webpage "github.com/deskhand/deskhand/runtime/web/page"
	"github.com/deskhand/deskhand/runtime/web/searchpage"
)

// searchPage puts the page on which a person tries the tools over docs behind a
// front. Without an inbox it is the first one.
func (a *app) searchPage(o *web.Options, lib *library) {
	inbox := o.Shell != nil
	if !inbox {
		o.Shell = webpage.New(web.Key(o.Token, "forms"))
		o.Mounts["GET /{$}"] = http.RedirectHandler(searchpage.Path, http.StatusSeeOther)
	}
	explaining := lib.tools
	explaining.Explain = true
	o.Mounts["GET "+searchpage.Path] = searchpage.New(searchpage.Options{
		Shell: o.Shell, NoToken: o.NoToken, Log: lib.log,
		Tools: func() (search, read contract.Tool) {
			tools := docs.Tools(lib.engine, explaining)
			return tools[0], tools[1]
		},
	})
}
