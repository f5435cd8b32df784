package routing

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// TakeTime is how long a question counts as taken. Taking it again starts the time again.
const TakeTime = 30 * time.Minute

// State is the routing of a question, as it is stored with it.
type State struct {
	// Policy is the text of the policy, which a question keeps from when it was asked.
	Policy string `json:"policy,omitempty"`
	Done   int    `json:"done"` // how many steps were taken
	// To says whom the question is with now, and Since when it came to them.
	To    string    `json:"to"`
	Since time.Time `json:"since"`
	// People, Roles and Everyone may answer in addition to the audience: who is on call,
	// and those of the steps.
	People   []string `json:"people,omitempty"`
	Roles    []string `json:"roles,omitempty"`
	Everyone bool     `json:"everyone,omitempty"`
	// Note says why the question is not with whom it was meant for.
	Note string `json:"note,omitempty"`
	// Next is when to decide again, and NextTo the next step. Both may be empty.
	Next   time.Time `json:"next,omitzero"`
	NextTo string    `json:"nextTo,omitempty"`
	// Lacking says why nobody of the audience can be reached. The first step is then
	// taken at once.
	Lacking string `json:"lacking,omitempty"`
	// New means that those who were asked last have not been notified.
	New bool `json:"new,omitempty"`
	// Taken is nil if nobody has taken the question.
	Taken *Taken `json:"taken,omitempty"`
}

// Taken says who is dealing with a question. It keeps nobody else from answering; while it
// lasts, no step is taken.
type Taken struct {
	By    string    `json:"by"`
	At    time.Time `json:"at"`
	Until time.Time `json:"until"`
}

// Question is what a decision knows of a question.
type Question struct {
	Asked   Target
	Urgency int // index of [Urgencies]
	Created time.Time
	// Fresh means that the question is asked now. Those whom it is for are then notified in
	// another way, except in their quiet hours.
	Fresh bool
	State
}

// Notice is a notification to send.
type Notice struct {
	Person string // empty for the ways that all share
	At     time.Time
}

// Decide returns the routing of a question at a time, and who has to be notified because of
// what changed. Deciding again at the same time changes nothing and notifies nobody.
func Decide(q Question, w World, now time.Time) (State, []Notice) {
	policy, err := ParsePolicy(q.Policy)
	if err != nil {
		policy = Policy{} // a later release's: the question stays with whom it is
	}
	d := decision{Question: q, World: w, policy: policy, now: now.UTC().Truncate(time.Millisecond), notify: map[string]time.Time{}}
	s := &d.State
	was := slices.Clone(s.People)
	if s.Taken != nil && !d.now.Before(s.Taken.Until) {
		s.Taken = nil
	}
	if s.New {
		d.notifyAll(d.people(q.Asked), !q.Fresh)
	}
	if q.Fresh {
		maps.DeleteFunc(d.notify, func(_ string, at time.Time) bool { return at.Equal(d.now) })
	}
	started := !s.New
	s.New = false
	d.steps()
	d.resolve()
	if started {
		for _, p := range s.People { // who came on call since
			if !slices.Contains(was, p) {
				d.notifyAll([]string{p}, false)
			}
		}
	}
	return *s, d.notices()
}

type decision struct {
	Question
	World
	policy Policy
	now    time.Time
	notify map[string]time.Time // by person; "" for the ways that all share
}

// targets returns whom the question is with: the audience, and those of the steps that were
// taken.
func (d *decision) targets() []Target {
	all := []Target{d.Asked}
	for _, step := range d.policy.Steps[:min(d.Done, len(d.policy.Steps))] {
		if !step.To.Same && !slices.Contains(all, step.To) {
			all = append(all, step.To)
		}
	}
	return all
}

// steps takes the steps that are due, all late ones at once.
func (d *decision) steps() {
	if d.Taken != nil {
		return
	}
	at := d.Lacking != "" && d.Done == 0 // nobody of the audience can be reached
	for d.Done < len(d.policy.Steps) {
		step := d.policy.Steps[d.Done]
		if due := d.Created.Add(step.After); due.After(d.now) && !at {
			return
		}
		last := d.Done == len(d.policy.Steps)-1
		d.Done++
		d.Since = d.now
		at = d.take(step.To, last)
	}
}

// take notifies those of a step. It reports whether the next step is due, because all of
// them are in quiet hours and the policy passes these over, or because there is nobody.
func (d *decision) take(to Target, last bool) (next bool) {
	var all []string
	if to.Same {
		for _, t := range d.targets() {
			all = append(all, d.people(t)...)
		}
	} else {
		all = d.people(to)
	}
	awake := len(d.World.People) == 0 || slices.ContainsFunc(all, func(p string) bool { return d.quietUntil(p).IsZero() })
	if d.policy.PassQuiet && !awake && !last {
		return true
	}
	if d.policy.PassQuiet && awake {
		all = slices.DeleteFunc(all, func(p string) bool { return !d.quietUntil(p).IsZero() })
	}
	d.notifyAll(all, true)
	return false
}

// people returns the names of a target's people. A rota's gap, and a step's role or person
// that is not there any more, is everyone.
func (d *decision) people(t Target) []string {
	names, _ := d.of(t)
	if len(names) == 0 && (t.Rota != "" || t != d.Asked) {
		names, _ = d.of(Target{})
	}
	return names
}

// of returns the names of a target's people now, and when that changes.
func (d *decision) of(t Target) (names []string, until time.Time) {
	if t.Rota != "" {
		return d.onCall(t.Rota)
	}
	for _, p := range d.World.People {
		if t == (Target{}) || t.Person == p.Name && t.Person != "" || t.Role != "" && slices.Contains(p.Roles, t.Role) {
			names = append(names, p.Name)
		}
	}
	return names, until
}

func (d *decision) onCall(name string) (names []string, until time.Time) {
	r := d.Rotas[name]
	if r == nil {
		return nil, until
	}
	var all []string
	for _, p := range d.World.People {
		all = append(all, p.Name)
	}
	shift := r.Shifts(d.now, 1)[0]
	for _, who := range shift.Who {
		if p := who.Match(all); p != "" && !slices.Contains(names, p) {
			names = append(names, p)
		}
	}
	return names, shift.To
}

// gap says why a target has no people.
func (d *decision) gap(t Target) string {
	switch r := d.Rotas[t.Rota]; {
	case t.Rota != "" && r == nil:
		return "there is no rota " + t.Rota
	case t.Rota != "":
		var who []string
		for _, w := range r.Shifts(d.now, 1)[0].Who {
			who = append(who, w.String())
		}
		if len(who) > 0 {
			return strings.Join(who, " and ") + ", on call in the rota " + t.Rota + ", cannot be asked here"
		}
		return "nobody is on call in the rota " + t.Rota
	case t.Role != "":
		return "nobody with the role " + t.Role + " can be asked"
	}
	return t.Person + " cannot be asked"
}

// resolve sets who may answer now and when to decide again.
func (d *decision) resolve() {
	s := &d.State
	s.People, s.Roles, s.Everyone, s.Next, s.NextTo = nil, nil, false, time.Time{}, ""
	var notes []string
	if s.Lacking != "" {
		notes = append(notes, s.Lacking)
	}
	to := ""
	for _, t := range d.targets() {
		names, until := d.of(t)
		d.expect(until)
		if to = t.String(); t.Rota != "" && len(names) > 0 {
			to += " (" + strings.Join(names, ", ") + ")"
		}
		switch {
		case t == (Target{}):
			s.Everyone = true
		case len(names) == 0 && t.Rota != "" || len(names) == 0 && t != d.Asked:
			s.Everyone, to = true, "everyone"
			notes = append(notes, d.gap(t)+": everyone of the project is asked")
		case t.Role != "":
			s.Roles = append(s.Roles, t.Role)
		default:
			for _, p := range names {
				if !slices.Contains(s.People, p) {
					s.People = append(s.People, p)
				}
			}
		}
	}
	if s.To != to {
		s.To, s.Since = to, d.now
	}
	s.Note = strings.Join(notes, "; ")
	if s.Done < len(d.policy.Steps) {
		step := d.policy.Steps[s.Done]
		s.NextTo = step.To.String()
		if s.Taken == nil {
			d.expect(d.Created.Add(step.After))
		}
	}
	if s.Taken != nil {
		s.Next = s.Taken.Until.UTC() // a taken question stays as it is
	}
}

// expect makes the next decision no later than a time.
func (d *decision) expect(at time.Time) {
	if !at.IsZero() && at.After(d.now) && (d.Next.IsZero() || at.Before(d.Next)) {
		d.Next = at.UTC().Truncate(time.Millisecond)
	}
}

func (d *decision) quietUntil(person string) time.Time {
	for _, p := range d.World.People {
		if p.Name == person {
			return p.Quiet.Until(d.now, d.Urgency)
		}
	}
	return time.Time{}
}

// notifyAll notifies people, each no sooner than the end of quiet hours, and by the shared
// ways when the first of them can be disturbed.
func (d *decision) notifyAll(names []string, shared bool) {
	first := time.Time{}
	if len(names) == 0 {
		first = d.now
	}
	for _, p := range names {
		at := d.quietUntil(p)
		if at.IsZero() {
			at = d.now
		}
		if first.IsZero() || at.Before(first) {
			first = at
		}
		d.tell(p, at)
	}
	if shared {
		d.tell("", first)
	}
}

func (d *decision) tell(person string, at time.Time) {
	if old, found := d.notify[person]; !found || at.Before(old) {
		d.notify[person] = at.UTC().Truncate(time.Millisecond)
	}
}

func (d *decision) notices() (all []Notice) {
	for person, at := range d.notify {
		all = append(all, Notice{person, at})
	}
	slices.SortFunc(all, func(a, b Notice) int { return strings.Compare(a.Person, b.Person) })
	return all
}
