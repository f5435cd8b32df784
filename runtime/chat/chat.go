// Package chat lets programs talk with an agent of this installation as with a chat
// model: a message goes to a session, and what the agent does comes back as a
// stream in a form that their libraries read.
//
// The stream is a view of the agent's log and of what it asks in the hub. It
// has no state of its own: the id of an event says how far a client has read,
// and any process over the store goes on from there. A client that leaves ends
// nothing.
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

// Channel is what a chat is called where it is said who answered.
const Channel = "chat"

// Paths under which a Server is mounted.
const (
	Path       = "/run/api/chat"
	AnswerPath = "/run/api/elicitation-responses"
)

// Runner has the agents of this installation. Its methods may be called at once; their
// faults are for the client, and code "not_found" says that there is no such
// session.
type Runner interface {
	// Send has the agent of a session go on with a prompt. The same key, if it
	// is not empty, sends once.
	Send(ctx context.Context, session, prompt, key string) (Run, error)
	// Newest is the run of a session that began last; the zero Run if the
	// session has none.
	Newest(ctx context.Context, session string) (Run, error)
	// Find is one run of a session.
	Find(ctx context.Context, session, process string) (Run, error)
	// Log is what a run did after a revision of its log, in the order of
	// revisions. With nothing new it waits so long at most.
	Log(ctx context.Context, r Run, after int64, wait time.Duration) (Page, error)
}

// Run is one process of an agent.
type Run struct {
	Session, Attempt, Process string
	Executor                  string
	Began                     time.Time
}

// Page is a part of the log of a run.
type Page struct {
	Entries []Entry
	// Ended says that nothing will be added to what was read with this page.
	Ended bool
	// Next is the run that goes on where this one ended, as an agent does after
	// a script that set its checkout up; nil: none does. Only with Ended.
	Next *Run
	// Failure is why the run ended badly; empty: it did not. Only with Ended.
	Failure string
}

// Entry is an entry of a log; a later one may have its index and take its place,
// with a higher revision.
type Entry struct {
	Index, Revision int64
	Data            json.RawMessage
}

// Options tune a Server.
type Options struct {
	// Open is called for each call; it returns the same hub and runner.
	Open func(context.Context) (*elicit.Hub, Runner, error)
	// KeepAlive is between two comments on a stream on which nothing happens.
	// Zero: 15 seconds.
	KeepAlive time.Duration
	// Buffer is how long an answer that is not streamed may take. Zero: 10
	// minutes.
	Buffer time.Duration
	// Log takes what an operator should know. Nil: nothing is logged.
	Log *slog.Logger
}

// Server answers chat calls. Its methods may be called at once.
type Server struct {
	o       Options
	closing chan struct{}
	once    sync.Once
}

// New makes a server.
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

// Close ends the streams; their clients resume them elsewhere. It does not wait.
func (s *Server) Close() { s.once.Do(func() { close(s.closing) }) }

// Mounts are the handlers by path. They are for who has the token.
func (s *Server) Mounts() map[string]http.Handler {
	return map[string]http.Handler{Path: s.posts(s.chat), AnswerPath: s.posts(s.answer)}
}

func (s *Server) posts(serve func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			writeJSON(w, http.StatusMethodNotAllowed, map[string]any{"error": map[string]any{"code": "method_not_allowed", "message": r.URL.Path + " is called with POST"}})
			return
		}
		if err := serve(w, r); err != nil && r.Context().Err() == nil {
			s.refuse(w, err)
		}
	})
}
