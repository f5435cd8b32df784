// Package gateway stands between the agents that deskhand serves and other MCP
// servers, the upstreams: their tools, prompts and resources are offered beside
// deskhand's own, their questions become requests to a person, and so does a
// sign-in that is missing.
//
// A credential never passes through the agent. A call that needs one which is
// not there waits, without a word to the upstream; a person connects on a page
// of deskhand's own ([Gateway.Mounts]); and then the call goes through, once.
// Credentials are in the store, encrypted with a key of the state folder.
//
// The order to read in: upstream.go is what is configured, reconnect.go how an
// upstream is kept connected, call.go what a call does, rounds.go how its client
// is asked between two of its own, elsewhere.go what there is beside tools, credential_request.go
// how a person is asked to connect, page.go and oauth.go what that one then sees.
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

// Options is what a Gateway works with. Open and StateDir are required.
type Options struct {
	Upstreams []Upstream
	// Open opens the hub of requests and the store that it is over, which has
	// [Schema]; whoever made them closes them, after the gateway.
	Open func(ctx context.Context) (*elicit.Hub, *store.DB, error)
	// StateDir has the key of the credentials.
	StateDir string
	// Principal is the person for whom the agents of this server work. Zero:
	// [elicit.Local].
	Principal string
	// Many says why agents of several people may call: then nothing is called
	// with a credential of one, see [UserScope]. Empty: only those of Principal
	// do.
	Many string
	// Base is the address at which that person's browser finds [Gateway.Mounts],
	// as http://127.0.0.1:20310, and may start what serves them. Nil: nothing
	// does, and nobody is asked to connect.
	Base func(ctx context.Context) (string, error)
	// Context is what requests belong to, such as an attempt.
	Context elicit.Context
	// Wait is how long a call waits for somebody to connect. Zero:
	// [elicit.CredentialWait].
	Wait time.Duration
	// Heartbeat is how often a client that asked for progress is told that its
	// call goes on. Zero: 15 seconds.
	Heartbeat time.Duration
	// Disclosure is how a model learns of the tools. Zero: [DiscloseAll].
	Disclosure Disclosure
	// Index makes what tools are found with. Nil: Disclosure is DiscloseAll.
	Index func([]Described) (Finder, error)
	// Prefix stands before find_tools and call_tool, with "_" between. Zero:
	// nothing does.
	Prefix string
	// Changed is called when [Gateway.Tools] has changed. Nil: nobody is told.
	Changed func()
	// Version is what the gateway says of itself to upstreams.
	Version string
	// Log takes what an operator should know. Nil: nothing is logged.
	Log *slog.Logger
}

// Gateway is the upstreams of one server. Its methods may be called at once.
type Gateway struct {
	options   Options
	log       *slog.Logger
	upstreams []*upstream
	ctx       context.Context
	stop      func()
	running   sync.WaitGroup
	routes    atomic.Pointer[routes] // nil until somebody asked for Elsewhere
	linked    links
	lends     lending
	places    *places

	opening sync.Mutex
	hub     *elicit.Hub // nil until open
	vault   *vault

	version  atomic.Int64 // one more for each change of a list
	shelving sync.Mutex
	current  *toolShelf      // nil: not made yet
	borrowed *sync.WaitGroup // those who use it
	pins     pins
}

// New checks the upstreams and connects to none. Its error is a fault of code
// "bad_upstream".
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
			return nil, fault.New("bad_upstream", fmt.Sprintf("two upstreams are named %q", checked.Name), "give each a name of its own")
		}
		names[checked.Name] = true
		g.upstreams = append(g.upstreams, newUpstream(g, checked))
	}
	return g, nil
}

// Start connects to the upstreams, again and again if need be, until Close. It
// returns when each has answered, or is known from before, or after patience.
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
	over := time.After(patience)
	for _, u := range g.upstreams {
		select {
		case <-u.settled:
		case <-over:
			return
		}
	}
}

// Close ends the connections and the commands that were started. No call may be
// running or come after it.
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

// Tools are those that agents see: those of all upstreams, or what finds and
// calls them, see [Disclosure].
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

// offered are the tools of all upstreams, in their order. Of two with the same
// name the first counts.
func (g *Gateway) offered() (all []offeredTool) {
	taken := map[string]bool{}
	for _, u := range g.upstreams {
		for _, t := range u.offer() {
			if taken[t.Name] {
				g.log.Warn("tool left out, its name is taken: give the upstream another prefix", "upstream", u.Name, "tool", t.Name)
				continue
			}
			taken[t.Name] = true
			all = append(all, t)
		}
	}
	if g.searched(len(all)) {
		for i := range all {
			all[i].Tool = g.counted(all[i].Tool)
		}
	}
	return all
}

func (g *Gateway) changed() {
	g.version.Add(1)
	g.tellChanged()
}

func (g *Gateway) tellChanged() {
	if g.options.Changed != nil {
		g.options.Changed()
	}
}

// named finds an upstream; nil: there is none.
func (g *Gateway) named(name string) *upstream {
	for _, u := range g.upstreams {
		if u.Name == name {
			return u
		}
	}
	return nil
}

// open opens the store, when something first needs it.
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
		return nil, fmt.Errorf("open the store of credentials: %w", err)
	}
	g.hub, g.vault = hub, &vault{db: db, sealer: key}
	return g.vault, nil
}

// openHub returns the hub, opening the store if it is not open yet.
func (g *Gateway) openHub(ctx context.Context) (*elicit.Hub, error) {
	_, err := g.open(ctx)
	return g.hub, err
}

// follow wakes an upstream whose credential some process has changed.
func (g *Gateway) follow(ctx context.Context) {
	for ctx.Err() == nil {
		if err := g.following(ctx); err != nil && ctx.Err() == nil {
			g.log.Warn("changes of credentials not followed", "error", err)
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
		if err != nil {
			return err
		}
		for _, e := range events {
			if u := g.named(e.Key); u != nil {
				u.credentialChanged(ctx, string(e.Data) == eventRenewed)
			}
		}
	}
}
