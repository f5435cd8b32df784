package app

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/netguard"
	"github.com/deskhand/deskhand/runtime/people"
	"github.com/deskhand/deskhand/runtime/signin"
	"github.com/deskhand/deskhand/runtime/surface/notify"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/waittest"
	"github.com/deskhand/deskhand/runtime/web"
	"github.com/deskhand/deskhand/runtime/webpush"
	"github.com/deskhand/deskhand/runtime/webpush/webpushtest"
)

// Two servers of one installation tell a browser of a question once, and forget a
// browser that has unsubscribed.
func TestANewQuestionIsPushedOnce(t *testing.T) {
	a := Open(house(t))
	defer a.Close()
	service := webpushtest.New(t)
	var one webpush.Subscription
	one.Endpoint, one.Keys.P256DH, one.Keys.Auth = service.Endpoint, service.Key, service.Auth
	all, err := a.subscriptions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := all.Put(t.Context(), one, "session"); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	a.pushClient = service.Client()
	for range 2 {
		p := a.peoplePages(web.People{Key: strings.Repeat("k", 40)}, false)
		running.Go(func() { p.notify(ctx, "http://desk") })
	}
	hub, err := a.Hub(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ask := func(text string) string {
		r, err := hub.Open(t.Context(), elicit.Request{Trigger: elicit.CLI, Source: elicit.Source{Name: "tester"}, Title: text, Questions: []elicit.Question{{ID: "q", Message: text}}})
		if err != nil {
			t.Fatal(err)
		}
		return r.ID
	}
	first := ask("Deploy?")
	waittest.Until(t, "the messages", func() (bool, any) { got, _ := service.Got(); return len(got) > 0, got })
	second := ask("And then?")
	waittest.Until(t, "the messages", func() (bool, any) { got, _ := service.Got(); return len(got) > 1, got })
	got, _ := service.Got()
	for i, want := range []pushed{{"Deploy?", "asked by tester", "/inbox/" + first, first}, {"And then?", "asked by tester", "/inbox/" + second, second}} {
		var m pushed
		if err := json.Unmarshal([]byte(got[i]), &m); err != nil || m.Title != want.Title || !strings.HasPrefix(m.Body, want.Body) || m.Path != want.Path || m.Tag != want.Tag {
			t.Errorf("message %d is %s, %v; want %+v", i, got[i], err, want)
		}
	}
	service.Answer(http.StatusGone)
	ask("Still there?")
	waittest.Until(t, "the messages", func() (bool, any) { left, err := all.All(t.Context()); return err == nil && len(left) == 0, left })
	if got, _ := service.Got(); len(got) != 2 {
		t.Errorf("%d messages: %q; want 2", len(got), got)
	}
}

func TestASessionThatEndsIsNotPushedTo(t *testing.T) {
	a := Open(house(t))
	defer a.Close()
	all, err := a.subscriptions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	service := webpushtest.New(t)
	for _, session := range []string{"one", "two", "three"} {
		var s webpush.Subscription
		s.Endpoint, s.Keys.P256DH, s.Keys.Auth = service.Endpoint+session, service.Key, service.Auth
		if err := all.Put(t.Context(), s, session); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.End(t.Context(), "one", time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if left, err := all.All(t.Context()); err != nil || len(left) != 2 {
		t.Errorf("after one has signed out: %+v, %v; want two", left, err)
	}
	if err := a.EndAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, err := all.All(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("after all have signed out: %+v, %v; want none", left, err)
	}
}

// The runner of this attempt ends at once, so the attempt fails.
// A person who is signed out in all browsers, by the owner or because no group of the person
// allows anything any more, has none that is pushed to; nor has one who is removed.
func TestBrowsersOfAPersonWhoIsSignedOutAreNotPushedTo(t *testing.T) {
	a := Open(house(t))
	defer a.Close()
	service := webpushtest.New(t)
	all, err := a.subscriptions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.Register(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	settings := &SignIn{}
	settings.Groups = map[string]signin.Grant{"dev": {Grant: people.Grant{Scopes: people.Standard}}}
	arrive := func(groups ...string) error {
		_, _, err := a.arrive(t.Context(), settings, signin.Identity{Issuer: "https://id.example", Subject: "7", Name: "ada", Groups: groups})
		return err
	}
	if err := arrive("dev"); err != nil {
		t.Fatal(err)
	}
	if err := r.Add(t.Context(), "bob", nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what string
		end  func() error
		code string
	}{
		{"signed out", func() error { return r.SignOut(t.Context(), "Ada", a.EndBrowsers) }, ""},
		{"without a group", func() error { return arrive() }, people.NotAllowed},
		{"removed", func() error { return r.Remove(t.Context(), "Ada", a.Forget) }, ""},
	} {
		for _, name := range []string{"ada", "bob"} {
			var one webpush.Subscription
			one.Endpoint, one.Keys.P256DH, one.Keys.Auth = service.Endpoint+"/"+name, service.Key, service.Auth
			if err := all.Put(access.With(t.Context(), access.Caller{Name: name}), one, "session of "+name); err != nil {
				t.Fatal(err)
			}
		}
		err := c.end()
		if f := fault.Of(err); f == nil && err != nil || f != nil && f.Code != c.code {
			t.Fatalf("%s: %v", c.what, err)
		}
		if left, err := all.All(t.Context()); err != nil || len(left) != 1 || left[0].Person != "bob" {
			t.Errorf("%s: the browsers are %+v, %v; want bob's", c.what, left, err)
		}
	}
}

func TestTheEndOfAnAttemptIsPushed(t *testing.T) {
	a := Open(house(t))
	defer a.Close()
	service := webpushtest.New(t)
	var one webpush.Subscription
	one.Endpoint, one.Keys.P256DH, one.Keys.Auth = service.Endpoint, service.Key, service.Auth
	all, err := a.subscriptions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := all.Put(t.Context(), one, "session"); err != nil {
		t.Fatal(err)
	}
	m, err := a.Work(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w, err := m.Watch(t.Context(), -1, "")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	p := a.peoplePages(web.People{Key: strings.Repeat("k", 40)}, true)
	a.pushClient = service.Client()
	repo := t.TempDir()
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first"}} {
		if out, err := exec.Command("git", append([]string{"-C", repo}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	project, added, err := m.AddRepo(t.Context(), "shop", tasks.Repo{Path: repo})
	if err != nil {
		t.Fatal(err)
	}
	task, err := m.CreateTask(t.Context(), tasks.NewTask{ProjectID: project.ID, Title: "Round the prices"})
	if err != nil {
		t.Fatal(err)
	}
	started, err := m.Start(t.Context(), tasks.StartRequest{TaskID: task.ID, Executor: "fake", Repos: []tasks.RepoTarget{{RepoID: added.ID}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var end *notify.End
	for ended := false; !ended; {
		events, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if e.Type == tasks.ProcessEnded {
				ended = true
				if end, err = a.endOf(t.Context(), m, Notices{Ends: EndsFailed}, e); err != nil {
					t.Fatal(err)
				}
			}
			if other, err := a.endOf(t.Context(), m, Notices{Ends: EndsFailed}, tasks.Event{Type: e.Type, State: tasks.Completed, AttemptID: e.AttemptID, ProcessID: e.ProcessID}); other != nil || err != nil {
				t.Errorf("only failures are wanted: %+v, %v", other, err)
			}
		}
	}
	if end == nil {
		t.Fatal("the failed attempt is not told of")
	}
	if !strings.HasSuffix(end.Body, "\nshop") { // its agent has not started
		t.Errorf("the body is %q, want one without an agent", end.Body)
	}
	box, err := a.Outbox(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var sending sync.WaitGroup
	for range 2 { // as two servers do
		ends := make(chan notify.End)
		sending.Go(func() {
			notify.RunEnds(ctx, notify.Options{Box: box, Hooks: []notify.Hook{a.pushHook(p.in.Key)}}, ends)
		})
		sending.Go(func() { a.sendNotices(ctx) })
		ends <- *end
	}
	var got []string
	waittest.Until(t, "a message has come", func() (bool, any) { got, _ = service.Got(); return len(got) > 0, got })
	stop()
	sending.Wait()
	got, _ = service.Got()
	var said pushed
	if len(got) != 1 || json.Unmarshal([]byte(got[0]), &said) != nil || said.Title != "Failed: Round the prices" || said.Path != "/work/attempts/"+started.AttemptID {
		t.Errorf("messages %q; want one of the failed attempt", got)
	}
}

// A browser names the address, so it must not lead into this machine's network.
func TestAttackDoorsBrowserPushAddresses(t *testing.T) {
	a := Open(house(t))
	defer a.Close()
	p := a.peoplePages(web.People{Key: strings.Repeat("k", 40)}, false)
	sender, err := p.sender()
	if err != nil {
		t.Fatal(err)
	}
	service := webpushtest.New(t)
	for _, address := range []string{service.Endpoint, "https://localhost/x", "https://169.254.169.254/latest/meta-data", "https://[::1]/", "https://10.0.0.1/"} {
		var one webpush.Subscription
		one.Endpoint, one.Keys.P256DH, one.Keys.Auth = address, service.Key, service.Auth
		err := sender.Send(t.Context(), one, []byte("x"), "normal", time.Hour)
		if refused := new(netguard.Refused); !errors.As(err, &refused) {
			t.Errorf("%s: %v; want it refused", address, err)
		}
	}
}
