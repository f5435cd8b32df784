package elicit

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/routing"
	"github.com/deskhand/deskhand/runtime/store"
)

// The routing of a request changes only in a transaction that reads its row, by the clock of
// the store. Of several processes that find a step due, one takes it, and the others find
// that it is not due any more. The notifications that a step wants are rows of the same
// transaction: see [Hub.NextNotice].

// target returns the audience for the rule of routing.
func (who Audience) target() routing.Target {
	t := routing.Target{Person: who.Principal, Rota: who.Rota}
	if len(who.Roles) > 0 {
		t.Role = who.Roles[0]
	}
	return t
}

// to returns the audience as people write it.
func (who Audience) to() string {
	parts := []string{}
	for _, role := range who.Roles {
		parts = append(parts, "role:"+role)
	}
	if who.Principal != "" || len(parts) == 0 {
		parts = append(parts, routing.Target{Person: who.Principal, Rota: who.Rota}.String())
	}
	return strings.Join(parts, " or ")
}

// To says whom the request is with now, for example "ada" or "rota:ops (bob)".
func (r *Request) To() string {
	if r.Routing != nil && r.Routing.To != "" {
		return r.Routing.To
	}
	return r.Audience.to()
}

// Rerouted says why the request is not with whom it was meant for, and whom is asked instead,
// or "".
func (r *Request) Rerouted() string {
	if r.Routing == nil {
		return ""
	}
	return r.Routing.Note
}

// Takes returns what happens to an open request's routing, for people, or "".
func (r *Request) Takes(zone *time.Location) string {
	s := r.Routing
	if s == nil || r.Status == Completed {
		return ""
	}
	var parts []string
	if !s.Since.IsZero() && s.To != "" {
		parts = append(parts, "with "+s.To+" since "+s.Since.In(zone).Format(time.DateTime))
	}
	if s.Note != "" {
		parts = append(parts, s.Note)
	}
	if s.Taken != nil {
		parts = append(parts, "taken by "+s.Taken.By+" until "+s.Taken.Until.In(zone).Format("15:04")+"; others may still answer")
	}
	if to, at := r.NextStep(); to != "" {
		parts = append(parts, "next: "+to+" at "+at.In(zone).Format(time.DateTime))
	}
	return strings.Join(parts, "; ")
}

// NextStep returns whom the next step asks, and when, or "" if there is no step, or none
// before the deadline. While someone has taken the request, no step is taken.
func (r *Request) NextStep() (to string, at time.Time) {
	s := r.Routing
	if s == nil || s.NextTo == "" || s.Taken != nil || s.Next.IsZero() || r.Status != Open {
		return "", at
	}
	at = r.stepAt()
	if !r.Deadline.IsZero() && !at.Before(r.Deadline.Time) {
		return "", time.Time{}
	}
	return s.NextTo, at
}

// stepAt returns when the next step is due. [routing.State.Next] may come before it, because
// someone else is on call then.
func (r *Request) stepAt() time.Time {
	p, err := routing.ParsePolicy(r.Routing.Policy)
	if err != nil || r.Routing.Done >= len(p.Steps) {
		return r.Routing.Next
	}
	return r.CreatedAt.Add(p.Steps[r.Routing.Done].After)
}

// claimedBy returns who has claimed the request, or "".
func (r *Request) claimedBy() string {
	if r.Routing == nil || r.Routing.Taken == nil {
		return ""
	}
	return r.Routing.Taken.By
}

// routeAt returns when the routing has to be decided again, or zero.
func (r *Request) routeAt() Time {
	if r.Routing == nil || r.Routing.Next.IsZero() || r.Status != Open {
		return Time{}
	}
	return At(r.Routing.Next)
}

// routeDue reports whether an action has to be followed by a decision at once.
func (r *Request) routeDue(t ActionType) bool {
	return (t == Reassigned || t == Unclaimed) && !r.routeAt().IsZero()
}

// routed applies a decision, which is due only once.
func routed(next *Request, a Action) (bool, error) {
	if a.Routing == nil {
		return false, reject(Malformed, "", "the action routed needs a routing")
	}
	if at := next.routeAt(); at.IsZero() || a.At.Before(at.Time) {
		return false, reject(NotDue, "", "the routing does not change now")
	}
	state := *a.Routing
	next.Routing = &state
	return true, nil
}

// withRouting returns a copy of the routing to change.
func (r *Request) withRouting() *routing.State {
	state := routing.State{}
	if r.Routing != nil {
		state = *r.Routing
	}
	r.Routing = &state
	return &state
}

// claim makes the person the one who deals with the request. It keeps nobody from answering.
func claim(next *Request, a Action) (bool, error) {
	if t := next.Routing; t != nil && t.Taken != nil && t.Taken.By != a.By && a.At.Before(t.Taken.Until) {
		return false, reject(TakenBefore, "answer it anyway, or ask "+t.Taken.By+" to release it", "%s has taken this question until %s", t.Taken.By, t.Taken.Until.Local().Format("15:04"))
	}
	s := next.withRouting()
	s.Taken = &routing.Taken{By: a.By, At: a.At.Time, Until: a.At.Add(routing.TakeTime)}
	s.Next = s.Taken.Until
	return true, nil
}

// unclaim ends a claim, for the person who has it.
func unclaim(next *Request, a Action) (bool, error) {
	by := next.claimedBy()
	if by == "" {
		return false, nil
	}
	if by != a.By && !a.Above {
		return false, reject(NotYours, "answer it anyway", "%s has taken this question", by)
	}
	s := next.withRouting()
	s.Taken, s.Next = nil, a.At.Time
	return true, nil
}

// handOver starts the routing of a request for another audience. Steps that were taken stay
// taken, but their people are not asked any more.
func (r *Request) handOver(a Action) {
	s := r.withRouting()
	*s = routing.State{Policy: s.Policy, Done: s.Done, To: r.Audience.to(), Since: a.At.Time, New: true, Next: a.At.Time}
}

// world returns the people and rotas of a project.
func (h *Hub) world(ctx context.Context, project string) (routing.World, error) {
	if h.options.World == nil {
		return routing.World{}, nil
	}
	return h.options.World(ctx, project)
}

// hasRota refuses a rota that does not exist.
func (h *Hub) hasRota(ctx context.Context, name, project string) error {
	w, err := h.world(ctx, project)
	if err != nil || w.Rotas[name] != nil {
		return err
	}
	var all []string
	for known := range w.Rotas {
		all = append(all, "rota:"+known)
	}
	slices.Sort(all)
	add := "add it: deskhand people rota set " + brief(name) + " --file FILE"
	hint := add
	if len(all) > 0 {
		hint = "ask " + strings.Join(all, ", ") + ", or " + add
	}
	return reject(NobodyThere, hint, "there is no rota %q", brief(name))
}

// begin returns the routing with which a request starts, or nil if it needs none. It refuses
// an audience that cannot be asked.
func (h *Hub) begin(ctx context.Context, r *Request) (*routing.State, error) {
	policy := ""
	if h.options.Policy != nil && r.Mode != URL {
		policy = h.options.Policy(r.Context)
	}
	lacking, err := h.addressable(ctx, r.Audience, r.Context.ProjectID, policy)
	if f := fault.Of(err); f != nil && f.Code == Unreachable && (r.Mode == URL || r.Audience.Principal == h.principal(ctx)) {
		err = nil // the person's own program asks, and its client may show a link
	}
	if err != nil {
		return nil, err
	}
	if policy == "" && r.Audience.Rota == "" {
		w, err := h.world(ctx, r.Context.ProjectID)
		if err != nil || !slices.ContainsFunc(w.People, func(p routing.Person) bool { return len(p.Quiet.Hours) > 0 }) {
			return nil, err
		}
	}
	return &routing.State{Policy: policy, Lacking: lacking, New: true}, nil
}

// start decides the routing of a new request, at the time at which it is asked. Those who
// are asked first are notified as of any other question.
func (h *Hub) start(r *Request, w routing.World, now time.Time) []routing.Notice {
	if r.Routing == nil {
		return nil
	}
	q := r.routingQuestion()
	q.Created, q.Fresh = now, true
	state, notices := routing.Decide(q, w, now)
	r.Routing = &state
	return notices
}

func (r *Request) routingQuestion() routing.Question {
	return routing.Question{Asked: r.Audience.target(), Urgency: slices.Index(priorities, r.Priority), Created: r.CreatedAt.Time, State: *r.Routing}
}

// route decides the routing of a request again, if that is due. moved reports whether this
// call did it, and no other process.
func (h *Hub) route(ctx context.Context, id string) (moved bool, err error) {
	r, err := h.Get(ctx, id)
	if err != nil || r.routeAt().IsZero() {
		return false, gone(err)
	}
	w, err := h.world(ctx, r.Context.ProjectID)
	if err != nil {
		return false, err
	}
	var change Change
	err = h.db.Update(ctx, func(tx *store.Tx) error {
		r, err := readRequest(ctx, tx, id)
		if err != nil || r == nil || r.past(tx.Now) {
			return err // a sweep ends it at its deadline
		}
		if at := r.routeAt(); at.IsZero() || tx.Now.Before(at.Time) {
			return nil
		}
		state, notices := routing.Decide(r.routingQuestion(), w, tx.Now)
		if err := writeNotices(ctx, tx, id, r.Rev+1, notices); err != nil {
			return err
		}
		change, err = h.apply(ctx, tx, r, Action{Type: Routed, RequestID: id, Routing: &state})
		return err
	})
	if err != nil {
		return false, gone(err)
	}
	h.recent.forget(id)
	h.note(change)
	return change.Seq != 0, nil
}

// gone drops the rejection of a request that has ended meanwhile.
func gone(err error) error {
	if fault.Of(err) != nil {
		return nil
	}
	return err
}

func nextRoute(ctx context.Context, tx *store.Tx) (time.Time, error) {
	return earliest(ctx, tx, "SELECT MIN(route) FROM requests WHERE route IS NOT NULL")
}

// Notice is a notification that a step of a routing wants.
type Notice struct {
	Request Request
	// Person is whom to notify, or empty for the ways that all share.
	Person string
	rev    int64
}

// Key is the same if the notification is claimed again, and another for each one. It is empty
// if the notification is of the new question, which other ways may have announced.
func (n Notice) Key() string {
	if n.rev == 1 {
		return ""
	}
	return "routed/" + strconv.FormatInt(n.rev, 10)
}

// noticeTime is how long a process may take to send a notification. If it is killed, another
// process sends it after that.
const noticeTime = time.Minute

// maxTries is how often a notification is sent that is never acknowledged.
const maxTries = 5

func writeNotices(ctx context.Context, tx *store.Tx, id string, rev int64, all []routing.Notice) error {
	for _, n := range all {
		if _, err := tx.Exec(ctx, "INSERT INTO request_notices (request, rev, person, due) VALUES (?, ?, ?, ?) ON CONFLICT (request, rev, person) DO NOTHING",
			id, rev, n.Person, n.At.UnixMilli()); err != nil {
			return err
		}
	}
	return nil
}

// NextNotice claims a notification that is due. Only one process gets it; call [Hub.Sent]
// after sending it. If ok is false, next is how long to wait at most before asking again, 0
// if nothing is known to come. A notification of a request that has ended or that someone has
// claimed is dropped, and one for a person who may not answer any more, because the request
// was handed over or a shift is over since.
func (h *Hub) NextNotice(ctx context.Context) (n Notice, ok bool, next time.Duration, err error) {
	for {
		n, ok, next, err = h.claimNotice(ctx)
		if err != nil || !ok || n.Person == "" || h.options.People == nil { // it knows no people: the question said whom to tell
			return n, ok, next, err
		}
		roles, err := h.roles(ctx, n.Person)
		if err != nil {
			return n, false, 0, err
		}
		sees, err := h.sees(ctx, n.Person, n.Request.Context.ProjectID)
		if err != nil {
			return n, false, 0, err
		}
		if sees && n.Request.MayAnswer(n.Person, roles) {
			return n, true, 0, nil
		}
		if err := h.Sent(ctx, n); err != nil {
			return n, false, 0, err
		}
	}
}

// claimNotice is NextNotice without regard to who may answer.
func (h *Hub) claimNotice(ctx context.Context) (n Notice, ok bool, next time.Duration, err error) {
	err = h.db.Update(ctx, func(tx *store.Tx) error {
		n, ok, next = Notice{}, false, 0
		now := tx.Now.UnixMilli()
		for {
			var id string
			err := tx.QueryRow(ctx, "SELECT request, rev, person FROM request_notices WHERE due <= ? AND claimed <= ? ORDER BY due, request, rev, person LIMIT 1", now, now).Scan(&id, &n.rev, &n.Person)
			if errors.Is(err, sql.ErrNoRows) {
				at, err := earliest(ctx, tx, "SELECT MIN(CASE WHEN due > claimed THEN due ELSE claimed END) FROM request_notices")
				if !at.IsZero() {
					next = max(at.Sub(tx.Now), time.Millisecond)
				}
				return err
			}
			if err != nil {
				return err
			}
			r, err := readRequest(ctx, tx, id)
			if err != nil {
				return err
			}
			if r == nil || r.Status != Open || r.claimedBy() != "" && r.claimedBy() != n.Person {
				if err := dropNotice(ctx, tx, id, n); err != nil {
					return err
				}
				continue
			}
			n.Request, ok = *r, true
			_, err = tx.Exec(ctx, "UPDATE request_notices SET holder = ?, claimed = ?, tries = tries + 1 WHERE request = ? AND rev = ? AND person = ?",
				h.instance, now+noticeTime.Milliseconds(), id, n.rev, n.Person)
			if err != nil {
				return err
			}
			_, err = tx.Exec(ctx, "DELETE FROM request_notices WHERE tries > ?", maxTries)
			return err
		}
	})
	return n, ok, next, err
}

// Sent records that a notification was sent, or that it cannot be.
func (h *Hub) Sent(ctx context.Context, n Notice) error {
	return h.db.Update(ctx, func(tx *store.Tx) error { return dropNotice(ctx, tx, n.Request.ID, n) })
}

func dropNotice(ctx context.Context, tx *store.Tx, id string, n Notice) error {
	_, err := tx.Exec(ctx, "DELETE FROM request_notices WHERE request = ? AND rev = ? AND person = ?", id, n.rev, n.Person)
	return err
}

// Postpone lets a claimed notification be sent later, for example after quiet hours.
func (h *Hub) Postpone(ctx context.Context, n Notice, by time.Duration) error {
	return h.db.Update(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE request_notices SET due = ?, claimed = 0, tries = 0 WHERE request = ? AND rev = ? AND person = ?",
			tx.Now.Add(by).UnixMilli(), n.Request.ID, n.rev, n.Person)
		return err
	})
}

// Lead says why a notification is sent, for example "Reminder: open for 30m, with rota:ops
// (bob)".
func (n Notice) Lead(now time.Time) string {
	open := max(now.Sub(n.Request.CreatedAt.Time), 0).Truncate(time.Minute)
	text := "Reminder: "
	if n.Person != "" {
		text = "For " + n.Person + ": "
	}
	parts := []string{"open for " + cmp.Or(routing.Brief(open), "0m"), "with " + n.Request.To()}
	if s := n.Request.Routing; s != nil && s.Note != "" {
		parts = append(parts, s.Note)
	}
	return text + strings.Join(parts, ", ")
}
