package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/mcpserver"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
	asktools "github.com/deskhand/deskhand/runtime/tools/ask"
	"github.com/deskhand/deskhand/runtime/tools/work"
	"github.com/deskhand/deskhand/runtime/web"
)

// tasksRunnerCommand is what a manager starts for each process of an attempt.
func tasksRunnerCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    "runner PROCESS_ID",
		Short:  "Run one process of an attempt; started by deskhand itself",
		Hidden: true,
		Args:   arguments(1, 1, "a process"),

		Annotations: map[string]string{inheriting: ""},
		RunE: func(cmd *cobra.Command, args []string) error {
			log, err := a.hiddenLogger()
			if err != nil {
				return err
			}
			room := &workRoom{app: a, log: log}
			defer room.close()
			room.serve = (&attemptDoor{app: a, room: room, log: log}).serve
			m, err := room.open(cmd.Context())
			if err != nil {
				return err
			}
			return m.Run(cmd.Context(), args[0])
		},
	}
}

// tasksFakeCommand is the agent of the executor fake.
func tasksFakeCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    executor.FakeArgs[len(executor.FakeArgs)-1],
		Short:  "Do what a prompt says, line by line; started by deskhand itself",
		Hidden: true,
		Args:   arguments(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			if code := executor.FakeMain(a.stdin, a.stdout); code != 0 {
				return &ending{code: code, error: errSaid}
			}
			return nil
		},
	}
}

// attemptDoor is how the agent of an attempt reaches deskhand: a port of its own
// on loopback, with a token of its own, that ends with the process.
type attemptDoor struct {
	app  *app
	room *workRoom
	log  *slog.Logger
}

// serve implements [tasks.Options.Serve].
func (d *attemptDoor) serve(ctx context.Context, attempt tasks.Attempt, _ tasks.Process) (url, token string, stop func(), err error) {
	inner := &attemptTools{attemptDoor: d, attempt: attempt}
	token = rand.Text()
	at := make(chan net.Addr, 1)
	server, err := web.New(web.Options{
		Addr: "127.0.0.1:0", Token: token, Logger: d.log,
		Mounts:     map[string]http.Handler{"/mcp": inner, "/mcp/": inner},
		Access:     attemptRoutes,
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
			d.log.Warn("tools of the attempt not served to the end", "attempt_id", attempt.ID, "error", err)
		}
		inner.close()
	})
	select {
	case addr := <-at:
		return fmt.Sprintf("http://%s/mcp", addr), token, stop, nil
	case err := <-ended:
		cancel()
		return "", "", nil, fmt.Errorf("serve tools of the attempt: %w", err)
	}
}

// attemptTools is the MCP server of one attempt. It is made by the first request,
// so that an agent that never asks costs neither an index nor a hub.
type attemptTools struct {
	*attemptDoor
	attempt tasks.Attempt

	mu        sync.Mutex
	lib       *library // nil until the first request
	desk      *asktools.Desk
	questions *peopleRoom
	following sync.WaitGroup // of the index, while unfollow was not called
	unfollow  func()
	stop      func() // ends the calls that are held
}

// ServeHTTP implements [http.Handler].
func (t *attemptTools) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	server, err := t.server(r.Context())
	if err != nil {
		t.log.Error("tools of the attempt not made", "attempt_id", t.attempt.ID, "error", err)
		http.Error(w, "the tools of this attempt cannot be served", http.StatusServiceUnavailable)
		return
	}
	server.Handler().ServeHTTP(w, r)
}

func (t *attemptTools) server(ctx context.Context) (*mcpserver.Server, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lib != nil {
		return t.lib.server, nil
	}
	people, err := t.app.people()
	if err != nil {
		return nil, err
	}
	in, err := t.context(ctx)
	if err != nil {
		return nil, err
	}
	lib := &library{dir: t.app.settings.get("index"), log: t.log}
	if lib.tools, err = t.app.docsOptions(); err != nil {
		return nil, err
	}
	if lib.searching, err = t.app.searching(); err != nil {
		return nil, err
	}
	questions := &peopleRoom{app: t.app, log: t.log}
	if lib.door, err = t.app.door(questions, in, true, lib.changed, t.log); err != nil {
		return nil, err
	}
	stopping := make(chan struct{})
	desk := asktools.New(asktools.Options{Open: questions.open, Prefix: lib.tools.Prefix, Context: in, OnTurnEnd: elicit.Abandon, Wait: people.wait, RefSchema: people.ref,
		Hold: people.hold, Stopping: stopping, NoDialogs: true})
	o := mcpserver.Options{Name: t.app.serverName(), Version: buildVersion(), Logger: t.log, StateKey: questions.stateKey}
	working := work.Options{
		Open:   func(ctx context.Context) (work.Manager, error) { return t.room.open(ctx) },
		Prefix: lib.tools.Prefix, AttemptID: t.attempt.ID,
	}
	lib.more = onlyWhatAttemptsMay(lib.tools.Prefix, append(desk.Tools(), work.AttemptTools(working)...))
	lib.advice = []string{desk.Instructions(), work.AttemptInstructions(working)}
	if lib.door != nil {
		o.Logs, o.Watches, o.Met = true, true, lib.door.met
		lib.door.Start(upstreamPatience)
	}
	if err := lib.open(o); err != nil {
		// An agent without the docs can still ask.
		t.log.Warn("docs are not served to the attempt", "attempt_id", t.attempt.ID, "index", lib.dir, "error", err)
		if err := lib.serve(o); err != nil {
			desk.Close()
			lib.door.end()
			questions.close()
			return nil, err
		}
	}
	t.lib, t.desk, t.questions, t.unfollow = lib, desk, questions, func() {}
	t.stop = sync.OnceFunc(func() { close(stopping) })
	if lib.engine != nil {
		ctx, cancel := context.WithCancel(context.Background())
		t.unfollow = cancel
		t.following.Go(func() { lib.follow(ctx) })
	}
	return lib.server, nil
}

// context is what the questions of the attempt belong to.
func (t *attemptTools) context(ctx context.Context) (elicit.Context, error) {
	m, err := t.room.open(ctx)
	if err != nil {
		return elicit.Context{}, err
	}
	c, err := m.Context(ctx, t.attempt.ID)
	return elicit.Context{
		ProjectID: c.Project.ID, Project: c.Project.Name, TaskID: c.Task.ID, AttemptID: t.attempt.ID, Branch: c.Attempt.Branch, CWD: c.Attempt.Dir,
	}, err
}

// end ends the sessions, so that the front can.
func (t *attemptTools) end(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lib == nil {
		return
	}
	t.stop()
	if err := t.lib.server.Close(context.WithoutCancel(ctx)); err != nil {
		t.log.Warn("sessions of the attempt did not end", "error", err)
	}
}

// close lets go of what the first request has opened; no request comes any more.
func (t *attemptTools) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lib != nil {
		t.unfollow()
		t.following.Wait()
		t.desk.Close()
		t.lib.door.end()
		t.lib.close()
		t.questions.close()
	}
}

// here is the working directory; empty if it is gone.
func here() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return dir
}
