package terminal

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
)

// Channel names the terminal in the record of an answer.
const Channel = "terminal"

// patience is how long a person has to wait for the store.
const patience = 5 * time.Second

// hubClient sends a person's input to the hub, in order, and reports what
// others do. It saves drafts in the background, and only the newest draft of
// each question.
type hubClient struct {
	hub    *elicit.Hub
	client string

	mu      sync.Mutex // held while an action is dispatched, so that actions keep their order
	pending sync.Map   // unsaved drafts: maps a field to an *elicit.Answer
	wake    chan struct{}

	state sync.Mutex
	rev   map[string]int64 // each request's revision after this client's last action on it
	err   error            // error of the last draft that could not be saved
}

// field identifies a question in a request.
type field struct{ request, question string }

func newHubClient(hub *elicit.Hub) *hubClient {
	return &hubClient{hub: hub, client: "tty_" + rand.Text()[:10], wake: make(chan struct{}, 1), rev: map[string]int64{}}
}

// run saves drafts until ctx ends. It then saves the remaining ones.
func (d *hubClient) run(ctx context.Context) {
	for {
		select {
		case <-d.wake:
			d.flush()
		case <-ctx.Done():
			d.flush()
			return
		}
	}
}

// save queues a draft. If a is nil, the answer is removed.
func (d *hubClient) save(request, question string, a *elicit.Answer) {
	d.pending.Store(field{request, question}, a)
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// flush saves the queued drafts.
func (d *hubClient) flush() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pending.Range(func(k, v any) bool {
		f, a := k.(field), v.(*elicit.Answer)
		_, err := d.dispatch(elicit.Action{Type: elicit.AnswerChanged, RequestID: f.request, QuestionID: f.question, Answer: a})
		d.state.Lock()
		if d.err = err; errors.As(err, new(*elicit.Rejection)) {
			d.err = nil // another person was faster, which is reported elsewhere
		}
		d.state.Unlock()
		d.pending.CompareAndDelete(f, a) // unless a newer draft was typed
		return true
	})
}

// do dispatches a person's decision. It first sends the drafts that the person
// typed before.
func (d *hubClient) do(a elicit.Action) (elicit.Request, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pending.Range(func(k, _ any) bool {
		if f := k.(field); f.request == a.RequestID && (a.Type == elicit.CompletedBy || f.question == a.QuestionID) {
			d.pending.Delete(f) // the action replaces the draft
		}
		return true
	})
	return d.dispatch(a)
}

func (d *hubClient) dispatch(a elicit.Action) (elicit.Request, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	a.Channel, a.Client = Channel, d.client
	c, err := d.hub.Dispatch(ctx, a)
	if err != nil {
		return elicit.Request{}, err
	}
	d.state.Lock()
	d.rev[a.RequestID] = c.Request.Rev
	d.state.Unlock()
	return *c.Request, nil
}

// stale reports whether r is older than this client's last action on it.
func (d *hubClient) stale(r elicit.Request) bool {
	d.state.Lock()
	defer d.state.Unlock()
	return r.Rev < d.rev[r.ID]
}

// changing returns a function. The function reports whether a question has an
// unsaved draft.
func (d *hubClient) changing(request string) func(question string) bool {
	return func(question string) bool {
		_, yes := d.pending.Load(field{request, question})
		return yes
	}
}

// trouble returns the error from saving the last draft, or nil if the draft was
// saved.
func (d *hubClient) trouble() error {
	d.state.Lock()
	defer d.state.Unlock()
	return d.err
}

// extend adds ten minutes to the deadline.
func (d *hubClient) extend(r elicit.Request) (elicit.Request, error) {
	return d.do(elicit.Action{Type: elicit.Extended, RequestID: r.ID, Deadline: elicit.At(r.Deadline.Add(10 * time.Minute))})
}

// complete ends a request. answers are the answers if the person accepts, and
// note is the person's note.
func (d *hubClient) complete(id string, how elicit.Outcome, answers map[string]elicit.Answer, note string) (elicit.Request, error) {
	return d.do(elicit.Action{Type: elicit.CompletedBy, RequestID: id, Response: how, Answers: answers, Note: strings.TrimSpace(note)})
}

// submit submits one answer, which the hub checks.
func (d *hubClient) submit(id, question string, a elicit.Answer) (elicit.Request, error) {
	return d.do(elicit.Action{Type: elicit.AnswerChanged, RequestID: id, QuestionID: question, Answer: &a})
}

// present records that a person can see a request.
func (d *hubClient) present(id string) error {
	_, err := d.do(elicit.Action{Type: elicit.PresentedTo, RequestID: id})
	return err
}

// follow calls told with a request whenever it changes after seq, until ctx ends. A request
// that was removed has an empty status.
func (d *hubClient) follow(ctx context.Context, seq int64, id string, told func(elicit.Request)) error {
	w, err := d.hub.Watch(ctx, seq, id)
	if err != nil {
		return err
	}
	defer w.Close()
	for {
		changes, err := w.Next(ctx)
		if errors.Is(err, store.ErrGone) { // this machine was asleep for days
			changes, err = []elicit.Change{{Action: elicit.Action{RequestID: id}}}, w.Resume(ctx, err)
		}
		if err != nil {
			return err
		}
		seen := map[string]bool{}
		for _, c := range changes {
			if seen[c.Action.RequestID] {
				continue
			}
			seen[c.Action.RequestID] = true
			r, err := d.read(ctx, c.Action.RequestID)
			if err != nil {
				return err
			}
			told(r)
		}
	}
}

// read returns a request. One that was removed has an empty status.
func (d *hubClient) read(ctx context.Context, id string) (elicit.Request, error) {
	r, err := d.hub.Get(ctx, id)
	if errors.As(err, new(*elicit.Rejection)) {
		return elicit.Request{ID: id}, nil
	}
	return r, err
}
