package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
)

// chat serves Path.
func (s *Server) chat(w http.ResponseWriter, r *http.Request) error {
	c, err := readCall(w, r)
	if err != nil {
		return err
	}
	hub, runner, err := s.o.Open(r.Context())
	if err != nil {
		return err
	}
	f := &flow{hub: hub, runner: runner, elicits: c.elicits, shown: map[string]string{}}
	if err := s.begin(r.Context(), f, &c); err != nil {
		return err
	}
	model := c.Model
	if model == "" {
		model = f.run.Executor
	}
	if c.Stream != nil && !*c.Stream {
		return s.buffered(w, r, f, &c, model)
	}
	var enc encoder = newParts(f.run, c.Format == inkeep)
	if c.Format == openAI {
		enc = newChunks(f.run, model, f.log.at.entry >= 0)
	}
	return s.streamed(w, r, f, &c, enc)
}

// begin sends the prompt or the answers, and sets the run to follow and the
// position to start from.
func (s *Server) begin(ctx context.Context, f *flow, c *call) (err error) {
	switch {
	case c.prompt != "":
		key := ""
		if c.key != "" {
			key = "chat:" + c.ConversationID + ":" + c.key
		}
		f.run, err = f.runner.Send(ctx, c.ConversationID, c.prompt, key)
	case c.Resume && c.LastEventID != "":
		at, err := readPlace(c.LastEventID)
		if err != nil {
			return err
		}
		if f.run, err = f.runner.Find(ctx, c.ConversationID, at.process); err != nil {
			return err
		}
		f.log = readerAt(at)
		return nil
	default:
		f.run, err = f.runner.Newest(ctx, c.ConversationID)
	}
	if err != nil {
		return err
	}
	if f.run.Process == "" {
		return fault.New(nothingToResume, "the session has no run", "send a message")
	}
	f.log = readerAt(place{process: f.run.Process, entry: -1})
	if len(c.answers) == 0 {
		return nil
	}
	refused := 0
	f.results = s.respond(ctx, f.hub, f.runner, c.ConversationID, c.answers)
	for _, one := range f.results {
		if !one.Success {
			refused++
		}
	}
	if refused == len(f.results) { // all answers were rejected, so there is nothing to follow
		return respond(ctx, f.hub, f.runner, c.ConversationID, c.answers[0])
	}
	if c.LastEventID != "" {
		if at, err := readPlace(c.LastEventID); err == nil && at.process == f.run.Process {
			f.log = readerAt(at)
		}
	}
	return nil
}

// streamed writes events as they arrive. After the first byte, errors can only
// be reported in the stream itself.
func (s *Server) streamed(w http.ResponseWriter, r *http.Request, f *flow, c *call, enc encoder) error {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	if c.Format != openAI {
		h.Set("X-Vercel-Ai-Ui-Message-Stream", "v1")
	}
	w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(w)
	alive := time.NewTicker(s.o.KeepAlive)
	defer alive.Stop()
	err := f.follow(r.Context(), s.closing, alive.C, func(all []placed) error {
		if len(all) == 0 {
			if _, err := io.WriteString(w, ": keep-alive\n\n"); err != nil {
				return err
			}
			return control.Flush()
		}
		for _, e := range all {
			if err := writeEvent(w, enc, e.event, e.at); err != nil {
				return err
			}
		}
		alive.Reset(s.o.KeepAlive)
		return control.Flush()
	})
	switch {
	case err == nil && f.ended:
		_, err = io.WriteString(w, "data: "+enc.done()+"\n\n")
	case err != nil && r.Context().Err() == nil && !errors.As(err, new(*writeError)):
		_, body := s.failed(err)
		err = writeEvent(w, enc, event{kind: ends, text: fmt.Sprint(body["message"])}, "")
	}
	if err == nil {
		_ = control.Flush() // the client may be gone
	}
	return nil
}

// writeError reports that the client no longer reads.
type writeError struct{ error }

func writeEvent(w io.Writer, enc encoder, e event, at string) error {
	values := enc.encode(e)
	for i, v := range values {
		data, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("encode event: %w", err)
		}
		id := ""
		if at != "" && i == len(values)-1 {
			id = "id: " + at + "\n" // the client has the event only after its last value
		}
		if _, err := fmt.Fprintf(w, "%sdata: %s\n\n", id, data); err != nil {
			return &writeError{err}
		}
	}
	return nil
}

// placed is an event and the position after it.
type placed struct {
	event
	at string
}

// flow follows a run: its log and its agent's questions.
type flow struct {
	hub     *elicit.Hub
	runner  Runner
	run     Run
	log     *reader
	results []result // results of the answers in the call
	elicits bool
	shown   map[string]string // last state sent of each question, by request ID
	ended   bool              // whether the run has ended and the client was told
	waits   bool              // whether the agent is waiting for an answer
}

// follow calls tell with new events until the run ends, ctx is done or closing
// is closed. Then ended reports whether the run has ended. For each tick,
// follow calls tell with nil to keep the connection alive.
func (f *flow) follow(ctx context.Context, closing <-chan struct{}, ticks <-chan time.Time, tell func([]placed) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	first := []placed{{event{kind: starts}, ""}}
	for _, one := range f.results {
		first = append(first, placed{event{kind: replies, reply: one}, ""})
	}
	if err := tell(first); err != nil {
		return err
	}
	pages, asked, failed := make(chan Page), make(chan struct{}, 1), make(chan error, 2)
	run, after := f.run, f.log.at.revision // f.run changes while the goroutines read
	running.Go(func() { failed <- f.watch(ctx, run.Attempt, asked) })
	running.Go(func() { failed <- f.tail(ctx, run, after, pages) })
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-closing:
			return nil
		case err := <-failed:
			return err
		case <-ticks:
			if err := tell(nil); err != nil {
				return err
			}
		case <-asked:
			if err := f.ask(ctx, tell); err != nil {
				return err
			}
		case page := <-pages:
			if err := f.page(ctx, page, tell); err != nil || f.ended {
				return err
			}
		}
	}
}

// mostWait is the maximum duration of one call to Runner.Log.
const mostWait = 20 * time.Second

// tail sends the log pages of a run and of the runs that continue it.
func (f *flow) tail(ctx context.Context, r Run, after int64, pages chan<- Page) error {
	for {
		page, err := f.runner.Log(ctx, r, after, mostWait)
		if err != nil {
			return err
		}
		for _, e := range page.Entries {
			after = max(after, e.Revision)
		}
		if len(page.Entries) == 0 && !page.Ended {
			continue
		}
		select {
		case pages <- page:
		case <-ctx.Done():
			return ctx.Err()
		}
		switch {
		case page.Ended && page.Next == nil:
			<-ctx.Done() // the receiver of the pages cancels ctx
			return ctx.Err()
		case page.Ended:
			r, after = *page.Next, 0
		}
	}
}

func (f *flow) page(ctx context.Context, page Page, tell func([]placed) error) error {
	var all []placed
	for _, e := range page.Entries {
		if ev, ok := f.log.read(e); ok {
			all = append(all, placed{ev, f.log.at.String()})
		}
	}
	if len(all) > 0 {
		if err := tell(all); err != nil {
			return err
		}
	}
	switch {
	case !page.Ended:
		return nil
	case page.Next != nil:
		f.run = *page.Next
		f.log.follow(f.run.Process)
		return nil
	}
	if err := f.ask(ctx, tell); err != nil { // the last question may have changed
		return err
	}
	f.ended = true
	return tell([]placed{{event{kind: ends, text: page.Failure}, f.log.at.String()}})
}

// watch signals ring once at the start, and whenever a request of any attempt
// changes.
func (f *flow) watch(ctx context.Context, attempt string, ring chan<- struct{}) error {
	list, err := f.hub.List(ctx, elicit.Filter{AttemptID: attempt, Limit: 1})
	if err != nil {
		return fmt.Errorf("watch questions: %w", err)
	}
	w, err := f.hub.Watch(ctx, list.Seq, "")
	if err != nil {
		return fmt.Errorf("watch questions: %w", err)
	}
	defer w.Close()
	for err == nil {
		select {
		case ring <- struct{}{}:
		default:
		}
		err = w.Wait(ctx)
	}
	return fmt.Errorf("watch questions: %w", err)
}

// ask sends the questions whose current state the client does not have yet: open
// questions, and questions that ended after the run started. If the client shows
// no questions, ask instead calls withdraw for each question.
func (f *flow) ask(ctx context.Context, tell func([]placed) error) error {
	list, err := f.hub.List(ctx, elicit.Filter{AttemptID: f.run.Attempt, Statuses: []elicit.Status{elicit.Open, elicit.ExpiredOpen, elicit.Completed}})
	if err != nil {
		return fmt.Errorf("read questions: %w", err)
	}
	f.waits = false
	var all []placed
	for i := range list.Requests {
		r := &list.Requests[i]
		if r.Context.SessionID != "" && r.Context.SessionID != f.run.Session || r.Status != elicit.Open && r.CreatedAt.Before(f.run.Began) {
			continue
		}
		f.waits = f.waits || r.Status == elicit.Open
		if !f.elicits {
			if err := f.withdraw(ctx, r); err != nil {
				return err
			}
			continue
		}
		state := fmt.Sprint(r.Status, r.Deadline)
		if f.shown[r.ID] == "" && r.Status == elicit.Open {
			if err := f.present(ctx, r); err != nil {
				return err
			}
		}
		if f.shown[r.ID] != state {
			f.shown[r.ID] = state
			all = append(all, placed{event{kind: asks, asked: questionOf(r)}, ""})
		}
	}
	if len(all) == 0 {
		return nil
	}
	return tell(all)
}

// withdraw withdraws a request to sign in if the client shows no questions, so
// the tool reports this to the agent immediately. Other questions wait in the
// inbox.
func (f *flow) withdraw(ctx context.Context, r *elicit.Request) error {
	if r.Trigger != elicit.CredentialRequired || r.Status != elicit.Open || r.CreatedAt.Before(f.run.Began) {
		return nil
	}
	return settled(f.hub.Dispatch(ctx, elicit.Action{Type: elicit.Withdrawn, RequestID: r.ID, Reason: elicit.NoElicitation, Channel: Channel}))
}

// present records that the client can show a request to a person.
func (f *flow) present(ctx context.Context, r *elicit.Request) error {
	return settled(f.hub.Dispatch(ctx, elicit.Action{Type: elicit.PresentedTo, RequestID: r.ID, Channel: Channel, Client: f.run.Session}))
}

// settled ignores a fault, which means that the request has changed in the
// meantime. The next call to ask sees the change.
func settled(_ elicit.Change, err error) error {
	if fault.Of(err) != nil {
		return nil
	}
	return err
}
