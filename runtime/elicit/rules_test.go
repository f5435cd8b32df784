package elicit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	. "github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/people"
	"github.com/deskhand/deskhand/runtime/routing"
	"github.com/deskhand/deskhand/runtime/rules"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// ruled opens a hub with rules and people.
func ruled(t *testing.T, place string, o Options) (*Hub, *people.Register) {
	t.Helper()
	db, err := store.Open(t.Context(), place, Schema(), people.Schema(), rules.Schema())
	if err != nil {
		t.Fatal(err)
	}
	o.Rules = &rules.Register{DB: db, Person: func(ctx context.Context, tx *store.Tx, name string) (rules.Person, error) {
		now, err := people.Now(ctx, tx, name)
		return rules.Person{Known: now.Known, Answers: now.Answers, Roles: now.Roles, Since: now.Added, Boundary: now.Boundary}, err
	}}
	h := New(db, o)
	t.Cleanup(func() { h.Close(); db.Close() })
	return h, people.In(db)
}

// permission is an agent's request to run a command in a project.
func permission(project, command string) Request {
	return Request{Trigger: ACPPermission, Title: "Allow?", Message: "Allow?", WaitMS: -1, OnTurnEnd: Keep,
		Source: Source{Kind: "attempt", Name: "claude"}, Context: Context{ProjectID: project},
		Proposal:  &Proposal{Action: "command", Text: command, Call: &rules.Call{Tool: rules.Command, Command: command, Allow: "y"}},
		Questions: []Question{{ID: "answer", Kind: SingleSelect, Message: "Allow?", Required: true, Options: []Option{{ID: "always", Label: "Always"}, {ID: "y", Label: "Yes"}, {ID: "n", Label: "No"}}}}}
}

// asks asks a request in the way of a runner, and returns it, answered by a rule or open.
func asks(t *testing.T, h *Hub, r Request) Request {
	t.Helper()
	ended, err := h.AskByRule(t.Context(), r)
	if f := fault.Of(err); f != nil && f.Code == NoSurface {
		return ended // no rule, and no person is there
	}
	if err != nil {
		t.Fatalf("AskByRule: %v", err)
	}
	return ended
}

// person returns a context of a person's browser.
func (w world) person(name string) context.Context {
	w.t.Helper()
	p, err := w.people.Person(w.t.Context(), name)
	if err != nil {
		w.t.Fatal(err)
	}
	sees, err := w.people.Named(w.t.Context(), name)
	if err != nil {
		w.t.Fatal(err)
	}
	return access.With(w.t.Context(), access.Caller{Level: access.Agents, How: access.ByInvite, Name: p.Name, Scopes: p.Scopes, Roles: p.Roles, Boundary: sees.Boundary})
}

type world struct {
	t      *testing.T
	hub    *Hub
	people *people.Register
}

func (w world) admit(n people.Newcomer) {
	w.t.Helper()
	if err := w.people.Admit(w.t.Context(), n); err != nil {
		w.t.Fatal(err)
	}
}

func (w world) rule(ctx context.Context, n rules.New) rules.Rule {
	w.t.Helper()
	r, err := w.hub.AddRule(ctx, n)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// by returns the ID of the rule that allows a command, or "" if a person is asked.
func (w world) by(project, command string) string {
	w.t.Helper()
	r := asks(w.t, w.hub, permission(project, command))
	if r.Completion == nil || r.Completion.Rule == nil {
		return ""
	}
	return r.Completion.Rule.ID
}

var goTest = rules.New{Kind: rules.Allow, Project: "p", Tool: "command", Pattern: "go test *", Lasts: rules.Lasts}

func TestARuleAnswersAndLeavesATrace(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		h, register := ruled(t, place, Options{})
		w := world{t, h, register}
		w.admit(people.Newcomer{Name: "ada", Projects: []string{"p"}})
		made := w.rule(w.person("ada"), goTest)
		r := asks(t, h, permission("p", "go test ./..."))
		c := r.Completion
		if c == nil || c.Rule == nil || c.Rule.ID != made.ID || c.Rule.Of != "ada" || c.By != ByRule || c.Outcome != Accept || r.Answers["answer"].Value.Text != "y" {
			t.Fatalf("answered %+v with %+v", c, r.Answers)
		}
		kept, err := h.Get(t.Context(), r.ID)
		if err != nil {
			t.Fatal(err)
		}
		shown, err := json.Marshal(kept)
		if err != nil || !strings.Contains(string(shown), `"rule":{"id":"`+made.ID+`","of":"ada"`) || strings.Contains(string(shown), `"by":"ada"`) {
			t.Errorf("the history has %s, %v", shown, err)
		}
		if words := kept.Completion.Words(); !strings.HasPrefix(words, "answered by rule "+made.ID+" of ada, made ") {
			t.Errorf("in words: %s", words)
		}
		all, err := h.Rules(w.person("ada"), false)
		if err != nil || len(all) != 1 || all[0].Uses != 1 || all[0].Used.IsZero() {
			t.Errorf("the rules are %+v, %v", all, err)
		}
		if _, err := h.EndRule(w.person("ada"), made.ID); err != nil {
			t.Fatal(err)
		}
		if id := w.by("p", "go test ./..."); id != "" {
			t.Errorf("the revoked rule %s allowed a call", id)
		}
		if _, err := h.EndRule(w.person("ada"), made.ID); err != nil {
			t.Errorf("revoking again: %v", err)
		}
	})
}

func TestARuleLastsAsLongAsItsPersonMayAnswer(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		h, register := ruled(t, place, Options{})
		w := world{t, h, register}
		w.admit(people.Newcomer{Name: "ada", Projects: []string{"p"}})
		w.admit(people.Newcomer{Name: "bob", Projects: []string{"q"}, Roles: []string{"ops"}})
		everywhere := goTest
		everywhere.Project = ""
		ada := w.rule(w.person("ada"), everywhere)
		check := func(what, project, want string) {
			t.Helper()
			if got := w.by(project, "go test"); got != want {
				t.Errorf("%s: allowed by %q, want %q", what, got, want)
			}
		}
		check("in ada's project", "p", ada.ID)
		check("in bob's project", "q", "")
		check("in an open project", "open", ada.ID)
		r := permission("p", "go test")
		r.Audience = Audience{Roles: []string{"ops"}}
		if ended := asks(t, h, r); ended.Completion != nil && ended.Completion.Rule != nil {
			t.Error("ada's rule answered a question for the role ops")
		}
		if err := register.Join(t.Context(), "bob", "p"); err != nil {
			t.Fatal(err)
		}
		if _, err := register.Leave(t.Context(), "ada", "p"); err != nil {
			t.Fatal(err)
		}
		check("after ada left the project", "p", "")
		if err := register.Join(t.Context(), "ada", "p"); err != nil {
			t.Fatal(err)
		}
		check("after ada came back", "p", ada.ID)
		if err := register.Remove(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		check("after ada was removed", "p", "")
		w.admit(people.Newcomer{Name: "ada", Projects: []string{"p"}})
		check("after another ada was added", "p", "")
		bob := w.rule(w.person("bob"), goTest)
		check("by bob's rule", "p", bob.ID)
		if _, err := h.EndRule(w.person("ada"), bob.ID); fault.Of(err) == nil || fault.Of(err).Code != "not_yours" {
			t.Errorf("ada revokes bob's rule: %v", err)
		}
		w.admit(people.Newcomer{Name: "eve"})
		if _, err := h.EndRule(w.person("eve"), bob.ID); fault.Of(err) == nil || fault.Of(err).Code != rules.NoRule {
			t.Errorf("eve, who does not know the project, revokes bob's rule: %v", err)
		}
		if _, err := h.AddRule(w.person("eve"), goTest); fault.Of(err) == nil || fault.Of(err).Code != rules.NoRule {
			t.Errorf("eve makes a rule for a project that she does not know of: %v", err)
		}
		if all, err := h.Rules(w.person("eve"), true); err != nil || len(all) != 0 {
			t.Errorf("eve sees %v, %v", all, err)
		}
		if _, err := h.EndRule(t.Context(), bob.ID); err != nil {
			t.Errorf("the owner revokes bob's rule: %v", err)
		}
	})
}

func TestAMarkToAlwaysAskWins(t *testing.T) {
	h, register := ruled(t, t.TempDir(), Options{})
	w := world{t, h, register}
	w.admit(people.Newcomer{Name: "ada", Projects: []string{"p"}})
	w.admit(people.Newcomer{Name: "bob", Projects: []string{"p"}})
	w.rule(w.person("ada"), rules.New{Kind: rules.Allow, Project: "p", Tool: "command", Pattern: "git push origin main", Lasts: 0})
	if w.by("p", "git push origin main") == "" {
		t.Fatal("the rule does not apply: the test shows nothing")
	}
	mark := w.rule(w.person("bob"), rules.New{Kind: rules.Ask, Project: "p", Tool: "Bash", Pattern: "git push"})
	if mark.Tool != rules.Command || !mark.Expires.IsZero() {
		t.Errorf("the mark is %+v", mark)
	}
	if w.by("p", "git push origin main") != "" {
		t.Error("a rule answered what another person always wants to be asked")
	}
	if err := register.Remove(t.Context(), "bob"); err != nil {
		t.Fatal(err)
	}
	if w.by("p", "git push origin main") != "" {
		t.Error("the mark ended with its person")
	}
	if _, err := h.EndRule(t.Context(), mark.ID); err != nil {
		t.Fatal(err)
	}
	if w.by("p", "git push origin main") == "" {
		t.Error("the owner took the mark back, and the rule does not apply")
	}
	w.rule(t.Context(), rules.New{Kind: rules.Ask, Tool: rules.AnyTool})
	if w.by("p", "git push origin main") != "" {
		t.Error("a rule answered although everything is asked")
	}
}

// Only a person in person makes rules, and only the runner's way of asking uses them.
func TestAttackApprovalsARuleIsMadeByAPersonOnly(t *testing.T) {
	h, register := ruled(t, t.TempDir(), Options{})
	w := world{t, h, register}
	w.admit(people.Newcomer{Name: "ada", Projects: []string{"p"}, Scopes: access.Scopes})
	with := func(c access.Caller) context.Context { return access.With(t.Context(), c) }
	mine := w.rule(t.Context(), goTest)
	open := asks(t, h, permission("p", "rm -rf build"))
	if open.ID == "" || open.Completion.Rule != nil {
		t.Fatalf("asked %+v", open)
	}
	stays, err := h.Open(t.Context(), permission("p", "go test ./..."))
	if err != nil || stays.Status != Open {
		t.Fatalf("Open applied a rule to a question that no runner asks: %+v, %v", stays.Completion, err)
	}
	for name, ctx := range map[string]context.Context{
		"the agents' token":                  with(access.Caller{Level: access.Agents, How: access.ByToken}),
		"an attempt's token":                 with(access.Caller{Level: access.Agents}),
		"a stranger":                         with(access.Caller{}),
		"an answer link":                     with(access.Caller{How: access.ByAnswer}),
		"a person's token with every scope":  with(access.Caller{Level: access.Agents, How: access.ByNamed, Name: "ada", Scopes: access.Scopes}),
		"a browser without the scope answer": with(access.Caller{Level: access.Agents, How: access.ByInvite, Name: "ada", Scopes: []access.Scope{access.Ask, access.Admin}}),
	} {
		if _, err := h.AddRule(ctx, goTest); fault.Of(err) == nil || fault.Of(err).Code != NoRules {
			t.Errorf("%s makes a rule: %v", name, err)
		}
		if _, err := h.EndRule(ctx, mine.ID); fault.Of(err) == nil || fault.Of(err).Code != NoRules {
			t.Errorf("%s ends a rule: %v", name, err)
		}
		if _, err := h.AlwaysAllow(ctx, Action{RequestID: stays.ID}, "go test *", time.Hour); err == nil {
			t.Errorf("%s makes a rule from a question", name)
		}
	}
	inside, _ := ruled(t, t.TempDir(), Options{Attempt: "a1"})
	if _, err := inside.AddRule(t.Context(), goTest); fault.Of(err) == nil || fault.Of(err).Code != NoRules {
		t.Errorf("a process inside an attempt makes a rule: %v", err)
	}
	// What a client sends as an action cannot claim a rule.
	if _, err := h.Dispatch(t.Context(), Action{Type: CompletedBy, RequestID: stays.ID, Response: Accept, Rule: &rules.Use{ID: "rul_x", Of: "ada"}, Answers: map[string]Answer{"answer": {State: Submitted, Value: &Value{Kind: SelectedValue, Text: "y"}}}}); err != nil {
		t.Fatal(err)
	}
	if r, err := h.Get(t.Context(), stays.ID); err != nil || r.Completion.Rule != nil || r.Completion.By != Local {
		t.Errorf("an action claimed a rule: %+v, %v", r.Completion, err)
	}
	for name, change := range map[string]func(*Request){
		"a title that names an allowed command": func(r *Request) { r.Title, r.Proposal.Call.Command = "go test ./...", "rm -rf /" },
		"a proposal without a call":             func(r *Request) { r.Proposal.Call = nil },
		"another trigger":                       func(r *Request) { r.Trigger = AskUser },
		"an option that does not exist":         func(r *Request) { r.Proposal.Call.Allow = "root" },
		"no option":                             func(r *Request) { r.Proposal.Call.Allow = "" },
		"a second question":                     func(r *Request) { r.Questions = append(r.Questions, Question{ID: "more", Message: "And?"}) },
		"another project":                       func(r *Request) { r.Context.ProjectID = "q" },
		"a second command":                      func(r *Request) { r.Proposal.Call.Command += "; rm -rf /" },
	} {
		r := permission("p", "go test ./...")
		change(&r)
		if ended := asks(t, h, r); ended.Completion != nil && ended.Completion.Rule != nil {
			t.Errorf("%s is allowed by %s", name, ended.Completion.Rule.ID)
		}
	}
	if w.by("p", "go test ./...") != mine.ID {
		t.Error("the rule does not apply: the test shows nothing")
	}
}

func TestAlwaysAllowMakesTheRuleThatThePersonRead(t *testing.T) {
	h, register := ruled(t, t.TempDir(), Options{})
	w := world{t, h, register}
	w.admit(people.Newcomer{Name: "ada", Projects: []string{"p"}})
	ask := func(command string) string {
		r, err := h.Open(t.Context(), permission("p", command))
		if err != nil {
			t.Fatal(err)
		}
		return r.ID
	}
	id := ask("go vet ./...")
	for _, pattern := range []string{"", "*", "go *", "go test *", "go vet", "bash *"} {
		if _, err := h.AlwaysAllow(w.person("ada"), Action{RequestID: id}, pattern, time.Hour); fault.Of(err) == nil || fault.Of(err).Code != rules.BadPattern {
			t.Errorf("AlwaysAllow with %q: %v", pattern, err)
		}
	}
	made, err := h.AlwaysAllow(w.person("ada"), Action{RequestID: id, Channel: "web"}, "go vet *", time.Hour)
	if err != nil || made.Project != "p" || made.Of != "ada" || made.Expires.Sub(made.Made) != time.Hour {
		t.Fatalf("AlwaysAllow = %+v, %v", made, err)
	}
	r, err := h.Get(t.Context(), id)
	if err != nil || !r.Accepted() || r.Completion.By != "ada" || r.Completion.Rule != nil || r.Answers["answer"].Value.Text != "y" {
		t.Errorf("the first call is answered %+v, %v: it is the person's own answer", r.Completion, err)
	}
	if w.by("p", "go vet ./pkg") != made.ID || w.by("q", "go vet ./pkg") != "" {
		t.Error("the rule is not for its project")
	}
}

// A rule is revoked while agents ask on two hosts: no call that was asked after the
// revocation is allowed.
func TestARevokedRuleIsNeverUsedAgain(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		one, register := ruled(t, place, Options{})
		two, _ := ruled(t, place, Options{})
		for round := range 5 {
			made := world{t, one, register}.rule(t.Context(), goTest)
			var mu sync.Mutex
			revoked := false
			var hosts sync.WaitGroup
			problems := make(chan string, 100)
			uses := 0
			for _, h := range []*Hub{one, two} {
				hosts.Go(func() {
					for i := range 20 {
						mu.Lock()
						before := revoked
						mu.Unlock()
						r, err := h.AskByRule(t.Context(), permission("p", fmt.Sprintf("go test ./p%d", i)))
						allowed := err == nil && r.Completion.Rule != nil
						mu.Lock()
						if allowed {
							uses++
						}
						mu.Unlock()
						if allowed && before {
							problems <- "a revoked rule was used"
						}
					}
				})
			}
			hosts.Go(func() {
				if _, err := two.EndRule(t.Context(), made.ID); err != nil {
					problems <- err.Error()
				}
				mu.Lock()
				revoked = true
				mu.Unlock()
			})
			hosts.Wait()
			close(problems)
			for p := range problems {
				t.Errorf("round %d: %s", round, p)
			}
			all, err := one.Rules(t.Context(), true)
			if err != nil || all[0].ID != made.ID || all[0].Uses != uses || all[0].State(time.Now()) != "revoked" {
				t.Errorf("round %d: %d uses are counted as %+v, %v", round, uses, all[0], err)
			}
		}
	})
}

func TestARuleExpires(t *testing.T) {
	h, register := ruled(t, t.TempDir(), Options{})
	w := world{t, h, register}
	brief := goTest
	brief.Lasts = time.Millisecond
	made := w.rule(t.Context(), brief)
	waittest.Until(t, "the rule to expire", func() (bool, any) { return made.State(time.Now()) == "expired", made })
	if id := w.by("p", "go test"); id != "" {
		t.Errorf("the expired rule %s allowed a call", id)
	}
	second := w.rule(t.Context(), brief)
	waittest.Until(t, "the second rule to expire", func() (bool, any) { return second.State(time.Now()) == "expired", second })
	if err := h.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all, err := h.Rules(t.Context(), false); err != nil || len(all) != 0 {
		t.Errorf("the rules are %+v, %v", all, err)
	}
	all, err := h.Rules(t.Context(), true)
	if err != nil || len(all) != 2 || all[1].State(time.Now()) != "expired" || all[1].EndedBy != "" {
		t.Errorf("all rules are %+v, %v", all, err)
	}
}

// The form offers a rule for the question's project, and a rule without a project is for each.
func TestNoRuleIsMadeFromAQuestionOutsideAllProjects(t *testing.T) {
	h, register := ruled(t, t.TempDir(), Options{})
	w := world{t, h, register}
	w.admit(people.Newcomer{Name: "ada"})
	r, err := h.Open(t.Context(), permission("", "go test ./..."))
	if err != nil {
		t.Fatal(err)
	}
	if h.CanRule(w.person("ada"), &r) {
		t.Error("a rule can be made")
	}
	if _, err := h.AlwaysAllow(w.person("ada"), Action{RequestID: r.ID}, "go test *", 0); err == nil {
		t.Error("a rule was made")
	}
}

// Who may answer only because a step asked is offered no rule: it would answer what the agent
// asks others.
func TestARuleIsOfferedOnlyToWhomTheAgentAsked(t *testing.T) {
	h, register := ruled(t, t.TempDir(), Options{})
	w := world{t, h, register}
	w.admit(people.Newcomer{Name: "ada", Projects: []string{"p"}})
	w.admit(people.Newcomer{Name: "bob", Projects: []string{"p"}})
	q := permission("p", "go test ./...")
	q.Audience = Audience{Principal: "ada"}
	r, err := h.Open(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	r.Routing = &routing.State{People: []string{"bob"}}
	for who, want := range map[string][2]bool{"ada": {true, true}, "bob": {true, false}} {
		if got := [2]bool{h.Can(w.person(who), &r, CompletedBy), h.CanRule(w.person(who), &r)}; got != want {
			t.Errorf("%s may answer, and make a rule: %v, want %v", who, got, want)
		}
	}
	r.Routing = nil
	if h.Can(w.person("bob"), &r, Claimed) || h.CanRule(w.person("bob"), &r) {
		t.Error("bob may take what ada is asked")
	}
}
