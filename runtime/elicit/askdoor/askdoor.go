// Package askdoor lets a program ask people without access to the store: over HTTP,
// with its attempt's token. A sandbox hides the state folder from the program, but
// not the port of its attempt's server.
//
// POST to the root asks a question and GET of the root lists questions. GET of an
// ID waits for or shows a request, and POST to an ID reports that the outcome has
// arrived. Responses consist of JSON lines, so the client learns the ID while it
// waits.
package askdoor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Path is where an attempt's server mounts a [Server].
const Path = "/ask"

// Codes of faults that only askdoor returns.
const (
	// Unreachable means that the server has stopped or has not started yet.
	Unreachable = "attempt_unreachable"
	// NotOwn means that a question belongs to another attempt.
	NotOwn = "inside_attempt"
)

// Ways are options for asking. The zero value asks, waits, and fails if nobody
// can be reached.
type Ways struct {
	NoInbox bool `json:"noInbox,omitempty"` // a person who would first have to open the inbox does not count as reachable
	Patient bool `json:"patient,omitempty"` // ask even if nobody can be reached
	Detach  bool `json:"detach,omitempty"`  // do not wait
	// Assumed holds the answers to use, marked as assumed, if nobody can be
	// reached. It may be nil.
	Assumed map[string]elicit.Answer `json:"assumed,omitempty"`
}

// asking is the body of a client's question.
type asking struct {
	Request elicit.Request `json:"request"`
	Ways
}

// event is one line of a response.
type event struct {
	Asked *elicit.Request `json:"asked,omitempty"` // the request in the store
	Ended *elicit.Request `json:"ended,omitempty"` // the request when it has ended
	List  *elicit.List    `json:"list,omitempty"`
	Fault *fault.Fault    `json:"fault,omitempty"`
}

// Server answers the requests of one attempt, with access to the store. All
// fields are required.
type Server struct {
	Hub      func(context.Context) (*elicit.Hub, error)
	Context  elicit.Context  // context of every question; its AttemptID identifies the owner
	Wait     time.Duration   // for a question that sets no timeout; 0 means forever
	Stopping <-chan struct{} // closed to end all waiting calls
	// Failed receives errors that the caller cannot fix.
	Failed func(error)
}

// ServeHTTP implements [http.Handler]. The token must already have been
// checked.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-s.Stopping:
			cancel()
		case <-ended:
		}
	}()
	id, did, _ := strings.Cut(strings.Trim(strings.TrimPrefix(r.URL.Path, Path), "/"), "/")
	out := &lines{w: w}
	var err error
	switch {
	case r.Method == http.MethodPost && id == "":
		err = s.ask(ctx, r, out)
	case r.Method == http.MethodGet && id == "":
		err = s.list(ctx, r.URL.Query().Get("all") != "", r.URL.Query().Get("limit"), out)
	case r.Method == http.MethodGet && did == "":
		err = s.wait(ctx, id, r.URL.Query().Get("look") != "", out)
	case r.Method == http.MethodPost && id != "" && did == delivered:
		err = s.delivered(ctx, id)
	default:
		http.Error(w, "ask with POST "+Path+", wait with GET "+Path+"/ID", http.StatusNotFound)
		return
	}
	if err != nil && r.Context().Err() == nil {
		out.say(event{Fault: s.worded(ctx, err, out.id)})
	}
}

// delivered is the last path element of a delivery report.
const delivered = "delivered"

// worded converts an error for the client.
func (s *Server) worded(ctx context.Context, err error, id string) *fault.Fault {
	if f := fault.Of(err); f != nil {
		return f
	}
	if ctx.Err() != nil || errors.Is(err, elicit.ErrClosed) {
		return &fault.Fault{Code: Unreachable, Message: "the attempt is stopping" + staysOpen(id), Hint: HintTool, Retryable: true}
	}
	s.Failed(err)
	return fault.New(Unreachable, "the attempt's server failed"+staysOpen(id), HintTool)
}

func staysOpen(id string) string {
	if id == "" {
		return ""
	}
	return "; the question stays open as " + id
}

// HintTool is the hint for an agent that cannot ask with the command.
const HintTool = "ask with deskhand's tool ask_user, or fetch the answer with await_answer"

// lines writes one event per line and flushes after each.
type lines struct {
	w  http.ResponseWriter
	id string // ID of the request that was asked
}

func (l *lines) say(e event) {
	if e.Asked != nil {
		l.id = e.Asked.ID
	}
	l.w.Header().Set("Content-Type", "application/x-ndjson")
	if err := json.NewEncoder(l.w).Encode(e); err == nil {
		_ = http.NewResponseController(l.w).Flush() // the next write reports a failure
	}
}

// request returns the request to open for a program's question. The program sets
// the question, but not its asker or its context.
func (s *Server) request(in elicit.Request) elicit.Request {
	r := elicit.Request{
		Trigger: elicit.CLI, Source: elicit.Source{Kind: "cli", Name: "deskhand ask", Version: in.Source.Version}, Context: s.Context,
		Title: in.Title, Message: in.Message, Questions: in.Questions, URL: in.URL,
		Audience: in.Audience, Priority: in.Priority, WaitMS: in.WaitMS,
	}
	if in.Key != "" {
		r.Key = s.Context.AttemptID + "/" + in.Key // so that a guessed key does not find other attempts' answers
	}
	if r.WaitMS == 0 {
		r.WaitMS = s.Wait.Milliseconds()
	}
	return r
}

func (s *Server) ask(ctx context.Context, req *http.Request, out *lines) error {
	var in asking
	body, err := io.ReadAll(req.Body) // read completely, because otherwise a client that disconnects is not noticed
	if err == nil {
		err = json.Unmarshal(body, &in)
	}
	if err != nil {
		return fault.New(elicit.InvalidRequest, fmt.Sprintf("the question did not arrive: %v", err), HintTool)
	}
	r := s.request(in.Request)
	hub, err := s.Hub(ctx)
	if err != nil {
		return err
	}
	reached, err := reachable(ctx, hub, in.NoInbox)
	switch {
	case err != nil:
		return err
	case !reached && in.Assumed != nil:
		return assume(ctx, hub, r, in.Assumed, out)
	case !reached && !in.Patient:
		return fault.New(elicit.NoSurface, "no person can be reached from here", "")
	case in.Detach:
		opened, err := hub.Open(ctx, r)
		if err == nil {
			out.say(event{Asked: &opened})
		}
		return err
	}
	ended, err := hub.Ask(ctx, r, teller{out})
	if err == nil {
		out.say(event{Ended: &ended})
	}
	return err
}

func reachable(ctx context.Context, hub *elicit.Hub, noInbox bool) (bool, error) {
	if !noInbox {
		return hub.Reachable(ctx)
	}
	up, err := hub.Reach(ctx)
	return len(up) > 0, err
}

// assume answers r with the assumed answers.
func assume(ctx context.Context, hub *elicit.Hub, r elicit.Request, answers map[string]elicit.Answer, out *lines) error {
	r, err := hub.Open(ctx, r)
	if err != nil {
		return err
	}
	if !r.Ended() {
		c, err := hub.Dispatch(ctx, elicit.Action{Type: elicit.CompletedBy, RequestID: r.ID, Response: elicit.Accept, Answers: answers,
			By: elicit.ByAssumed, Roles: r.Audience.Roles, Channel: "cli"})
		if err != nil {
			return err
		}
		r = *c.Request
	}
	r = r.ForAsker()
	out.say(event{Ended: &r})
	return nil
}

// teller is a surface that only tells the client the request's ID.
type teller struct{ out *lines }

// Offer implements [elicit.Surface].
func (t teller) Offer(ctx context.Context, _ *elicit.Hub, r elicit.Request) {
	t.out.say(event{Asked: &r})
	<-ctx.Done()
}

// own returns a question if it belongs to this attempt.
func (s *Server) own(ctx context.Context, id string) (*elicit.Hub, elicit.Request, error) {
	hub, err := s.Hub(ctx)
	if err != nil {
		return nil, elicit.Request{}, err
	}
	r, err := hub.Find(ctx, id, s.Context.AttemptID, false)
	if err == nil && r.Context.AttemptID != s.Context.AttemptID {
		err = fault.New(NotOwn, fmt.Sprintf("question %s does not belong to this attempt", r.ID), "list this attempt's questions with deskhand's tool list_questions")
	}
	return hub, r, err
}

// wait waits for a request to end, or for a late answer if it has expired.
func (s *Server) wait(ctx context.Context, id string, look bool, out *lines) error {
	hub, r, err := s.own(ctx, id)
	if err != nil {
		return err
	}
	now := r.ForAsker()
	out.say(event{Asked: &now})
	if look {
		return nil
	}
	wait := hub.Wait
	if r.Status == elicit.ExpiredOpen {
		wait = hub.WaitLate
	}
	if r, err = wait(ctx, r.ID); err == nil {
		out.say(event{Ended: &r})
	}
	return err
}

func (s *Server) list(ctx context.Context, all bool, limit string, out *lines) error {
	hub, err := s.Hub(ctx)
	if err != nil {
		return err
	}
	f := elicit.Filter{AttemptID: s.Context.AttemptID}
	if f.Limit, err = strconv.Atoi(limit); err != nil || f.Limit < 0 {
		f.Limit = 0
	}
	if all {
		f.Statuses = []elicit.Status{elicit.Open, elicit.ExpiredOpen, elicit.Completed}
	}
	list, err := hub.List(ctx, f)
	if err == nil {
		out.say(event{List: &list})
	}
	return err
}

func (s *Server) delivered(ctx context.Context, id string) error {
	hub, r, err := s.own(ctx, id)
	if err != nil {
		return err
	}
	return hub.Delivered(ctx, r)
}
