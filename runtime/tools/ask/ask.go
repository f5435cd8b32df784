// Package ask implements the tools for asking a person: ask_user, await_answer and
// list_questions, over the requests of elicit.
//
// The client decides how long a call can be held, and most clients give up before a
// person answers. A [Toolset] therefore chooses one of three ways for each call. If
// the client has dialogs, it asks through them. If the client listens for progress,
// it sends progress every few seconds. Otherwise it returns a handle, with which
// the agent fetches the answer later. The answer is kept, whatever happens to the
// call.
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

// Options configure a Toolset. Open is required.
type Options struct {
	// Open opens the hub for the first call, and again for the next call if
	// opening fails. The function close closes the hub. ctx belongs to the call.
	Open func(ctx context.Context) (hub *elicit.Hub, close func(), err error)
	// Prefix is put before the tools' names, joined by "_". It may be empty.
	Prefix string
	// Context is recorded in this server's questions, for example the attempt they
	// belong to.
	Context elicit.Context
	// OnTurnEnd determines what happens to a question if its turn ends while a
	// call is waiting for the answer. Zero means the default of [elicit.Request].
	OnTurnEnd elicit.OnTurnEnd
	// Wait is how long ask_user waits if the call sets no timeout. Zero means
	// [elicit.DefaultWait].
	Wait time.Duration
	// RefSchema publishes ask_user's schema exactly as in its specification, with a
	// reference and with options that are only strings. If false, the schema has no
	// reference and allows more.
	RefSchema bool
	// NoDialogs turns off questions through the calling client. An attempt's agent
	// passes such questions on to its own caller, deskhand, so the person would be
	// asked twice.
	NoDialogs bool
	// Views reports whether a question's form has a view, for clients that show
	// views: see [Toolset.Find].
	Views bool
	// Heartbeat is the interval of progress messages to a client that requested
	// progress. Zero means 15 seconds, which is less than the 20 to 30 seconds of
	// silence after which proxies close a connection.
	Heartbeat time.Duration
	// Hold is how long a call is held, for every client. Zero means the client's
	// value in [clients.Of].
	Hold time.Duration
	// PageComes is how long a call waits for the address of a page on which a person can
	// answer, if there is none yet. It is for servers that open the page with the first
	// question. Zero means that no page is coming.
	PageComes time.Duration
	// Stopping, when closed, ends the held calls. Each returns the request ID for a
	// later call. It may be nil.
	Stopping <-chan struct{}
}

// Toolset holds one server's tools. Its methods may be called concurrently.
type Toolset struct {
	options Options
	waits   sync.WaitGroup // one per request that a call is waiting for
	posts   posts          // answers being sent to a client

	mu    sync.Mutex
	open  *elicit.Hub // nil until a call needs it
	close func()
}

// New returns a Toolset. It opens nothing yet.
func New(o Options) *Toolset {
	o.Heartbeat = cmp.Or(o.Heartbeat, 15*time.Second)
	return &Toolset{options: o}
}

// Tools returns the tools.
func (d *Toolset) Tools() []contract.Tool {
	return []contract.Tool{d.askUser(), d.awaitAnswer(), d.listQuestions()}
}

// Close stops waiting and closes the hub. Questions stay open in the store. No call
// may be running, and none may follow.
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

// client gives access to the calling client.
type client = elicit.Client
