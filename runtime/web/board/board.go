// Package board serves the pages about tasks: a board of tasks by status, a
// task with its attempts side by side, and an attempt with its log, its
// changes, and the actions that a person can take. It uses the task manager, as
// the tools and the command line do.
//
// Every page works without its script: forms are plain, and each action is one
// POST. The script keeps the log and the board up to date while a page is open.
package board

import (
	"context"
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// Path is the board's path. The other pages are below it.
const Path = "/work"

//go:embed templates/*.html
var templates embed.FS

//go:embed static/*
var static embed.FS

// Question is a question that is waiting for a person.
type Question struct {
	ID, Text string
	// Standing describes how the run that asked the question ended. It is empty
	// if the run has not ended.
	Standing string
}

// Options configure a Board. Manager and Shell are required.
type Options struct {
	// Manager opens the task manager, or returns the open one.
	Manager func(ctx context.Context) (*tasks.Manager, error)
	// Shell creates the pages. [New] adds files and a navigation link to it.
	Shell *page.Shell
	// Questions returns an attempt's open questions. If it is nil, the pages
	// show no questions.
	Questions func(ctx context.Context, attemptID string) ([]Question, error)
	// Asked returns the text of the first open question of each attempt that asks one,
	// by the attempt's ID. If it is nil, the board shows no questions.
	Asked func(ctx context.Context) (map[string]string, error)
	// Answer renders an attempt's first question with its form, for the
	// attempt's page. It also keeps that part of the page up to date. If it is
	// nil, the page explains how to answer from the command line.
	Answer func(w http.ResponseWriter, r *http.Request, attemptID string) (template.HTML, error)
	// Log receives errors. If it is nil, they are discarded.
	Log *slog.Logger
}

// Board holds the handlers. Use New to create one.
type Board struct {
	options                                           Options
	board, task, attempt, file, troubles, projectList *template.Template
	stopped                                           context.Context
	stop                                              func()
}

// New returns the handlers and adds them to the shell.
func New(o Options) *Board {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Questions == nil {
		o.Questions = func(context.Context, string) ([]Question, error) { return nil, nil }
	}
	if o.Asked == nil {
		o.Asked = func(context.Context) (map[string]string, error) { return nil, nil }
	}
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err)
	}
	o.Shell.Add(files)
	o.Shell.Nav = append(o.Shell.Nav, page.Link{Path: Path, Name: "Work", What: "running"})
	parse := func(name string) *template.Template {
		return o.Shell.Parse(templates, "templates/parts.html", "templates/review.html", "templates/"+name+".html")
	}
	b := &Board{options: o, board: parse("board"), task: parse("task"), attempt: parse("attempt"), file: parse("file"), troubles: parse("trouble"), projectList: parse("projects")}
	b.stopped, b.stop = context.WithCancel(context.Background())
	return b
}

// Stop answers the requests of browser windows that are waiting for news.
// Otherwise, they would delay the server's shutdown.
func (b *Board) Stop() { b.stop() }

// Mounts returns the handlers by path, for people who have signed in.
func (b *Board) Mounts() map[string]http.Handler {
	return map[string]http.Handler{
		"GET " + Path:                              b.page(b.index),
		"POST " + Path:                             b.page(b.create),
		"GET " + projectsPath:                      b.page(b.projects),
		"GET " + filesPath:                         b.page(b.files),
		"POST " + imagesPath:                       b.page(b.addImage),
		"GET " + imagesPath + "/{name}":            b.page(b.image),
		"POST " + projectsPath:                     b.page(b.actOnProjects),
		"GET " + Path + "/tasks/{id}":              b.page(b.oneTask),
		"POST " + Path + "/tasks/{id}":             b.page(b.actOnTask),
		"GET " + Path + "/attempts/{id}":           b.page(b.oneAttempt),
		"POST " + Path + "/attempts/{id}":          b.page(b.actOnAttempt),
		"GET " + Path + "/attempts/{id}/news":      b.page(b.news),
		"GET " + Path + "/attempts/{id}/file":      b.page(b.oneFile),
		"GET " + Path + "/attempts/{id}/blob":      b.page(b.blob),
		"POST " + Path + "/attempts/{id}/viewed":   b.page(b.setViewed),
		"GET " + Path + "/attempts/{id}/comments":  b.page(b.talkNews),
		"POST " + Path + "/attempts/{id}/comments": b.page(b.comment),
	}
}

// page returns a handler that opens the manager for h, and shows any errors.
func (b *Board) page(h func(http.ResponseWriter, *http.Request, *tasks.Manager) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m, err := b.options.Manager(r.Context())
		if err == nil && r.Method == http.MethodPost {
			err = page.ReadForm(r)
		}
		if err == nil && r.Method == http.MethodPost && !b.options.Shell.Checked(r) {
			err = errStale
		}
		if err == nil {
			err = h(w, r, m)
		}
		if err != nil && r.Context().Err() == nil {
			b.fail(w, r, err)
		}
	})
}

var errStale = fault.New("stale", "This page was open too long. Nothing was done.", "Go back, reload the page and retry.")

// trouble is the data of an error page.
type trouble struct{ Message, Hint string }

func (b *Board) fail(w http.ResponseWriter, r *http.Request, err error) {
	status, t := 0, trouble{}
	f := fault.Of(err)
	switch {
	case errors.Is(err, errStale):
		status, t = http.StatusForbidden, trouble{f.Message, f.Hint}
	case f != nil && f.Code == tasks.NotFound && r.Method == http.MethodGet:
		status, t = http.StatusNotFound, trouble{"There is no such item on the board.", "It may have been deleted."}
	case f != nil:
		status, t = http.StatusConflict, trouble{f.Message, forPeople(f)}
	case errors.As(err, new(*http.MaxBytesError)):
		status, t = http.StatusRequestEntityTooLarge, trouble{"The text is too long for a prompt.", "Put it into a file in the repository and refer to that file."}
	default:
		b.options.Log.Error("cannot serve the page", "path", r.Pattern, "error", err)
		status, t.Message, t.Hint = b.options.Shell.Failed(err)
	}
	b.write(w, r, status, b.troubles, "Not possible", t)
}

// forPeople returns a fault's hint for people. It names a button instead of a
// tool.
func forPeople(f *fault.Fault) string {
	switch f.Code {
	case tasks.AttemptRunning:
		return "Queue the message instead, or stop the attempt first."
	case tasks.TaskRunning:
		return "Stop its attempts first."
	case tasks.NoSession:
		return "Wait until the agent has started, then send it again. An attempt that ended before needs a new attempt."
	case tasks.ExecutorMissing:
		return "Choose another agent, or install this one; to see what is missing, run \"deskhand tasks executors\"."
	}
	return f.Hint
}

func (b *Board) write(w http.ResponseWriter, r *http.Request, status int, t *template.Template, title string, data any) {
	b.options.Shell.Write(w, r, status, t, "", page.Page{Title: title, Here: Path, Class: "working", Data: data})
}

// back redirects the browser to a page after an action.
func back(w http.ResponseWriter, r *http.Request, path string) error {
	http.Redirect(w, r, path, http.StatusSeeOther)
	return nil
}
