// Package gateway connects deskhand's agents to other MCP servers, the upstreams.
// It offers their tools, prompts and resources next to deskhand's own. Their
// questions become requests to a person, and so do missing sign-ins.
//
// Credentials never pass through the agent. A call that lacks a credential waits
// before anything is sent to the upstream. A person connects on one of deskhand's
// own pages ([Gateway.Mounts]), and then the call is made once. The store holds the
// credentials, encrypted with a key in the state folder.
//
// Read the files in this order: upstream.go has the configuration, reconnect.go
// keeps an upstream connected, call.go makes a call, rounds.go asks the client
// between two of its calls, elsewhere.go has prompts and resources,
// credential_request.go asks a person to connect, and page.go and oauth.go contain
// the pages that the person then uses.
package gateway

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

// Options configure a Gateway. Open and StateDir are required.
type Options struct {
	Upstreams []Upstream
	// Open opens the request hub and its store, which must include [Schema]. The
	// gateway does not close them. The caller closes them after the gateway.
	Open func(ctx context.Context) (*elicit.Hub, *store.DB, error)
	// StateDir is the folder with the credentials' key.
	StateDir string
	// Principal is the person that this server's agents work for. If empty, it is
	// [elicit.Local].
	Principal string
	// For returns the gateway of a person with a name, with the upstreams of
	// [UserScope], or fails. Calls of an agent of that person, and the pages that the
	// person opens, use its credentials. If nil, they are refused.
	For func(person string) (*Gateway, error)
	// Of is the gateway of the installation, if this is the one that its For returned.
	Of *Gateway
	// Many explains why agents of several people may call. If set, no call uses a
	// single person's credential; see [UserScope]. If empty, only Principal's
	// agents call.
	Many string
	// Base returns the address at which a person's browser finds [Gateway.Mounts],
	// for example http://127.0.0.1:20310. It may start the HTTP server at that
	// address. If nil, there is no such server and nobody is asked to connect.
	Base func(ctx context.Context) (string, error)
	// Context is the context of requests, for example an attempt.
	Context elicit.Context
	// Wait is how long a call waits for a person to connect. If zero, it is
	// [elicit.CredentialWait].
	Wait time.Duration
	// Heartbeat is the interval of progress messages to a client that asked for
	// progress. If zero, it is 15 seconds.
	Heartbeat time.Duration
	// Disclosure is how a model learns about the tools. If empty, it is
	// [DiscloseAll].
	Disclosure Disclosure
	// Index returns a Finder for tools. If nil, Disclosure is DiscloseAll.
	Index func([]Described) (Finder, error)
	// Prefix is put before find_tools and call_tool, joined by "_". If empty, they
	// have no prefix.
	Prefix string
	// Changed, if not nil, is called when [Gateway.Tools] has changed.
	Changed func()
	// Version is the version that the gateway reports to upstreams.
	Version string
	// Log receives messages for the operator. If nil, they are discarded.
	Log *slog.Logger
}

// Gateway manages one server's upstreams. Its methods may be called
// concurrently.
type Gateway struct {
	options   Options
	log       *slog.Logger
	upstreams []*upstream
	ctx       context.Context
	stop      func()
	running   sync.WaitGroup
	routes    atomic.Pointer[routes] // nil until first needed
	routing   sync.Mutex             // held while the routes of a person are created
	linked    links
	lends     lending
	places    *places

	opening sync.Mutex
	hub     *elicit.Hub // nil until open
	vault   *vault

	version  atomic.Int64 // increases with each change of a list
	shelving sync.Mutex
	current  *toolShelf      // nil until created
	borrowed *sync.WaitGroup // its current users
	pins     pins
}

// New checks the upstreams' configuration without connecting. Its error is a
// fault with code "bad_upstream".
func New(o Options) (*Gateway, error) {
	o.Principal = cmp.Or(o.Principal, elicit.Local)
	o.Wait = cmp.Or(o.Wait, elicit.CredentialWait)
	o.Heartbeat = cmp.Or(o.Heartbeat, 15*time.Second)
	o.Version = cmp.Or(o.Version, "dev")
	o.Disclosure = cmp.Or(o.Disclosure, DiscloseAll)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	g := &Gateway{options: o, log: o.Log, places: newPlaces()}
	g.ctx, g.stop = context.WithCancel(context.Background())
	names := map[string]bool{}
	for _, one := range o.Upstreams {
		checked, err := Check(one)
		if err != nil {
			return nil, err
		}
		if names[checked.Name] {
			return nil, fault.New("bad_upstream", fmt.Sprintf("two upstreams are named %q", checked.Name), "give each a unique name")
		}
		names[checked.Name] = true
		g.upstreams = append(g.upstreams, newUpstream(g, checked))
	}
	return g, nil
}

// Start connects to the upstreams and reconnects as needed until Close. It returns
// as soon as each upstream has answered or is remembered from an earlier run, but
// no later than after the given patience.
func (g *Gateway) Start(patience time.Duration) {
	if g.options.Index != nil && g.options.Disclosure != DiscloseAll {
		g.recallPins(g.ctx)
	}
	for _, u := range g.upstreams {
		g.running.Go(func() { u.stayConnected(g.ctx) })
	}
	if slices.ContainsFunc(g.upstreams, func(u *upstream) bool { return u.Scope != NoScope }) {
		g.running.Go(func() { g.follow(g.ctx) })
	}
	g.Settle(patience)
}

// Settle waits as Start does, after Start.
func (g *Gateway) Settle(patience time.Duration) {
	over := time.After(patience)
	for _, u := range g.upstreams {
		select {
		case <-u.settled:
		case <-over:
			return
		}
	}
}

// Close closes the connections and stops the commands that were started. No call
// may be running or be made afterwards.
func (g *Gateway) Close() {
	g.stop()
	for _, u := range g.upstreams {
		u.hangUp()
	}
	g.shelving.Lock()
	g.dropShelf()
	g.shelving.Unlock()
	g.running.Wait()
}

// Tools returns the tools that agents see: all upstreams' tools, or find_tools
// and call_tool; see [Disclosure].
func (g *Gateway) Tools() []contract.Tool {
	all := g.offered()
	if g.searched(len(all)) {
		return append([]contract.Tool{g.findTool(all), g.callTool()}, g.pinned(all)...)
	}
	var tools []contract.Tool
	for _, t := range all {
		tools = append(tools, t.Tool)
	}
	return tools
}

// offered returns the tools of all upstreams, in configuration order. If two have
// the same name, the first is kept.
func (g *Gateway) offered() []offeredTool {
	all := g.offeredBy(g.upstreams)
	if g.searched(len(all)) {
		for i := range all {
			all[i].Tool = g.counted(all[i].Tool)
		}
	}
	return all
}

func (g *Gateway) offeredBy(upstreams []*upstream) (all []offeredTool) {
	taken := map[string]bool{}
	for _, u := range upstreams {
		for _, t := range u.offer() {
			if taken[t.Name] {
				g.log.Warn("skipped a tool because its name is taken: use another prefix for the upstream", "upstream", u.Name, "tool", t.Name)
				continue
			}
			taken[t.Name] = true
			all = append(all, t)
		}
	}
	return all
}

// Searches reports whether the model gets find_tools instead of the tools.
func (g *Gateway) Searches() bool { return g.searched(len(g.offeredBy(g.upstreams))) }

func (g *Gateway) changed() {
	g.version.Add(1)
	g.tellChanged()
}

func (g *Gateway) tellChanged() {
	if g.options.Changed != nil {
		g.options.Changed()
	}
}

// named returns the upstream with that name, or nil if there is none.
func (g *Gateway) named(name string) *upstream {
	for _, u := range g.upstreams {
		if u.Name == name {
			return u
		}
	}
	return nil
}

// open opens the store when it is first needed.
func (g *Gateway) open(ctx context.Context) (*vault, error) {
	g.opening.Lock()
	defer g.opening.Unlock()
	if g.vault != nil {
		return g.vault, nil
	}
	key, err := newSealer(g.options.StateDir, g.log)
	if err != nil {
		return nil, err
	}
	hub, db, err := g.options.Open(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the credential store: %w", err)
	}
	g.hub, g.vault = hub, &vault{db: db, sealer: key}
	return g.vault, nil
}

// openHub returns the hub, opening the store if it is not open yet.
func (g *Gateway) openHub(ctx context.Context) (*elicit.Hub, error) {
	_, err := g.open(ctx)
	return g.hub, err
}

// follow wakes each upstream whose credential was changed by any process.
func (g *Gateway) follow(ctx context.Context) {
	for ctx.Err() == nil {
		if err := g.following(ctx); err != nil && ctx.Err() == nil {
			g.log.Warn("cannot follow changes of credentials", "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}
}

func (g *Gateway) following(ctx context.Context) error {
	v, err := g.open(ctx)
	if err != nil {
		return err
	}
	var seq int64
	if err := v.db.View(ctx, func(tx *store.Tx) error { seq = tx.Seq; return nil }); err != nil {
		return err
	}
	w, err := v.db.Watch(ctx, seq, store.Filter{Topic: topic})
	if err != nil {
		return err
	}
	defer w.Close()
	for {
		events, err := w.Next(ctx)
		missed := err != nil
		if err := w.Resume(ctx, err); err != nil {
			return err
		}
		if missed {
			for _, u := range g.upstreams {
				u.credentialChanged(ctx, false)
			}
		}
		for _, e := range events {
			if u := g.named(e.Key); u != nil {
				u.credentialChanged(ctx, string(e.Data) == eventRenewed)
			}
		}
	}
}
