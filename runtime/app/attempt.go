package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/elicit/askdoor"
	"github.com/deskhand/deskhand/runtime/mcpserver"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks"
	asktools "github.com/deskhand/deskhand/runtime/tools/ask"
	"github.com/deskhand/deskhand/runtime/tools/work"
	"github.com/deskhand/deskhand/runtime/web"
)

// Runner returns a manager for a process that runs attempts and serves tools to
// their agents. Call it before [App.Work].
func (a *App) Runner(ctx context.Context) (*tasks.Manager, error) {
	a.serveAttempt = (&attemptDoor{app: a, log: a.log}).serve
	return a.Work(ctx)
}

// attemptDoor gives an attempt's agent access to deskhand: a separate port on loopback
// and a separate token, both valid until the process ends.
type attemptDoor struct {
	app *App
	log *slog.Logger
}

// serve implements [tasks.Options.Serve].
func (d *attemptDoor) serve(ctx context.Context, attempt tasks.Attempt, process tasks.Process) (url, token string, stop func(), err error) {
	inner := &attemptTools{attemptDoor: d, attempt: attempt, person: cmp.Or(process.Person, d.app.config.Person)}
	token = rand.Text()
	at := make(chan net.Addr, 1)
	server, err := web.New(web.Options{
		Addr: "127.0.0.1:0", Token: token, Logger: d.log,
		Mounts: map[string]http.Handler{"/mcp": inner, "/mcp/": inner,
			askdoor.Path: http.HandlerFunc(inner.asked), askdoor.Path + "/": http.HandlerFunc(inner.asked)},
		Access:     AttemptRoutes,
		OnListen:   func(addr net.Addr) { at <- addr },
		OnShutdown: func() { inner.end(ctx) },
	})
	if err != nil {
		return "", "", nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			d.log.Warn("serving the attempt's tools ended with an error", "attempt_id", attempt.ID, "error", err)
		}
		inner.close()
	})
	select {
	case addr := <-at:
		return fmt.Sprintf("http://%s/mcp", addr), token, stop, nil
	case err := <-ended:
		cancel()
		return "", "", nil, fmt.Errorf("serve the attempt's tools: %w", err)
	}
}

// attemptTools is the MCP server of one attempt. The first request creates it, so for an
// agent that never asks, neither an index nor a hub is opened.
type attemptTools struct {
	*attemptDoor
	attempt tasks.Attempt
	person  string // whose credentials the agent's calls use; empty: the owner

	mu        sync.Mutex
	lib       *docsServer // nil until the first request
	toolset   *asktools.Toolset
	door      *askdoor.Server // serves deskhand ask
	questions *questions
	following sync.WaitGroup // follows the index until unfollow is called
	unfollow  func()
	stop      func() // cancels the held calls
}

// ServeHTTP implements [http.Handler].
func (t *attemptTools) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	server, err := t.server(r.Context())
	if err != nil {
		t.log.Error("cannot set up the attempt's tools", "attempt_id", t.attempt.ID, "error", err)
		http.Error(w, "the tools of this attempt cannot be served", http.StatusServiceUnavailable)
		return
	}
	server.Handler().ServeHTTP(w, r)
}

// asked serves deskhand ask, which cannot reach the store from a sandbox.
func (t *attemptTools) asked(w http.ResponseWriter, r *http.Request) {
	if _, err := t.server(r.Context()); err != nil {
		t.log.Error("cannot create the attempt's tools", "attempt_id", t.attempt.ID, "error", err)
		http.Error(w, "the tools of this attempt cannot be served", http.StatusServiceUnavailable)
		return
	}
	t.door.ServeHTTP(w, r)
}

func (t *attemptTools) server(ctx context.Context) (*mcpserver.Server, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lib != nil {
		return t.lib.server, nil
	}
	people, err := t.app.config.People.Get()
	if err != nil {
		return nil, err
	}
	in, err := t.context(ctx)
	if err != nil {
		return nil, err
	}
	lib, err := t.app.newLibrary(false)
	if err != nil {
		return nil, err
	}
	asked := &questions{app: t.app}
	if lib.door, err = t.app.door(in, true, t.person, lib.changed, t.log, asked.openBoth); err != nil {
		return nil, err
	}
	stopping := make(chan struct{})
	toolset := asktools.New(asktools.Options{Open: asked.open, Prefix: lib.tools.Prefix, Context: in, OnTurnEnd: elicit.Abandon, Wait: people.Wait, RefSchema: people.Ref,
		Hold: people.Hold, Stopping: stopping, NoDialogs: true})
	o := mcpserver.Options{Name: t.app.config.Name, Version: t.app.config.Version, Logger: t.log, StateKey: t.app.stateKey, AlwaysLoad: true}
	working := work.Options{
		Open:   func(ctx context.Context) (work.Manager, error) { return t.app.Work(ctx) },
		Prefix: lib.tools.Prefix, AttemptID: t.attempt.ID,
	}
	lib.more = onlyWhatAttemptsMay(lib.tools.Prefix, append(toolset.Tools(), work.AttemptTools(working)...))
	lib.advice = []string{toolset.Instructions(), work.AttemptInstructions(working)}
	if lib.door != nil {
		o.Logs, o.Watches, o.Met = true, true, lib.door.met
		lib.door.Start(upstreamPatience)
	}
	if err := lib.open(o); err != nil {
		// Even without the docs, the agent can still ask.
		t.log.Warn("cannot serve the docs to the attempt", "attempt_id", t.attempt.ID, "index", lib.dir, "error", err)
		if err := lib.serve(o); err != nil {
			toolset.Close()
			lib.door.end()
			asked.close()
			return nil, err
		}
	}
	t.lib, t.toolset, t.questions, t.unfollow = lib, toolset, asked, func() {}
	t.door = t.askDoor(asked, in, people.Wait, stopping)
	t.stop = sync.OnceFunc(func() { close(stopping) })
	if lib.hasDocs() {
		ctx, cancel := context.WithCancel(context.Background())
		t.unfollow = cancel
		t.following.Go(func() { lib.follow(ctx) })
	}
	return lib.server, nil
}

// askDoor returns the handler for deskhand ask.
func (t *attemptTools) askDoor(asked *questions, in elicit.Context, wait time.Duration, stopping <-chan struct{}) *askdoor.Server {
	return &askdoor.Server{
		Hub:     func(ctx context.Context) (*elicit.Hub, error) { hub, _, err := asked.open(ctx); return hub, err },
		Context: in, Wait: wait, Stopping: stopping,
		Failed: func(err error) {
			t.log.Error("cannot handle the attempt's question", "attempt_id", t.attempt.ID, "error", err)
		},
	}
}

// context returns the context to record with the attempt's questions.
func (t *attemptTools) context(ctx context.Context) (elicit.Context, error) {
	m, err := t.app.Work(ctx)
	if err != nil {
		return elicit.Context{}, err
	}
	c, err := m.Context(ctx, t.attempt.ID)
	return elicit.Context{
		ProjectID: c.Project.ID, Project: c.Project.Name, TaskID: c.Task.ID, AttemptID: t.attempt.ID, Branch: c.Attempt.Branch, CWD: c.Attempt.Dir,
	}, err
}

// end closes the sessions, so the front can shut down.
func (t *attemptTools) end(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lib == nil {
		return
	}
	t.stop()
	if err := t.lib.server.Close(context.WithoutCancel(ctx)); err != nil {
		t.log.Warn("the attempt's sessions did not end", "error", err)
	}
}

// close releases everything the first request opened. Call it after the last request.
func (t *attemptTools) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lib != nil {
		t.unfollow()
		t.following.Wait()
		t.toolset.Close()
		t.lib.door.end()
		t.lib.close()
		t.questions.close()
	}
}

// questions opens a hub for an attempt's tools when the first question is asked. The hub
// closes with the tools, before the manager that runs the attempt.
type questions struct {
	app *App

	mu   sync.Mutex
	end  bool // closed for good
	hub  *elicit.Hub
	stop func()
}

func (q *questions) open(ctx context.Context) (*elicit.Hub, func(), error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.end {
		return nil, nil, elicit.ErrClosed
	}
	if q.hub == nil {
		hub, stop, err := q.app.ownHub(ctx)
		if err != nil {
			return nil, nil, err
		}
		q.hub, q.stop = hub, stop
	}
	return q.hub, q.close, nil
}

func (q *questions) openBoth(ctx context.Context) (*elicit.Hub, *store.DB, error) {
	hub, _, err := q.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	db, err := q.app.Store(ctx)
	return hub, db, err
}

func (q *questions) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.end = true; q.hub != nil {
		q.stop()
	}
}
