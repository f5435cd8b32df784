package elicit

import (
	"encoding/json"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/racetest"
)

// sequencer is a minimal store that accepts actions one at a time.
type sequencer struct {
	state   State
	changes []Change
	states  []State // by sequence number, starting at 1
	// thorough checks that Reduce does not change its argument, and encodes and
	// decodes what was accepted.
	thorough bool
}

// take handles an action as a hub does. The error is a rejection.
func (s *sequencer) take(t *testing.T, a Action) (Change, error) {
	seq := int64(len(s.changes) + 1)
	a.At = At(noon.Add(time.Duration(seq) * time.Second))
	var r *Request
	if known, ok := s.state.Requests[a.RequestID]; ok {
		r = &known
	}
	before := ""
	if s.thorough {
		before = dump(t, r)
	}
	next, err := Reduce(r, a)
	if s.thorough && dump(t, r) != before {
		t.Errorf("Reduce(%s) changed its argument from\n%s to\n%s", a.Type, before, dump(t, r))
	}
	if err != nil || next == r {
		return Change{}, err
	}
	if a.Type == CompletedBy {
		a.Answers, a.Final = next.Answers, true
	}
	if s.thorough {
		var sent Action
		if err := json.Unmarshal([]byte(dump(t, a)), &sent); err != nil {
			t.Errorf("decode %s: %v", a.Type, err)
		}
		a = sent
	}
	c := Change{Seq: seq, Action: a}
	s.changes = append(s.changes, c)
	s.state = s.state.Apply(c)
	s.states = append(s.states, s.state)
	return c, nil
}

func dump(t *testing.T, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Errorf("encode: %v", err)
	}
	return string(b)
}

// serve handles a client's next action and sends the result to all clients.
func (s *sequencer) serve(t *testing.T, c *client, all []*client) {
	a := c.outbox[0]
	c.outbox = c.outbox[1:]
	change, _ := s.take(t, a)
	if change.Seq == 0 {
		c.inbox = append(c.inbox, a.ClientSeq) // the action was refused or changed nothing
		return
	}
	for _, other := range all {
		other.inbox = append(other.inbox, change)
	}
}

// client shows the confirmed state with its own unconfirmed actions applied.
type client struct {
	name      string
	confirmed State
	pending   []Action
	outbox    []Action // to the hub
	inbox     []any    // to the client: a Change, or the ClientSeq of a rejection
	number    int64
}

func (c *client) receive() {
	message := c.inbox[0]
	c.inbox = c.inbox[1:]
	switch m := message.(type) {
	case Change:
		c.confirmed = c.confirmed.Apply(m)
		if m.Action.Client == c.name {
			c.settle(m.Action.ClientSeq)
		}
	case int64:
		c.settle(m)
	}
}

func (c *client) settle(number int64) {
	for i, a := range c.pending {
		if a.ClientSeq == number {
			c.pending = append(c.pending[:i:i], c.pending[i+1:]...)
			return
		}
	}
}

// act applies an action locally and sends it.
func (c *client) act(a Action) {
	c.number++
	a.Client, a.ClientSeq, a.By = c.name, c.number, c.name
	c.pending, c.outbox = append(c.pending, a), append(c.outbox, a)
}

// shown returns the state that the person sees.
func (c *client) shown() State {
	s := c.confirmed
	for _, a := range c.pending {
		a.At = At(noon)
		s = s.Apply(Change{Seq: s.Seq + 1, Action: a})
	}
	return s
}

// randomAction returns an action that is usually sensible, like those of people,
// and sometimes hostile.
func randomAction(random *rand.Rand, requests []string) Action {
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	a := Action{RequestID: requests[random.IntN(len(requests))], Channel: "test"}
	switch random.IntN(20) {
	default:
		a.Type, a.QuestionID = AnswerChanged, pick("name", "mail", "size", "sure", "style", "features", "nothing")
		values := []*Value{text(pick("a", "Card", "a longer text than ten")), number(float64(random.IntN(20)) / 2), boolean(random.IntN(2) == 0),
			selected(pick("CSS", "Tailwind", "Sass")), words(selected(""), pick("mine", "")), many(), many("Errors", "Loading")}
		fits := map[string]int{"name": 0, "mail": 0, "size": 1, "sure": 2, "style": 3 + random.IntN(2), "features": 5 + random.IntN(2)}
		v := values[fits[a.QuestionID]]
		if random.IntN(10) == 0 {
			v = values[random.IntN(len(values))]
		}
		switch random.IntN(8) {
		case 0:
			a.Answer = &Answer{State: Skipped}
		case 1: // removed
		case 2, 3:
			a.Answer = &Answer{State: Draft, Value: v}
		default:
			a.Answer = &Answer{State: Submitted, Value: v}
		}
		if random.IntN(4) == 0 {
			a.IfRev = int64(random.IntN(10))
		}
	case 0:
		a.Type, a.Response = CompletedBy, []Outcome{Accept, Accept, Accept, Decline, Cancel, "maybe"}[random.IntN(6)]
		if random.IntN(2) == 0 {
			a.Answers = map[string]Answer{"name": submitted(text("Final")), "sure": submitted(boolean(true))}
		}
	case 1:
		a.Type = PresentedTo
	case 2:
		a.Type, a.Deadline = Extended, At(noon.Add(time.Duration(random.IntN(100))*time.Second))
	case 3:
		a.Type = []ActionType{TimeUp, Withdrawn, AskerLeft, AskerReturned, Collected, Removed, "sung"}[random.IntN(7)]
	case 4:
		a.Type = TimeUp
	case 5:
		a.Type, a.Audience = Reassigned, &Audience{Principal: pick("", "", "c0")}
	}
	return a
}

// TestEveryInterleavingConverges lets three clients act on two requests. Messages
// in both directions are delayed at random; only the order within a direction is
// kept. In the end all clients have the same state, and so does a client that joins
// at any position.
func TestEveryInterleavingConverges(t *testing.T) {
	runs := racetest.Times(10_000)
	template := *survey(t)
	template.WaitMS = MinWait.Milliseconds()
	var mu sync.Mutex
	outcomes := map[string]int{}
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for worker := range workers {
		wg.Go(func() {
			for run := worker; run < runs && !t.Failed(); run += workers {
				end := interleave(t, template, run)
				mu.Lock()
				for _, r := range end.Requests {
					outcomes[string(r.Status)]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for _, status := range []Status{Open, ExpiredOpen, Completed} {
		if outcomes[string(status)] < runs/100 {
			t.Errorf("only %d of %d requests ended %s: the actions are not varied enough", outcomes[string(status)], 2*runs, status)
		}
	}
}

// interleave does one run. The same number always gives the same run.
func interleave(t *testing.T, template Request, run int) State {
	random := rand.New(rand.NewPCG(uint64(run), 2002))
	hub := sequencer{thorough: run%10 == 0}
	clients := []*client{{name: "c0"}, {name: "c1"}, {name: "c2"}}
	requests := []string{"elc_a", "elc_b"}
	for _, id := range requests {
		r := template
		change, err := hub.take(t, Action{Type: Requested, RequestID: id, Request: &r})
		if err != nil {
			t.Errorf("run %d: %v", run, err)
		}
		for _, c := range clients {
			c.inbox = append(c.inbox, change)
		}
	}
	for range 36 {
		c := clients[random.IntN(3)]
		switch {
		case random.IntN(3) == 0 && len(c.outbox) > 0:
			hub.serve(t, c, clients)
		case random.IntN(2) == 0 && len(c.inbox) > 0:
			c.receive()
		default:
			c.act(randomAction(random, requests))
		}
	}
	for _, c := range clients {
		for len(c.outbox) > 0 {
			hub.serve(t, c, clients)
		}
	}
	want := essence(t, hub.state)
	for _, c := range clients {
		for len(c.inbox) > 0 {
			c.receive()
		}
		if got := essence(t, c.shown()); got != want || len(c.pending) > 0 {
			t.Errorf("run %d: %s ends with %d pending and\n%s\nthe hub with\n%s", run, c.name, len(c.pending), got, want)
		}
	}
	from := random.IntN(len(hub.changes))
	late := hub.states[from]
	for _, change := range hub.changes[max(0, from-3):] { // some changes come twice
		late = late.Apply(change)
	}
	if got := essence(t, late); got != want {
		t.Errorf("run %d: replay from %d ends with\n%s\nwant\n%s", run, from, got, want)
	}
	return hub.state
}

// essence returns a state without the questions, which no action in this test
// changes.
func essence(t *testing.T, s State) string {
	short := State{Seq: s.Seq, Requests: map[string]Request{}}
	for id, r := range s.Requests {
		if len(r.Questions) != 7 {
			t.Errorf("%s has %d questions, want 7", id, len(r.Questions))
		}
		r.Questions = nil
		short.Requests[id] = r
	}
	return dump(t, short)
}
