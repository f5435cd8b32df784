package views

import (
	"context"
	"encoding/json"
	"io/fs"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/web/inbox"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// desk has the views over its own store.
type desk struct {
	testing.TB
	*Views
	hub   *elicit.Hub
	found string // result of Find
	pages int    // calls of Pages
}

var me = contract.Caller{Name: "host", Views: true}

func open(t testing.TB, prefix string) *desk {
	t.Helper()
	db, err := store.Open(context.Background(), t.TempDir(), elicit.Schema())
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{TB: t, hub: elicit.New(db, elicit.Options{})}
	o := Options{Prefix: prefix, Channel: inbox.ViewChannel,
		Hub:  func(context.Context) (*elicit.Hub, error) { return d.hub, nil },
		Key:  func(context.Context) ([]byte, error) { return []byte("secret"), nil },
		Find: func(context.Context, contract.Caller, json.RawMessage, bool) (string, error) { return d.found, nil }}
	o.Pages = func() (*page.Shell, http.Handler) {
		d.pages++
		shell := page.New([]byte("key"))
		form := inbox.New(inbox.Options{Shell: shell, View: true, Hub: o.Hub})
		t.Cleanup(form.Stop)
		return shell, form.InView()
	}
	d.Views = New(o)
	t.Cleanup(func() { d.hub.Close(); db.Close() })
	return d
}

func (d *desk) asks(r elicit.Request) elicit.Request {
	d.Helper()
	r.Questions = []elicit.Question{{ID: "name", Message: "Who are you?", Required: true}}
	r, err := d.hub.Open(context.Background(), r)
	if err != nil {
		d.Fatal(err)
	}
	return r
}

func question() elicit.Request {
	return elicit.Request{Trigger: elicit.AskUser, Source: elicit.Source{Kind: "mcp", Name: "host"}}
}

// does calls the form's tool.
func (d *desk) does(who contract.Caller, in askViewIn) (map[string]any, error) {
	d.Helper()
	args, err := json.Marshal(in)
	if err != nil {
		d.Fatal(err)
	}
	var given map[string]any
	if err := json.Unmarshal(args, &given); err != nil {
		d.Fatal(err)
	}
	for name, v := range given {
		if v == nil || v == "" {
			delete(given, name)
		}
	}
	args, _ = json.Marshal(given)
	result, err := d.askView().Call(context.Background(), who, args)
	if err != nil {
		return nil, err
	}
	if want := []string{"The question was shown to the person."}; !slices.Equal(result.Text, want) || result.Structured != nil {
		d.Errorf("%s tells a model %q, %v; want %q only", in.Do, result.Text, result.Structured, want)
	}
	return result.Meta[metaView].(map[string]any), nil
}

func (d *desk) proofOf() string {
	d.Helper()
	html, err := d.readAsk(context.Background())
	if err != nil {
		d.Fatal(err)
	}
	return regexp.MustCompile(`name="proof" content="([^"]*)"`).FindStringSubmatch(html)[1]
}

func TestTheFormOpensItsQuestionAndAnswersIt(t *testing.T) {
	d := open(t, "")
	proof := d.proofOf()
	if got, err := d.does(me, askViewIn{Do: "open", Proof: proof, Arguments: json.RawMessage(`{}`)}); err != nil || got["found"] != false {
		t.Errorf("open before the call = %v, %v; want not found", got, err)
	}
	r := d.asks(question())
	d.found = r.ID
	opened, err := d.does(me, askViewIn{Do: "open", Proof: proof, Arguments: json.RawMessage(`{}`)})
	if err != nil || opened["request_id"] != r.ID || !strings.Contains(opened["body"].(string), `name="a.name"`) {
		t.Fatalf("open = %v, %v; want the form of %s", opened, err, r.ID)
	}
	if now, _ := d.hub.Get(t.Context(), r.ID); len(now.Presented) != 1 || now.Presented[0].Channel != "app" {
		t.Errorf("presented %+v, want in the view", now.Presented)
	}
	in := askViewIn{Do: "draft", RequestID: r.ID, Key: opened["key"].(string), Body: `{"client":"v","question":"name","fields":{"name":["An"]}}`}
	if got, err := d.does(me, in); err != nil || got["status"] != http.StatusOK {
		t.Errorf("draft = %v, %v", got, err)
	}
	in.Do, in.Body, in.After, in.Wait = "changes", "", opened["seq"].(int64), 5000
	if got, err := d.does(me, in); err != nil || !strings.Contains(got["body"].(string), `"fields":{"name":["An"]}`) {
		t.Errorf("changes = %v, %v; want the draft", got, err)
	}
	in.Do, in.Body = "act", "do.act=send&a.name=Ann"
	if got, err := d.does(me, in); err != nil || got["status"] != http.StatusOK {
		t.Errorf("act = %v, %v", got, err)
	}
	now, err := d.hub.Get(t.Context(), r.ID)
	if err != nil || !now.Accepted() || now.Completion.Channel != "app" || now.Answers["name"].Value.Text != "Ann" {
		t.Errorf("the request = %+v, %v; want it answered in the view", now, err)
	}
	// A conversation that is loaded again shows the question's outcome.
	if got, err := d.does(me, askViewIn{Do: "open", Proof: proof, RequestID: r.ID}); err != nil || !strings.Contains(got["body"].(string), "data-ended") {
		t.Errorf("open of an answered question = %v, %v; want its end", got, err)
	}
}

func TestOnlyTheFormCanAnswer(t *testing.T) {
	d := open(t, "")
	r, proof := d.asks(question()), d.proofOf()
	key, err := d.key(t.Context(), r.ID, me)
	if err != nil {
		t.Fatal(err)
	}
	theirs := d.asks(elicit.Request{Trigger: elicit.AskUser, Source: elicit.Source{Kind: "mcp", Name: "other"}})
	upstream := d.asks(elicit.Request{Trigger: elicit.MCPElicitation, Source: elicit.Source{Kind: "mcp", Name: "host"}})
	other := contract.Caller{Name: "other", Views: true}
	answer := "do.act=send&a.name=Ann"
	for name, c := range map[string]struct {
		who contract.Caller
		in  askViewIn
	}{
		"open without the page":           {me, askViewIn{Do: "open", RequestID: r.ID}},
		"open with a wrong proof":         {me, askViewIn{Do: "open", RequestID: r.ID, Proof: key}},
		"open what another client asked":  {me, askViewIn{Do: "open", RequestID: theirs.ID, Proof: proof}},
		"open what an upstream asked":     {me, askViewIn{Do: "open", RequestID: upstream.ID, Proof: proof}},
		"open what is not there":          {me, askViewIn{Do: "open", RequestID: "elc_0", Proof: proof}},
		"answer without a key":            {me, askViewIn{Do: "act", RequestID: r.ID, Body: answer}},
		"answer with the proof":           {me, askViewIn{Do: "act", RequestID: r.ID, Key: proof, Body: answer}},
		"answer without a question":       {me, askViewIn{Do: "act", Key: key, Body: answer}},
		"answer another question":         {me, askViewIn{Do: "act", RequestID: theirs.ID, Key: key, Body: answer}},
		"answer as another client":        {other, askViewIn{Do: "act", RequestID: r.ID, Key: key, Body: answer}},
		"read the draft without a key":    {me, askViewIn{Do: "form", RequestID: r.ID}},
		"follow the draft without a key":  {me, askViewIn{Do: "changes", RequestID: r.ID}},
		"a step that there is not":        {me, askViewIn{Do: "delete", RequestID: r.ID, Key: key}},
		"leave the question for the list": {me, askViewIn{Do: "form", RequestID: "../history", Key: key}},
		"more than a form has":            {me, askViewIn{Do: "act", RequestID: r.ID, Key: key, Body: strings.Repeat("x", mostBody+1)}},
	} {
		got, err := d.does(c.who, c.in)
		if f := fault.Of(err); f == nil {
			t.Errorf("%s = %v, %v; want a refusal", name, got, err)
		}
	}
	for _, id := range []string{r.ID, theirs.ID, upstream.ID} {
		if now, err := d.hub.Get(t.Context(), id); err != nil || now.Status != elicit.Open || len(now.Answers) > 0 {
			t.Errorf("%s = %+v, %v; want it open", id, now, err)
		}
	}
}

// A page contains all its resources: its policy allows its own style and script by
// their digests, and the page contains no address.
func TestPagesLoadNothing(t *testing.T) {
	d := open(t, "")
	for name, page := range map[string]document{"ask": d.made().ask, "search": d.made().search, "attempt": d.made().attempt} {
		html := page.with("PROOF")
		policy := regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(html)
		if policy == nil {
			t.Fatalf("%s has no policy", name)
		}
		rules := strings.NewReplacer("&#39;", "'", "&#43;", "+").Replace(policy[1])
		for _, want := range []string{"default-src 'none'", "connect-src 'none'", "form-action 'none'", "base-uri 'none'"} {
			if !strings.Contains(rules, want) {
				t.Errorf("%s: the policy %q lacks %q", name, rules, want)
			}
		}
		if strings.Contains(rules, "unsafe") || strings.Contains(rules, "http") {
			t.Errorf("%s: the policy %q allows more than the page", name, rules)
		}
		for element, rule := range map[string]string{"script": "script-src ", "style": "style-src "} {
			inside := regexp.MustCompile(`(?s)<`+element+`>(.*?)</`+element+`>`).FindAllStringSubmatch(html, -1)
			if len(inside) != 1 || !strings.Contains(rules, rule+hashOf(inside[0][1])) {
				t.Errorf("%s: %d elements %s, or not of the digest in %q", name, len(inside), element, rules)
			}
		}
		if found := regexp.MustCompile(`(?:src|href|action)="?[^#"]|url\(|@import|https?://`).FindString(html); found != "" {
			t.Errorf("%s refers to something: %q", name, found)
		}
		const most = 64 << 10
		if len(html) > most {
			t.Errorf("%s has %d bytes, want at most %d", name, len(html), most)
		}
		t.Logf("%s: %d bytes", name, len(html))
	}
	if html := d.made().ask.with("PROOF"); strings.Contains(html, proofMark) || strings.Count(html, "PROOF") != 1 {
		t.Error("the page of the form does not have its proof in one place")
	}
}

func TestToolsHaveTheirViewsUnderAnyPrefix(t *testing.T) {
	d := open(t, "acme")
	tools := func(names ...string) (c contract.Catalog) {
		for _, name := range names {
			c.Tools = append(c.Tools, contract.Tool{Name: name})
		}
		return c
	}
	c := tools("acme_search_docs", "acme_get_doc", "acme_ask_user", "acme_await_answer", "acme_start_task_attempt", "acme_get_attempt_status")
	c.Tools = append(c.Tools, contract.Tool{Name: "search_docs", Published: json.RawMessage(`{}`)})
	d.Enter(&c)
	got := map[string]string{}
	for _, tool := range c.Tools {
		got[tool.Name] = tool.View
	}
	want := map[string]string{"acme_search_docs": searchURI, "acme_get_doc": "", "acme_ask_user": askURI, "acme_await_answer": "",
		"acme_start_task_attempt": attemptURI, "acme_get_attempt_status": attemptURI, "acme_ask_view": "", "search_docs": ""}
	for name, view := range want {
		if v, ok := got[name]; !ok || v != view {
			t.Errorf("the view of %s = %q, want %q", name, v, view)
		}
	}
	if len(c.Resources) != 3 || len(got) != len(want) {
		t.Errorf("%d pages and %d tools, want 3 and %d", len(c.Resources), len(got), len(want))
	}
	if d.pages != 0 {
		t.Error("the pages exist before a client reads one")
	}
	if html, err := c.Resources[1].Read(t.Context()); err != nil || !strings.Contains(html, "acme_search_docs") {
		t.Errorf("the page of the search does not call acme_search_docs: %v", err)
	}
	if _, err := c.Resources[0].Read(t.Context()); err != nil || d.pages != 1 {
		t.Errorf("after two reads, the pages were made %d times, want once; %v", d.pages, err)
	}
	docs := tools("acme_search_docs")
	d.Enter(&docs)
	if len(docs.Tools) != 1 || len(docs.Resources) != 1 {
		t.Errorf("docs only: %d tools, %d pages; want 1 and 1", len(docs.Tools), len(docs.Resources))
	}
}

// No script of a view uses the network, and the scripts that the form shares use it
// only through the carrier.
func TestScriptsOfViewsUseNoNetwork(t *testing.T) {
	err := fs.WalkDir(static, "static", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(static, path)
		if found := regexp.MustCompile(`\bfetch\(|new EventSource|WebSocket|XMLHttpRequest|sendBeacon`).Find(data); found != nil {
			t.Errorf("%s has %q", path, found)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestThePollsOfViewsAreBounded(t *testing.T) {
	d := open(t, "")
	r := d.asks(question())
	key, err := d.key(t.Context(), r.ID, me)
	if err != nil {
		t.Fatal(err)
	}
	for range mostPolls { // the maximum number of held requests
		d.polls <- struct{}{}
	}
	_, seq, err := d.hub.GetAt(t.Context(), r.ID)
	if err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	if _, err := d.does(me, askViewIn{Do: "changes", RequestID: r.ID, Key: key, After: seq, Wait: 20_000}); err != nil || time.Since(since) > 10*time.Second {
		t.Errorf("one more poll = %v after %v, want an answer at once", err, time.Since(since))
	}
	if held := len(d.polls); held != mostPolls {
		t.Errorf("%d polls are held, want those of before", held)
	}
}
