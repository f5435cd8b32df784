// Package calls lets tool calls outlive their requests. It is for tools that
// store nothing themselves, such as the tools of upstreams.
//
// A call runs in the process that started it. Its row in the store holds its
// state, so any process can report on it. After the call has ended, the row also
// holds its result, by default for a day. If the process dies, the call is lost
// and its row records that. No other process repeats the call, because it may
// already have taken effect.
package calls

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

// Options configure a Runner. Open is required.
type Options struct {
	// Open returns the request hub and the store, which must have been opened
	// with [Schema]. The runner closes neither.
	Open func(ctx context.Context) (*elicit.Hub, *store.DB, error)
	// Patience is how long a request waits for its call. A longer call continues
	// after the request has ended. If zero, it is 1 second.
	Patience time.Duration
	// Retention is how long a call's result is stored. If zero, it is 24 hours.
	Retention time.Duration
	// MaxRunning limits the number of concurrent calls. If zero, it is 256.
	MaxRunning int
	// Log receives messages about problems. If nil, they are discarded.
	Log *slog.Logger
}

// The lease of a running call. A runner counts as dead if it has not renewed its
// leases for leaseTime.
const (
	leaseTime = 40 * time.Second
	leaseBeat = 10 * time.Second
)

// kind is the prefix of call IDs.
const kind = "call_"

// Runner runs calls, and follows the calls of all runners that use the same
// store. It implements [contract.PendingCalls]. Its methods may be called
// concurrently.
type Runner struct {
	options Options
	owner   string
	ctx     context.Context
	stop    context.CancelFunc
	work    sync.WaitGroup

	mu      sync.Mutex
	db      *store.DB // nil until the first call
	hub     *elicit.Hub
	running map[string]*running
}

// New returns a runner. It does not open the store yet.
func New(o Options) *Runner {
	if o.Patience == 0 {
		o.Patience = time.Second
	}
	if o.Retention == 0 {
		o.Retention = 24 * time.Hour
	}
	if o.MaxRunning == 0 {
		o.MaxRunning = 256
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	k := &Runner{options: o, owner: "keeper_" + rand.Text(), running: map[string]*running{}}
	k.ctx, k.stop = context.WithCancel(context.Background())
	return k
}

// Close cancels the running calls, whose results are lost, and waits for them
// to return.
func (k *Runner) Close() {
	k.mu.Lock()
	k.stop()
	k.mu.Unlock()
	k.work.Wait()
}

// Later returns a copy of tool whose calls can outlive their requests.
func (k *Runner) Later(tool contract.Tool) contract.Tool {
	only := tool.Later != nil && tool.Later.Only
	tool.Later = &contract.Later{Kind: kind, Only: only, Calls: k,
		Start: func(ctx context.Context, caller contract.Caller, args json.RawMessage) (contract.Pending, error) {
			return k.start(ctx, &tool, caller, args)
		}}
	return tool
}

// open opens the store on the first call and starts following it.
func (k *Runner) open(ctx context.Context) (*elicit.Hub, *store.DB, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.db != nil {
		return k.hub, k.db, nil
	}
	if k.ctx.Err() != nil {
		return nil, nil, stopping()
	}
	hub, db, err := k.options.Open(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("open the call store: %w", err)
	}
	k.hub, k.db = hub, db
	k.work.Go(k.heartbeat)
	k.work.Go(k.listen)
	return hub, db, nil
}

func stopping() error {
	return &fault.Fault{Code: "stopping", Message: "this server is stopping", Hint: "call again when it is running again", Retryable: true}
}

// running is a call that this runner is executing.
type running struct {
	runner  *Runner
	tool    *contract.Tool
	id      string
	created time.Time
	cancel  context.CancelFunc
	asked   chan struct{} // closed when the call first waits for a person
	ended   chan struct{} // closed when the call has ended

	mu      sync.Mutex
	row     bool // whether the call has a row in the store
	asks    []string
	message string
	told    time.Time // when message was last written to the store
	outcome outcome   // set before ended is closed
}

// start starts a call. It returns when the call has ended or is waiting for a
// person, or when the runner's patience has run out.
func (k *Runner) start(ctx context.Context, tool *contract.Tool, caller contract.Caller, args json.RawMessage) (contract.Pending, error) {
	hub, _, err := k.open(ctx)
	if err != nil {
		return contract.Pending{}, err
	}
	c := &running{runner: k, tool: tool, id: kind + rand.Text(), created: time.Now(), asked: make(chan struct{}), ended: make(chan struct{})}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.cancel = cancel
	if err := k.enter(c); err != nil {
		cancel()
		return contract.Pending{}, err
	}
	door, _ := caller.Client.(shower)
	caller.Client, caller.Progress, caller.Log = &asker{c, door, hub}, c.progress, nil
	go func() {
		defer k.leave(c)
		c.end(c.call(own, caller, args))
	}()
	patience := time.NewTimer(k.options.Patience)
	defer patience.Stop()
	select {
	case <-c.ended:
	case <-c.asked:
	case <-patience.C:
	case <-ctx.Done():
		cancel()
		return contract.Pending{}, ctx.Err()
	}
	return c.handOver(ctx)
}

// enter registers a running call. If it succeeds, leave must be called.
func (k *Runner) enter(c *running) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.ctx.Err() != nil:
		return stopping()
	case len(k.running) >= k.options.MaxRunning:
		return &fault.Fault{Code: "too_many_calls", Message: fmt.Sprintf("%d calls are already running", len(k.running)),
			Hint: "wait until some of your tasks have ended, or cancel them, then call again", Retryable: true}
	}
	k.running[c.id] = c
	k.work.Add(1)
	return nil
}

func (k *Runner) leave(c *running) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.running, c.id)
	c.cancel()
	k.work.Done()
}

// call calls the tool. An error that is not a fault is logged, and the result
// counts as lost.
func (c *running) call(ctx context.Context, caller contract.Caller, args json.RawMessage) (o outcome) {
	stop := context.AfterFunc(c.runner.ctx, c.cancel)
	defer stop()
	defer func() {
		if r := recover(); r != nil {
			o = c.broken(fmt.Errorf("panic: %v\n%s", r, debug.Stack()))
		}
	}()
	result, err := c.tool.Call(ctx, caller, args)
	switch {
	case err != nil && c.runner.ctx.Err() != nil:
		return outcome{Lost: "The server stopped before the call's answer arrived. It is unknown whether the call took effect: check before you call again."}
	case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return outcome{Fault: fault.New("cancelled", "cancelled", "")}
	case fault.Of(err) != nil:
		return outcome{Fault: fault.Of(err)}
	case err != nil:
		return c.broken(err)
	}
	o, err = outcomeOf(result)
	if err != nil {
		return c.broken(err)
	}
	return o
}

func (c *running) broken(err error) outcome {
	if t, ok := store.TroubleOf(err); ok {
		c.runner.options.Log.Error("internal error", "doing", "call tool "+c.tool.Name, "error", err)
		return outcome{Fault: &fault.Fault{Code: t.Code, Message: t.Message, Hint: t.Hint, Retryable: t.Passing}}
	}
	id := rand.Text()[:8]
	c.runner.options.Log.Error("internal error", "error_id", id, "doing", "call tool "+c.tool.Name, "error", err)
	return outcome{Lost: "internal error (id " + id + ")"}
}

// progress records the call's current message, and writes it to the store at
// most once a second.
func (c *running) progress(ctx context.Context, p contract.Progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.message = oneLine(p.Message, p)
	if time.Since(c.told) < time.Second {
		return
	}
	c.told = time.Now()
	c.write(ctx)
}

func oneLine(message string, p contract.Progress) string {
	message = strings.Join(strings.Fields(message), " ")
	if r := []rune(message); len(r) > 300 {
		message = string(r[:300])
	}
	if message == "" && p.Total > 0 {
		message = fmt.Sprintf("%.0f of %.0f", p.Done, p.Total)
	}
	return message
}

// shower lists the methods of a door's client that this package needs while a
// call runs.
type shower interface {
	CanShow(r *elicit.Request) bool
}

// asker represents the client while a call runs. It records each request of the
// tool in the call's row, and the clients that follow the call show it.
type asker struct {
	call *running
	door shower // nil if the client cannot show requests
	hub  *elicit.Hub
}

// CanShow reports whether the client has declared the capabilities to show r.
func (a *asker) CanShow(r *elicit.Request) bool { return a.door != nil && a.door.CanShow(r) }

// Rounds returns false, because requests are shown while the call runs.
func (a *asker) Rounds() bool { return false }

// Show returns an error, because it is for clients that repeat a call with
// their answers.
func (a *asker) Show(*elicit.Request, string) error {
	return errors.New("a call that continues after its request ended cannot be repeated")
}

// Shown returns "", because nothing was shown before.
func (a *asker) Shown() (string, error) { return "", nil }

// Actions returns nil, because answers arrive through [Runner.Answer].
func (a *asker) Actions(*elicit.Request) []elicit.Action { return nil }

// Unasked returns false, because no client has answered yet.
func (a *asker) Unasked(context.Context, *elicit.Hub, *elicit.Request) (bool, error) {
	return false, nil
}

// PageDone does nothing, because clients that follow the call see that the call
// is no longer waiting.
func (a *asker) PageDone(context.Context, string) {}

var _ elicit.Client = (*asker)(nil)

// Offer records that the call is waiting for r, until ctx is done.
func (a *asker) Offer(ctx context.Context, _ *elicit.Hub, r elicit.Request) {
	a.call.waitFor(ctx, r.ID)
	<-ctx.Done()
	a.call.waitNoMore(context.WithoutCancel(ctx), r.ID)
}
