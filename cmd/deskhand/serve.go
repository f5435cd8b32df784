package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/mcpserver"
	asktools "github.com/deskhand/deskhand/runtime/tools/ask"
	"github.com/deskhand/deskhand/runtime/tools/work"
)

type serveFlags struct {
	http      string
	transport string
	port      int
	noToken   bool
	watch     string
	explain   bool
	list      bool
	asJSON    bool
}

func serveCommand(a *app) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve docs, people and tasks to agents, over MCP",
		Long: "Serve tools over MCP: on stdin and stdout, or with --http over streamable HTTP. The tools over docs\n" +
			"(search_docs, get_doc, list_docs) need an index; a rebuilt one is picked up while serving. Those that\n" +
			"ask a person (ask_user, await_answer, list_questions) do not: --tools ask serves them alone. Those\n" +
			"that start coding agents (list_tasks, start_task_attempt and others) are served with --tools work.",
		Example: "  deskhand serve --index .deskhand/index\n  deskhand serve --http\n  deskhand serve --watch docs --http 127.0.0.1:8080",
		Args:    noArguments(&f),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), cmd.Flags(), &f) },
	}
	flags := cmd.Flags()
	for _, name := range []string{"index", "tools", "tool-prefix", "name", "max-answer-bytes", "allow-host", "allow-origin", "embed", "embed-timeout", "cache", "vectors"} {
		declare(flags, name)
	}
	flags.StringVar(&f.http, "http", "", "serve over HTTP, at this address ("+defaultAddr+" without one)")
	flags.Lookup("http").NoOptDefVal = defaultAddr
	flags.StringVar(&f.transport, "transport", "", "stdio or http: the same as leaving out or giving --http")
	flags.IntVar(&f.port, "port", 0, "port on 127.0.0.1: the same as --http 127.0.0.1:PORT")
	flags.BoolVar(&f.noToken, "no-token", false, "answer HTTP requests without a token (on loopback only)")
	flags.StringVar(&f.watch, "watch", "", "build the index from this folder now and whenever it changes")
	flags.BoolVar(&f.list, "explain-tools", false, "print what a model is shown of each tool, with its tokens, and exit")
	flags.BoolVar(&f.asJSON, "json", false, "with --explain-tools: print as JSON")
	flags.BoolVar(&f.explain, "explain", false, "say in each hit of search_docs why it ranks where it does")
	return cmd
}

// gcPercent is how much a server's heap may grow between two collections. It is
// a few megabytes, most of which queries keep and use again. With the usual 100
// eight clients over HTTP get 5 to 20 % fewer answers a second; this takes some
// 8 MiB more. GOGC in the environment wins.
const gcPercent = 350

// inboxAfter is how long a server answers its client before it opens the store
// for the inbox.
const inboxAfter = 200 * time.Millisecond

// serve checks all that it was told, then opens the library and answers until
// ctx ends or the client is gone.
func (a *app) serve(ctx context.Context, flags *pflag.FlagSet, f *serveFlags) error {
	switch {
	case f.list:
		return a.explainTools(ctx, f)
	case f.asJSON:
		return misuse("--json says how --explain-tools prints, which is not given", "add --explain-tools, or leave out --json")
	}
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	}
	log, err := a.hiddenLogger()
	if err != nil {
		return err
	}
	addr, err := f.address(flags)
	if err != nil {
		return err
	}
	if err := a.decidePeople(addr); err != nil {
		return err
	}
	groups, err := a.groups()
	if err != nil {
		return err
	}
	lib := &library{dir: a.settings.get("index"), log: log}
	if lib.tools, err = a.docsOptions(); err != nil {
		return err
	}
	lib.tools.Explain = f.explain
	if lib.searching, err = a.searching(); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var background sync.WaitGroup
	defer func() {
		stop()
		background.Wait()
		lib.close()
	}()
	room, asked := &peopleRoom{app: a, log: log}, false
	stdin := io.Reader(a.stdin)
	defer room.close()
	var bench *workRoom
	var desk *asktools.Desk // nil: this server asks no questions
	views, err := a.hasViews()
	if err != nil {
		return err
	}
	o := mcpserver.Options{Name: a.serverName(), Version: buildVersion(), Logger: log, StateKey: room.stateKey}
	if slices.Contains(groups, "ask") {
		people, err := a.people()
		if err != nil {
			return err
		}
		asked = true
		desk = asktools.New(asktools.Options{Open: room.open, Prefix: lib.tools.Prefix, Context: asksFor(addr == ""), Wait: people.wait, RefSchema: people.ref,
			Hold: people.hold, Stopping: ctx.Done(), Views: views})
		defer desk.Close()
		if people.hasInbox() && (addr == "" || people.inbox != inboxAuto) {
			stop, err := a.keepInbox(ctx, room, log, inboxAfter)
			if err != nil {
				return err
			}
			defer stop()
		}
		lib.more, lib.advice = desk.Tools(), []string{desk.Instructions()}
		surfaces, err := a.surfaces(log)
		if err != nil {
			return err
		}
		background.Go(func() { a.stand(ctx, surfaces, log) })
	}
	if slices.Contains(groups, "work") {
		bench = &workRoom{app: a, log: log}
		defer func() {
			stop()
			background.Wait()
			bench.close()
		}()
		background.Go(func() { bench.followAnswers(ctx) })
		tools, err := bench.tools(ctx, lib.tools, here())
		if err != nil {
			return err
		}
		lib.more = append(lib.more, tools...)
		lib.advice = append(lib.advice, work.Instructions(work.Options{Prefix: lib.tools.Prefix}))
	}
	if views {
		lib.views = a.clientViews(ctx, room, desk, lib.tools.Prefix, log)
	}
	if lib.door, err = a.door(room, asksFor(addr == ""), addr == "", lib.changed, log); err != nil {
		return err
	}
	if lib.door != nil {
		o.Logs, o.Watches, o.Met = true, true, lib.door.met
		defer lib.door.end()
		if addr == "" && !onTerminal(a.stdin) {
			var lends contract.Lends
			lends, stdin = hello(ctx, a.stdin)
			lib.door.Expect(lends)
		}
		lib.door.Start(upstreamPatience)
	}
	if f.watch != "" {
		if err := a.settings.mayBuildInto(lib.dir); err != nil {
			return err
		}
		w, err := newWatcher(f.watch, lib.dir, log)
		if err != nil {
			return err
		}
		if w.options.Embedder, err = a.embedder(); err != nil {
			return err
		}
		ready := make(chan error, 1)
		background.Go(func() { w.run(ctx, func(err error) { ready <- err }) })
		if err := <-ready; err != nil {
			return err
		}
	}
	if slices.Contains(groups, "docs") {
		if err := lib.open(o); err != nil {
			return err
		}
		background.Go(func() { lib.follow(ctx) })
	} else if err := lib.serve(o); err != nil {
		return err
	}
	if addr == "" {
		if onTerminal(a.stdin) {
			a.tell("serving MCP on stdin and stdout, which is for a client that starts it; for browsers and a team there is --http")
		}
		return lib.server.ServeStdio(ctx, stdin, a.stdout)
	}
	return a.serveHTTP(ctx, f, lib, room, asked, bench, addr)
}

// serverName is what the server calls itself.
func (a *app) serverName() string {
	if name := a.settings.get("name"); name != "" {
		return name
	}
	if prefix := a.settings.get("tool-prefix"); prefix != "" {
		return prefix + "-docs-server"
	}
	return "deskhand"
}

// toolPrefix is what stands before the tools' names; empty: nothing.
func (a *app) toolPrefix() (string, error) {
	prefix := a.settings.get("tool-prefix")
	if prefix != "" && !contract.ValidName(prefix+"_search_docs") {
		return "", a.settings.wrong("tool-prefix", "which no tool's name can begin with",
			fmt.Sprintf("use up to %d of a-z, A-Z, 0-9, _ and -", 64-len("_search_docs")))
	}
	return prefix, nil
}
