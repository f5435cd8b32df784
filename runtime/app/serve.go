package app

import (
	"context"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/firstgc"
	"github.com/deskhand/deskhand/runtime/mcpserver"
	asktools "github.com/deskhand/deskhand/runtime/tools/ask"
	"github.com/deskhand/deskhand/runtime/tools/work"
	"github.com/deskhand/deskhand/runtime/web"
)

// Groups lists the tool groups that can be served.
var Groups = []string{"docs", "ask", "work", "land"}

// Service configures one server.
type Service struct {
	Groups  []string // tool groups, a subset of [Groups]
	Addr    string   // HOST:PORT for HTTP; if empty, serves on Stdin and Stdout
	NoToken bool     // HTTP requests need no token
	Explain bool     // each hit explains its rank
	Watch   Watch
	// Dir is the working directory, which identifies the attempt the server runs in. It
	// is empty if the directory no longer exists.
	Dir    string
	Stdin  io.Reader
	Stdout io.Writer
	// Typed reports whether Stdin is a terminal. Seen reports whether only a person
	// sees the text passed to Tell.
	Typed, Seen bool
	Tell        func(string)
	// Alone reports whether the process does nothing else. If so, garbage
	// collection is tuned for a server.
	Alone bool
}

// inboxAfter is how long a server first answers its client before it opens the
// store to see whether a question is open.
const inboxAfter = 200 * time.Millisecond

// inboxComes is how long a call waits for the inbox of its own process to listen before it
// tells where a person can answer.
const inboxComes = 500 * time.Millisecond

// server holds the state of one server while it starts and serves.
type server struct {
	*App
	Service
	lib        *docsServer
	toolset    *asktools.Toolset // nil if this server asks no questions
	options    mcpserver.Options
	people     People
	background sync.WaitGroup
	stop       func() // stops background
	leave      func() // stops serving the inbox

	places *web.Places // of the HTTP server; nil over stdio

	place    sync.Mutex // guards what placeReady has found
	placeAt  time.Time
	placeErr error
}

func (s *server) has(group string) bool { return slices.Contains(s.Groups, group) }

// asks reports whether the server asks people questions: for an agent, or before an
// agent lands changes.
func (s *server) asks() bool { return s.has("ask") || s.has("land") }

// Serve checks o, opens everything that it needs, and answers requests until ctx
// ends or the client disconnects. It then closes the installation.
func (a *App) Serve(ctx context.Context, o Service) error {
	s := &server{App: a, Service: o, leave: func() {}}
	ctx, s.stop = context.WithCancel(ctx)
	defer s.end()
	if o.Alone && os.Getenv("GOGC") == "" {
		defer firstgc.SetPercent(firstgc.SetPercent(gcPercent))
	}
	if err := s.prepare(ctx, o.Addr == ""); err != nil {
		return err
	}
	stdin, err := s.begin(ctx)
	if err != nil {
		return err
	}
	if o.Alone {
		least := uint64(leastMemory)
		if s.lib.libraries.Load() != nil {
			least = leastMemoryOfShelf
		}
		s.background.Go(func() { boundGarbage(ctx, least) })
	}
	if o.Addr != "" {
		return s.serveHTTP(ctx)
	}
	if o.Typed {
		o.Tell("serving MCP on stdin and stdout for a client that starts this command; use --http for browsers and teams")
	}
	return s.lib.server.ServeStdio(ctx, stdin, o.Stdout)
}

// end shuts down in a fixed order: upstreams, background work on the store, the inbox,
// held calls, the store, the index.
func (s *server) end() {
	if s.lib != nil {
		s.lib.door.end()
	}
	s.stop()
	s.background.Wait()
	s.leave()
	if s.toolset != nil {
		s.toolset.Close()
	}
	s.App.Close()
	if s.lib != nil {
		s.lib.close()
	}
}

// prepare reads the settings and creates each group's tools. It does not open the index.
func (s *server) prepare(ctx context.Context, alone bool) error {
	var err error
	if s.lib, err = s.newLibrary(s.Explain); err != nil {
		return err
	}
	views, err := s.config.Views.Get()
	if err != nil {
		return err
	}
	s.options = mcpserver.Options{Name: s.config.Name, Version: s.config.Version, Logger: s.log, StateKey: s.stateKey}
	if s.Addr != "" {
		s.places = web.NewPlaces(0)
		s.options.Hold = s.places.Take
	}
	if s.asks() {
		if err := s.prepareAsk(ctx, alone, views); err != nil {
			return err
		}
	}
	if s.has("work") || s.has("land") {
		s.background.Go(func() { s.followAnswers(ctx) })
		s.background.Go(func() { s.followPulls(ctx) })
		s.background.Go(func() { s.notifyEnds(ctx) })
	}
	if s.has("work") {
		if err := s.lib.addWork(ctx, s.App, s.Dir); err != nil {
			return err
		}
	}
	if s.has("land") {
		s.lib.addLand(s.App, s.toolset)
	}
	if views {
		s.lib.views = s.clientViews(ctx, s.toolset, s.lib.tools.Prefix)
	}
	s.lib.door, err = s.door(s.asksFor(alone), alone, s.config.Person, s.lib.changed, s.log, s.open)
	return err
}

// prepareAsk creates the tools that ask, and starts the inbox.
func (s *server) prepareAsk(ctx context.Context, alone, views bool) (err error) {
	if s.people, err = s.config.People.Get(); err != nil {
		return err
	}
	p := s.people
	lazy := alone && p.Inbox == InboxAuto && p.HasInbox() // a port only once it is needed
	var comes time.Duration
	if lazy {
		comes = inboxComes
	}
	s.toolset = asktools.New(asktools.Options{
		Open: func(ctx context.Context) (*elicit.Hub, func(), error) {
			hub, err := s.Hub(ctx)
			return hub, s.App.Close, err
		},
		Prefix: s.lib.tools.Prefix, Context: s.asksFor(alone), Wait: p.Wait, RefSchema: p.Ref,
		Hold: p.Hold, Stopping: ctx.Done(), Views: views, PageComes: comes,
	})
	if p.HasInbox() && (alone || p.Inbox != InboxAuto) {
		first := func(ctx context.Context) { pause(ctx, inboxAfter) }
		if lazy {
			first = s.questionAsked
		}
		if s.leave, err = s.keepInbox(ctx, first); err != nil {
			s.leave = func() {}
			return err
		}
	}
	if s.has("ask") {
		s.lib.add(s.toolset.Instructions(), s.toolset.Tools()...)
	}
	surfaces, err := s.config.Surfaces.Get()
	if err != nil {
		return err
	}
	s.background.Go(func() { s.stand(ctx, surfaces) })
	return s.exportAudit(ctx)
}

// begin starts the upstreams, the first build of a watched folder, and the server. The
// returned stdin is Stdin, including the bytes that begin has already read.
func (s *server) begin(ctx context.Context) (stdin io.Reader, err error) {
	stdin = s.Stdin
	if d := s.lib.door; d != nil {
		s.options.Logs, s.options.Watches, s.options.Met = true, true, d.met
		if s.Addr == "" && !s.Typed {
			var lends contract.Lends
			lends, stdin = hello(ctx, s.Stdin)
			d.Expect(lends)
		}
		d.Start(upstreamPatience)
	}
	var runs []func(context.Context)
	if s.Watch.Libraries {
		if runs, err = s.watchLibraries(); err != nil {
			return nil, err
		}
	}
	if s.Watch.Dir != "" {
		run, err := s.watch()
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	if !s.has("docs") {
		s.inBackground(ctx, runs)
		return stdin, s.lib.serve(s.options)
	}
	if s.lib.later == nil {
		s.lib.later = s.lib.missing
	}
	if err := s.lib.open(s.options); err != nil {
		return nil, err
	}
	if s.Watch.Dir == "" && s.lib.opened == (folderState{}) && s.lib.libraries.Load() == nil {
		s.log.Warn("serving without docs for now", "reason", s.lib.missing(), "hint", fault.Of(s.lib.missing()).Hint)
	}
	s.inBackground(ctx, runs)
	s.background.Go(func() { s.lib.follow(ctx) })
	return stdin, nil
}

func (s *server) inBackground(ctx context.Context, runs []func(context.Context)) {
	for _, run := range runs {
		s.background.Go(func() { run(ctx) })
	}
}

// watch returns a function that builds the index immediately and whenever the folder
// changes. The server answers a client's greeting at once; lists and calls wait for the
// first build.
func (s *server) watch() (run func(context.Context), err error) {
	w, err := newWatcher(s.Watch.Dir, s.lib.dir, s.log)
	if err != nil {
		return nil, err
	}
	if w.options.Embedder, err = s.Watch.Embedder(); err != nil {
		return nil, err
	}
	s.lib.later = w.later
	if s.has("docs") {
		s.lib.built, s.lib.current = w.built, make(chan struct{})
		s.options.Ready = s.lib.current
	}
	return w.run, nil
}

// asksFor returns the context to record with this process's questions: the attempt, if
// the process runs in one, and the folder, if the process serves a single client.
func (a *App) asksFor(alone bool) elicit.Context {
	c := a.config.In
	if !alone {
		c.CWD = ""
	}
	return c
}

// Offered returns the catalog of a server with these groups. The caller must call end to
// release the resources.
func (a *App) Offered(ctx context.Context, groups []string, dir string) (c contract.Catalog, end func(), err error) {
	s := &server{App: a, Service: Service{Groups: groups}, stop: func() {}, leave: func() {}}
	defer func() {
		if err != nil {
			s.end()
		}
	}()
	if s.lib, err = a.newLibrary(false); err != nil {
		return c, nil, err
	}
	if s.has("ask") {
		people, err := a.config.People.Get()
		if err != nil {
			return c, nil, err
		}
		toolset := asktools.New(asktools.Options{Prefix: s.lib.tools.Prefix, RefSchema: people.Ref})
		s.lib.add(toolset.Instructions(), toolset.Tools()...)
	}
	if s.has("work") {
		if err := s.lib.addWork(ctx, a, dir); err != nil {
			return c, nil, err
		}
	}
	if s.has("land") {
		s.lib.addLand(a, nil)
	}
	if s.lib.door, err = a.door(a.asksFor(true), true, a.config.Person, func() {}, a.log, a.open); err != nil {
		return c, nil, err
	}
	if s.lib.door != nil {
		s.lib.door.Start(upstreamPatience)
	}
	if s.has("docs") {
		if err := s.lib.openEngine(); err != nil {
			return c, nil, err
		}
	}
	c, err = s.lib.catalog()
	return c, s.end, err
}

// newLibrary returns a docsServer without tools and without an open index.
func (a *App) newLibrary(explain bool) (*docsServer, error) {
	d, err := a.config.Docs.Get()
	if err != nil {
		return nil, err
	}
	d.Tools.Explain = explain
	if d.Record {
		if d.Tools.Missed, err = a.recorder(d.Dir); err != nil {
			return nil, err
		}
	}
	return &docsServer{dir: d.Dir, shelf: d.Shelf, shelfLater: d.ShelfLater, only: d.Libraries, own: d.Own, project: d.Project, beside: d.Beside, tools: d.Tools, searching: d.Searching, log: a.log}, nil
}

// add adds tools to serve, and advice to the instructions.
func (l *docsServer) add(advice string, tools ...contract.Tool) {
	l.more, l.advice = append(l.more, tools...), append(l.advice, advice)
}

// addWork serves the work tools for a process that runs in dir.
func (l *docsServer) addWork(ctx context.Context, a *App, dir string) error {
	tools, err := a.workTools(ctx, l.tools, dir)
	if err != nil {
		return err
	}
	l.add(work.Instructions(work.Options{Prefix: l.tools.Prefix}), tools...)
	return nil
}
