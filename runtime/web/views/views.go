// Package views holds the pages that an MCP client shows in the conversation,
// through the extension MCP Apps: a question's form (ui://deskhand/ask), the hits
// of a search (ui://deskhand/search) and the state of an attempt
// (ui://deskhand/attempt).
//
// A view is one HTML page that contains its own styles and scripts. It
// exchanges messages only with its host. The host passes the view's tool calls
// to this server. The form is the same as in the inbox, with the same templates
// and script. In the view, ask-view.js replaces the network, and
// [Views.askView] passes the form's requests to the same handlers.
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

// Options configure Views. Pages is required.
type Options struct {
	// Pages returns a shell that holds the form's files and the files that all
	// pages share, and the handler of a question's requests; see the inbox. It
	// is called once, when a client first reads a view or calls the form's tool.
	// The views' files are then added to the shell.
	Pages func() (shell *page.Shell, form http.Handler)
	// Prefix is put before the tools' names, joined by "_". If it is empty,
	// there is no prefix.
	Prefix string
	// Hub opens the hub, or returns the open one. If it is nil, there is no view
	// of questions, and the three fields below are not needed.
	Hub func(ctx context.Context) (*elicit.Hub, error)
	// Channel names the form in the record of who saw a question.
	Channel string
	// Key returns the store's secret, which all servers that use the store
	// share.
	Key func(ctx context.Context) ([]byte, error)
	// Find returns the ID of the open request that the caller created by
	// calling ask_user with args, if no view shows it yet. If again is true, it
	// returns a request that a view has already shown. It returns "" if there
	// is no such request yet.
	Find func(ctx context.Context, caller contract.Caller, args json.RawMessage, again bool) (id string, err error)
}

// Views holds the views of one server. Use New to create one.
type Views struct {
	options                 Options
	made                    func() documents
	polls                   chan struct{} // contains one entry for each held request
	opening                 sync.Mutex    // locked so that two views do not find the same question
	askName, searchName     string
	startName, statusName   string
	followName, askViewName string
}

// Addresses of the views.
const (
	askURI     = "ui://deskhand/ask"
	searchURI  = "ui://deskhand/search"
	attemptURI = "ui://deskhand/attempt"
)

// New returns the views.
func New(o Options) *Views {
	v := &Views{options: o, polls: make(chan struct{}, mostPolls)}
	v.askName, v.searchName, v.askViewName = v.name("ask_user"), v.name("search_docs"), v.name("ask_view")
	v.startName, v.statusName, v.followName = v.name("start_task_attempt"), v.name("get_attempt_status"), v.name("follow_up")
	v.made = sync.OnceValue(v.make)
	return v
}

func (v *Views) name(tool string) string {
	if v.options.Prefix == "" {
		return tool
	}
	return v.options.Prefix + "_" + tool
}

// Enter sets the views of a catalog's tools. It also adds the pages, and the
// tool that only the form calls. If a tool is not in the catalog, it gets no
// view.
func (v *Views) Enter(c *contract.Catalog) {
	linked := map[string]bool{}
	for i := range c.Tools {
		t := &c.Tools[i]
		if t.Published != nil { // the tool is from another server, which has its own views
			continue
		}
		switch t.Name {
		case v.askName:
			if v.options.Hub != nil {
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
		c.Resources = append(c.Resources, contract.Resource{URI: askURI, Name: "ask", Title: "A question for you", View: true,
			Description: "A question's form, in the conversation.", Read: v.readAsk})
	}
	if linked[searchURI] {
		c.Resources = append(c.Resources, contract.Resource{URI: searchURI, Name: "search", Title: "The documentation", View: true,
			Description: "The hits of a search, to read and to search further.", Read: func(context.Context) (string, error) { return v.made().search.with(""), nil }})
	}
	if linked[attemptURI] {
		c.Resources = append(c.Resources, contract.Resource{URI: attemptURI, Name: "attempt", Title: "An attempt", View: true,
			Description: "An attempt's state, log and changes.", Read: func(context.Context) (string, error) { return v.made().attempt.with(""), nil }})
	}
}
