package app

import (
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/outbox"
	"github.com/deskhand/deskhand/runtime/people"
	"github.com/deskhand/deskhand/runtime/routing"
	"github.com/deskhand/deskhand/runtime/surface/notify"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/waittest"
	"github.com/deskhand/deskhand/runtime/web"
	"github.com/deskhand/deskhand/runtime/web/board"
	"github.com/deskhand/deskhand/runtime/webpush"
	"github.com/deskhand/deskhand/runtime/webpush/webpushtest"
)

// mailsTo returns the mails to a person in the outbox, whatever became of them.
func (p *post) mailsTo(t *testing.T, name string) (all []outbox.Message) {
	t.Helper()
	list, err := p.box.List(t.Context(), outbox.Waiting, outbox.Sent, outbox.Dead, outbox.Dropped)
	must(t, err)
	for _, m := range list {
		if m.To == name {
			all = append(all, m)
		}
	}
	return all
}

// remindNow stores all notifications that are due.
func (p *post) remindNow(t *testing.T) {
	t.Helper()
	_, err := p.peoplePages(web.People{Key: personsKey}, false).remindDue(t.Context(), p.hub, p.pages.URL)
	must(t, err)
}

func TestAMailWaitsForTheEndOfQuietHours(t *testing.T) {
	p := posts(t, func(n *Notices) { n.Owner = "" })
	p.add(t, people.Newcomer{Name: "ada", Mail: "ada@example.org"})
	always, never := "mon-sun", ""
	_, err := p.reg.Change(t.Context(), "ada", people.Change{Quiet: &always})
	must(t, err)
	p.ask(t, elicit.Request{Title: "Later?"})
	var m outbox.Message
	waittest.Until(t, "the mail waits", func() (bool, any) {
		all := p.mailsTo(t, "ada")
		if len(all) != 1 || all[0].Error == "" {
			return false, all
		}
		m = all[0]
		return true, nil
	})
	if m.State != outbox.Waiting || m.Tries != 0 || time.Until(m.Due) < time.Hour || !strings.Contains(m.Error, "quiet hours") {
		t.Errorf("in quiet hours: %+v", m)
	}
	p.ask(t, elicit.Request{Title: "Now!", Priority: elicit.Urgent})
	if _, mails := p.to(t, 1); !strings.Contains(mails["ada@example.org"], "Now!") {
		t.Errorf("mails %q; want the urgent one", mails)
	}
	_, err = p.reg.Change(t.Context(), "ada", people.Change{Quiet: &never})
	must(t, err)
	_, err = p.box.Retry(t.Context(), m.ID)
	must(t, err)
	if _, mails := p.to(t, 2); !strings.Contains(mails["ada@example.org"], "Later?") {
		t.Errorf("mails %q; want the other", mails)
	}
}

// A question that goes to the first step at once is announced as a new one and by its routing.
// A restarted server does not announce it to those whom a step has asked.
func TestAStepAndAnAnnouncementAreOneMail(t *testing.T) {
	p := posts(t, func(n *Notices) { n.Owner = "" })
	steps, err := routing.ParsePolicy("30m bob")
	must(t, err)
	p.config.People.Value.Routing = map[string]routing.Policy{"": steps}
	p.add(t, people.Newcomer{Name: "ada"}) // nothing reaches her
	p.add(t, people.Newcomer{Name: "bob", Mail: "bob@example.org"})
	p.add(t, people.Newcomer{Name: "eve", Mail: "eve@example.org"})
	r := p.ask(t, elicit.Request{Title: "Deploy?", Audience: elicit.Audience{Principal: "ada"}})
	if r.Routing == nil || len(r.Routing.People) != 1 {
		t.Fatalf("routing %+v; want bob to be asked", r.Routing)
	}
	p.to(t, 1)
	p.remindNow(t)
	waittest.Until(t, "a mail to bob", func() (bool, any) { all := p.mailsTo(t, "bob"); return len(all) == 1, all })
	_, err = p.hub.Dispatch(t.Context(), elicit.Action{Type: elicit.Reassigned, RequestID: r.ID, Audience: &elicit.Audience{Principal: "eve"}})
	must(t, err)
	p.remindNow(t)
	// One of the servers may have claimed the notification just before, and is about to store it.
	waittest.Until(t, "a mail to eve", func() (bool, any) { all := p.mailsTo(t, "eve"); return len(all) == 1, all })
	r, err = p.hub.Get(t.Context(), r.ID)
	must(t, err)
	if names, err := p.mailedFor(t.Context(), &r); err != nil || len(names) != 0 {
		t.Errorf("a server that starts now would mail %q, %v", names, err)
	}
}

func TestTheOwnersMailIsAWayOfReminders(t *testing.T) {
	p := posts(t, nil)
	r := p.ask(t, elicit.Request{Title: "Deploy?"})
	p.to(t, 1) // a reminder that came first would make it superfluous
	pages := p.peoplePages(web.People{Key: personsKey}, false)
	o, err := pages.notices(t.Context(), p.pages.URL)
	must(t, err)
	must(t, pages.remindOne(t.Context(), elicit.Notice{Request: r}, o, "Reminder: open for 2h"))
	if got, _ := p.to(t, 2); len(got) != 2 || got[1] != "owner@example.org" {
		t.Errorf("mails to %q; want the question and the reminder", got)
	}
}

// A step that is due is told of while servers run, once by all of them together.
func TestAStepIsToldWhenItIsDue(t *testing.T) {
	p := posts(t, nil)
	steps, err := routing.ParsePolicy("1s remind")
	must(t, err)
	before, err := p.config.People.Get()
	must(t, err)
	before.Routing = map[string]routing.Policy{"": steps}
	p.config.People = Part[People]{Value: before}
	p.ask(t, elicit.Request{Title: "Deploy?"})
	if got, _ := p.to(t, 2); len(got) != 2 {
		t.Errorf("mails to %q; want the question and one reminder", got)
	}
}

// subscribe gives a person a browser.
func subscribe(t *testing.T, a *App, service *webpushtest.Service, name string) {
	t.Helper()
	var one webpush.Subscription
	one.Endpoint, one.Keys.P256DH, one.Keys.Auth = service.Endpoint, service.Key, service.Auth
	all, err := a.subscriptions(t.Context())
	must(t, err)
	must(t, all.Put(access.With(t.Context(), access.Caller{Name: name}), one, "session"))
}

func TestAPushThatWaitsIsNotSentToWhoLostTheQuestion(t *testing.T) {
	p := posts(t, func(n *Notices) { n.Owner = "" })
	service := webpushtest.New(t)
	p.pushClient = service.Client()
	p.add(t, people.Newcomer{Name: "ada", Mail: "ada@example.org"})
	p.add(t, people.Newcomer{Name: "bob", Mail: "bob@example.org"})
	service.Answer(http.StatusServiceUnavailable)
	subscribe(t, p.App, service, "bob")
	r := p.ask(t, elicit.Request{Title: "Deploy?", Audience: elicit.Audience{Principal: "bob"}})
	push := func() *outbox.Message {
		all, err := p.box.List(t.Context(), outbox.Waiting, outbox.Sent, outbox.Dropped)
		must(t, err)
		for _, m := range all {
			if m.Way == browserWay {
				return &m
			}
		}
		return nil
	}
	waittest.Until(t, "a try", func() (bool, any) { m := push(); return m != nil && m.Error != "", m })
	_, err := p.hub.Dispatch(t.Context(), elicit.Action{Type: elicit.Reassigned, RequestID: r.ID, Audience: &elicit.Audience{Principal: "ada"}})
	must(t, err)
	service.Answer(http.StatusCreated)
	_, err = p.box.Retry(t.Context(), push().ID)
	must(t, err)
	waittest.Until(t, "it is over", func() (bool, any) { m := push(); return m.State != outbox.Waiting, m })
	if m := push(); m.State != outbox.Dropped || !strings.Contains(m.Error, "bob may not answer") {
		t.Errorf("%+v; want it dropped", m)
	}
}

// Browsers are told neither of attempts of projects that their people do not know of, nor
// after quiet hours of questions that they cannot answer.
func TestPushesStayInsideAProject(t *testing.T) {
	p := posts(t, func(n *Notices) { n.Owner = "" })
	repo := t.TempDir()
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first"}} {
		if out, err := exec.Command("git", append([]string{"-C", repo}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	m, err := p.Work(t.Context())
	must(t, err)
	project, added, err := m.AddRepo(t.Context(), "shop", tasks.Repo{Path: repo})
	must(t, err)
	task, err := m.CreateTask(t.Context(), tasks.NewTask{ProjectID: project.ID, Title: "Round the prices"})
	must(t, err)
	started, err := m.Start(t.Context(), tasks.StartRequest{TaskID: task.ID, Executor: "fake", Repos: []tasks.RepoTarget{{RepoID: added.ID}}})
	must(t, err)
	p.add(t, people.Newcomer{Name: "ada", Scopes: people.Standard})
	p.add(t, people.Newcomer{Name: "gus", Scopes: people.Standard, Guest: true})
	p.add(t, people.Newcomer{Name: "mia", Scopes: people.Standard, Guest: true, Projects: []string{project.ID}})
	p.ask(t, elicit.Request{Title: "In the shop?", Context: elicit.Context{ProjectID: project.ID}})
	for what, message := range map[string]notify.Message{
		"the end of an attempt": {Event: notify.EndEvent, Path: board.AttemptPath(started.AttemptID)},
		"after quiet hours":     {},
	} {
		to, err := p.toldOf(t.Context(), message)
		must(t, err)
		if !to("") || to("ada") || to("gus") || !to("mia") {
			t.Errorf("%s: owner %v, ada %v, gus %v, mia %v; want the owner and mia", what, to(""), to("ada"), to("gus"), to("mia"))
		}
	}
}
