// Package chat lets programs use an agent of this installation like a chat
// model. A message goes to a session, and the agent's output comes back as a
// stream in a format that the programs' libraries can read.
//
// The stream has no state of its own: it is derived from the agent's log and from
// the agent's questions in the hub. An event's ID contains the client's position
// in the log, so any process that uses the same store can continue from there.
// When a client disconnects, the agent keeps running.
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

// Channel identifies chats in the record of an answer.
const Channel = "chat"

// The paths to mount a Server's handlers at.
const (
	Path       = "/run/api/chat"
	AnswerPath = "/run/api/elicitation-responses"
)

// Runner gives access to this installation's agents. Its methods may be called
// concurrently. Faults that they return are shown to the client. The fault code
// "not_found" means that the session does not exist.
type Runner interface {
	// Send starts a run of the session's agent with a prompt. Calls with the same
	// non-empty key send the prompt only once.
	Send(ctx context.Context, session, prompt, key string) (Run, error)
	// Newest returns the session's most recent run, or the zero Run if it has
	// none.
	Newest(ctx context.Context, session string) (Run, error)
	// Find returns one run of a session.
	Find(ctx context.Context, session, process string) (Run, error)
	// Log returns the run's log entries after a revision, in order of revision.
	// If there are none, it waits for new entries, up to the given duration.
	Log(ctx context.Context, r Run, after int64, wait time.Duration) (Page, error)
}

// Run is one process of an agent.
type Run struct {
	Session, Attempt, Process string
	Executor                  string
	Began                     time.Time
}

// Page is one page of a run's log.
type Page struct {
	Entries []Entry
	// Ended reports whether the log has nothing after this page.
	Ended bool
	// Next is the run that continues this one, for example the agent's run
	// after a setup script. It is nil if there is none. It is set only with
	// Ended.
	Next *Run
	// Failure is the reason why the run failed, or empty if it did not fail. It
	// is set only with Ended.
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
	// Open returns the hub and the runner. It is called for each chat call, and
	// must return the same ones each time.
	Open func(context.Context) (*elicit.Hub, Runner, error)
	// KeepAlive is the interval between comments on an idle stream. If zero, it
	// is 15 seconds.
	KeepAlive time.Duration
	// Buffer is the maximum duration of a response that is not streamed. If
	// zero, it is 10 minutes.
	Buffer time.Duration
	// Log receives messages for the operator. If nil, they are discarded.
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

// Close ends all streams. It does not wait for them. Clients can resume them with
// another process.
func (s *Server) Close() { s.once.Do(func() { close(s.closing) }) }

// Mounts returns the handlers by path. The handlers do not check the agents'
// token, so the HTTP server that mounts them must check it.
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
