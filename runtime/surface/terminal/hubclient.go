package terminal

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// Channel names the terminal in the record of an answer.
const Channel = "terminal"

// patience bounds what a person waits for the store.
const patience = 5 * time.Second

// hubClient brings what a person types to the hub, in order, and what others do
// back. Drafts are saved behind the typing; the newest of a question is enough.
type hubClient struct {
	hub    *elicit.Hub
	client string

	mu      sync.Mutex // held while an action is dispatched, so that they keep their order
	pending sync.Map   // of drafts by field, not saved yet: field to *elicit.Answer
	wake    chan struct{}

	state sync.Mutex
	rev   map[string]int64 // of each request, as this client's last action left it
	err   error            // of the last draft that could not be saved
}

// field is a question of a request.
type field struct{ request, question string }

func newHubClient(hub *elicit.Hub) *hubClient {
	return &hubClient{hub: hub, client: "tty_" + rand.Text()[:10], wake: make(chan struct{}, 1), rev: map[string]int64{}}
}

// run saves drafts until ctx ends, and then those that are left.
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

// save keeps a draft; nil takes the answer out.
func (d *hubClient) save(request, question string, a *elicit.Answer) {
	d.pending.Store(field{request, question}, a)
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// flush saves the drafts that are waiting.
func (d *hubClient) flush() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pending.Range(func(k, v any) bool {
		f, a := k.(field), v.(*elicit.Answer)
		_, err := d.dispatch(elicit.Action{Type: elicit.AnswerChanged, RequestID: f.request, QuestionID: f.question, Answer: a})
		d.state.Lock()
		if d.err = err; errors.As(err, new(*elicit.Rejection)) {
			d.err = nil // somebody was faster, which is told elsewhere
		}
		d.state.Unlock()
		d.pending.CompareAndDelete(f, a) // unless something newer was typed
		return true
	})
}

// do dispatches what a person decided, after what was typed before.
func (d *hubClient) do(a elicit.Action) (elicit.Request, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pending.Range(func(k, _ any) bool {
		if f := k.(field); f.request == a.RequestID && (a.Type == elicit.CompletedBy || f.question == a.QuestionID) {
			d.pending.Delete(f) // a has something newer
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

// stale says that r is older than what this client did to it.
func (d *hubClient) stale(r elicit.Request) bool {
	d.state.Lock()
	defer d.state.Unlock()
	return r.Rev < d.rev[r.ID]
}

// changing says whether a draft of a question is not saved yet.
func (d *hubClient) changing(request string) func(question string) bool {
	return func(question string) bool {
		_, yes := d.pending.Load(field{request, question})
		return yes
	}
}

// trouble is why the last draft could not be saved; nil if it was.
func (d *hubClient) trouble() error {
	d.state.Lock()
	defer d.state.Unlock()
	return d.err
}

// extend gives ten more minutes.
func (d *hubClient) extend(r elicit.Request) (elicit.Request, error) {
	return d.do(elicit.Action{Type: elicit.Extended, RequestID: r.ID, Deadline: elicit.At(r.Deadline.Add(10 * time.Minute))})
}

// complete ends a request; answers are those of an accept, note what the person
// adds.
func (d *hubClient) complete(id string, how elicit.Outcome, answers map[string]elicit.Answer, note string) (elicit.Request, error) {
	return d.do(elicit.Action{Type: elicit.CompletedBy, RequestID: id, Response: how, Answers: answers, Note: strings.TrimSpace(note)})
}

// submit says that one answer is done; the hub checks it.
func (d *hubClient) submit(id, question string, a elicit.Answer) (elicit.Request, error) {
	return d.do(elicit.Action{Type: elicit.AnswerChanged, RequestID: id, QuestionID: question, Answer: &a})
}

// present notes that a person can see a request.
func (d *hubClient) present(id string) error {
	_, err := d.do(elicit.Action{Type: elicit.PresentedTo, RequestID: id})
	return err
}

// follow calls told with every request that changes after seq, until ctx ends;
// id chooses one, empty is all. A gone request has an empty status.
func (d *hubClient) follow(ctx context.Context, seq int64, id string, told func(elicit.Request)) error {
	w, err := d.hub.Watch(ctx, seq, id)
	if err != nil {
		return err
	}
	defer w.Close()
	for {
		changes, err := w.Next(ctx)
		if err != nil {
			return err
		}
		seen := map[string]bool{}
		for _, c := range changes {
			if seen[c.Action.RequestID] {
				continue
			}
			seen[c.Action.RequestID] = true
			r, err := d.hub.Get(ctx, c.Action.RequestID)
			if errors.As(err, new(*elicit.Rejection)) {
				r, err = elicit.Request{ID: c.Action.RequestID}, nil // removed
			}
			if err != nil {
				return err
			}
			told(r)
		}
	}
}
