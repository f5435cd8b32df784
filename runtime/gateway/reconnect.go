package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
)

// upstream is a configured upstream and its current state.
type upstream struct {
	Upstream
	g         *Gateway
	http      *http.Client      // nil for a command
	outward   http.RoundTripper // for requests to authorization servers
	rawCache  rawCache
	in        inflow
	secrets   secrets // secrets given to the upstream
	questions atomic.Int32

	current   atomic.Pointer[Credential] // sent with requests; nil if there is none
	challenge atomic.Pointer[string]     // from the last refusal
	renewing  sync.Mutex                 // held during a renewal
	dialing   chan struct{}              // holds one token, so there is one dial at a time
	woken     chan struct{}              // signals that the connection must be checked again
	settled   chan struct{}              // closed after the first attempt to connect, successful or not
	settle    func()

	asking   sync.Mutex // held while a request to connect is opened
	pending  string     // ID of the last request to connect
	foreign  foreignPages
	watchers watchers
	parked   parked

	mu       sync.Mutex
	live     *session // nil if not connected
	offered           // what the upstream offers, or offered when it was last connected
	known    bool     // whether offered was read from the upstream or the store
	guarded  bool     // whether it shows its tools only to callers with a credential
	trouble  error    // why it is not connected; nil if connected or not tried
	provider providerThen
	calls    map[string]*call // in flight, by token
	// looked is closed at the next check of the upstream. lookedWith holds the
	// features that clients lent at the last check.
	looked     chan struct{}
	lookedWith contract.Lends
	lastCall   int64
}

// remote is an upstream's tool as the upstream describes it.
type remote struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"input"`
	Output      json.RawMessage `json:"output,omitempty"`
	Published   json.RawMessage `json:"published"`          // the whole definition except the schemas
	OnlyTask    bool            `json:"onlyTask,omitempty"` // it can only be called as a task
}

func newUpstream(g *Gateway, checked Upstream) *upstream {
	u := &upstream{Upstream: checked, g: g, dialing: make(chan struct{}, 1), woken: make(chan struct{}, 1),
		settled: make(chan struct{}), looked: make(chan struct{}), calls: map[string]*call{}}
	u.in.u = u
	u.secrets.add(checked.configured()...)
	u.http, u.outward = u.httpClient(), checked.guard().Transport()
	u.settle = sync.OnceFunc(func() { close(u.settled) })
	return u
}

// principal returns the owner of the credential for calls, or "" for a shared
// credential.
func (u *upstream) principal() string {
	if u.Scope == UserScope {
		return u.g.options.Principal
	}
	return ""
}

func (u *upstream) wake() {
	select {
	case u.woken <- struct{}{}:
	default: // a check is already due
	}
}

// Pauses between attempts to connect.
const (
	firstPause = time.Second
	lastPause  = time.Minute
)

// stayConnected keeps the connection and the list of tools up to date until ctx
// ends.
func (u *upstream) stayConnected(ctx context.Context) {
	defer u.settle()
	u.recall(ctx)
	pause := firstPause
	for ctx.Err() == nil {
		began, lends := time.Now(), u.g.lends.get()
		err := u.look(ctx)
		u.noted(ctx, err)
		u.lookedAt(lends)
		u.settle()
		if err == nil {
			pause = firstPause
		}
		var again <-chan time.Time
		if err != nil && !errors.As(err, new(*unauthorized)) {
			again = time.After(pause)
			pause = min(2*pause, lastPause)
		}
		select {
		case <-ctx.Done():
		case <-again:
		case <-u.woken:
			// A command that exits right after it starts must not be restarted in a
			// tight loop.
			time.Sleep(max(0, firstPause/4-time.Since(began)))
		}
	}
}

// recall offers what the upstream offered when it was last seen.
func (u *upstream) recall(ctx context.Context) {
	v, err := u.g.open(ctx)
	if err != nil {
		u.g.log.Warn("cannot store an upstream's tools", "upstream", u.Name, "error", err)
		return
	}
	offer, known, err := v.remembered(ctx, u.Name, u.principal())
	if err != nil {
		u.g.log.Warn("cannot store an upstream's tools", "upstream", u.Name, "error", err)
		return
	}
	if known {
		u.know(u.fitting(offer))
		if offer.Lends == u.g.lends.get() { // otherwise the upstream may now offer something else
			u.settle()
		}
	}
}

// look connects if necessary and reads the tools. A known upstream with per-user
// credentials is skipped until someone has connected, because it would only refuse.
func (u *upstream) look(ctx context.Context) error {
	c, err := u.usable(ctx)
	if err != nil && u.forOne() != nil && u.g.options.For != nil {
		c, err = nil, nil // of what each person may call, only what anyone sees is listed
	}
	if err != nil {
		return err
	}
	u.mu.Lock()
	known := u.known
	u.mu.Unlock()
	if u.Scope == UserScope && c == nil && known {
		return nil
	}
	s, err := u.session(ctx, c)
	if err != nil {
		return err
	}
	release, ok := u.hold(s)
	if !ok { // the connection was just replaced; check the new one
		return u.look(ctx)
	}
	defer release()
	listing, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	offer := offered{Lends: s.lends}
	if offer.Tools, err = u.list(listing, s); err != nil {
		return err
	}
	if offer.shelf, err = u.listShelf(listing, s); err != nil {
		return err
	}
	offer = u.fitting(offer)
	v, err := u.g.open(ctx)
	if err == nil {
		err = v.remember(ctx, u.Name, u.principal(), offer)
	}
	if err != nil {
		u.g.log.Warn("cannot store an upstream's tools", "upstream", u.Name, "error", err)
	}
	u.know(offer)
	return nil
}

// maxTools is the maximum number of entries in one upstream's list.
const maxTools = 2000

func (u *upstream) list(ctx context.Context, s *session) (tools []remote, err error) {
	room := u.in.most()
	for t, err := range s.Tools(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("list tools: %w", err)
		}
		if len(tools) == maxTools {
			u.g.log.Warn("an upstream has more tools than deskhand passes on", "upstream", u.Name, "most", maxTools)
			break
		}
		if u.cameThrough(t) {
			continue
		}
		one := remote{Name: t.Name, Title: t.Title, Description: t.Description, OnlyTask: u.rawCache.onlyTask(t.Name)}
		if one.Input, err = u.rawCache.of(t.InputSchema); err == nil {
			one.Output, err = u.rawCache.of(t.OutputSchema)
		}
		shown := u.through(t)
		shown.InputSchema, shown.OutputSchema = json.RawMessage("null"), nil
		if err == nil {
			one.Published, err = json.Marshal(shown)
		}
		if err != nil {
			return nil, fmt.Errorf("read tool %s: %w", t.Name, err)
		}
		if room -= one.size(); room < 0 {
			u.g.log.Warn("an upstream's list is longer than deskhand passes on", "upstream", u.Name, "list", "tools", "most", u.in.most())
			break
		}
		tools = append(tools, one)
	}
	return tools, nil
}

// size returns the number of bytes that a tool takes in a list.
func (r *remote) size() int {
	return len(r.Name) + len(r.Title) + len(r.Description) + len(r.Input) + len(r.Output) + len(r.Published)
}

// know records what the upstream offers.
func (u *upstream) know(offer offered) {
	u.mu.Lock()
	same := u.known && reflect.DeepEqual(u.offered, offer)
	u.offered, u.known, u.guarded = offer, true, false
	u.mu.Unlock()
	if !same {
		u.g.changed()
	}
}

// noted records and logs the result of connecting.
func (u *upstream) noted(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	guarded := errors.As(err, new(*unauthorized)) || err != nil && u.Scope == UserScope && len(u.Command) > 0 && u.current.Load() == nil
	u.mu.Lock()
	before, was := u.trouble, u.guarded
	u.trouble, u.guarded = err, guarded
	u.mu.Unlock()
	switch {
	case guarded && !was:
		u.g.log.Info("the upstream lists its tools only when connected", "upstream", u.Name)
		u.g.changed()
	case err != nil && !guarded && (before == nil || before.Error() != err.Error()):
		u.g.log.Warn("the upstream is not reachable", "upstream", u.Name, "error", u.clean(err.Error()))
	case err == nil && before != nil:
		u.g.log.Info("the upstream is reachable again", "upstream", u.Name)
	}
}

// session returns the connection, creating it if there is none. A connection that was made
// with another credential is replaced: an upstream may know the account by the connection.
func (u *upstream) session(ctx context.Context, c *Credential) (*session, error) {
	select {
	case u.dialing <- struct{}{}:
		defer func() { <-u.dialing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	u.mu.Lock()
	live := u.live
	u.mu.Unlock()
	switch {
	case live == nil:
	case (c == nil || live.since.Equal(c.At)) && live.lends == u.g.lends.get():
		return live, nil
	default:
		u.retire(live)
	}
	s, err := u.dial(ctx, c)
	if err != nil {
		return nil, err
	}
	u.mu.Lock()
	u.live = s
	u.mu.Unlock()
	u.g.running.Go(func() { u.resubscribe(u.g.ctx, s) })
	u.g.running.Go(func() {
		_ = s.Wait() // the next attempt to connect reports the reason
		if u.lost(s) && u.g.ctx.Err() == nil {
			u.g.log.Warn("the connection to the upstream ended", "upstream", u.Name)
			u.wake()
		}
	})
	if u.g.ctx.Err() != nil {
		_ = s.Close() // the gateway was closed in the meantime
	}
	return s, nil
}

// lost removes a connection and reports whether it was the current one.
func (u *upstream) lost(s *session) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.live != s {
		return false
	}
	u.live = nil
	return true
}

func (u *upstream) hangUp() {
	u.mu.Lock()
	s := u.live
	u.mu.Unlock()
	if s != nil {
		_ = s.Close() // the error does not matter
	}
}

// unreachable returns the fault for a call to an upstream that cannot be reached.
func (u *upstream) unreachable(err error) error {
	if f := fault.Of(err); f != nil {
		return f
	}
	u.wake()
	return &fault.Fault{Code: "upstream_unreachable", Message: u.clean(u.Title + " cannot be reached: " + u.why(err)),
		Hint: "call again in a moment; if that does not help, tell the server's operator " + u.host(), Retryable: true}
}

// clean replaces everything in text that only the upstream may know.
func (u *upstream) clean(text string) string {
	secrets := append(u.secrets.list(), u.current.Load().known()...)
	for _, value := range u.Headers {
		secrets = append(secrets, value, strings.TrimPrefix(value, "Bearer "))
	}
	for _, value := range u.Env {
		secrets = append(secrets, value)
	}
	secrets = append(secrets, u.Auth.ClientSecret)
	if _, query, ok := strings.Cut(u.URL, "?"); ok {
		secrets = append(secrets, query)
	}
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, s := range secrets {
		if len(s) >= 6 { // shorter values are likely to be ordinary words
			text = strings.ReplaceAll(text, s, hidden)
		}
	}
	return text
}
