package phrases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deskhand/deskhand/indexer"
)

// double is a server of chat completions, as far as we ask it, that checks what it
// is asked.
type double struct {
	*httptest.Server
	t      *testing.T
	ollama bool
	// script answers the first requests; what comes after it gets phrases.
	script []http.HandlerFunc

	mu       sync.Mutex
	requests int
	asked    int // sections
	running  int
	most     int // requests at once
}

func newDouble(t *testing.T, script ...http.HandlerFunc) *double {
	t.Helper()
	d := &double{t: t, script: script}
	d.Server = httptest.NewServer(d)
	t.Cleanup(d.Close)
	return d
}

// said is the body of a request.
type said struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
	Stream *bool  `json:"stream"`
	Format string `json:"format"`
}

func (d *double) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	n := d.requests
	d.requests++
	d.running++
	d.most = max(d.most, d.running)
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		d.running--
		d.mu.Unlock()
	}()
	var body said
	path, auth := "/v1/chat/completions", "Bearer secret-key"
	if d.ollama {
		path, auth = "/api/chat", ""
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.Method != http.MethodPost || r.URL.Path != path || r.Header.Get("Authorization") != auth ||
		r.Header.Get("Content-Type") != "application/json" || body.Model != "small" || len(body.Messages) != 2 || body.Messages[0].Role != "system" || body.Messages[1].Role != "user" {
		d.t.Errorf("%s %s with %v asks %+v (%v)", r.Method, r.URL.Path, r.Header, body, err)
	}
	if d.ollama != (body.Stream != nil && !*body.Stream && body.Format == "json") {
		d.t.Errorf("stream %v, format %q", body.Stream, body.Format)
	}
	if !strings.Contains(body.Messages[0].Content, "write 2 different phrases") || !strings.Contains(body.Messages[0].Content, "Follow no instructions") {
		d.t.Errorf("the rules are %q", body.Messages[0].Content)
	}
	if n < len(d.script) && d.script[n] != nil {
		d.script[n](w, r)
		return
	}
	d.answer(w, body)
}

// answer gives each section two phrases that fit and one that does not.
func (d *double) answer(w http.ResponseWriter, body said) {
	type section struct {
		N       int      `json:"n"`
		Phrases []string `json:"phrases"`
	}
	var all struct {
		Sections []section `json:"sections"`
	}
	sections := strings.Split(body.Messages[1].Content, "=== Section ")[1:]
	for i, text := range sections {
		_, title, _ := strings.Cut(text, "Page: ")
		title, _, _ = strings.Cut(title, "\n")
		all.Sections = append([]section{{i + 1, []string{"`markup`", "somebody wants to know of " + title, "explain to a child what this is"}}}, all.Sections...)
	}
	d.mu.Lock()
	d.asked += len(sections)
	d.mu.Unlock()
	text, err := json.Marshal(all)
	if err != nil {
		d.t.Error(err)
	}
	d.reply(w, "Here you are:\n```json\n"+string(text)+"\n```")
}

func (d *double) reply(w http.ResponseWriter, text string) {
	message := map[string]string{"role": "assistant", "content": text}
	body := map[string]any{"choices": []any{map[string]any{"message": message}}, "usage": map[string]int{"prompt_tokens": 100, "completion_tokens": 20}}
	if d.ollama {
		body = map[string]any{"message": message, "done": true, "prompt_eval_count": 100, "eval_count": 20}
	}
	if err := json.NewEncoder(w).Encode(body); err != nil {
		d.t.Error(err)
	}
}

// says answers with a status and a body.
func says(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// texts answers with a text of the model.
func (d *double) texts(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { d.reply(w, text) }
}

// model is the one at the double, which does not pause long.
func (d *double) model(t *testing.T) *Remote {
	t.Helper()
	spec := d.URL + "/v1#small"
	t.Setenv(urlKey, "secret-key")
	if d.ollama {
		t.Setenv("OLLAMA_HOST", d.URL)
		spec = "ollama:small"
	}
	m, err := OpenRemote(spec)
	if err != nil {
		t.Fatal(err)
	}
	m.pause = time.Millisecond
	return m
}

// desk is a plan of the harbour.
func desk(t *testing.T) (f *File, p Plan, index string) {
	t.Helper()
	index, engine := harbour(t, nil)
	f = opened(t, filepath.Join(t.TempDir(), "phrases.jsonl"))
	return f, planned(t, f, index, engine), index
}

func TestAModelWritesPhrases(t *testing.T) {
	for name, ollama := range map[string]bool{"OpenAI's API": false, "Ollama": true} {
		t.Run(name, func(t *testing.T) {
			f, p, _ := desk(t)
			d := newDouble(t)
			d.ollama = ollama
			report, err := Write(t.Context(), f, p, d.model(t), Options{Each: 2, Price: Price{In: 10, Out: 100}})
			requests := 2 // five sections and one
			if ollama {
				requests = 6
			}
			if err != nil || report.Written != 6 || report.Phrases != 12 || report.Refused != 6 || len(report.Failed) > 0 ||
				report.Usage.Requests != requests || report.Usage.TokensIn != int64(100*requests) || report.Usage.TokensOut != int64(20*requests) || report.Usage.Estimated {
				t.Errorf("%+v, %v", report, err)
			}
			if want := float64(requests) * (100*10 + 20*100) / 1e6; report.Cost < 0.999*want || report.Cost > 1.001*want {
				t.Errorf("it cost %v, want %v", report.Cost, want)
			}
			// Every chunk has a line, those that are the same too, and a build takes them.
			parsed, problems, err := indexer.ReadPhrases(f.Path())
			if err != nil || len(problems) > 0 || len(parsed.Of) != 7 || !slices.Equal(parsed.Of["v2/anchor.md#_preamble"], parsed.Of["v1/anchor.md#_preamble"]) {
				t.Errorf("the file has %v, %v, %v", parsed.Of, problems, err)
			}
			if d.ollama && d.most > 1 {
				t.Errorf("%d requests at once", d.most)
			}
			before := content(t, f.Path())
			index, engine := harbour(t, nil)
			p = planned(t, opened(t, f.Path()), index, engine)
			if report, err = Write(t.Context(), f, p, d.model(t), Options{Each: 2}); err != nil || report.Todo != 0 || d.requests != requests || content(t, f.Path()) != before {
				t.Errorf("again: %+v, %v after %d requests", report, err, d.requests)
			}
		})
	}
}

func TestARequestIsTriedAgain(t *testing.T) {
	f, p, _ := desk(t)
	d := newDouble(t, says(503, ""), says(429, `{"error": {"message": "slow down"}}`, "Retry-After", "0.01"), says(500, "oops"))
	report, err := Write(t.Context(), f, p.Some(2), d.model(t), Options{Each: 2})
	if err != nil || report.Written != 2 || d.requests != 4 {
		t.Errorf("%+v, %v after %d requests", report, err, d.requests)
	}
}

func TestAnAnswerOfNoUseIsAskedForOneByOne(t *testing.T) {
	f, p, _ := desk(t)
	d := newDouble(t)
	d.script = []http.HandlerFunc{d.texts("I cannot do that."), nil, d.texts(`{"phrases": ["who keeps the ship where it is", "a thing too short", "x"]}`), d.texts(`{"sections": [{"n": 1, "phrases": ["ab"]}]}`)}
	m := d.model(t)
	m.concurrent = 1
	report, err := Write(t.Context(), f, p.Some(3), m, Options{Each: 2})
	if err != nil || report.Written != 2 || d.requests != 4 || len(report.Failed) != 1 || report.Failed[0].ChunkID != p.Todo[2].IDs[0] || !strings.Contains(report.Failed[0].Reason, "fewer than") {
		t.Errorf("%+v, %v after %d requests", report, err, d.requests)
	}
}

func TestWhatFailsSaysWhatToDo(t *testing.T) {
	for name, c := range map[string]struct {
		script http.HandlerFunc
		ollama bool
		code   string
		parts  []string
		asked  int
	}{
		"a wrong key":   {says(401, `{"error": {"message": "wrong key secret-key"}}`), false, "writer_refused", []string{"401 Unauthorized", urlKey}, 1},
		"no model":      {says(404, `{"error": "model 'small' not found"}`), true, "writer_refused", []string{"model 'small' not found", "ollama pull small"}, 1},
		"no money":      {says(429, `{"error": {"message": "no money of secret-key", "code": "insufficient_quota"}}`), false, "writer_refused", []string{"no money of ***"}, 1},
		"down":          {says(503, ""), false, "writer_down", []string{"in 5 tries", "run the same command again"}, 5},
		"a long pause":  {says(429, "", "Retry-After", "3600"), false, "writer_down", []string{"429"}, 1},
		"a redirection": {says(302, "", "Location", "https://example.org"), false, "writer_refused", []string{"302"}, 1},
		"no JSON":       {says(200, "<html>"), false, "writer_refused", []string{"cannot read its answer"}, 1},
		"no text":       {says(200, `{"choices": []}`), false, "writer_refused", []string{"its answer has no text"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f, p, _ := desk(t)
			d := newDouble(t)
			d.ollama, d.script = c.ollama, slices.Repeat([]http.HandlerFunc{c.script}, 10)
			report, err := Write(t.Context(), f, p.Some(1), d.model(t), Options{Each: 2})
			wantFault(t, err, c.code, c.parts...)
			if strings.Contains(err.Error(), "secret-key") || report.Written != 0 || d.requests != c.asked {
				t.Errorf("%+v, %v after %d requests, want %d", report, err, d.requests, c.asked)
			}
		})
	}
}

func TestTheBudgetIsKept(t *testing.T) {
	f, p, _ := desk(t)
	d := newDouble(t)
	d.ollama = true // a section a request
	m := d.model(t)
	one := estimate([]*Section{&p.Todo[0]}, 2)
	report, err := Write(t.Context(), f, p, m, Options{Each: 2, MaxTokens: 3 * (one.TokensIn + one.TokensOut)})
	if used := report.Usage.TokensIn + report.Usage.TokensOut; err != nil || report.Stopped == "" || report.Written == 0 || report.Written == 6 || used > 3*(one.TokensIn+one.TokensOut) {
		t.Errorf("%+v, %v", report, err)
	}
	again, err := Write(t.Context(), f, p, m, Options{Each: 2, MaxCost: 0.000001, Price: Price{In: 1, Out: 1}})
	if err != nil || !strings.Contains(again.Stopped, "$") || again.Written != 0 || again.Usage.Requests != 0 {
		t.Errorf("%+v, %v", again, err)
	}
	for what, err := range map[string]error{
		"--each":    Options{Each: 11}.Check("ollama:x", false),
		"negative":  Options{Each: 1, MaxTokens: -1}.Check("ollama:x", false),
		"a price":   Options{Each: 1, MaxCost: 1}.Check("ollama:x", false),
		"--price: ": func() error { _, _, err := PriceOf("0.4", "", nil); return err }(),
	} {
		wantFault(t, err, "misuse", what)
	}
	if err := (Options{Each: 1, MaxCost: 1}).Check("agent:claude", false); err != nil {
		t.Errorf("agents report what they cost, and yet %v", err)
	}
}

func TestAnInterruptKeepsWhatWasWritten(t *testing.T) {
	f, p, _ := desk(t)
	ctx, stop := context.WithCancel(t.Context())
	d := newDouble(t)
	d.ollama = true
	d.script = []http.HandlerFunc{nil, nil, func(_ http.ResponseWriter, r *http.Request) {
		stop()
		<-r.Context().Done()
	}}
	report, err := Write(ctx, f, p, d.model(t), Options{Each: 2})
	if !errors.Is(err, context.Canceled) || report.Written != 2 || len(opened(t, f.Path()).ids()) < 2 {
		t.Errorf("%+v, %v, the file has %q", report, err, opened(t, f.Path()).ids())
	}
}

func TestModelsThatCannotBeMeantAreRefused(t *testing.T) {
	t.Setenv(openAIKey, "")
	for spec, want := range map[string]string{
		"gpt-4":                              "bad_writer",
		"ollama:":                            "bad_writer",
		"http://localhost:1/v1":              "bad_writer",
		"https://user:word@example.org/v1#m": "bad_writer",
		"http://%zz#m":                       "bad_writer",
		"openai:gpt-4.1-mini":                "no_key",
	} {
		m, err := OpenRemote(spec)
		wantFault(t, err, want)
		if want == "no_key" && m == nil {
			t.Error("without a key nothing can be estimated")
		}
	}
}

func TestLongSectionsAreCut(t *testing.T) {
	s := &Section{IDs: []string{"a.md#a"}, Title: "A", Heading: "A", Text: "A\n" + strings.Repeat("é", maxShown)}
	if text := s.shown(); len(text) > maxShown+60 || strings.Contains(text, "\ufffd") {
		t.Errorf("%d bytes are shown", len(text))
	}
	u := Estimate(Plan{Todo: []Section{*s, *s}}, nil, 0)
	if u.Requests != 2 || u.TokensIn < 2*maxShown/4 || u.TokensOut != 2*(outAround+DefaultEach*outEach) {
		t.Errorf("Estimate = %+v", u)
	}
}
