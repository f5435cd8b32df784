package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/mcpserver"
	"github.com/deskhand/deskhand/runtime/search"
	"github.com/deskhand/deskhand/runtime/tools/docs"
)

type serveFlags struct {
	http      string
	transport string
	port      int
	noToken   bool
	watch     string
}

// defaultAddr is where --http listens: loopback, on the port docs-mcp uses.
const defaultAddr = "127.0.0.1:20310"

func serveCommand(a *app) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the index to agents over MCP",
		Long: "Serve search_docs, get_doc and list_docs over MCP: on stdin and stdout, or with --http over streamable HTTP.\n" +
			"A rebuilt index is picked up while serving.",
		Example: "  deskhand serve --index .deskhand/index\n  deskhand serve --http\n  deskhand serve --watch docs --http 127.0.0.1:8080",
		Args:    noArguments(&f),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), &f) },
	}
	flags := cmd.Flags()
	for _, name := range []string{"index", "tools", "tool-prefix", "name", "max-answer-bytes", "allow-host", "allow-origin"} {
		declare(flags, name)
	}
	flags.StringVar(&f.http, "http", "", "serve over HTTP, at this address ("+defaultAddr+" without one)")
	flags.Lookup("http").NoOptDefVal = defaultAddr
	flags.StringVar(&f.transport, "transport", "", "stdio or http: the same as leaving out or giving --http")
	flags.IntVar(&f.port, "port", 0, "port on 127.0.0.1: the same as --http 127.0.0.1:PORT")
	flags.BoolVar(&f.noToken, "no-token", false, "answer HTTP requests without a token (on loopback only)")
	flags.StringVar(&f.watch, "watch", "", "build the index from this folder now and whenever it changes")
	return cmd
}

// noArguments allows none, but for the address after "--http": a flag whose
// value may be left out takes it only after "=", which nobody remembers.
func noArguments(f *serveFlags) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 && f.http == defaultAddr && strings.Contains(args[0], ":") {
			f.http = args[0]
			return nil
		}
		return arguments(0, 0, "no arguments")(cmd, args)
	}
}

// address is where to serve over HTTP; empty: stdio.
func (f *serveFlags) address() (string, error) {
	addr := f.http
	switch f.transport {
	case "", "http":
	case "stdio":
		if addr != "" {
			return "", misuse("--transport stdio and --http contradict each other", "leave one of them out")
		}
		return "", nil
	default:
		return "", misuse(fmt.Sprintf("unknown --transport %q", f.transport), "use stdio or http")
	}
	if f.port != 0 {
		if f.port < 0 || f.port > 65535 {
			return "", misuse(fmt.Sprintf("--port %d is no port", f.port), "use a number from 1 to 65535")
		}
		return fmt.Sprintf("127.0.0.1:%d", f.port), nil
	}
	if addr == "" && f.transport == "http" {
		addr = defaultAddr
	}
	return addr, nil
}

// toolGroups are what --tools can name.
var toolGroups = []string{"docs"}

func (a *app) checkTools() error {
	for _, group := range strings.Split(a.settings.get("tools"), ",") {
		if !slices.Contains(toolGroups, strings.TrimSpace(group)) {
			return misuse(fmt.Sprintf("unknown group of tools %q", group), "this version has: "+strings.Join(toolGroups, ", "))
		}
	}
	return nil
}

// library is the index being served.
type library struct {
	dir    string
	engine *search.Engine
	server *mcpserver.Server
	tools  docs.Options
	log    *slog.Logger

	mu     sync.Mutex
	broken error // what the check of all bytes found
}

func (a *app) serve(ctx context.Context, f *serveFlags) error {
	log, err := a.logger()
	if err != nil {
		return err
	}
	addr, err := f.address()
	if err != nil {
		return err
	}
	if err := a.checkTools(); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var background sync.WaitGroup
	defer background.Wait()
	defer stop()
	lib := &library{dir: a.settings.get("index"), log: log, tools: docs.Options{Prefix: a.settings.get("tool-prefix")}}
	if lib.tools.MaxAnswerBytes, err = a.settings.int("max-answer-bytes"); err != nil {
		return err
	}
	if f.watch != "" {
		w, err := newWatcher(f.watch, lib.dir, log)
		if err != nil {
			return err
		}
		defer w.close()
		if err := w.first(ctx); err != nil {
			return err
		}
		background.Go(func() { w.run(ctx) })
	}
	if err := lib.open(mcpserver.Options{Name: a.serverName(), Version: buildVersion(), Logger: log}); err != nil {
		return err
	}
	defer lib.engine.Close()
	background.Go(func() { lib.follow(ctx) })
	background.Go(func() { lib.verify(ctx) })
	if addr == "" {
		return lib.server.ServeStdio(ctx, a.stdin, a.stdout)
	}
	return a.serveHTTP(ctx, f, lib, addr)
}

func (a *app) serverName() string {
	if name := a.settings.get("name"); name != "" {
		return name
	}
	if prefix := a.settings.get("tool-prefix"); prefix != "" {
		return prefix + "-docs-server"
	}
	return "deskhand"
}

func (l *library) open(o mcpserver.Options) error {
	engine, err := search.Open(l.dir)
	if err != nil {
		return err
	}
	catalog, err := docs.Catalog(engine, l.tools)
	if err == nil {
		l.server, err = mcpserver.New(o, catalog)
	}
	if err != nil {
		engine.Close()
		return err
	}
	l.engine = engine
	return nil
}

// How often the folder is looked at for a new index, and when all bytes of one
// that was opened are checked: not while the first answers are due.
const (
	followEvery = 500 * time.Millisecond
	verifyAfter = 3 * time.Second
)

// follow swaps the index when the folder holds another one.
func (l *library) follow(ctx context.Context) {
	path := filepath.Join(l.dir, artifact.MetadataFile)
	last, _ := os.Stat(path)
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now, err := os.Stat(path)
		if err != nil || last != nil && os.SameFile(last, now) && last.ModTime().Equal(now.ModTime()) && last.Size() == now.Size() {
			continue
		}
		last = now
		l.reload(ctx)
	}
}

func (l *library) reload(ctx context.Context) {
	changed, err := l.engine.Reload()
	if err != nil {
		l.log.Error("index not reloaded, the old one serves on", "index", l.dir, "error", err)
		return
	}
	if !changed {
		return
	}
	catalog, err := docs.Catalog(l.engine, l.tools)
	if err == nil {
		err = l.server.Replace(catalog)
	}
	if err != nil {
		l.log.Error("tools not replaced after reload", "index", l.dir, "error", err)
		return
	}
	stats := l.engine.Metadata().Stats
	l.log.Info("index reloaded", "index", l.dir, "files", stats.TotalFiles, "chunks", stats.TotalChunks)
	l.check()
}

// verify checks all bytes once the first answers are out.
func (l *library) verify(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(verifyAfter):
		l.check()
	}
}

func (l *library) check() {
	err := l.engine.Check()
	l.mu.Lock()
	l.broken = err
	l.mu.Unlock()
	if err != nil {
		hint := ""
		if f := fault.Of(err); f != nil {
			hint = f.Hint
		}
		l.log.Error("index is damaged", "index", l.dir, "error", err, "hint", hint)
	}
}

// ready says why the library cannot answer; nil: it can.
func (l *library) ready() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}
