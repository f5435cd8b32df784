// Package views has the pages that an MCP client shows in the conversation, by
// the extension MCP Apps: the form of a question (ui://deskhand/ask), the hits
// of a search (ui://deskhand/search) and the state of an attempt
// (ui://deskhand/attempt).
//
// A view is one HTML page with its styles and scripts inside. It reaches nothing
// but its host, by messages, and the host carries its tool calls to this server.
// The form is the one of the inbox, templates and script: ask.js gives it another
// carrier than the network, and [Views.askView] hands what it brings to the same
// handlers.
package views

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// Options is what views work with. Shell is required.
type Options struct {
	// Shell has the files of the form beside those that all pages share. Add
	// enters those of the views in it.
	Shell *page.Shell
	// Prefix stands before the names of the tools, with "_" between. Empty: none.
	Prefix string
	// Form answers a question; see the inbox. Nil: there is no view of questions,
	// and the four below are not needed.
	Form http.Handler
	// Channel is what the form is called where it is said who has seen a question.
	Channel string
	// Hub opens the hub, or returns the one that is open.
	Hub func(ctx context.Context) (*elicit.Hub, error)
	// Key is a secret of the store, which all servers over it share.
	Key func(ctx context.Context) ([]byte, error)
	// Find returns the id of the open request that a call of ask_user with args
	// has made for a caller, and that no view shows, or again. Empty: there is
	// none yet.
	Find func(ctx context.Context, caller contract.Caller, args json.RawMessage, again bool) (id string, err error)
}

// Views is the views of one server. Make it with New.
type Views struct {
	options                 Options
	ask, search, attempt    document
	polls                   chan struct{} // one for each request that is held
	opening                 sync.Mutex    // two views do not find one question
	askName, searchName     string
	startName, statusName   string
	followName, askViewName string
}

// The addresses of the views.
const (
	askURI     = "ui://deskhand/ask"
	searchURI  = "ui://deskhand/search"
	attemptURI = "ui://deskhand/attempt"
)

// New makes the pages.
func New(o Options) *Views {
	v := &Views{options: o, polls: make(chan struct{}, mostPolls)}
	v.askName, v.searchName, v.askViewName = v.name("ask_user"), v.name("search_docs"), v.name("ask_view")
	v.startName, v.statusName, v.followName = v.name("start_task_attempt"), v.name("get_attempt_status"), v.name("follow_up")
	v.make()
	return v
}

func (v *Views) name(tool string) string {
	if v.options.Prefix == "" {
		return tool
	}
	return v.options.Prefix + "_" + tool
}

// Enter gives the tools of a catalog their views, and adds the pages and the
// tool that only the form calls. Tools that are not there have none.
func (v *Views) Enter(c *contract.Catalog) {
	linked := map[string]bool{}
	for i := range c.Tools {
		t := &c.Tools[i]
		if t.Published != nil { // of another server, which has views of its own
			continue
		}
		switch t.Name {
		case v.askName:
			if v.options.Form != nil {
				t.View = askURI
			}
		case v.searchName:
			t.View = searchURI
		case v.startName, v.statusName, v.followName:
			t.View = attemptURI
		}
		linked[t.View] = true
	}
	if linked[askURI] {
		c.Tools = append(c.Tools, v.askView())
		c.Resources = append(c.Resources, contract.Resource{URI: askURI, Name: "ask", Title: "A question to you", View: true,
			Description: "The form of a question, in the conversation.", Read: v.readAsk})
	}
	if linked[searchURI] {
		c.Resources = append(c.Resources, contract.Resource{URI: searchURI, Name: "search", Title: "The documentation", View: true,
			Description: "What a search found, to read and to search on.", Read: v.search.read})
	}
	if linked[attemptURI] {
		c.Resources = append(c.Resources, contract.Resource{URI: attemptURI, Name: "attempt", Title: "An attempt", View: true,
			Description: "Where an attempt stands: its state, its log and what it has changed.", Read: v.attempt.read})
	}
}
