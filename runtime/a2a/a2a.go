// Package a2a lets other agents ask people over the Agent2Agent protocol.
//
// A task is a view of a request in the hub, or of an attempt and the questions of
// its agent. A task has no other state than the messages that its client sent.
// While the request is open, the task requires input, or a sign-in if the request
// has a page to open. The client may answer, and so may a person on any other
// surface. A task therefore outlives every process, and any process over the same
// store can serve it.
//
// A library implements the protocol's transports, versions 1.0 and 0.3. This
// package implements the methods.
package a2a

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"

	"github.com/deskhand/deskhand/runtime/web/page"
)

// Channel identifies A2A in the record of an answer.
const Channel = "a2a"

// The paths to mount a Server's handlers at.
const (
	Path       = "/a2a"     // protocol 1.0
	LegacyPath = "/a2a/v03" // protocol 0.3
	CardPath   = "/.well-known/agent-card.json"
)

// The skills that a Server offers: ask a person, or run an agent of this
// installation.
const (
	AskSkill = "ask-a-person"
	RunSkill = "run-task"
)

// Extension identifies the format of questions and answers in data parts.
const Extension = "https://github.com/deskhand/deskhand/a2a/question/v1"

// Options configure a Server. The zero value is ready to use.
type Options struct {
	Name, Version string // shown on the agent card; defaults: "deskhand" and "0"
	// NoToken reports whether the server requires no token. If true, the card
	// declares no security scheme.
	NoToken bool
	// Wait is how long a question stays open if it sets no timeout. If zero, it
	// stays open forever.
	Wait time.Duration
	// Runner runs the run-task skill. If nil, the skill is not offered.
	Runner Runner
	// Skill handles messages that name no skill. If empty, it is AskSkill.
	Skill string
	// PushTo lists hosts, in the form HOST:PORT, to which push notifications may
	// go even if the hosts are on this machine or its network. The notifications
	// may contain the authentication that the client supplies.
	PushTo []string
	// MayAnswer reports whether a caller may answer a task's question in place
	// of a person. If nil, every caller may.
	MayAnswer func(ctx context.Context) bool
	// Log receives messages for the operator. If nil, they are discarded.
	Log *slog.Logger
}

// Server answers A2A calls. Its methods may be called concurrently.
type Server struct {
	db      *store.DB
	hub     *elicit.Hub
	o       Options
	stopped context.Context
	stop    func()
}

// New returns a server over db, which must have been opened with [Schema].
func New(db *store.DB, hub *elicit.Hub, o Options) *Server {
	if o.Name == "" {
		o.Name = "deskhand"
	}
	if o.Version == "" {
		o.Version = "0"
	}
	if o.Skill == "" {
		o.Skill = AskSkill
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{db: db, hub: hub, o: o}
	s.stopped, s.stop = context.WithCancel(context.Background())
	return s
}

// Close ends all streams, which otherwise last as long as their tasks. Clients
// may subscribe again, in this or another process.
func (s *Server) Close() { s.stop() }

// keepAlive is the interval between two comments on an idle stream.
const keepAlive = 15 * time.Second

// Mounts returns the call handlers by path. The handlers do not check the agents'
// token, so the HTTP server that mounts them must check it.
func (s *Server) Mounts() map[string]http.Handler {
	alive := a2asrv.WithTransportKeepAlive(keepAlive)
	return map[string]http.Handler{
		Path:       flushed(a2asrv.NewJSONRPCHandler(&calls{s, false}, alive)),
		LegacyPath: flushed(a2av0.NewJSONRPCHandler(&calls{s, true}, alive)),
	}
}

// flushed lets the library stream through an HTTP server that wraps its
// writers: the library looks for a Flusher, but does not unwrap the writer to
// find it.
//
// flushed also limits the size of the request body, which the library does not.
func flushed(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCallBytes))
		if errors.As(err, new(*http.MaxBytesError)) {
			http.Error(w, fmt.Sprintf("a call can have at most %d bytes", maxCallBytes), http.StatusRequestEntityTooLarge)
			return
		}
		if err != nil {
			http.Error(w, "the request was incomplete", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(data))
		h.ServeHTTP(flusher{w, http.NewResponseController(w)}, r)
	})
}

// maxCallBytes limits a call's body, in bytes. It is well above
// [maxMessageBytes].
const maxCallBytes = 1 << 20

type flusher struct {
	http.ResponseWriter
	control *http.ResponseController
}

// Flush implements [http.Flusher].
func (f flusher) Flush() { _ = f.control.Flush() } // the next write reports the error

// Card serves the agent card, which anyone may read. The URLs on the card use
// the request's host, which the caller has checked.
func (s *Server) Card() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "read the agent card with GET", http.StatusMethodNotAllowed)
			return
		}
		data, err := s.cardFor(r.Context(), page.Address(r))
		if err != nil {
			s.o.Log.Error("cannot create the agent card", "error", err)
			http.Error(w, "internal error", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(data) // the client may be gone
	})
}

// cardFor returns the card for a base URL, with the fields of both protocol
// versions.
func (s *Server) cardFor(ctx context.Context, base string) ([]byte, error) {
	card := &a2a.AgentCard{
		Name: s.o.Name, Version: s.o.Version,
		Description: "Asks a person and returns the answer. Send the question as text, or as a data part with questions.",
		SupportedInterfaces: []*a2a.AgentInterface{
			a2a.NewAgentInterface(base+Path, a2a.TransportProtocolJSONRPC),
			{URL: base + LegacyPath, ProtocolBinding: a2a.TransportProtocolJSONRPC, ProtocolVersion: a2av0.Version},
		},
		Capabilities: a2a.AgentCapabilities{Streaming: true, PushNotifications: true,
			Extensions: []a2a.AgentExtension{{URI: Extension, Description: "questions and answers as data"}}},
		DefaultInputModes: []string{"text/plain", "application/json"}, DefaultOutputModes: []string{"text/plain", "application/json"},
		Skills: []a2a.AgentSkill{{ID: AskSkill, Name: "Ask a person", Tags: []string{"human", "question", "approval"},
			Description: "Asks a person a question. The task waits for input until the person answers, or you do.",
			Examples:    []string{"Which database should the service use, PostgreSQL or SQLite?"}}},
	}
	if s.o.Runner != nil {
		card.Skills = append(card.Skills, a2a.AgentSkill{ID: RunSkill, Name: "Run a task", Tags: []string{"code", "agent", "worktree"},
			Description: "Runs a coding agent on your message in its own checkout. The agent's questions become the task's.",
			Examples:    []string{"Add a test for the empty configuration file."}})
	}
	if !s.o.NoToken {
		card.SecuritySchemes = a2a.NamedSecuritySchemes{"bearer": a2a.HTTPAuthSecurityScheme{Scheme: "Bearer"}}
		card.SecurityRequirements = a2a.SecurityRequirementsOptions{{"bearer": {}}}
	}
	producer, ok := a2av0.NewStaticAgentCardProducer(card).(a2asrv.AgentCardJSONProducer)
	if !ok {
		return nil, errors.New("the library produced no card for both protocols")
	}
	return producer.CardJSON(ctx)
}
