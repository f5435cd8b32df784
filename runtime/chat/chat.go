// Package chat lets programs talk to an agent of this installation as to a chat
// model: a message goes to a session, and the agent's output comes back as a
// stream in a format that their libraries can read.
//
// The stream is a view of the agent's log and of its questions in the hub,
// without state of its own: an event's ID tells how far a client has read, and
// any process over the store can continue from there. When a client
// disconnects, the agent keeps running.
package chat

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// Channel names chats in the record of an answer.
const Channel = "chat"

// Paths at which to mount a Server.
const (
	Path       = "/run/api/chat"
	AnswerPath = "/run/api/elicitation-responses"
)

// Runner gives access to this installation's agents. Its methods may be called
// concurrently. Faults that they return are shown to the client; code
// "not_found" means that the session does not exist.
type Runner interface {
	// Send starts a run of the session's agent with a prompt. Calls with the
	// same key, unless empty, send it only once.
	Send(ctx context.Context, session, prompt, key string) (Run, error)
	// Newest returns the session's most recent run; the zero Run if it has
	// none.
	Newest(ctx context.Context, session string) (Run, error)
	// Find returns one run of a session.
	Find(ctx context.Context, session, process string) (Run, error)
	// Log returns the run's log entries after a revision, in order of revision.
	// If there are none, it waits for up to wait.
	Log(ctx context.Context, r Run, after int64, wait time.Duration) (Page, error)
}

// Run is one process of an agent.
type Run struct {
	Session, Attempt, Process string
	Executor                  string
	Began                     time.Time
}

// Page is a part of a run's log.
type Page struct {
	Entries []Entry
	// Ended reports that the log has nothing after this page.
	Ended bool
	// Next is the run that continues this one, as an agent's does after a setup
	// script's; nil if none does. Set only with Ended.
	Next *Run
	// Failure is why the run failed; empty if it did not. Set only with Ended.
	Failure string
}

// Entry is a log entry. A later entry with the same index and a higher revision
// replaces it.
type Entry struct {
	Index, Revision int64
	Data            json.RawMessage
}

// Options configure a Server.
type Options struct {
	// Open is called for each call and returns the same hub and runner each
	// time.
	Open func(context.Context) (*elicit.Hub, Runner, error)
	// KeepAlive is the interval between comments on an idle stream. Zero: 15
	// seconds.
	KeepAlive time.Duration
	// Buffer is how long a response that is not streamed may take. Zero: 10
	// minutes.
	Buffer time.Duration
	// Log receives messages for the operator. Nil discards them.
	Log *slog.Logger
}

// Server answers chat calls. Its methods may be called concurrently.
type Server struct {
	o       Options
	closing chan struct{}
	once    sync.Once
}

// New returns a server.
func New(o Options) *Server {
	if o.KeepAlive == 0 {
		o.KeepAlive = 15 * time.Second
	}
	if o.Buffer == 0 {
		o.Buffer = 10 * time.Minute
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Server{o: o, closing: make(chan struct{})}
}

// Close ends the streams without waiting for them. Clients resume them
// elsewhere.
func (s *Server) Close() { s.once.Do(func() { close(s.closing) }) }

// Mounts returns the handlers by path. They require the agents' token.
func (s *Server) Mounts() map[string]http.Handler {
	return map[string]http.Handler{Path: s.posts(s.chat), AnswerPath: s.posts(s.answer)}
}

func (s *Server) posts(serve func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			writeJSON(w, http.StatusMethodNotAllowed, map[string]any{"error": map[string]any{"code": "method_not_allowed", "message": r.URL.Path + " accepts only POST"}})
			return
		}
		if err := serve(w, r); err != nil && r.Context().Err() == nil {
			s.refuse(w, err)
		}
	})
}
