package chat

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// double is a runner of one session s: a script, and an agent that ends when it
// is told to.
type double struct {
	began time.Time
	end   chan struct{}
	log   []Entry // of the agent
}

func (d *double) run(process string) Run {
	return Run{Session: "s", Attempt: "a", Process: process, Executor: "fake", Began: d.began}
}

func (d *double) Send(ctx context.Context, session, _, _ string) (Run, error) {
	return d.Find(ctx, session, "script")
}

func (d *double) Newest(ctx context.Context, session string) (Run, error) {
	return d.Find(ctx, session, "agent")
}

func (d *double) Find(_ context.Context, session, process string) (Run, error) {
	if session != "s" {
		return Run{}, fault.New("not_found", "there is no such session", "")
	}
	return d.run(process), nil
}

func (d *double) Log(ctx context.Context, r Run, after int64, _ time.Duration) (Page, error) {
	if r.Process == "script" {
		next := d.run("agent")
		return Page{Ended: true, Next: &next}, nil
	}
	if rest := d.log[after:]; len(rest) > 0 {
		return Page{Entries: rest}, nil
	}
	select {
	case <-d.end:
		return Page{Ended: true}, nil
	case <-ctx.Done():
		return Page{}, ctx.Err()
	}
}

// serve is a server over a runner, and the hub.
func serve(t *testing.T, d *double, o Options) (*Server, *elicit.Hub, func(body string, headers ...string) *http.Response) {
	t.Helper()
	db, err := store.Open(t.Context(), t.TempDir(), elicit.Schema())
	if err != nil {
		t.Fatal(err)
	}
	hub := elicit.New(db, elicit.Options{Attended: true})
	o.Open = func(context.Context) (*elicit.Hub, Runner, error) { return hub, d, nil }
	s := New(o)
	mux := http.NewServeMux()
	for path, h := range s.Mounts() {
		mux.Handle(path, h)
	}
	web := httptest.NewServer(mux)
	t.Cleanup(func() { s.Close(); web.Close(); hub.Close(); db.Close() })
	return s, hub, func(body string, headers ...string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+Path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		resp, err := web.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp
	}
}

func newDouble() *double {
	return &double{began: time.Now().Add(-time.Second), end: make(chan struct{}), log: []Entry{entry(0, 1, "assistant_message", "hi")}}
}

const hello = `{"conversationId":"s","messages":[{"role":"user","content":"hello"}]`

func all(t *testing.T, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func signIn(session string) elicit.Request {
	return elicit.Request{Trigger: elicit.CredentialRequired, URL: "https://x.example/connect", Message: "Connect", Audience: elicit.Audience{Principal: "ann"},
		Context: elicit.Context{AttemptID: "a", SessionID: session}}
}

// Without the header a wait for a sign-in ends at once, with a reason
// that its tool knows; what another session waits for stays.
func TestWithoutTheHeaderNobodyWaitsForASignIn(t *testing.T) { // I-033
	d := newDouble()
	_, hub, post := serve(t, d, Options{})
	other, err := hub.Open(t.Context(), signIn("another"))
	if err != nil {
		t.Fatal(err)
	}
	resp := post(hello + `}`)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r, err := hub.Ask(ctx, signIn(""))
	if err != nil || r.Completion == nil || r.Completion.Reason != elicit.NoElicitation {
		t.Fatalf("Ask = %+v, %v; want it withdrawn", r.Completion, err)
	}
	close(d.end)
	if got := all(t, resp.Body); strings.Contains(got, r.ID) || !strings.Contains(got, `"delta":"hi"`) || !strings.HasSuffix(got, "data: [DONE]\n\n") {
		t.Errorf("the stream:\n%s", got)
	}
	if other, err = hub.Get(t.Context(), other.ID); err != nil || other.Status != elicit.Open {
		t.Errorf("the other request is %s, %v; want open", other.Status, err)
	}
}

// An answer that is not streamed comes when a person is waited for, or
// when its time is up.
func TestOneAnswerIsBounded(t *testing.T) { // I-065
	for name, c := range map[string]struct {
		asks   bool
		o      Options
		status string
		open   int
	}{
		"asks":     {true, Options{}, "waiting", 1},
		"too long": {false, Options{Buffer: 300 * time.Millisecond}, "running", 0},
	} {
		t.Run(name, func(t *testing.T) {
			_, hub, post := serve(t, newDouble(), c.o)
			if c.asks {
				if _, err := hub.Open(t.Context(), signIn("s")); err != nil {
					t.Fatal(err)
				}
			}
			var got struct {
				Status  string
				Pending []question `json:"pendingElicitations"`
			}
			text := all(t, post(hello+`,"stream":false}`, optIn, "true").Body)
			if err := json.Unmarshal([]byte(text), &got); err != nil || got.Status != c.status || len(got.Pending) != c.open {
				t.Errorf("%s, %v; want %s with %d open", text, err, c.status, c.open)
			}
		})
	}
}

// A stream on which nothing happens shows that it lives, and a server
// that closes ends it without saying that the run has ended.
func TestASilentStreamIsKeptAlive(t *testing.T) { // I-031
	s, _, post := serve(t, newDouble(), Options{KeepAlive: 20 * time.Millisecond})
	body := bufio.NewReader(post(hello + `,"format":"openai"}`).Body)
	late := time.AfterFunc(waittest.Patience, s.Close)
	defer late.Stop()
	var got string
	for strings.Count(got, ": keep-alive\n\n") < 2 {
		line, err := body.ReadString('\n')
		if got += line; err != nil {
			t.Fatalf("the stream ends with %v:\n%s\nwant comments", err, got)
		}
	}
	go s.Close()
	if got += all(t, body); strings.Contains(got, "DONE") || strings.Contains(got, `"stop"`) {
		t.Errorf("the stream:\n%s\nwant comments and no end", got)
	}
}

func TestChatRefuses(t *testing.T) {
	_, _, post := serve(t, newDouble(), Options{})
	for body, want := range map[string]int{
		`{"conversationId":"none","resume":true}`:                  404,
		`{"conversationId":"s","resume":true,"lastEventId":"odd"}`: 400,
		`{"conversationId":"s","messages":[{"role":"assistant","parts":[{"type":"elicitation-response","elicitationId":"elc_none","action":"accept"}]}]}`: 404,
	} {
		if resp := post(body); resp.StatusCode != want || !strings.Contains(all(t, resp.Body), `"message":"`) {
			t.Errorf("%s: %d, want %d", body, resp.StatusCode, want)
		}
	}
}
