// Package inbox serves the pages on which a person answers all agents: the open
// questions, one question with its form, and the history. It uses elicit's hub,
// as the terminal does, so that each of them shows changes made in the other.
//
// Every page works without its script: forms are plain, and each action is one
// POST. The script makes pages live. It follows [Inbox.events] and sends text
// as it is typed, so that all windows and the terminal have the same draft.
package inbox

import (
	"context"
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/web/page"
	"github.com/deskhand/deskhand/runtime/webpush"
)

// Channel names these pages in the record of an answer. ViewChannel names the
// form in an MCP client's view.
const (
	Channel     = "web"
	ViewChannel = "app"
)

//go:embed templates/*.html
var templates embed.FS

//go:embed static/*
var static embed.FS

// Options configure an Inbox. Hub and Shell are required.
type Options struct {
	// Hub opens the hub, or returns the open one.
	Hub func(ctx context.Context) (*elicit.Hub, error)
	// Shell creates the pages. [New] adds files and navigation links to it.
	Shell *page.Shell
	// Attempt returns the path of an attempt's page. That page also shows the
	// attempt's questions; see [Inbox.OfAttempt]. If Attempt is nil, there is
	// no such page.
	Attempt func(id string) string
	// ProjectName returns the name of the project with an ID, or "". It may be nil.
	ProjectName func(ctx context.Context, id string) (string, error)
	// View reports whether the form is the only page and is in an MCP client's
	// view; see [Inbox.InView].
	View bool
	// Key signs the links in notifications; see [AnswerLinks].
	Key []byte
	// Mails gives access to the links in mails. If Link is nil, there are none.
	Mails Mails
	// Push returns the browsers that want push messages, and PushKey is the public key
	// with which they subscribe. If Push is nil, browsers cannot subscribe.
	Push    func(context.Context) (webpush.Subscriptions, error)
	PushKey string
	// Log receives errors. If nil, they are discarded.
	Log *slog.Logger
}

// Inbox holds the handlers. Use New to create one.
type Inbox struct {
	options                          Options
	pages, history, answer, troubles *template.Template
	beside, ruled, severals          *template.Template
	now                              func() time.Time
	stopped                          context.Context
	stop                             func()
	encoder                          encoder
}

// New returns the handlers and adds them to the shell.
func New(o Options) *Inbox {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err)
	}
	o.Shell.Add(files)
	o.Shell.Nav = append(o.Shell.Nav, page.Link{Path: "/", Name: "Inbox", What: "open"}, page.Link{Path: "/history", Name: "History"})
	in := &Inbox{
		options:  o,
		pages:    o.Shell.Parse(templates, "templates/inbox.html", "templates/form.html", "templates/routing.html", "templates/held.html", "templates/proposal.html", "templates/ended.html"),
		history:  o.Shell.Parse(templates, "templates/history.html", "templates/ended.html"),
		answer:   o.Shell.Parse(templates, "templates/answer.html", "templates/proposal.html", "templates/ended.html"),
		beside:   o.Shell.Parse(templates, "templates/beside.html", "templates/form.html", "templates/routing.html", "templates/held.html", "templates/proposal.html", "templates/ended.html"),
		severals: o.Shell.Parse(templates, "templates/together.html", "templates/proposal.html"),
		ruled:    o.Shell.Parse(templates, "templates/rules.html"),
		troubles: o.Shell.Parse(templates, "templates/trouble.html"),
		now:      time.Now,
	}
	in.stopped, in.stop = context.WithCancel(context.Background())
	return in
}

// channel returns the channel that is recorded for answers in this form.
func (in *Inbox) channel() string {
	if in.options.View {
		return ViewChannel
	}
	return Channel
}

// Stop ends the streams. Otherwise, they would last as long as their windows.
func (in *Inbox) Stop() { in.stop() }

// Mounts returns the handlers by path, for people who have signed in.
func (in *Inbox) Mounts() map[string]http.Handler {
	return map[string]http.Handler{
		"GET /{$}":                   in.page(in.index),
		"GET /inbox/{id}":            in.page(in.one),
		"POST /inbox/{id}":           in.page(in.act),
		"GET /inbox/{id}/card":       in.page(in.card),
		"POST /inbox/{id}/draft":     in.page(in.draft),
		"POST /inbox/{id}/presented": in.page(in.presented),
		"GET /inbox/list":            in.page(in.list),
		"GET " + togetherPath:        in.page(in.several),
		"POST " + togetherPath:       in.page(in.answerSeveral),
		"GET /inbox/events":          in.page(in.events),
		"GET /push":                  in.page(in.pushKey),
		"POST /push":                 in.page(in.subscribe),
		"POST /push/off":             in.page(in.unsubscribe),
		"GET /history":               in.page(in.past),
		"GET /history.jsonl":         in.page(in.export),
		"GET /rules":                 in.page(in.rules),
		"POST /rules":                in.page(in.endRule),
	}
}

// Public returns the handlers for people who have a link from a notification
// or a mail.
func (in *Inbox) Public() map[string]http.Handler {
	public := map[string]http.Handler{"/answer/{code}": in.page(in.byLink)}
	if in.options.Mails.Link != nil {
		public["/mail/{code}"] = in.page(in.byMail)
	}
	return public
}

// page returns a handler that opens the hub for h, and shows any errors.
func (in *Inbox) page(h func(http.ResponseWriter, *http.Request, *elicit.Hub) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hub, err := in.options.Hub(r.Context())
		if err == nil {
			err = h(w, r, hub)
		}
		if err != nil && r.Context().Err() == nil {
			in.fail(w, r, err)
		}
	})
}

// trouble is the data of an error page.
type trouble struct{ Message, Hint string }

// fail shows an error as a page, or as JSON for the script.
func (in *Inbox) fail(w http.ResponseWriter, r *http.Request, err error) {
	status, t := 0, trouble{}
	f := fault.Of(err)
	switch {
	case f != nil && f.Code == elicit.UnknownRequest:
		status, t = http.StatusNotFound, trouble{"There is no such question.", "It may have been deleted from the history, which goes back 90 days."}
	case f != nil:
		status, t = http.StatusConflict, trouble{f.Message, f.Hint}
	case errors.As(err, new(*http.MaxBytesError)):
		status, t = http.StatusRequestEntityTooLarge, trouble{"The text is too long for an answer.", "Shorten it to about 60,000 characters."}
	default:
		in.options.Log.Error("cannot serve the page", "path", r.Pattern, "error", err)
		status, t.Message, t.Hint = in.options.Shell.Failed(err)
	}
	if wantsJSON(r) {
		in.json(w, status, map[string]any{"error": codeOf(f), "message": t.Message, "hint": t.Hint})
		return
	}
	in.options.Shell.Write(w, r, status, in.troubles, map[bool]string{true: "trouble"}[isPart(r)], page.Page{Title: "Not possible", Here: "/", Data: t})
}

func codeOf(f *fault.Fault) string {
	if f == nil {
		return "internal"
	}
	return f.Code
}
