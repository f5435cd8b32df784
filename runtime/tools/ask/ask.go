// Package ask has the tools with which an agent asks a person: ask_user,
// await_answer and list_questions, over the requests of elicit.
//
// How long a call can be held is the client's to say, and most give up before a
// person has answered. So a [Toolset] decides once for each call: it asks through
// the client where that has a dialog, tells a client that listens every few
// seconds that it still waits, and gives any other a handle to come back with.
// Whatever becomes of the call, the answer is kept.
package ask

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
)

// Options tunes a Desk. Open is required.
type Options struct {
	// Open opens the hub when the first call needs it, and again at the next
	// call if that fails; close ends it. The context is that of the call.
	Open func(ctx context.Context) (hub *elicit.Hub, close func(), err error)
	// Prefix stands before the names of the tools, with "_" between. Empty: none.
	Prefix string
	// Context is what the questions of this server belong to, such as an attempt.
	Context elicit.Context
	// OnTurnEnd is what becomes of a question that a call waits for when its turn
	// ends. Zero: as [elicit.Request] has it.
	OnTurnEnd elicit.OnTurnEnd
	// Wait is how long ask_user waits if the call does not say. Zero:
	// [elicit.DefaultWait].
	Wait time.Duration
	// RefSchema publishes the schema of ask_user as its specification has it, with
	// a reference and options that are strings only. Zero: a schema without a
	// reference, which allows more.
	RefSchema bool
	// NoDialogs keeps questions out of the client that calls. The agent of an
	// attempt hands what it is to show to its caller, which is deskhand: the
	// person would be asked twice.
	NoDialogs bool
	// Views says that the form of a question has a view, for clients that show
	// views: see [Toolset.Find].
	Views bool
	// Heartbeat is how often a client that asked for progress is told that its
	// call goes on. Zero: 15 seconds, below the 20 to 30 seconds of silence
	// after which proxies close a connection.
	Heartbeat time.Duration
	// Hold is how long a call is held, for whatever client. Zero: what
	// [clients.Of] knows of the client.
	Hold time.Duration
	// Stopping, when it is closed, ends the calls that are held, each with the ID
	// to come back with. Nil: it never is.
	Stopping <-chan struct{}
}

// Toolset is the tools of one server. Its methods may be called at once.
type Toolset struct {
	options Options
	waits   sync.WaitGroup // one for each request that is waited for
	posts   posts          // answers on their way to a client

	mu    sync.Mutex
	open  *elicit.Hub // nil until a call needs it
	close func()
}

// New returns a Toolset. It opens nothing.
func New(o Options) *Toolset {
	o.Heartbeat = cmp.Or(o.Heartbeat, 15*time.Second)
	return &Toolset{options: o}
}

// Tools is the list.
func (d *Toolset) Tools() []contract.Tool {
	return []contract.Tool{d.askUser(), d.awaitAnswer(), d.listQuestions()}
}

// Close lets go of what is waited for and closes the hub. Questions stay open
// in the store. No call may be running or come after it.
func (d *Toolset) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.posts.noting.Wait()
	if d.open != nil {
		d.close()
	}
	d.waits.Wait()
}

func (d *Toolset) hub(ctx context.Context) (*elicit.Hub, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open != nil {
		return d.open, nil
	}
	hub, close, err := d.options.Open(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the hub: %w", err)
	}
	d.open, d.close = hub, close
	return hub, nil
}

func (d *Toolset) name(tool string) string {
	if d.options.Prefix == "" {
		return tool
	}
	return d.options.Prefix + "_" + tool
}

// client is what a door can do with the client that calls.
type client = elicit.Client
