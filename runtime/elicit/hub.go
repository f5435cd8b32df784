package elicit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/routing"
	"github.com/deskhand/deskhand/runtime/rules"
	"github.com/deskhand/deskhand/runtime/store"
)

// Topic is the feed topic of this package's events. An event's key is the request's
// ID, and its data is an Action as JSON.
const Topic = "elicit"

// ErrClosed is returned to waiting callers when the hub closes.
var ErrClosed = errors.New("the hub is closed")

// Local is the principal of the person using this machine.
const Local = "local"

// ByLink is the principal of whoever used a link that answers without signing in, if the
// installation has people with names. It is not known who that was.
const ByLink = "link"

// ByAssumed is the principal of an answer that an asker had given for the case that nobody can
// be reached. It is no person's.
const ByAssumed = "assumed"

// ByRule is the principal and the channel of an answer that a rule gave. It is no person's.
const ByRule = "rule"

// Options configure a Hub. The zero value is ready to use.
type Options struct {
	// Principal is the acting principal of actions that name none. If empty, it is
	// [Local].
	Principal string
	// Attended reports whether a person can open the inbox, for example on a
	// machine with a terminal. Asking then makes sense even if no surface is
	// attached.
	Attended bool
	// Members lists the people whom this installation can reach according to its
	// settings. Surfaces add the people that they announce. A request for anyone
	// else is refused. If nil, any audience is accepted unchecked.
	Members []Member
	// People lists the people with names. They need no surface of their own, because
	// any server has pages for them. It may be nil, and is empty if there are none.
	People func(context.Context) ([]Member, error)
	// World returns the people who can be asked in a project, given its ID, and the rotas.
	// If nil, there are none: a question for a rota is refused, and steps reach everyone.
	World func(ctx context.Context, project string) (routing.World, error)
	// Policy returns the steps for the questions of a project, as [routing.ParsePolicy]
	// reads them. If nil, there are none.
	Policy func(in Context) string
	// Caller returns what a person may do whom a surface has identified. If nil, everyone
	// knows of all projects and may answer.
	Caller func(ctx context.Context, principal string) (access.Caller, error)
	// ProjectName returns the name of the project with an ID. If nil, questions that the
	// hub itself places in a project have only its ID.
	ProjectName func(ctx context.Context, id string) (string, error)
	// Rules holds people's rules about agents' tool calls. If nil, there are none.
	Rules *rules.Register
	// Host returns this machine's ID if several machines share the store. If nil, there is
	// only one machine.
	Host func() string
	// Command is this process's command, for example "deskhand serve", and
	// Attempt the attempt it runs in, for [Origin].
	Command, Attempt string
	// Retain is how long the history keeps ended requests. If zero, it is 90 days.
	Retain time.Duration
	// AllowSecrets accepts questions that ask for passwords and similar
	// secrets.
	AllowSecrets bool
	// Rate is how many requests one source may open in ten minutes. If zero, it is
	// 3,000, far more than any person answers; a negative value means no limit.
	Rate int
	// Settle, if not nil, ends the turns whose agents have died, with
	// [Hub.EndAttemptTurn]. It is called before a person's action on an attempt's
	// request is applied.
	Settle func(context.Context) error
	// Log receives one line for each request that opens or ends. It may be nil.
	Log *slog.Logger
	// Observe, if not nil, is called with the name of each such line and the
	// request at that time, for tracing. It must not block.
	Observe func(event string, r *Request)
}

// Hub gives this process access to the requests in a store. Its methods may be
// called concurrently. Any number of hubs, in any number of processes, share a
// store.
type Hub struct {
	db         *store.DB
	options    Options
	instance   string // unique among all hubs; see [newInstance]
	ctx        context.Context
	stop       func()
	background sync.WaitGroup
	sweeper    sweeper
	decoder    decoder
	unsure     unsure
	recent     recent
}

// New starts a hub over a store opened with [Schema].
func New(db *store.DB, o Options) *Hub {
	h := idle(db, o)
	h.background.Go(h.expireLoop)
	return h
}

// idle returns a hub whose requests expire only when [Hub.Sweep] is called.
func idle(db *store.DB, o Options) *Hub {
	if o.Principal == "" {
		o.Principal = Local
	}
	if o.Retain == 0 {
		o.Retain = 90 * 24 * time.Hour
	}
	if o.Rate == 0 {
		o.Rate = 3000
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	h := &Hub{db: db, options: o, instance: newInstance()}
	h.ctx, h.stop = context.WithCancel(context.Background())
	h.sweeper.init()
	return h
}

// Close ends the hub's goroutines and releases the leases that it holds in the
// store. Requests stay unchanged. It does not close the store.
func (h *Hub) Close() {
	h.stop()
	h.background.Wait()
}

// Retain returns how long requests are kept after they end.
func (h *Hub) Retain() time.Duration { return h.options.Retain }

// Open asks r without waiting; see [Hub.Wait]. If r's key was used before, Open
// returns the earlier request, in any state. If that request asked a different
// question, Open fails. Open does not check whether a person can be reached.
func (h *Hub) Open(ctx context.Context, r Request) (Request, error) {
	r, err := h.prepare(ctx, r)
	if err != nil {
		return Request{}, err
	}
	opened, _, err := h.open(ctx, r)
	return opened, err
}

func (h *Hub) prepare(ctx context.Context, r Request) (Request, error) {
	if (r.Mode == URL || r.URL != "") && r.Audience.Principal == "" {
		r.Audience.Principal = h.principal(ctx) // a person who opens the page acts as a particular principal
	}
	r, err := h.placed(ctx, r)
	if err != nil {
		return r, err
	}
	r.Routing = nil
	if r, err = Prepare(r); err == nil {
		r.Routing, err = h.begin(ctx, &r)
	}
	if err != nil || h.options.AllowSecrets {
		return r, err
	}
	if secrets := r.secrets(); len(secrets) > 0 {
		rejected := rejectProblems(InvalidRequest, secrets)
		rejected.Hint = "ask the person to put the secret where you can read it, for example in a variable or a file, and ask only whether they have done so; answers are displayed, forwarded and stored"
		return r, rejected
	}
	return r, nil
}

// isStored reports whether there is a request with the ID, whoever may see it.
func (h *Hub) isStored(ctx context.Context, id string) (is bool, err error) {
	err = h.db.View(ctx, func(tx *store.Tx) error {
		found, err := queryRequests(ctx, tx, "WHERE id = ?", id)
		is = len(found) > 0
		return err
	})
	return is, err
}

// open adds a prepared request to the store. found reports whether its key was used
// before.
func (h *Hub) open(ctx context.Context, r Request) (opened Request, found bool, err error) {
	var change, ruled Change
	var w routing.World
	if r.Routing != nil {
		if w, err = h.world(ctx, r.Context.ProjectID); err != nil {
			return r, false, err
		}
	}
	put := func(tx *store.Tx) error {
		ruled = Change{}
		if r.Key != "" {
			old, err := queryRequests(ctx, tx, "WHERE once = ?", onceKey(r))
			if err != nil {
				return err
			}
			if len(old) > 0 {
				if !inside(access.Of(ctx), &old[0]) {
					return reject(KeyReused, "use another key", "key %q was used before", brief(r.Key))
				}
				if digest(old[0]) != digest(r) {
					return reject(KeyReused, "use another key", "key %q was used for another question, %s", brief(r.Key), old[0].ID)
				}
				opened, found = old[0], true
				return nil
			}
		}
		if err := h.admit(ctx, tx, r.Source); err != nil {
			return err
		}
		id := NewID(tx.Now)
		r.URL = strings.ReplaceAll(r.URL, IDInURL, id)
		notices := h.start(&r, w, tx.Now)
		if err := writeNotices(ctx, tx, id, 1, notices); err != nil {
			return err
		}
		a := Action{Type: Requested, RequestID: id, Request: &r, By: h.principal(ctx)}
		if change, err = h.apply(ctx, tx, nil, a); err != nil {
			return err
		}
		opened = *change.Request
		if !r.ruled {
			return nil
		}
		if ruled, err = h.byRule(ctx, tx, change.Request); err == nil && ruled.Request != nil {
			opened = *ruled.Request
		}
		return err
	}
	err = h.db.Update(ctx, put)
	if errors.Is(err, store.ErrUncertain) {
		stored, e := h.isStored(ctx, opened.ID)
		switch {
		case e != nil: // err says what happened
		case stored:
			err = nil
		default:
			err = h.db.Update(ctx, put)
		}
	}
	if err != nil {
		return Request{}, false, err
	}
	if !found {
		h.note(change)
		h.note(ruled)
	}
	return opened, found, nil
}

// ratePeriod is the period that Options.Rate applies to.
const ratePeriod = 10 * time.Minute

// admit refuses a source that has asked too often, because an agent in a loop would
// hide other agents' questions.
func (h *Hub) admit(ctx context.Context, tx *store.Tx, s Source) error {
	if h.options.Rate < 0 {
		return nil
	}
	n, err := askedSince(ctx, tx, s, tx.Now.Add(-ratePeriod))
	if err != nil || n < h.options.Rate {
		return err
	}
	rejected := reject(TooMany, "wait for the answers, and ask less often", "%d questions came from %s within %v", n, somebody(brief(s.Name)), ratePeriod)
	rejected.Retryable = true
	return rejected
}

// Dispatch applies an action by a person or the asker. The returned change has the
// request's current state; its Seq is 0 if nothing changed. If the action is not
// allowed, the error is a *[Rejection].
//
// An answer after the deadline counts as late, whether or not a process has already
// marked the request as expired.
func (h *Hub) Dispatch(ctx context.Context, a Action) (Change, error) {
	if !fromClients[a.Type] {
		return Change{}, reject(Malformed, "", "there is no action %q", brief(string(a.Type)))
	}
	a.Final, a.Request, a.Again, a.Origin, a.Rule, a.Routing, a.Above = false, nil, false, nil, nil, nil, false
	a.Channel, a.Client = CleanName(a.Channel), CleanName(a.Client)
	if err := h.act(ctx, &a); err != nil {
		return Change{}, err
	}
	if err := h.mayAct(ctx, a); err != nil {
		return Change{}, err
	}
	if a.Type == Reassigned && a.Audience != nil {
		r, err := h.Get(ctx, a.RequestID)
		if err == nil {
			_, err = h.addressable(ctx, *a.Audience, r.Context.ProjectID, "")
		}
		if err != nil {
			return Change{}, err
		}
	}
	if a.Answer != nil {
		answer := *a.Answer
		answer.Meta = nil
		a.Answer = &answer
	}
	answers := a.Answers
	a.Answers = nil
	for id, answer := range answers {
		if a.Answers == nil {
			a.Answers = make(map[string]Answer, len(answers))
		}
		answer.Meta = nil
		a.Answers[id] = answer
	}
	if a.Type == AnswerHeld {
		a.Origin = h.origin(ctx)
	}
	c, err := h.take(ctx, a)
	if rejected := new(Rejection); errors.As(err, &rejected) && rejected.Code == NotYours {
		if moved, failed := h.route(ctx, a.RequestID); failed == nil && moved { // a step was due, or a shift is over
			return h.take(ctx, a)
		}
	}
	if err == nil && c.Request != nil && c.Request.routeDue(a.Type) {
		if _, err := h.route(ctx, a.RequestID); err != nil { // a sweep does it later
			h.warn("route a question", err)
		} else if r, err := h.Get(ctx, a.RequestID); err == nil {
			c.Request = &r
		}
	}
	return c, err
}

// take applies an action that was checked.
func (h *Hub) take(ctx context.Context, a Action) (Change, error) {
	if a.Type == CompletedBy || a.Type == AnswerHeld {
		h.settleOne(ctx, a.RequestID)
	}
	if a.Type == CompletedBy {
		return h.complete(ctx, a)
	}
	return h.dispatch(ctx, a)
}

// KeepDrafts stores the answers of a refused completion as drafts, because the
// dialog in which they were typed may be closed. It does not overwrite another
// channel's drafts, and drops answers that belong to no question.
func (h *Hub) KeepDrafts(ctx context.Context, a Action) {
	r, err := h.Get(ctx, a.RequestID)
	if err != nil {
		return
	}
	a.Type = AnswerChanged
	for id, answer := range a.Answers {
		if old, given := r.Answers[id]; answer.Value == nil || given && (old.Meta == nil || old.Meta.Channel != a.Channel) {
			continue
		}
		a.QuestionID, a.Answer = id, &Answer{State: Draft, Value: answer.Value}
		if _, err := h.Dispatch(ctx, a); err != nil && fault.Of(err) == nil {
			h.options.Log.Warn("cannot save a draft", "elicitationId", a.RequestID, "error", err)
		}
	}
}

// dispatch applies an action, which may be one of the hub's own.
func (h *Hub) dispatch(ctx context.Context, a Action) (Change, error) {
	if c, done, err := h.dispatchPlanned(ctx, a); done {
		return c, err
	}
	update := h.db.UpdateFast
	if firm(a.Type) {
		update = h.db.Update
	}
	var changes []Change
	err := update(ctx, func(tx *store.Tx) error {
		r, err := readRequest(ctx, tx, a.RequestID)
		if err != nil {
			return err
		}
		if r.holdOver(tx.Now) {
			c, err := h.release(ctx, tx, r)
			if err != nil {
				return err
			}
			changes, r = append(changes, c), c.Request
		}
		if r != nil && r.Status == Open && a.Type != TimeUp && !r.Deadline.IsZero() && !tx.Now.Before(r.Deadline.Time) {
			c, err := h.apply(ctx, tx, r, Action{Type: TimeUp, RequestID: r.ID})
			if err != nil {
				return err
			}
			changes, r = append(changes, c), c.Request
		}
		c, err := h.apply(ctx, tx, r, a)
		var rejected *Rejection
		if errors.As(err, &rejected) && len(changes) > 0 {
			// The deadline has passed even though the action was rejected.
			changes = append(changes, Change{Request: r, rejected: rejected})
			return nil
		}
		changes = append(changes, c)
		return err
	})
	if err != nil {
		return Change{}, err
	}
	last := changes[len(changes)-1]
	for _, c := range changes {
		h.note(c)
	}
	if last.rejected != nil {
		return Change{}, last.rejected
	}
	return last, nil
}

// firm reports whether an action's change must be on disk. The others are frequent, and
// losing those of the last second in a crash is acceptable.
func firm(t ActionType) bool {
	switch t {
	case AnswerChanged, PresentedTo, AskerLeft, AskerReturned, HandBack, Collected:
		return false
	}
	return true
}

// apply reduces the action, writes the row and appends to the feed.
func (h *Hub) apply(ctx context.Context, tx *store.Tx, r *Request, a Action) (Change, error) {
	a.At = At(tx.Now)
	next, err := Reduce(r, a)
	if err != nil {
		return Change{}, err
	}
	if next == r {
		return Change{Request: r}, nil
	}
	if err := writeRequest(ctx, tx, r, next); err != nil {
		return Change{}, err
	}
	if ends(r, next) {
		if err := forgetDrafts(ctx, tx, a.RequestID); err != nil {
			return Change{}, err
		}
	}
	data, err := a.event(next)
	if err == nil && a.audited() {
		err = tx.Audit(a.record(next))
	}
	if err != nil {
		return Change{}, err
	}
	return Change{Seq: tx.Append(Topic, a.RequestID, data), Action: a, Request: next}, nil
}

// ends reports whether a change from r to next ends or deletes the request.
func ends(r, next *Request) bool {
	return next == nil || next.Status == Completed && r != nil && r.Status != Completed
}

// event completes an action that has led to next, and returns it as JSON for the feed.
func (a *Action) event(next *Request) ([]byte, error) {
	if a.Type == CompletedBy {
		// Unsent answers are deleted; this event has the sent ones.
		a.Answers, a.Final = next.Answers, true
	}
	if next != nil {
		a.Rev = next.Rev
	}
	data, err := json.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("encode action: %w", err)
	}
	return data, nil
}

// forgetDrafts removes the text that people typed from a request's events.
func forgetDrafts(ctx context.Context, tx *store.Tx, id string) error {
	data, err := json.Marshal(Action{Type: AnswerRedacted, RequestID: id})
	if err != nil {
		return err
	}
	for _, prefix := range draftEvents {
		if err := tx.Redact(ctx, Topic, id, prefix, data); err != nil {
			return err
		}
	}
	return nil
}

// draftEvents are the beginnings of the events that hold what people typed.
var draftEvents = []string{`{"type":"` + string(AnswerChanged) + `",`, `{"type":"` + string(AnswerHeld) + `",`}

// note logs the change and tells the sweeper the deadline.
func (h *Hub) note(c Change) {
	r := c.Request
	if c.Seq == 0 || r == nil {
		return
	}
	event := ""
	switch c.Action.Type {
	case Requested:
		event = "requested"
	case TimeUp:
		event = "timeout"
	case CompletedBy:
		event = map[Outcome]string{Accept: "completed", Decline: "declined", Cancel: "cancelled"}[r.Completion.Outcome]
	case Withdrawn:
		event = "abandoned"
	}
	if event != "" {
		h.options.Log.Info("elicitation."+event, logged(r)...)
		if h.options.Observe != nil {
			h.options.Observe("elicitation."+event, r)
		}
	}
	h.expectEnd(r, c.Action.At)
}

// logged returns the log fields for r. They contain nothing that was asked or
// answered.
func logged(r *Request) []any {
	attrs := []any{"elicitationId", r.ID, "trigger", r.Trigger}
	user := r.Audience.Principal
	if r.Completion != nil {
		attrs = append(attrs, "outcome", r.Completion.Outcome, "duration", r.Completion.At.Sub(r.CreatedAt.Time))
		user = cmp.Or(r.Completion.By, user)
	}
	for _, one := range [][2]string{
		{"toolName", r.Context.ToolName}, {"toolId", cmp.Or(r.Context.ToolCallID, r.Context.Upstream)}, {"userId", user},
		{"credentialType", r.Context.text("credentialType")},
	} {
		if one[1] != "" {
			attrs = append(attrs, one[0], one[1])
		}
	}
	return attrs
}

// Get returns a request. If there is none, the error is the rejection
// unknown_request.
func (h *Hub) Get(ctx context.Context, id string) (Request, error) {
	r, _, err := h.GetAt(ctx, id)
	return r, err
}

// GetAt also returns the position in the feed at which the request had this state.
// Watch from there.
func (h *Hub) GetAt(ctx context.Context, id string) (Request, int64, error) {
	var r *Request
	var seq int64
	err := h.db.View(ctx, func(tx *store.Tx) (err error) {
		r, err = readRequest(ctx, tx, id)
		seq = tx.Seq
		return err
	})
	if err != nil {
		return Request{}, 0, err
	}
	if r == nil {
		return Request{}, 0, reject(UnknownRequest, "", "there is no request %q", brief(id))
	}
	return *r, seq, nil
}

// List returns the requests that match f.
func (h *Hub) List(ctx context.Context, f Filter) (list List, err error) {
	err = h.db.View(ctx, func(tx *store.Tx) error {
		list, err = listRequests(ctx, tx, f)
		return err
	})
	return list, err
}

// Count returns how many requests match f, on all pages.
func (h *Hub) Count(ctx context.Context, f Filter) (n int, err error) {
	err = h.db.View(ctx, func(tx *store.Tx) error {
		n, err = countRequests(ctx, tx, f)
		return err
	})
	return n, err
}
