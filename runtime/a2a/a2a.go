// Package a2a lets other agents ask people, over the Agent2Agent protocol.
//
// A task is a view of a request in the hub, or of an attempt and what its agent
// asks: it has no state of its own but the messages that its client sent. While the request is open the task wants input,
// or a sign-in if it has a page to open, and both the client and any other
// surface may answer. So a task outlives every process, and each process over
// the store answers for it.
//
// The protocol's transports, 1.0 and 0.3, are a library's; what they mean is
// here.
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
)

// Channel is what A2A is called where it is said who answered.
const Channel = "a2a"

// Paths under which a Server is mounted.
const (
	Path       = "/a2a"     // protocol 1.0
	LegacyPath = "/a2a/v03" // protocol 0.3
	CardPath   = "/.well-known/agent-card.json"
)

// The skills: to ask a person, and to have an agent of this installation work.
const (
	AskSkill = "ask-a-person"
	RunSkill = "run-task"
)

// Extension says how questions and answers are written in data parts.
const Extension = "https://github.com/deskhand/deskhand/a2a/question/v1"

// Options tune a Server. The zero value is ready to use.
type Options struct {
	Name, Version string // on the card; zero: deskhand, 0
	// NoToken says that nobody is asked for a token, which the card then does
	// not want either.
	NoToken bool
	// Wait is how long a question is open that does not say. Zero: for ever.
	Wait time.Duration
	// Runner is what run-task runs with. Nil: the skill is not there.
	Runner Runner
	// Skill is what a message is for that does not say. Zero: AskSkill.
	Skill string
	// PushTo are hosts, as HOST:PORT, on this machine or its network that push
	// notifications may go to, with the authentication that the client names.
	PushTo []string
	// MayAnswer reports whether a caller may answer what a task asks, as a person
	// may. Nil: everyone may.
	MayAnswer func(ctx context.Context) bool
	// Log takes what an operator should know. Nil: nothing is logged.
	Log *slog.Logger
}

// Server answers A2A calls. Its methods may be called at once.
type Server struct {
	db      *store.DB
	hub     *elicit.Hub
	o       Options
	stopped context.Context
	stop    func()
}

// New makes a server over a store that was opened with [Schema].
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

// Close ends the streams, which would last as long as their tasks. Clients may
// subscribe again, here or at another process.
func (s *Server) Close() { s.stop() }

// keepAlive is between two comments on a stream on which nothing happens.
const keepAlive = 15 * time.Second

// Mounts are the handlers of calls, by path. They are for who has the token.
func (s *Server) Mounts() map[string]http.Handler {
	alive := a2asrv.WithTransportKeepAlive(keepAlive)
	return map[string]http.Handler{
		Path:       flushed(a2asrv.NewJSONRPCHandler(&calls{s, false}, alive)),
		LegacyPath: flushed(a2av0.NewJSONRPCHandler(&calls{s, true}, alive)),
	}
}

// flushed lets the library stream through a front that wraps its writers: the
// library looks for a Flusher and not below the wrapping.
//
// It also bounds what the library would read without a bound.
func flushed(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCallBytes))
		if errors.As(err, new(*http.MaxBytesError)) {
			http.Error(w, fmt.Sprintf("a call has at most %d bytes", maxCallBytes), http.StatusRequestEntityTooLarge)
			return
		}
		if err != nil {
			http.Error(w, "the call did not arrive", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(data))
		h.ServeHTTP(flusher{w, http.NewResponseController(w)}, r)
	})
}

// maxCallBytes is far above a message, which has at most [maxMessageBytes].
const maxCallBytes = 1 << 20

type flusher struct {
	http.ResponseWriter
	control *http.ResponseController
}

// Flush implements [http.Flusher].
func (f flusher) Flush() { _ = f.control.Flush() } // what cannot be written is noticed at the next write

// Card serves the agent card, which anybody may read. Addresses on it have the
// host that was asked, which the caller has checked.
func (s *Server) Card() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "the card is read with GET", http.StatusMethodNotAllowed)
			return
		}
		scheme := "http://"
		if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
			scheme = "https://"
		}
		data, err := s.cardFor(r.Context(), scheme+r.Host)
		if err != nil {
			s.o.Log.Error("card not made", "error", err)
			http.Error(w, "internal error", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(data) // nobody is left to tell
	})
}

// cardFor is the card for a base address, with the fields of both protocols.
func (s *Server) cardFor(ctx context.Context, base string) ([]byte, error) {
	card := &a2a.AgentCard{
		Name: s.o.Name, Version: s.o.Version,
		Description: "Asks a person and brings the answer. Send the question as text, or as a data part with questions.",
		SupportedInterfaces: []*a2a.AgentInterface{
			a2a.NewAgentInterface(base+Path, a2a.TransportProtocolJSONRPC),
			{URL: base + LegacyPath, ProtocolBinding: a2a.TransportProtocolJSONRPC, ProtocolVersion: a2av0.Version},
		},
		Capabilities: a2a.AgentCapabilities{Streaming: true, PushNotifications: true,
			Extensions: []a2a.AgentExtension{{URI: Extension, Description: "questions and answers as data"}}},
		DefaultInputModes: []string{"text/plain", "application/json"}, DefaultOutputModes: []string{"text/plain", "application/json"},
		Skills: []a2a.AgentSkill{{ID: AskSkill, Name: "Ask a person", Tags: []string{"human", "question", "approval"},
			Description: "Puts a question to a person. The task waits for input until the person, or you, have answered.",
			Examples:    []string{"Which database should the service use, PostgreSQL or SQLite?"}}},
	}
	if s.o.Runner != nil {
		card.Skills = append(card.Skills, a2a.AgentSkill{ID: RunSkill, Name: "Run a task", Tags: []string{"code", "agent", "worktree"},
			Description: "Has a coding agent work on what the message says, in a checkout of its own. What the agent asks, the task asks.",
			Examples:    []string{"Add a test for the empty configuration file."}})
	}
	if !s.o.NoToken {
		card.SecuritySchemes = a2a.NamedSecuritySchemes{"bearer": a2a.HTTPAuthSecurityScheme{Scheme: "Bearer"}}
		card.SecurityRequirements = a2a.SecurityRequirementsOptions{{"bearer": {}}}
	}
	producer, ok := a2av0.NewStaticAgentCardProducer(card).(a2asrv.AgentCardJSONProducer)
	if !ok {
		return nil, errors.New("the library writes no card for both protocols")
	}
	return producer.CardJSON(ctx)
}
