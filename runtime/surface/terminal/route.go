package terminal

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/rules"
)

// routes is what the person may do about whom a request is with, and about its rules. The
// hub decides it.
type routes struct {
	line    string   // whom it is with, since when, and what comes next; empty if there is nobody else
	take    bool     // the person can take it
	release bool     // the person can give it back, or end another's claim
	to      []string // to whom the person can hand it over
	rule    bool     // the person can make a rule from it
}

// routesOf asks the hub. Without people with names there is nobody else, and only rules are
// left.
func (d *hubClient) routesOf(r *elicit.Request) routes {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	v := routes{rule: d.hub.CanRule(ctx, r)}
	to, err := d.hub.Addressees(ctx, r)
	if err != nil || len(to) == 0 && r.Routing == nil {
		return v
	}
	if v.line = r.Takes(time.Local); v.line == "" {
		v.line = "with " + r.To()
	}
	taken := r.Routing != nil && r.Routing.Taken != nil
	v.take = !taken && d.hub.Can(ctx, r, elicit.Claimed)
	v.release = taken && d.hub.Can(ctx, r, elicit.Unclaimed)
	if d.hub.Can(ctx, r, elicit.Reassigned) {
		v.to = to
	}
	return v
}

// claim takes a request, or gives it back.
func (d *hubClient) claim(id string, release bool) (elicit.Request, error) {
	a := elicit.Action{Type: elicit.Claimed, RequestID: id}
	if release {
		a.Type = elicit.Unclaimed
	}
	return d.do(a)
}

// hand makes a request one for someone else.
func (d *hubClient) hand(id, to string) (elicit.Request, error) {
	who := elicit.AudienceOf(to)
	return d.do(elicit.Action{Type: elicit.Reassigned, RequestID: id, Audience: &who})
}

// always makes a rule from a request, which it also answers.
func (d *hubClient) always(id, pattern, lasts, note string) (elicit.Request, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	long, err := rules.ParseLasts(lasts)
	if err != nil {
		return elicit.Request{}, err
	}
	a := elicit.Action{RequestID: id, Channel: Channel, Client: d.client, Note: strings.TrimSpace(note)}
	if _, err := d.hub.AlwaysAllow(ctx, a, pattern, long); err != nil {
		return elicit.Request{}, err
	}
	return d.hub.Get(ctx, id)
}

// panel is what covers a question while the person says more about it.
type panel int

const (
	noPanel panel = iota
	handing       // to whom to hand it over
	ruling        // the rule to make from it
)

// lastsChoices are how long a rule can last, in the order in which Tab offers them. The first
// is the default.
var lastsChoices = []struct{ value, words string }{
	{"8h", "for 8 hours"}, {"1d", "for a day"}, {"7d", "for a week"}, {"never", "until you revoke it"}, {"1h", "for an hour"},
}

// routeKey handles the keys that do not answer. They have no effect if the person may not.
func (s *formModel) routeKey(name string) intent {
	switch {
	case name == "t" && (s.may.take || s.may.release):
		return takeIt
	case name == "h" && len(s.may.to) > 0:
		s.panel, s.field = handing, editor{}
	case name == "a" && s.may.rule:
		s.panel, s.field, s.lasts = ruling, edit(rules.Propose(*s.request.Proposal.Call)), 0
	}
	return nothing
}

// inPanel handles a key while a panel is open. Only Enter does what it says.
func (s *formModel) inPanel(k key) intent {
	switch {
	case k.name == "esc":
		s.panel = noPanel
	case k.name == "enter" && s.panel == handing:
		if text := strings.TrimSpace(s.field.text()); !slices.Contains(s.may.to, text) {
			s.note = "type one of: " + strings.Join(s.may.to, ", ")
			return nothing
		}
		return handIt
	case k.name == "enter":
		return alwaysIt
	case k.name == "tab" && s.panel == ruling:
		s.lasts = (s.lasts + 1) % len(lastsChoices)
	case k.name == "tab":
		s.completeName()
	case k.name == "ctrl+j" || k.name == "ctrl+e":
	default:
		s.field.key(k)
	}
	return nothing
}

// completeName completes what was typed to a name, or goes on to the next name.
func (s *formModel) completeName() {
	typed := strings.TrimSpace(s.field.text())
	next := slices.Index(s.may.to, typed) + 1
	for i, name := range s.may.to {
		if next == 0 && strings.HasPrefix(name, typed) {
			next = i
			break
		}
	}
	s.field = edit(s.may.to[next%len(s.may.to)])
}

func (s *formModel) viewPanel(p *page) {
	if s.panel == handing {
		p.add(bold, "", "Hand this question over to")
		p.gap()
		viewEditor(p, &s.field, "> ", "a name")
		p.gap()
		p.add(dim, "", "One of: "+flat(strings.Join(s.may.to, ", ")))
		return
	}
	c := s.request.Proposal.Call
	p.add("", "  ", clean(s.request.Proposal.Text))
	p.gap()
	p.add(bold, "", "Always allow "+flat(c.Tool)+" in this project if it matches")
	p.gap()
	viewEditor(p, &s.field, "> ", "")
	p.gap()
	p.add("", "", "The rule lasts "+lastsChoices[s.lasts].words+".")
	if c.Tool == rules.Command {
		p.add(dim, "", "The words must be the same. A * at the end stands for further words, but not for unknown options or paths outside the folder.")
	} else {
		p.add(dim, "", "Write name=value for arguments that must be the same. A * at the end stands for any other arguments.")
	}
}

// panelKeys returns the keys of the open panel.
func (s *formModel) panelKeys() []string {
	if s.panel == handing {
		return []string{"Enter hand over", "Tab next name", "Esc back"}
	}
	return []string{"Enter allow, and make this rule", "Tab how long", "Esc back"}
}

// routeKeys returns the keys about whom the request is with.
func (s *formModel) routeKeys() (keys []string) {
	if s.may.take {
		keys = append(keys, "t take")
	} else if s.may.release {
		keys = append(keys, "t release")
	}
	if len(s.may.to) > 0 {
		keys = append(keys, "h hand over")
	}
	if s.may.rule {
		keys = append(keys, "a always allow")
	}
	return keys
}

// look finds out what the person may do about the open request.
func (f *form) look() {
	if f.list != nil && f.model != nil {
		f.model.may = f.hub.routesOf(&f.model.request)
	}
}

// claim takes the open request, or gives it back.
func (f *form) claim() {
	s := f.model
	r, err := f.hub.claim(s.request.ID, s.may.release)
	f.moved(r, err, map[bool]string{false: "taken: others see that you deal with it", true: "released"}[s.may.release])
}

// hand hands the open request over.
func (f *form) hand() {
	s := f.model
	to := strings.TrimSpace(s.field.text())
	r, err := f.hub.hand(s.request.ID, to)
	if err == nil {
		s.panel = noPanel
	}
	f.moved(r, err, "handed over to "+to)
}

// moved shows what became of whom the open request is with.
func (f *form) moved(r elicit.Request, err error, done string) {
	if err != nil {
		f.model.note = problemText(err)
		return
	}
	f.model.update(r, f.hub.changing(r.ID))
	f.look()
	f.model.note = line(done)
}

// look finds out what the person may do about the request, and says whom it is with.
func (t *talk) look() {
	if s := t.model; s.inbox {
		s.may = t.hub.routesOf(&s.request)
	}
}

// route handles the commands that do not answer. left means that the request has ended.
func (t *talk) route(command, text string) (left bool) {
	s := t.model
	t.look()
	var r elicit.Request
	var err error
	switch {
	case command == "/take" && s.may.take, command == "/release" && s.may.release:
		r, err = t.hub.claim(s.request.ID, command == "/release")
	case command == "/hand" && len(s.may.to) > 0 && text == "":
		t.say("Type the name after the command: %s.", flat(strings.Join(s.may.to, ", ")))
		return false
	case command == "/hand" && len(s.may.to) > 0:
		r, err = t.hub.hand(s.request.ID, text)
	case command == "/always" && s.may.rule && text == "":
		c := *s.request.Proposal.Call
		t.say("To allow this call, and for 8 hours others of %s that match, type /always and a pattern. For example: /always %s", flat(c.Tool), flat(rules.Propose(c)))
		return false
	case command == "/always" && s.may.rule:
		if r, err = t.hub.always(s.request.ID, text, "", s.said.text()); err == nil {
			return true
		}
	default:
		t.say("%s is not possible here.", command)
		return false
	}
	if err != nil {
		t.say("Not accepted: %s.", line(err.Error()))
		return false
	}
	s.update(r, nil)
	t.look()
	t.say("It is now %s.", flat(s.may.line))
	return false
}
