package notify

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/outbox"
	"github.com/deskhand/deskhand/runtime/store"
)

// got is a request that a hook sent.
type got struct {
	path   string
	header http.Header
	body   map[string]any
}

// receiver returns the address of a server for hooks and its requests.
func receiver(t *testing.T) (url string, requests <-chan got) {
	t.Helper()
	all := make(chan got, 16)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		g := got{path: r.URL.Path, header: r.Header}
		if err != nil || json.Unmarshal(data, &g.body) != nil {
			t.Errorf("body %s, %v", data, err)
		}
		all <- g
	}))
	t.Cleanup(server.Close)
	return server.URL, all
}

func hook(t *testing.T, text string) Hook {
	t.Helper()
	h, err := ParseHook(text)
	if err != nil {
		t.Fatal(err)
	}
	return h.Signed([]byte("key"))
}

// boxOf returns a store and its outbox.
func boxOf(t *testing.T) (*store.DB, *outbox.Box) {
	t.Helper()
	db, err := store.Open(context.Background(), t.TempDir(), elicit.Schema(), outbox.Schema())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db, outbox.In(db)
}

// sends sends the messages to hooks until the test ends.
func sends(t *testing.T, hub *elicit.Hub, box *outbox.Box, hooks []Hook) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); box.Run(ctx, outbox.Options{Ways: Ways(hub, hooks)}) }()
	t.Cleanup(func() { cancel(); <-ended })
}

// runs runs a notifier with its own store until the test ends.
func runs(t *testing.T, o Options) (*elicit.Hub, *outbox.Box) {
	t.Helper()
	db, box := boxOf(t)
	o.Hub, o.Box = elicit.New(db, elicit.Options{}), box
	t.Cleanup(o.Hub.Close)
	o.Page = func(id string) string { return "http://desk/inbox/" + id }
	o.Choices = func(*elicit.Request) []Choice { return []Choice{{"Yes", "http://desk/answer/1"}} }
	sends(t, o.Hub, box, o.Hooks)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); Run(ctx, o) }()
	t.Cleanup(func() { cancel(); <-ended })
	return o.Hub, box
}

func ask(t *testing.T, hub *elicit.Hub, title string, p elicit.Priority) elicit.Request {
	t.Helper()
	r, err := hub.Open(t.Context(), elicit.Request{Trigger: elicit.CLI, Title: title, Priority: p, Source: elicit.Source{Name: "agent"},
		Questions: []elicit.Question{{ID: "q", Kind: elicit.Boolean, Message: "Go?"}}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestNtfyGetsButtons(t *testing.T) {
	url, requests := receiver(t)
	hub, _ := runs(t, Options{Hooks: []Hook{hook(t, "ntfy:"+strings.Replace(url, "http://", "http://secret@", 1)+"/topic")}})
	ask(t, hub, "Deploy", elicit.High)
	g := <-requests
	actions, _ := g.body["actions"].([]any)
	if g.path != "/" || g.body["topic"] != "topic" || g.body["title"] != "Deploy" || g.body["priority"] != 4.0 || len(actions) != 1 || g.header.Get("Authorization") != "Bearer secret" {
		t.Errorf("ntfy got %s %v", g.path, g.body)
	}
}

func TestAStoreThatCannotBeReadIsTriedAgain(t *testing.T) {
	url, requests := receiver(t)
	db, box := boxOf(t)
	rename := func(from, to string) {
		t.Helper()
		err := db.Update(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec(t.Context(), "ALTER TABLE "+from+" RENAME TO "+to)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	hub := elicit.New(db, elicit.Options{})
	defer hub.Close()
	rename("requests", "away")
	warned, said := io.Pipe()
	o := Options{Hub: hub, Box: box, Hooks: []Hook{hook(t, "webhook:"+url+"/hook")}, Log: slog.New(slog.NewTextHandler(said, nil)),
		Page: func(string) string { return "" }, Choices: func(*elicit.Request) []Choice { return nil }}
	sends(t, hub, box, o.Hooks)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); Run(ctx, o) }()
	defer func() { cancel(); <-ended }()
	if _, err := warned.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, warned)
	rename("away", "requests")
	r := ask(t, hub, "Deploy", "")
	if g := <-requests; g.body["id"] != r.ID {
		t.Errorf("webhook got %v, want %s", g.body, r.ID)
	}
}

func TestWebhookGetsSignedJSON(t *testing.T) {
	url, requests := receiver(t)
	hub, _ := runs(t, Options{Hooks: []Hook{hook(t, "webhook:"+url+"/hook")}})
	r := ask(t, hub, "Deploy", "")
	g := <-requests
	if g.path != "/hook" || g.body["id"] != r.ID || g.body["url"] != "http://desk/inbox/"+r.ID || !strings.HasPrefix(g.header.Get("Deskhand-Signature"), "sha256=") {
		t.Errorf("webhook got %s %v %v", g.path, g.header, g.body)
	}
}

func TestHooksThatCannotBeRead(t *testing.T) {
	for _, text := range []string{"", "pigeon", "desktop:now", "command:", "ntfy:https://ntfy.sh", "ntfy:ftp://x/y", "webhook:/path", "teams:", "teams:ftp://x", "discord:https://discord.com", "discord:https://discord.com/api"} {
		if h, err := ParseHook(text); err == nil {
			t.Errorf("ParseHook(%q) = %+v, want an error", text, h)
		}
	}
	if name := hook(t, "discord:https://host/secret/token").Name(); strings.Contains(name, "secret") {
		t.Errorf("Name = %q, want no secret in it", name)
	}
}

func TestQuietHours(t *testing.T) {
	at := func(clock string) time.Time {
		now, err := time.Parse(time.DateTime, "2026-02-25 "+clock)
		if err != nil {
			t.Fatal(err)
		}
		return now
	}
	for _, c := range []struct {
		hours, now string
		want       time.Duration
	}{
		{"22:00-07:00", "23:30:00", 7*time.Hour + 30*time.Minute}, {"22:00-07:00", "06:59:00", time.Minute},
		{"22:00-07:00", "07:00:00", 0}, {"22:00-07:00", "12:00:00", 0}, {"12:00-13:30", "12:00:00", 90 * time.Minute}, {"", "12:00:00", 0},
	} {
		q, err := ParseQuiet(c.hours)
		if got := q.Left(at(c.now)); err != nil || got != c.want {
			t.Errorf("quiet %s at %s: %v left, %v; want %v", c.hours, c.now, got, err, c.want)
		}
	}
	for _, text := range []string{"22-7", "22:00", "25:00-07:00", "22:00-07:60", "22:00-07:00x", "late"} {
		if _, err := ParseQuiet(text); err == nil {
			t.Errorf("ParseQuiet(%q) took it", text)
		}
	}
}

// Questions during quiet hours are announced in one message when they end, by whatever
// process. Urgent ones are announced immediately, and mails wait in the outbox.
func TestQuietHoursCollect(t *testing.T) {
	_, box := boxOf(t)
	now := time.Now()
	o := Options{Box: box, Hooks: []Hook{HookTo("x", nil)}, Quiet: Quiet{now.Hour() * 60, (now.Hour()*60 + 120) % (24 * 60)}, Page: func(string) string { return "" },
		Choices: func(*elicit.Request) []Choice { return nil }, People: func(context.Context, *elicit.Request) ([]string, error) { return []string{"ada"}, nil },
		Personal: func(_ context.Context, r *elicit.Request, a Announcement) ([]outbox.New, error) {
			return []outbox.New{{Once: a.Person + a.OnceFor(r), Way: "mail", To: a.Person, Request: r.ID, Reason: a.Reason()}}, nil
		}}
	waiting := func() (ways map[string][]outbox.Message) {
		t.Helper()
		all, err := box.List(t.Context(), outbox.Waiting)
		if err != nil {
			t.Fatal(err)
		}
		ways = map[string][]outbox.Message{}
		for _, m := range all {
			ways[m.Way] = append(ways[m.Way], m)
		}
		return ways
	}
	for range 2 { // as two servers do
		n := &notifier{Options: o, held: map[string]elicit.Context{}}
		n.Log = discard
		n.tell(t.Context(), &elicit.Request{ID: "a", Priority: elicit.Normal})
		n.tell(t.Context(), &elicit.Request{ID: "b", Priority: elicit.High})
		if len(n.held) != 2 {
			t.Errorf("%d are held, want 2", len(n.held))
		}
		got := waiting()
		if len(got["x"]) != 0 || len(got["mail"]) != 2 || got["mail"][0].Due.Before(now.Add(time.Minute)) {
			t.Errorf("in quiet hours these wait: %+v; want two mails for later", got)
		}
		n.over = now.Add(time.Hour)
	}
	for range 2 {
		n := &notifier{Options: o, held: map[string]elicit.Context{"a": {}, "b": {}}, over: now.Add(time.Hour)}
		n.Log = discard
		n.digest(t.Context())
		if len(n.held) != 0 {
			t.Errorf("%d are held after the end of quiet hours", len(n.held))
		}
		n.Quiet = Quiet{}
		n.tell(t.Context(), &elicit.Request{ID: "a", Priority: elicit.Normal}) // as at the start of a process
		if got := waiting()["x"]; len(got) != 1 || !strings.Contains(string(got[0].Body), "2 questions are waiting") {
			t.Errorf("afterwards these wait: %+v", got)
		}
	}
	n := &notifier{Options: o, held: map[string]elicit.Context{}}
	n.tell(t.Context(), &elicit.Request{ID: "c", Priority: elicit.Urgent})
	if len(n.held) > 0 || len(waiting()["x"]) != 2 {
		t.Error("an urgent one is held")
	}
}

var discard = slog.New(slog.DiscardHandler)

// The message contains an option's description and the agent's recommendation.
func TestAMessageTellsOfOptions(t *testing.T) {
	n := Options{Page: func(string) string { return "http://desk/" }, Choices: func(*elicit.Request) []Choice { return nil }}
	q := elicit.Question{ID: "db", Kind: elicit.SingleSelect, Title: "Database", Message: "Which one?",
		Options: []elicit.Option{{ID: "pg", Label: "Postgres", Description: "runs already", Recommended: true}, {ID: "my", Label: "MySQL"}}}
	m := n.message(&elicit.Request{Title: "Setup", Message: "Setup", Source: elicit.Source{Name: "agent"}, Questions: []elicit.Question{q}})
	if want := "Database: Which one?\n- Postgres (recommended): runs already\n- MySQL\nasked by agent"; m.Body != want {
		t.Errorf("the body is %q, want %q", m.Body, want)
	}
	q.Title, q.Options = "", elicit.OptionsOf("a", "b")
	if m := n.message(&elicit.Request{Message: "Which one?", Source: elicit.Source{Name: "agent"}, Questions: []elicit.Question{q}}); m.Body != "asked by agent" {
		t.Errorf("without more to say the body is %q", m.Body)
	}
	m = n.message(&elicit.Request{Title: "Over budget", Message: "The attempt has used $1.41 of $1.00.", Source: elicit.Source{Name: "agent"}, Questions: []elicit.Question{q}})
	if want := "The attempt has used $1.41 of $1.00.\nWhich one?\nasked by agent"; m.Body != want {
		t.Errorf("beside a title the body is %q, want %q", m.Body, want)
	}
}

// A notification that cannot show a permission request completely has no button
// that allows it.
func TestAttackApprovalsWhatIsNotAllShownIsNotAllowedFromANotification(t *testing.T) {
	n := Options{Page: func(string) string { return "" }, Choices: func(*elicit.Request) []Choice { return []Choice{{"Allow", "http://desk/1"}} }}
	for text, want := range map[string]int{"git push --force": 1, "ls; " + strings.Repeat("x", 1000): 0} {
		m := n.message(&elicit.Request{Title: "Allow?", Message: "Run the unit tests", Proposal: &elicit.Proposal{Text: text, Marks: []string{"force"}}})
		if len(m.Answers) != want || !strings.HasPrefix(m.Body, text[:16]) || !strings.Contains(m.Body, "Check carefully: force") {
			t.Errorf("a proposal of %d bytes: %d buttons, want %d, body %.100q", len(text), len(m.Answers), want, m.Body)
		}
	}
}
