package askline

import (
	"context"
	"fmt"
	"time"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/elicit/askdoor"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/surface/terminal"
)

// Way holds the flags of deskhand ask that say how to ask.
type Way struct {
	Assume                 []string // answers if no one can be asked, each q=v
	Unreachable            string   // what to do if no one can be asked: fail or wait
	NoInbox, NoTTY, Detach bool
	Plain                  bool   // ask line by line
	Output                 string // output format; empty means the default
}

// Place describes where a question is asked. Only Attempt is optional.
type Place struct {
	*console.Console
	Source elicit.Source
	// Surroundings adds where this process runs.
	Surroundings func(*elicit.Context)
	// Attempt is the server of the attempt that this process runs in, or nil.
	Attempt *askdoor.Client
	// People returns the settings for asking people. It is not called in an attempt.
	People func() (People, error)
	// Hub opens the hub. If attended is set, this process also serves the inbox.
	Hub func(ctx context.Context, attended bool) (hub *elicit.Hub, stop func(), err error)
	// Device returns the terminal of a person, or nil.
	Device func() *terminal.Device
	// Link returns the address of one of the inbox's pages, or "" if the inbox is not
	// reachable.
	Link func(ctx context.Context, hub *elicit.Hub, path string) string
}

// People holds the settings for asking people.
type People struct {
	Wait     time.Duration // the wait for questions that set no timeout
	WaitSet  bool          // the user configured Wait
	Attended bool          // a person may open the inbox
	Inbox    bool          // a process that asks also serves the inbox
}

// Ask asks the question of a command line, waits for the answer and prints it. The error
// has the exit code.
func (p Place) Ask(ctx context.Context, l *Line, w Way, question string) error {
	if w.Unreachable != "fail" && w.Unreachable != "wait" {
		return fault.Misuse(fmt.Sprintf("unknown --unreachable %q", w.Unreachable), "use fail or wait")
	}
	r, bounded, err := p.request(l, question)
	if err != nil {
		return err
	}
	form, err := console.FormOf(w.Output, len(r.Questions))
	if err != nil {
		return err
	}
	assumed, err := w.assumed(r, l.Confirm)
	if err != nil {
		return err
	}
	q := quest{waiter: waiter{p.Console, p.Attempt, form, l.Confirm}, place: p, way: w}
	if p.Attempt != nil {
		return q.askThrough(ctx, r, assumed)
	}
	people, err := p.People()
	if err != nil {
		return err
	}
	if !w.NoTTY && !w.Detach && (l.To == "" || l.To == elicit.Local) {
		if q.device = p.Device(); q.device != nil {
			defer q.device.Close()
		}
	}
	if !bounded && (q.device == nil || people.WaitSet) {
		r.WaitMS = people.Wait.Milliseconds()
	}
	hub, stop, err := p.Hub(ctx, people.Inbox && !w.NoInbox && !w.Detach)
	if err != nil {
		return err
	}
	defer stop()
	q.hub, q.desk, q.inbox = hub, hub, people.Attended && !w.NoInbox
	return q.askHere(ctx, r, assumed)
}

// request builds the request of a command line. It also reports whether the request has
// a timeout of its own.
func (p Place) request(l *Line, question string) (r elicit.Request, bounded bool, err error) {
	r, err = l.request(question, p.Stdin)
	if err != nil {
		return r, false, err
	}
	bounded = r.WaitMS != 0
	r.Trigger, r.Source = elicit.CLI, p.Source
	p.Surroundings(&r.Context)
	r, err = l.prepare(r)
	return r, bounded, err
}

// assumed reads the answers given with --assume. It returns nil if there are none.
func (w *Way) assumed(r elicit.Request, confirm bool) (map[string]elicit.Answer, error) {
	if len(w.Assume) == 0 {
		return nil, nil
	}
	answers, err := console.ReadAnswers(&r, w.Assume)
	if err != nil {
		return nil, err
	}
	if r.Answers = answers; confirm && yes(r) {
		return nil, fault.Misuse("--assume says yes to --confirm", "only a person can say yes: assume no, or omit --confirm")
	}
	return answers, nil
}

// quest is one run of deskhand ask.
type quest struct {
	waiter
	place  Place
	way    Way
	hub    *elicit.Hub      // nil in an attempt
	device *terminal.Device // the person's terminal, or nil if there is none
	inbox  bool             // a person may open the inbox
}

// askHere asks through the store.
func (q *quest) askHere(ctx context.Context, r elicit.Request, assumed map[string]elicit.Answer) error {
	reached, err := q.reachable(ctx)
	switch {
	case err != nil:
		return err
	case !reached && assumed != nil:
		return q.assume(ctx, r, assumed)
	case !reached && q.way.Unreachable == "fail":
		return q.nobody(r)
	case q.way.Detach:
		return q.id(q.hub.Open(ctx, r))
	}
	return q.ask(ctx, r)
}

// reachable reports whether a person could answer.
func (q *quest) reachable(ctx context.Context) (bool, error) {
	if q.device != nil || q.inbox {
		return true, nil
	}
	up, err := q.hub.Reach(ctx)
	return len(up) > 0, err
}

// nobody prints the outcome of a question that could not be asked, and returns an error
// with its exit code.
func (q *quest) nobody(r elicit.Request) error {
	if q.form == "full" {
		r.Completion = &elicit.Completion{Outcome: elicit.Abandoned, Reason: "unreachable", At: elicit.At(time.Now())}
	}
	if err := q.Answer(r, q.form); err != nil {
		return err
	}
	return fault.New(elicit.NoSurface, "no person can be reached from here",
		"run \"deskhand inbox\" on this store and ask again, or use --unreachable wait; with --assume, a script continues without a person")
}

// assume records the answers from --assume. They are attributed to
// "assumed", not to a person.
func (q *quest) assume(ctx context.Context, r elicit.Request, answers map[string]elicit.Answer) error {
	r, err := q.hub.Open(ctx, r)
	if err != nil {
		return err
	}
	if !r.Ended() {
		c, err := q.hub.Dispatch(ctx, elicit.Action{Type: elicit.CompletedBy, RequestID: r.ID, Response: elicit.Accept, Answers: answers,
			By: elicit.ByAssumed, Roles: r.Audience.Roles, Channel: "cli"})
		if err != nil {
			return err
		}
		q.Tell("no one could be asked, so this is the assumed answer")
		r = *c.Request
	}
	return q.finish(r, r, nil)
}

// id prints the ID of an opened question.
func (q *quest) id(r elicit.Request, err error) error {
	if err == nil {
		q.place.rerouted(r)
		_, err = fmt.Fprintln(q.Stdout, r.ID)
	}
	return err
}

// rerouted says whom a new question is for if not for whom it was meant.
func (p Place) rerouted(r elicit.Request) {
	if why := r.Rerouted(); why != "" {
		p.Tell(why)
	}
}

// ask puts a question to a person and waits until the question ends.
func (q *quest) ask(ctx context.Context, r elicit.Request) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var surface elicit.Surface = announcer{q.place}
	if q.device != nil {
		surface = &terminal.Form{Device: q.device, Plain: console.Linewise(q.way.Plain), Interrupt: stop}
	}
	began := time.Now()
	asked, err := q.hub.Ask(ctx, r, surface)
	if err == nil && asked.Status == elicit.ExpiredOpen && asked.Completion.At.Before(began) {
		// An earlier command with the same key got no answer in time. This
		// command waits for the answer again.
		q.Tell("already asked as " + asked.ID + "; waiting for a late answer")
		return q.late(ctx, asked, surface, time.Duration(r.WaitMS)*time.Millisecond)
	}
	return q.finish(asked, asked, err)
}

// late offers a request whose deadline has passed, and waits for a late answer.
func (q *quest) late(ctx context.Context, r elicit.Request, surface elicit.Surface, timeout time.Duration) error {
	defer q.hub.Offer(ctx, r, surface)()
	return q.wait(ctx, r, timeout)
}

// askThrough asks through the attempt's own server. The process's terminal, if any,
// belongs to the agent and not to a person.
func (q *quest) askThrough(ctx context.Context, r elicit.Request, assumed map[string]elicit.Answer) error {
	began, detach := time.Now(), q.way.Detach
	ways := askdoor.Ways{NoInbox: q.way.NoInbox, Patient: q.way.Unreachable == "wait", Detach: detach, Assumed: assumed}
	asked, err := q.place.Attempt.Ask(ctx, r, ways, func(r elicit.Request) {
		if !detach {
			q.place.rerouted(r)
			q.Tell("asked as " + r.ID + "; a person answers it in \"deskhand inbox\"")
		}
	})
	fail := fault.Of(err)
	switch {
	case fail != nil && fail.Code == elicit.NoSurface:
		return q.nobody(r)
	case err != nil && asked.ID == "":
		return err
	case err == nil && asked.Completion != nil && asked.Completion.By == elicit.ByAssumed:
		q.Tell("no one could be asked, so this is the assumed answer")
	case err == nil && detach:
		return q.id(asked, nil)
	case err == nil && asked.Status == elicit.ExpiredOpen && asked.Completion.At.Before(began):
		q.Tell("already asked as " + asked.ID + "; waiting for a late answer")
		return q.wait(ctx, asked, time.Duration(asked.WaitMS)*time.Millisecond)
	}
	return q.finish(asked, asked, err)
}

// announcer is the surface of a command without a terminal. It prints where a
// person can answer.
type announcer struct{ Place }

// Offer implements [elicit.Surface].
func (a announcer) Offer(ctx context.Context, h *elicit.Hub, r elicit.Request) {
	where := "\"deskhand inbox\""
	if link := a.Link(ctx, h, "/inbox/"+r.ID); link != "" {
		where += " or " + link
	}
	a.rerouted(r)
	a.Tell("asked as " + r.ID + "; answer it in " + where)
	<-ctx.Done()
}
