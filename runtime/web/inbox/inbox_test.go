package inbox

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/rules"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// site is an inbox with its own store on a real port.
type site struct {
	testing.TB
	hub   *elicit.Hub
	inbox *Inbox
	url   string
}

// A problem with the store is explained with the next step, to people and to the
// script. An unexpected error is not shown.
func TestTroubleOfTheStoreIsSaid(t *testing.T) {
	full := errors.New("database or disk is full")
	shell := page.New([]byte("key"))
	shell.Explain = func(err error) (message, hint string) {
		if errors.Is(err, full) {
			return "there is no room left", "make room"
		}
		return "", ""
	}
	trouble := full
	in := New(Options{Shell: shell, Key: []byte("key"), Hub: func(context.Context) (*elicit.Hub, error) { return nil, fmt.Errorf("open: %w", trouble) }})
	defer in.Stop()
	ask := func(accept string) *httptest.ResponseRecorder {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept", accept)
		in.Mounts()["GET /{$}"].ServeHTTP(w, r)
		return w
	}
	if w := ask("text/html"); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "There is no room left.") || !strings.Contains(w.Body.String(), "Make room.") {
		t.Errorf("a full store: %d %s", w.Code, w.Body)
	}
	if w := ask("application/json"); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), `"hint":"Make room."`) {
		t.Errorf("a full store, to the script: %d %s", w.Code, w.Body)
	}
	trouble = errors.New("secret detail")
	if w := ask("text/html"); w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "secret") || !strings.Contains(w.Body.String(), "Something went wrong here.") {
		t.Errorf("an unexpected error: %d %s", w.Code, w.Body)
	}
}

func open(t testing.TB) *site {
	t.Helper()
	return openWith(t, elicit.Options{})
}

func openWith(t testing.TB, o elicit.Options) *site {
	t.Helper()
	return openOver(t, t.TempDir(), o)
}

func openOver(t testing.TB, place string, o elicit.Options) *site {
	t.Helper()
	db, err := store.Open(context.Background(), place, elicit.Schema(), rules.Schema())
	if err != nil {
		t.Fatal(err)
	}
	o.Rules = &rules.Register{DB: db}
	hub := elicit.New(db, o)
	shell := page.New([]byte("key"))
	in := New(Options{Shell: shell, Key: []byte("key"), Hub: func(context.Context) (*elicit.Hub, error) { return hub, nil }})
	mux := http.NewServeMux()
	mux.Handle(page.StaticPath, shell.Static())
	for path, h := range in.Mounts() {
		mux.Handle(path, h)
	}
	for path, h := range in.Public() {
		mux.Handle(path, h)
	}
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		in.Stop()
		server.Close()
		hub.Close()
		db.Close()
	})
	return &site{t, hub, in, server.URL}
}

func (s *site) ask(questions ...elicit.Question) elicit.Request {
	s.Helper()
	r, err := s.hub.Open(s.Context(), elicit.Request{Trigger: elicit.CLI, Source: elicit.Source{Name: "tester"}, Questions: questions})
	if err != nil {
		s.Fatal(err)
	}
	return r
}

// do sends a request as a program with the bearer token, which the server would
// have checked.
func (s *site) do(method, path string, form url.Values, header ...string) (int, string) {
	s.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(s.Context(), method, s.url+path, body)
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer x")
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func (s *site) get(id string) elicit.Request {
	s.Helper()
	r, err := s.hub.Get(s.Context(), id)
	if err != nil {
		s.Fatal(err)
	}
	return r
}

var (
	name  = elicit.Question{ID: "name", Message: "Which **name**?", Required: true}
	count = elicit.Question{ID: "count", Kind: elicit.Integer, Message: "How many?"}
	style = elicit.Question{ID: "style", Kind: elicit.SingleSelect, Message: "Which style?", Options: elicit.OptionsOf("Plain", "Fancy"), AllowFreeform: true}
)

func TestFormsActOnRequests(t *testing.T) {
	for title, c := range map[string]struct {
		form   url.Values
		status int
		says   string // on the page that is returned
		check  func(elicit.Request) bool
	}{
		"sent": {url.Values{"do.act": {"send"}, "a.name": {"x"}, "a.count": {"3"}}, 200, "answered in the browser", func(r elicit.Request) bool {
			return r.Accepted() && r.Answers["name"].Value.Text == "x" && r.Answers["count"].Value.Number == 3 && r.Answers["style"].State == elicit.Skipped
		}},
		"own words": {url.Values{"do.act": {"send"}, "a.name": {"x"}, "a.style__other": {"both"}}, 200, "both", func(r elicit.Request) bool {
			return slices.Equal(r.Answers["style"].Value.Freeform, []string{"both"})
		}},
		"skipped on purpose": {url.Values{"do.act": {"send"}, "a.name": {"x"}, "a.count": {"9"}, "do.skip": {"count"}}, 200, "skipped", func(r elicit.Request) bool {
			return r.Answers["count"].State == elicit.Skipped
		}},
		"nothing said":      {url.Values{"do.act": {"send"}}, 422, "An answer is required", func(r elicit.Request) bool { return r.Status == elicit.Open }},
		"no number":         {url.Values{"do.act": {"send"}, "a.name": {"x"}, "a.count": {"many"}}, 422, "is not a number", func(r elicit.Request) bool { return r.Status == elicit.Open }},
		"an option of none": {url.Values{"do.act": {"send"}, "a.name": {"x"}, "a.style": {"Grand"}}, 422, "There is no option", func(r elicit.Request) bool { return r.Status == elicit.Open }},
		"an unknown field":  {url.Values{"do.act": {"send"}, "a.nome": {"x"}}, 422, "There is no question", func(r elicit.Request) bool { return r.Status == elicit.Open }},
		"an unknown button": {url.Values{"do.act": {"explode"}}, 400, "Unknown button", func(r elicit.Request) bool { return r.Status == elicit.Open }},
		"kept":              {url.Values{"do.act": {"save"}, "a.name": {"hal"}}, 200, "hal", func(r elicit.Request) bool { return r.Answers["name"].State == elicit.Draft }},
		"reviewed":          {url.Values{"do.act": {"review"}, "a.name": {"hal"}}, 200, "This will be sent", func(r elicit.Request) bool { return r.Answers["name"].State == elicit.Draft }},
		"sent with a note": {url.Values{"do.act": {"send"}, "a.name": {"hal"}, "a.style": {"Plain"}, "do.note": {"after six"}}, 200, "after six", func(r elicit.Request) bool {
			return r.Accepted() && r.Completion.Note == "after six"
		}},
		"declined":           {url.Values{"do.act": {"decline"}, "do.note": {"not today"}}, 200, "not today", func(r elicit.Request) bool { return r.Completion.Outcome == elicit.Decline }},
		"cancelled":          {url.Values{"do.act": {"cancel"}}, 200, "cancelled in the browser", func(r elicit.Request) bool { return r.Completion.Outcome == elicit.Cancel }},
		"more time for none": {url.Values{"do.act": {"extend"}}, 200, "Which", func(r elicit.Request) bool { return r.Deadline.IsZero() }},
	} {
		t.Run(title, func(t *testing.T) {
			s := open(t)
			id := s.ask(name, count, style).ID
			status, body := s.do("POST", "/inbox/"+id, c.form)
			if r := s.get(id); status != c.status || !strings.Contains(body, c.says) || !c.check(r) {
				t.Errorf("POST %v: %d, %+v; want %d and %q in\n%s", c.form, status, r.Answers, c.status, c.says, body)
			}
		})
	}
}

func TestFormsWithoutTheirTokenDoNothing(t *testing.T) {
	s := open(t)
	id := s.ask(name).ID
	status, body := s.do("POST", "/inbox/"+id, url.Values{"do.act": {"send"}, "a.name": {"x"}}, "Authorization: ")
	if r := s.get(id); status != 403 || r.Status != elicit.Open || !strings.Contains(body, ">x</textarea>") {
		t.Errorf("POST: %d, %s; want 403, an open request, and the text in the form", status, r.Status)
	}
}

func TestStaleDraftsShowBothTexts(t *testing.T) {
	s := open(t)
	r := s.ask(name)
	s.do("POST", "/inbox/"+r.ID, url.Values{"do.act": {"save"}, "a.name": {"theirs"}, "do.rev": {"1"}})
	_, body := s.do("POST", "/inbox/"+r.ID, url.Values{"do.act": {"save"}, "a.name": {"mine"}, "do.rev": {"1"}})
	if got := s.get(r.ID).Answers["name"].Value.Text; got != "theirs" || !strings.Contains(body, "theirs</blockquote>") || !strings.Contains(body, ">mine</textarea>") {
		t.Errorf("draft %q, page\n%s\nwant both texts", got, body)
	}
}

func TestWhatAnAgentWritesIsInert(t *testing.T) {
	s := open(t)
	evil := elicit.Question{ID: `q"><script>`, Kind: elicit.SingleSelect, Message: "<script>alert(1)</script> **bold** `code` [x](javascript:alert(1))",
		Options: []elicit.Option{{ID: `"><img src=x>`, Label: "<b>label</b>", Description: "<i>d</i>"}}}
	id := s.ask(evil).ID
	_, body := s.do("GET", "/inbox/"+id, nil)
	if strings.Contains(body, "<script>") || strings.Contains(body, "<img") || strings.Contains(body, "<b>label") || strings.Contains(body, `href="javascript`) {
		t.Errorf("the page has markup of an agent:\n%s", body)
	}
	if !strings.Contains(body, "<strong>bold</strong> <code>code</code>") {
		t.Errorf("the page lacks the markup that is allowed:\n%s", body)
	}
}

// follow reads a window's events from a position in the feed.
func (s *site) follow(ctx context.Context, after int64) <-chan string {
	s.Helper()
	r, err := http.NewRequestWithContext(ctx, "GET", fmt.Sprintf("%s/inbox/events?after=%d", s.url, after), nil)
	if err != nil {
		s.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	events := make(chan string, 4096)
	go func() {
		defer close(events)
		defer response.Body.Close()
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				events <- data
			}
		}
	}()
	return events
}

func TestEventsGoOnWhereAWindowLeftOff(t *testing.T) {
	s := open(t)
	r := s.ask(name)
	for _, text := range []string{"a", "ab"} {
		s.draft(r.ID, text)
	}
	events := s.follow(t.Context(), 0)
	for i, want := range []string{`"requested"`, `["a"]`, `["ab"]`} {
		if got := <-events; !strings.Contains(got, want) || !strings.Contains(got, fmt.Sprintf(`"rev":%d`, i+1)) {
			t.Errorf("event %s, want %s of revision %d", got, want, i+1)
		}
	}
	if gone := <-s.follow(t.Context(), 1<<40); gone != "{}" {
		t.Errorf("events from a place that is not there: %s, want a reset", gone)
	}
}

func (s *site) draft(id, text string) {
	s.Helper()
	_, err := s.hub.Dispatch(s.Context(), elicit.Action{Type: elicit.AnswerChanged, RequestID: id, QuestionID: "name", Channel: "terminal",
		Answer: &elicit.Answer{State: elicit.Draft, Value: &elicit.Value{Kind: elicit.TextValue, Text: text}}})
	if err != nil {
		s.Fatal(err)
	}
}

func TestQuestionsAreGroupedByPlaceAndAttempt(t *testing.T) {
	s := open(t)
	for _, r := range []elicit.Request{
		{Message: "first", Context: elicit.Context{CWD: "/src/shop", AttemptID: "0190-aaaa1111", Branch: "fix/cart"}},
		{Message: "second", Context: elicit.Context{CWD: "/src/site"}},
		{Message: "third", Context: elicit.Context{ProjectID: "0190-cccc3333", Project: "shop", AttemptID: "0190-bbbb2222"}},
		{Message: "fourth", Context: elicit.Context{CWD: "/src/shop", AttemptID: "0190-aaaa1111", Branch: "fix/cart"}},
		{Message: "urgent", Context: elicit.Context{CWD: "/src/site"}, Priority: elicit.Urgent},
	} {
		r.Trigger = elicit.CLI
		if _, err := s.hub.Open(s.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	_, body := s.do("GET", "/inbox/list", nil)
	want := []string{"Urgent", "urgent", "shop", "attempt aaaa1111", "fix/cart", "first", "fourth", "site", "second", "shop", "attempt bbbb2222", "third"}
	var got []string
	for _, m := range regexp.MustCompile(`<(?:h2|span class="part"|span class="heading" dir="auto")>([^<]+)`).FindAllStringSubmatch(body, -1) {
		got = append(got, strings.TrimSpace(m[1]))
	}
	if !slices.Equal(got, want) {
		t.Errorf("the list reads\n%q, want\n%q", got, want)
	}
}

// The end of a turn removes its questions, even from open windows.
func TestTheEndOfATurnTakesItsQuestionsAway(t *testing.T) { // E-021, E-025
	s := open(t)
	r, err := s.hub.Open(t.Context(), elicit.Request{Trigger: elicit.AskUser, Source: elicit.Source{Name: "agent"},
		Context: elicit.Context{TurnID: "turn-1"}, Questions: []elicit.Question{name}})
	if err != nil {
		t.Fatal(err)
	}
	events := s.follow(t.Context(), 0)
	<-events // the request was created
	if n, err := s.hub.EndTurn(t.Context(), "turn-1", "cancelled"); n != 1 || err != nil {
		t.Fatalf("EndTurn = %d, %v; want 1", n, err)
	}
	if e := <-events; !strings.Contains(e, r.ID) || !strings.Contains(e, `"withdrawn"`) {
		t.Errorf("windows are told %s, want that it was withdrawn", e)
	}
	if status, body := s.do("GET", "/inbox/"+r.ID+"/card", nil); status != 204 {
		t.Errorf("GET its card: %d %s, want none", status, body)
	}
	status, body := s.do("POST", "/inbox/"+r.ID, url.Values{"do.act": {"send"}, "a.name": {"too late"}})
	if status != 409 || !strings.Contains(body, `data-ended="abandoned"`) || !strings.Contains(body, "too late") {
		t.Errorf("POST to it: %d, want 409, its end, and what was typed\n%s", status, body)
	}
}

func TestLongListsComeInTwoPieces(t *testing.T) {
	s := open(t)
	for range mostAtOnce + 30 {
		s.ask(name)
	}
	for path, want := range map[string]struct {
		cards int
		says  string
	}{
		"/":           {mostAtOnce, `<a href="/?all=1">Show the other 30</a>`},
		"/?all=1":     {mostAtOnce + 30, "130 open questions"},
		"/inbox/list": {mostAtOnce + 30, "Which name?"},
	} {
		_, body := s.do("GET", path, nil)
		if got := strings.Count(body, "<li class=\"card"); got != want.cards || !strings.Contains(body, want.says) {
			t.Errorf("GET %s has %d cards, want %d and %q", path, got, want.cards, want.says)
		}
		if path != "/inbox/list" && !strings.Contains(body, "<title>(130) Inbox") {
			t.Errorf("GET %s does not count 130 in its title", path)
		}
	}
}

// mostBytes is the maximum size of the page with all its resources, compressed, in
// bytes.
const mostBytes = 60 << 10

func TestPageIsLight(t *testing.T) {
	s := open(t)
	s.ask(name, count, style)
	_, body := s.do("GET", "/", nil)
	total := packed(t, body)
	for _, m := range regexp.MustCompile(`(?:href|src)="(/static/[^"]+)"`).FindAllStringSubmatch(body, -1) {
		status, file := s.do("GET", m[1], nil)
		if status != 200 {
			t.Errorf("GET %s: %d", m[1], status)
		}
		total += packed(t, file)
	}
	t.Logf("%d bytes packed", total)
	if total > mostBytes {
		t.Errorf("the page has %d bytes packed, want at most %d", total, mostBytes)
	}
}

func packed(t *testing.T, text string) int {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Len()
}

// BenchmarkIndexOf1000 measures the page with 1,000 open questions.
func BenchmarkIndexOf1000(b *testing.B) {
	s := open(b)
	for range 1000 {
		s.ask(name, style)
	}
	var size int
	for b.Loop() {
		_, body := s.do("GET", "/", nil)
		size = len(body)
	}
	b.ReportMetric(float64(size), "bytes/page")
}

// BenchmarkDraftToFourWindows measures the time from a draft until the last of four
// windows receives it.
func BenchmarkDraftToFourWindows(b *testing.B) {
	s := open(b)
	r := s.ask(name)
	var windows []<-chan string
	for range 4 {
		w := s.follow(b.Context(), 1)
		windows = append(windows, w)
	}
	var times []time.Duration
	n := 0
	for b.Loop() {
		n++
		text := fmt.Sprint(n)
		began := time.Now()
		s.draft(r.ID, text)
		for _, w := range windows {
			for !strings.Contains(<-w, `["`+text+`"]`) {
			}
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
}

// BenchmarkWatchers measures the resources of 500 windows of one feed, including
// the clients in this process, and how long a draft takes to reach them all.
func BenchmarkWatchers(b *testing.B) {
	s := open(b)
	r := s.ask(name)
	before := inUse()
	var windows []<-chan string
	for range 500 {
		windows = append(windows, s.follow(b.Context(), 1))
	}
	held := inUse() - before
	n := 0
	for b.Loop() {
		n++
		text := fmt.Sprint(n)
		s.draft(r.ID, text)
		var all sync.WaitGroup
		for _, w := range windows {
			all.Go(func() {
				for !strings.Contains(<-w, `["`+text+`"]`) {
				}
			})
		}
		all.Wait()
	}
	b.ReportMetric(float64(held)/(1<<20), "MiB/500-windows")
}

// inUse returns the size of the heap and the stacks.
func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

func TestMain(m *testing.M) {
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 600
	os.Exit(m.Run())
}
