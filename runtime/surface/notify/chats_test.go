package notify

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/outbox"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// double is a receiver that answers as it is told, by default with 200 and {"id": "1234"}.
type double struct {
	URL string

	mu     sync.Mutex
	got    []request
	status int
	header map[string]string
	body   string
}

type request struct {
	method, path, query string
	body                []byte
}

func newDouble(t *testing.T) *double {
	t.Helper()
	d := &double{status: 200, body: `{"id": "1234"}`}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("request %v with %s, %v", r.Header, data, err)
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.got = append(d.got, request{r.Method, r.URL.Path, r.URL.RawQuery, data})
		for name, value := range d.header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(d.status)
		io.WriteString(w, d.body)
	}))
	t.Cleanup(server.Close)
	d.URL = server.URL
	return d
}

func (d *double) answer(status int, header map[string]string, body string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.status, d.header, d.body = status, header, body
}

// gets waits for n requests and returns the last one.
func (d *double) gets(t *testing.T, n int) (last request) {
	t.Helper()
	waittest.Until(t, fmt.Sprint(n, " requests"), func() (bool, any) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if len(d.got) >= n {
			last = d.got[n-1]
		}
		return len(d.got) >= n, len(d.got)
	})
	return last
}

// strict decodes JSON that has only the fields of v.
func strict(t *testing.T, data []byte, v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
}

// checkCard checks a request against what Teams documents: the shape of a message with one
// Adaptive Card, 28 KB, and elements that do not read markup.
func checkCard(t *testing.T, data []byte) (texts []string, actions map[string]string) {
	t.Helper()
	if len(data) > 28<<10 || len(utf16.Encode([]rune(string(data))))*2 > 56<<10 {
		t.Errorf("the card has %d bytes", len(data))
	}
	var m struct {
		Type        string `json:"type"`
		Attachments []struct {
			ContentType string  `json:"contentType"`
			ContentURL  *string `json:"contentUrl"`
			Content     struct {
				Schema  string            `json:"$schema"`
				Type    string            `json:"type"`
				Version string            `json:"version"`
				Teams   map[string]string `json:"msteams"`
				Body    []struct {
					Type    string `json:"type"`
					Inlines []struct {
						Type, Text, Weight, Size, Color string
						IsSubtle                        bool
					} `json:"inlines"`
				} `json:"body"`
				Actions []struct{ Type, Title, URL string } `json:"actions"`
			} `json:"content"`
		} `json:"attachments"`
	}
	strict(t, data, &m)
	if m.Type != "message" || len(m.Attachments) != 1 {
		t.Fatalf("message %s", data)
	}
	a := m.Attachments[0]
	if a.ContentType != "application/vnd.microsoft.card.adaptive" || a.ContentURL != nil || a.Content.Type != "AdaptiveCard" || a.Content.Version != "1.4" || !strings.Contains(string(data), `"contentUrl":null`) {
		t.Errorf("attachment %s", data)
	}
	for _, e := range a.Content.Body {
		if e.Type != "RichTextBlock" || len(e.Inlines) != 1 || e.Inlines[0].Type != "TextRun" || e.Inlines[0].Text == "" {
			t.Fatalf("element %+v", e)
		}
		texts = append(texts, e.Inlines[0].Text)
	}
	actions = map[string]string{}
	for _, one := range a.Content.Actions {
		if one.Type != "Action.OpenUrl" || !strings.HasPrefix(one.URL, "http") || one.Title == "" {
			t.Errorf("action %+v", one)
		}
		actions[one.Title] = one.URL
	}
	if len(a.Content.Actions) > 6 {
		t.Errorf("%d actions; Teams shows 6", len(a.Content.Actions))
	}
	return texts, actions
}

func TestTeamsGetsACard(t *testing.T) {
	d := newDouble(t)
	d.answer(202, nil, "")
	hub, box := runs(t, Options{FollowUp: true, Hooks: []Hook{hook(t, "teams:"+d.URL+"/workflows/secret?sig=s3cret")}})
	r := ask(t, hub, "Deploy **now** <at>all</at> [x](http://evil)", elicit.High)
	got := d.gets(t, 1)
	texts, actions := checkCard(t, got.body)
	if got.path != "/workflows/secret" || got.query != "sig=s3cret" || texts[0] != "Deploy **now** <at>all</at> [x](http://evil)" || actions["Open"] != "http://desk/inbox/"+r.ID || actions["Yes"] != "http://desk/answer/1" {
		t.Errorf("Teams got %s with %v %v", got.path, texts, actions)
	}
	if m := tried(t, box, r.ID); m.State != outbox.Sent || strings.Contains(fmt.Sprintf("%+v", m.To+m.Error), "s3cret") {
		t.Errorf("%+v", m)
	}
	if _, err := hub.Dispatch(t.Context(), cancelled(r.ID)); err != nil {
		t.Fatal(err)
	}
	texts, actions = checkCard(t, d.gets(t, 2).body)
	if len(actions) != 1 || !strings.HasPrefix(texts[1], "Cancelled") {
		t.Errorf("at the end Teams got %v %v", texts, actions)
	}
}

func TestACardHasAMaximumSize(t *testing.T) {
	for name, text := range map[string]string{
		"letters": strings.Repeat("x", 100_000), "controls": strings.Repeat("\x01<>&", 20_000), "emoji": strings.Repeat("🙂", 30_000), "lines": strings.Repeat("line\n", 20_000), "invalid": strings.Repeat("\xff", 50_000),
	} {
		t.Run(name, func(t *testing.T) {
			data, err := teamsJSON(Message{Title: text, Body: text, URL: "http://desk/", Answers: []Choice{{"Yes", "http://desk/answer/1"}}})
			if err != nil {
				t.Fatal(err)
			}
			if _, actions := checkCard(t, data); len(actions) != 1 || actions["Open"] == "" {
				t.Errorf("a card that does not say all has the buttons %v", actions)
			}
		})
	}
}

// checkDiscord checks a request against Discord's documented limits.
func checkDiscord(t *testing.T, data []byte) (e embed, buttons map[string]string) {
	t.Helper()
	var m discordMessage
	strict(t, data, &m)
	if len(m.Embeds) != 1 || !strings.Contains(string(data), `"allowed_mentions":{"parse":[]}`) {
		t.Fatalf("message %s", data)
	}
	e = m.Embeds[0]
	length := func(s string) int { return len(utf16.Encode([]rune(s))) }
	if length(e.Title) > 256 || length(e.Title) == 0 || length(e.Description) > 4096 || length(e.Title)+length(e.Description) > 6000 {
		t.Errorf("title of %d and description of %d", length(e.Title), length(e.Description))
	}
	buttons = map[string]string{}
	for _, row := range m.Components {
		if row.Type != 1 || len(row.Components) == 0 || len(row.Components) > 5 {
			t.Errorf("row %+v", row)
		}
		for _, b := range row.Components {
			if b.Type != 2 || b.Style != 5 || b.Label == "" || length(b.Label) > 80 || length(b.URL) > 512 {
				t.Errorf("button %+v", b)
			}
			buttons[b.Label] = b.URL
		}
	}
	return e, buttons
}

func TestDiscordGetsAnEmbedThatIsEditedAtTheEnd(t *testing.T) {
	d := newDouble(t)
	hub, box := runs(t, Options{Hooks: []Hook{hook(t, "discord:"+d.URL+"/api/webhooks/1/s3cret?thread_id=7")}})
	r := ask(t, hub, "Deploy @everyone <@123> **x** [y](http://evil) # z", elicit.High)
	got := d.gets(t, 1)
	e, buttons := checkDiscord(t, got.body)
	if got.method != "POST" || got.path != "/api/webhooks/1/s3cret" || got.query != "thread_id=7&wait=true&with_components=true" {
		t.Errorf("%s %s?%s", got.method, got.path, got.query)
	}
	if e.Title != `Deploy \@everyone \<\@123\> \*\*x\*\* \[y\]\(http\://evil\) \# z` || buttons["Yes"] == "" || buttons["Open"] != "http://desk/inbox/"+r.ID {
		t.Errorf("embed %+v, buttons %v", e, buttons)
	}
	if m := tried(t, box, r.ID); m.State != outbox.Sent || m.Remote != "1234" {
		t.Errorf("%+v", m)
	}
	if _, err := hub.Dispatch(t.Context(), cancelled(r.ID)); err != nil {
		t.Fatal(err)
	}
	got = d.gets(t, 2)
	e, buttons = checkDiscord(t, got.body)
	if got.method != "PATCH" || got.path != "/api/webhooks/1/s3cret/messages/1234" || len(buttons) != 0 || !strings.HasPrefix(e.Description, "Cancelled") || !strings.Contains(string(got.body), `"components":[]`) {
		t.Errorf("at the end: %s %s with %s", got.method, got.path, got.body)
	}
}

func TestDiscordsAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   outbox.State
		wait   time.Duration
	}{
		"rate limit":          {429, `{"message": "limited", "retry_after": 1800.5, "global": false}`, outbox.Waiting, 30 * time.Minute},
		"nonsense":            {429, `{"retry_after": "soon"`, outbox.Waiting, 0},
		"for ever":            {429, `{"retry_after": 1e300}`, outbox.Waiting, 2 * time.Hour},
		"back in time":        {429, `{"retry_after": -5}`, outbox.Waiting, 0},
		"deleted":             {404, `{"message": "Unknown Webhook", "code": 10015}`, outbox.Dead, 0},
		"an ID that is a lie": {200, `{"id": "../../../evil"}`, outbox.Sent, 0},
		"no JSON":             {200, `<html>`, outbox.Sent, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDouble(t)
			d.answer(c.status, nil, c.body)
			hub, box := runs(t, Options{Hooks: []Hook{hook(t, "discord:"+d.URL+"/api/webhooks/1/s3cret")}})
			m := tried(t, box, ask(t, hub, "Deploy", "").ID)
			wait := time.Until(m.Due)
			if m.State != c.want || m.Remote != "" || strings.Contains(m.Error, "s3cret") {
				t.Errorf("%+v, want it %s", m, c.want)
			}
			if c.want == outbox.Waiting && (wait < c.wait-time.Minute || wait > c.wait+time.Minute) {
				t.Errorf("the next try is in %v, want %v", wait, c.wait)
			}
		})
	}
}

func TestDiscordsLimits(t *testing.T) {
	for name, text := range map[string]string{"letters": strings.Repeat("x", 10_000), "marks": strings.Repeat("*", 10_000), "emoji": strings.Repeat("🙂", 10_000), "invalid": strings.Repeat("\xff", 10_000), "empty": ""} {
		m := discordOf(Message{Title: text + "t", Body: text, URL: "http://desk/", Answers: []Choice{{text + "l", "http://desk/1"}, {"long", "http://desk/" + strings.Repeat("x", 600)}, {"script", "javascript:alert(1)"}}})
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, buttons := checkDiscord(t, data); len(buttons) != 2 {
			t.Errorf("%s: buttons %v", name, buttons)
		}
	}
	if got := escapeDiscord("ab*", 3); got != "ab…" {
		t.Errorf("cut to 3: %q", got)
	}
	if got := escapeDiscord("ab*", 4); got != `ab\*` {
		t.Errorf("cut to 4: %q", got)
	}
}

// A name of the internet that leads to this machine's network is not called for a chat
// service, and metadata services are never called.
func TestAttackChatAddressesStayOutside(t *testing.T) {
	for _, text := range []string{"webhook:http://169.254.169.254/latest", "ntfy:http://[fe80::1]/topic", "teams:http://169.254.169.254/x"} {
		_, err := hook(t, text).deliver(t.Context(), Message{Title: "x"}, "")
		if f := new(outbox.Failure); err == nil || !errors.As(err, &f) || !f.Final || strings.Contains(err.Error(), "/latest") {
			t.Errorf("%s: %v, want it refused for good", text, err)
		}
	}
	if hook(t, "teams:https://prod.example.org/x").client() != outsideClient || hook(t, "webhook:https://prod.example.org/x").client() != insideClient {
		t.Error("Teams' addresses are outside, those of webhooks may be inside")
	}
}

func cancelled(id string) elicit.Action {
	return elicit.Action{Type: elicit.CompletedBy, RequestID: id, Response: elicit.Cancel}
}
