package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/quotedprintable"
	"net/http"
	"net/http/httptest"
	netmail "net/mail"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/outbox"
	"github.com/deskhand/deskhand/runtime/people"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/surface/mail"
	"github.com/deskhand/deskhand/runtime/surface/mail/mailtest"
	"github.com/deskhand/deskhand/runtime/waittest"
	"github.com/deskhand/deskhand/runtime/web"
)

// post is an installation that sends mails, with the pages that their links lead to.
type post struct {
	*App
	server *mailtest.Server
	pages  *httptest.Server
	hub    *elicit.Hub
	reg    *people.Register
	box    *outbox.Box
}

// posts opens an installation with two servers that notify, and the owner's address.
func posts(t *testing.T, change func(*Notices)) *post {
	t.Helper()
	p := &post{server: mailtest.New(t, mailtest.Options{})}
	c := house(t)
	n := Notices{Owner: "owner@example.org", Mail: &mail.Options{Server: mail.Server{Host: p.server.Host, Port: p.server.Port}, From: netmail.Address{Address: "desk@example.org"},
		User: mailtest.User, Password: mailtest.Password, TLS: p.server.Trusting()}}
	if change != nil {
		change(&n)
	}
	c.Notices = Part[Notices]{Value: n}
	p.App = Open(c)
	t.Cleanup(p.Close)
	var err error
	if p.hub, err = p.Hub(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p.reg, err = p.Register(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p.box, err = p.Outbox(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() { stop(); running.Wait() })
	mux := http.NewServeMux()
	p.pages = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(w, r.WithContext(access.With(r.Context(), access.Caller{Address: r.RemoteAddr}))) // as the front does with strangers
	}))
	t.Cleanup(p.pages.Close)
	for i := range 2 {
		pages := p.peoplePages(web.People{Key: personsKey}, false)
		if i == 0 {
			mux.Handle("/mail/{code}", pages.inbox.Public()["/mail/{code}"])
		}
		running.Go(func() { pages.notify(ctx, p.pages.URL) })
		running.Go(func() { pages.remind(ctx, p.pages.URL) })
	}
	return p
}

func (p *post) add(t *testing.T, n people.Newcomer) {
	t.Helper()
	if err := p.reg.Admit(t.Context(), n); err != nil {
		t.Fatal(err)
	}
}

func (p *post) ask(t *testing.T, r elicit.Request) elicit.Request {
	t.Helper()
	r.Trigger, r.Source = elicit.CLI, elicit.Source{Name: "tester"}
	if r.Questions == nil {
		r.Questions = []elicit.Question{{ID: "q", Kind: elicit.Boolean, Message: r.Title, Required: true}}
	}
	r, err := p.hub.Open(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// to waits for n mails and returns their receivers, sorted, and the mails by receiver.
func (p *post) to(t *testing.T, n int) (names []string, mails map[string]string) {
	t.Helper()
	var got []mailtest.Received
	waittest.Until(t, fmt.Sprint(n, " mails"), func() (bool, any) { got = p.server.Got(); return len(got) >= n, got })
	mails = map[string]string{}
	for _, m := range got {
		data, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(m.Data)))
		if err != nil {
			t.Fatal(err)
		}
		names, mails[m.To] = append(names, m.To), string(data)
	}
	slices.Sort(names)
	return names, mails
}

var mailLink = regexp.MustCompile(`http://127\.0\.0\.1:\d+/mail/dhl_[a-z2-7]+`)

// links returns the links of a mail, in order: yes and no.
func links(text string) []string {
	all := mailLink.FindAllString(text, -1)
	return slices.Compact(all[:len(all)/2]) // the text comes before the HTML
}

func do(t *testing.T, method, address string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(url.Values{}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	body, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.StatusCode, string(body)
}

// A question is mailed once to the people who see it and may answer it, by two servers.
func TestMailsGoToThePeopleOfAQuestion(t *testing.T) {
	p := posts(t, nil)
	p.add(t, people.Newcomer{Name: "ada", Mail: "ada@example.org", Roles: []string{"ops"}, Projects: []string{"prj_1"}})
	p.add(t, people.Newcomer{Name: "bob", Mail: "bob@example.org"})
	p.add(t, people.Newcomer{Name: "guest", Mail: "guest@example.org", Guest: true})
	p.add(t, people.Newcomer{Name: "reader", Mail: "reader@example.org", Scopes: []access.Scope{access.Docs}})
	p.add(t, people.Newcomer{Name: "silent"})
	sent := 0
	for _, c := range []struct {
		r    elicit.Request
		want string
	}{
		{elicit.Request{Title: "For everyone"}, "ada@example.org bob@example.org owner@example.org"},
		{elicit.Request{Title: "In a closed project", Context: elicit.Context{ProjectID: "prj_1"}}, "ada@example.org owner@example.org"},
		{elicit.Request{Title: "For a person", Audience: elicit.Audience{Principal: "bob"}}, "bob@example.org"},
		{elicit.Request{Title: "For a role", Audience: elicit.Audience{Roles: []string{"ops"}}}, "ada@example.org"},
	} {
		p.ask(t, c.r)
		n := len(strings.Fields(c.want))
		var names []string
		waittest.Until(t, c.r.Title, func() (bool, any) {
			names = nil
			for _, m := range p.server.Got()[min(sent, len(p.server.Got())):] {
				names = append(names, m.To)
			}
			return len(names) >= n, names
		})
		slices.Sort(names)
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s: mails to %s, want %s", c.r.Title, got, c.want)
		}
		sent += n
	}
	waittest.Until(t, "the outbox is empty", func() (bool, any) {
		left, err := p.box.List(t.Context(), outbox.Waiting, outbox.Dead)
		return err == nil && len(left) == 0, left
	})
	if got := p.server.Got(); len(got) != sent {
		t.Errorf("%d mails, want %d", len(got), sent)
	}
}

func TestAButtonOfAMailAnswersOnce(t *testing.T) {
	p := posts(t, func(n *Notices) { n.Owner = "" })
	p.add(t, people.Newcomer{Name: "ada", Mail: "ada@example.org"})
	r := p.ask(t, elicit.Request{Title: "Deploy?"})
	_, mails := p.to(t, 1)
	all := links(mails["ada@example.org"])
	if len(all) != 2 {
		t.Fatalf("links %v in\n%s", all, mails["ada@example.org"])
	}
	for _, method := range []string{"GET", "HEAD", "GET", "OPTIONS", "PUT"} { // programs that check mails open links
		status, body := do(t, method, all[0])
		now, err := p.hub.Get(t.Context(), r.ID)
		if err != nil || now.Status != elicit.Open || method == "GET" && (status != 200 || !strings.Contains(body, `<form method="post">`) || !strings.Contains(body, "Deploy?")) {
			t.Errorf("%s: %d, %v, %s", method, status, now.Status, body)
		}
	}
	if status, body := do(t, "POST", all[0]); status != 200 || !strings.Contains(body, "answered by ada by mail link") {
		t.Errorf("POST: %d %s", status, body)
	}
	now, err := p.hub.Get(t.Context(), r.ID)
	if err != nil || !now.Accepted() || !now.Answers["q"].Value.Boolean || now.Completion.By != "ada" || now.Completion.Channel != "mail link" || now.EndedFrom.SignedIn != access.ByMail {
		t.Errorf("the request is %+v, %+v, %v", now.Completion, now.EndedFrom, err)
	}
	for _, c := range []struct{ link, want string }{{all[0], "already used"}, {all[1], "You have already answered"}, {all[0] + "x", "not from this server"}} {
		if status, body := do(t, "POST", c.link); status < 400 || !strings.Contains(body, c.want) || strings.Contains(body, "<form method") {
			t.Errorf("afterwards POST: %d %s, want %q", status, body, c.want)
		}
	}
	db, err := p.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	records, err := db.AuditLog(t.Context(), store.AuditFilter{Who: "ada"})
	if err != nil || !slices.ContainsFunc(records, func(r store.Record) bool { return r.Action == "question.answered" && r.Way == "mail link" }) {
		t.Errorf("the audit log has %+v, %v", records, err)
	}
}

// Two presses at the same time answer once.
func TestALinkIsPressedTwice(t *testing.T) {
	p := posts(t, nil)
	p.ask(t, elicit.Request{Title: "Deploy?"})
	_, mails := p.to(t, 1)
	all := links(mails["owner@example.org"])
	var pressing sync.WaitGroup
	statuses := make(chan int, 8)
	for i := range 8 {
		pressing.Go(func() { status, _ := do(t, "POST", all[i%2]); statuses <- status })
	}
	pressing.Wait()
	close(statuses)
	fine := 0
	for status := range statuses {
		if status == 200 {
			fine++
		}
	}
	if fine != 1 {
		t.Errorf("%d presses answered, want 1", fine)
	}
}

// A link ends with what its person may do.
func TestALinkEndsWithItsPerson(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, p *post)
		want   string
	}{
		"removed": {func(t *testing.T, p *post) { must(t, p.reg.Remove(t.Context(), "ada")) }, "was removed"},
		"removed and added again": {func(t *testing.T, p *post) {
			before := time.Now().UnixMilli()
			must(t, p.reg.Remove(t.Context(), "ada"))
			waittest.Until(t, "the next millisecond", func() (bool, any) { return time.Now().UnixMilli() > before, nil }) // times have milliseconds
			must(t, p.reg.Admit(t.Context(), people.Newcomer{Name: "ada", Mail: "ada@example.org"}))
		}, "does not have any more"},
		"another address": {func(t *testing.T, p *post) {
			other := "ada@example.com"
			_, err := p.reg.Change(t.Context(), "ada", people.Change{Mail: &other})
			must(t, err)
		}, "does not have any more"},
		"no scope": {func(t *testing.T, p *post) {
			_, err := p.reg.Change(t.Context(), "ada", people.Change{Scopes: []access.Scope{access.Docs}})
			must(t, err)
		}, "may not answer"},
		"not a member": {func(t *testing.T, p *post) {
			must(t, p.reg.Admit(t.Context(), people.Newcomer{Name: "eve", Projects: []string{"prj_1"}}))
		}, "may not answer"},
		"answered by somebody": {func(t *testing.T, p *post) {
			list, err := p.hub.List(t.Context(), elicit.Filter{})
			must(t, err)
			_, err = p.hub.Dispatch(t.Context(), elicit.Action{Type: elicit.CompletedBy, RequestID: list.Requests[0].ID, Response: elicit.Decline, Channel: "web", By: elicit.Local})
			must(t, err)
		}, "has been answered or closed"},
		"too old": {func(t *testing.T, p *post) {
			db, err := p.Store(t.Context())
			must(t, err)
			must(t, db.Update(t.Context(), func(tx *store.Tx) error {
				_, err := tx.Exec(t.Context(), "UPDATE outbox_links SET expires = 1000")
				return err
			}))
		}, "too old"},
	} {
		t.Run(name, func(t *testing.T) {
			p := posts(t, func(n *Notices) { n.Owner = "" })
			p.add(t, people.Newcomer{Name: "ada", Mail: "ada@example.org"})
			r := p.ask(t, elicit.Request{Title: "Deploy the reactor?", Context: elicit.Context{ProjectID: "prj_1"}})
			_, mails := p.to(t, 1)
			all := links(mails["ada@example.org"])
			c.change(t, p)
			before, err := p.hub.Get(t.Context(), r.ID)
			must(t, err)
			for _, method := range []string{"GET", "POST"} {
				status, body := do(t, method, all[0])
				if status < 400 || !strings.Contains(body, c.want) || strings.Contains(body, "<form method") {
					t.Errorf("%s: %d %s, want %q", method, status, body, c.want)
				}
				if status == 403 && strings.Contains(body, "reactor") {
					t.Error("the page shows the question to a person who may not see it")
				}
			}
			if now, err := p.hub.Get(t.Context(), r.ID); err != nil || now.Rev != before.Rev {
				t.Errorf("the question changed: %+v, %v", now, err)
			}
		})
	}
}

// What a person may see is decided when the mail is sent.
func TestAMailThatWaitsIsNotSentToWhoLostAccess(t *testing.T) {
	p := posts(t, func(n *Notices) { n.Owner = "" })
	p.server.Set(func(command, _ string) string {
		if command == "greeting" {
			return "421 later"
		}
		return ""
	})
	p.add(t, people.Newcomer{Name: "ada", Mail: "ada@example.org"})
	p.ask(t, elicit.Request{Title: "Deploy?"})
	var m outbox.Message
	waittest.Until(t, "a try", func() (bool, any) {
		all, err := p.box.List(t.Context(), outbox.Waiting)
		if err != nil || len(all) != 1 || all[0].Error == "" {
			return false, all
		}
		m = all[0]
		return true, nil
	})
	if data, err := json.Marshal(m); err != nil || strings.Contains(string(data)+string(m.Body), "example.org") || strings.Contains(string(m.Body), "dhl_") {
		t.Errorf("the outbox has %s and %s, %v", data, m.Body, err)
	}
	must(t, p.reg.Remove(t.Context(), "ada"))
	p.server.Set(nil)
	if _, err := p.box.Retry(t.Context(), m.ID); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "it is dropped", func() (bool, any) {
		all, err := p.box.List(t.Context(), outbox.Dropped)
		return err == nil && len(all) == 1 && strings.Contains(all[0].Error, "was removed"), all
	})
	if got := p.server.Got(); len(got) > 0 {
		t.Errorf("mails %+v", got)
	}
}

// The end of a question is told in the same thread, if the owner wants that.
func TestTheEndOfAQuestionIsMailed(t *testing.T) {
	p := posts(t, func(n *Notices) { n.FollowUp = true })
	r := p.ask(t, elicit.Request{Title: "Deploy?"})
	p.to(t, 1)
	_, err := p.hub.Dispatch(t.Context(), elicit.Action{Type: elicit.CompletedBy, RequestID: r.ID, Response: elicit.Decline, Channel: "web", Note: "not on Fridays"})
	must(t, err)
	p.to(t, 2)
	got := p.server.Got()
	first, err := netmail.ReadMessage(strings.NewReader(got[0].Data))
	must(t, err)
	second, err := netmail.ReadMessage(strings.NewReader(got[1].Data))
	must(t, err)
	if second.Header.Get("In-Reply-To") != first.Header.Get("Message-ID") || !strings.HasPrefix(second.Header.Get("Subject"), "Declined") || strings.Contains(got[1].Data, "Fridays") || mailLink.MatchString(got[1].Data) {
		t.Errorf("the second mail is %s", got[1].Data)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A process without mail.server asks whom only mail reaches, if a running server sends mail.
func TestMailOfAnotherServerReachesPeople(t *testing.T) {
	a := Open(house(t))
	t.Cleanup(a.Close)
	lacking := func() string {
		t.Helper()
		reg, err := a.Register(t.Context())
		must(t, err)
		all, err := reg.List(t.Context())
		must(t, err)
		return all[0].Lacking
	}
	reg, err := a.Register(t.Context())
	must(t, err)
	must(t, reg.Admit(t.Context(), people.Newcomer{Name: "ada", Mail: "ada@example.org", Scopes: []access.Scope{access.Answer}}))
	if why := lacking(); !strings.Contains(why, "no running server sends mail") {
		t.Errorf("without a server: %q", why)
	}
	hub, err := a.Hub(t.Context())
	must(t, err)
	_, _, detach, err := hub.Attach(t.Context(), elicit.Station{Kind: serverStation, Address: "http://desk.example", Mail: true})
	must(t, err)
	if why := lacking(); why != "" {
		t.Errorf("while a server sends mail: %q", why)
	}
	detach()
	if why := lacking(); why == "" {
		t.Error("after the server's end, the mail still reaches ada")
	}
}
