package chat

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
)

func entry(index, revision int64, kind, text string) Entry {
	return Entry{index, revision, json.RawMessage(fmt.Sprintf(`{"type":"NORMALIZED_ENTRY","content":{"entry_type":{"type":%q},"content":%q}}`, kind, text))}
}

func used(index, revision int64, status string) Entry {
	return Entry{index, revision, json.RawMessage(`{"type":"NORMALIZED_ENTRY","content":{"entry_type":{"type":"tool_use","tool_name":"run","action_type":{"action":"command_run","result":{"output":"ok"}},"status":{"status":"` + status + `"}},"content":"make"}}`)}
}

// story is a log with what may happen in one: a text that grows, one that is
// written anew, a thought, a tool, and entries that nobody knows.
var story = []Entry{
	entry(0, 1, "assistant_message", "Hel"), entry(0, 2, "assistant_message", "Hello, wörld"),
	entry(1, 3, "thinking", "hm"), used(2, 4, "created"), used(2, 5, "success"), used(3, 6, "failed"),
	entry(4, 7, "assistant_message", "Second"), entry(4, 8, "assistant_message", "Rewritten"),
	entry(5, 9, "plan", "1. rest"), {6, 10, json.RawMessage(`{"type":"FUTURE","x":1}`)}, {7, 11, json.RawMessage(`[null]`)},
}

var aRun = Run{Session: "s", Attempt: "a", Process: "p", Executor: "fake", Began: time.Unix(1700000000, 0)}

func eventsOf(r *reader, entries []Entry) (all []event) {
	for _, e := range entries {
		if ev, ok := r.read(e); ok {
			all = append(all, ev)
		}
	}
	return all
}

func lines(t *testing.T, enc encoder, all []event) string {
	t.Helper()
	var b strings.Builder
	for _, e := range all {
		for _, v := range enc.encode(e) {
			data, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s\n", data)
		}
	}
	return b.String()
}

func fresh() *reader { return readerAt(place{process: "p", entry: -1}) }

func TestEveryFormTellsTheWholeStory(t *testing.T) {
	one := question{ElicitationID: "elc_1", Mode: elicit.URL, Message: "Connect", URL: "https://x.example/c", Context: map[string]any{"trigger": elicit.CredentialRequired}, Status: elicit.Open}
	ended := one
	ended.Status, ended.Outcome = elicit.Completed, elicit.Accept
	all := append([]event{{kind: starts}}, eventsOf(fresh(), story)...)
	all = append(all, event{kind: asks, asked: one}, event{kind: asks, asked: ended}, event{kind: replies, reply: result{ElicitationID: "elc_1", Status: 200, Success: true}}, event{kind: ends, text: "no luck"})
	for name, c := range map[string]struct {
		enc  encoder
		want []string // in this order
	}{
		"openai": {newChunks(aRun, "m", false), []string{
			`{"id":"chatcmpl-p","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"content":"","role":"assistant"},"finish_reason":null}]}`,
			`"delta":{"content":"Hel"}`, `"delta":{"content":"lo, wörld"}`, `"delta":{"reasoning_content":"hm"}`, `"type":"tool"`, `"status":"failed"`, `"delta":{"content":"\n\nSecond"}`,
			`"delta":{},"finish_reason":null}],"event":{"entry":{"type":"NORMALIZED_ENTRY"`, `Rewritten`, `1. rest`, `{"type":"FUTURE","x":1}`, `[null]`,
			`"delta":{"content":"{\"type\":\"elicitation-request\",\"elicitationId\":\"elc_1\",\"mode\":\"url\"`, `"event":{"type":"elicitation-update"`, `"elicitation-result"`,
			`"finish_reason":"stop"}],"event":{"message":"no luck","type":"error"}}`}},
		"vercel": {newParts(aRun, false), []string{`{"messageId":"msg-p","type":"start"}`, `{"type":"start-step"}`, `{"id":"text-0","type":"text-start"}`,
			`{"delta":"Hel","id":"text-0","type":"text-delta"}`, `{"delta":"lo, wörld","id":"text-0","type":"text-delta"}`, `{"id":"text-0","type":"text-end"}`,
			`"reasoning-start"`, `"reasoning-delta"`, `"reasoning-end"`, `"tool-input-available"`, `"output":{"output":"ok"}`, `"tool-input-available"`, `"errorText":"make"`,
			`{"delta":"Second","id":"text-4","type":"text-delta"}`, `{"id":"text-4","type":"text-end"}`, `"type":"data-entry"`, `FUTURE`,
			`{"data":{"elicitationId":"elc_1","mode":"url","message":"Connect","url":"https://x.example/c","context":{"trigger":"credential_required"},"status":"open"},"id":"elc_1","type":"data-elicitation-request"}`,
			`"outcome":"accept"},"id":"elc_1","type":"data-elicitation-request"}`, `"data-elicitation-result"`, `{"errorText":"no luck","type":"error"}`, `{"type":"finish-step"}`, `{"finishReason":"error","type":"finish"}`}},
		"inkeep": {newParts(aRun, true), []string{`{"type":"elicitation-request","elicitationId":"elc_1","mode":"url","message":"Connect"`, `{"type":"elicitation-update"`}},
	} {
		t.Run(name, func(t *testing.T) {
			got := lines(t, c.enc, all)
			rest := got
			for _, want := range c.want {
				_, after, ok := strings.Cut(rest, want)
				if !ok {
					t.Fatalf("no %s, or not in order, in\n%s", want, got)
				}
				rest = after
			}
		})
	}
}

// Wherever a client is cut off, what it gets after that goes on without a gap
// and without a repetition.
func TestAResumedStreamGoesOnWhereItWas(t *testing.T) {
	texts := func(all []event) string {
		var b strings.Builder
		for _, e := range all {
			if e.kind == says {
				b.WriteString(e.text)
			}
		}
		return b.String()
	}
	want := texts(eventsOf(fresh(), story))
	for cut := range story {
		before := fresh()
		got := texts(eventsOf(before, story[:cut]))
		at, err := readPlace(before.at.String())
		if err != nil {
			t.Fatal(err)
		}
		if got += texts(eventsOf(readerAt(at), story[cut:])); got != want {
			t.Errorf("cut after %d entries at %s: %q, want %q", cut, at, got, want)
		}
	}
	for _, id := range []string{"", "p", "p:1:2:3", ":1:2:3:0", "p:-1:0:0:0", "p:1:-2:0:0", "p:1:0:-1:0", "p:x:0:0:0", "p:1:2:3:g", "p:1:2:3:4:5"} {
		if at, err := readPlace(id); err == nil {
			t.Errorf("readPlace(%q) = %v, want a refusal", id, at)
		}
	}
}

// I-010, I-049: what is to be answered is an object of flat properties.
func TestASchemaHasAPropertyForEachQuestion(t *testing.T) {
	two := 2.0
	r := elicit.Request{Mode: elicit.Form, Questions: []elicit.Question{
		{ID: "name", Kind: elicit.Text, Message: "Name?", Required: true, Min: &two, Format: elicit.Email},
		{ID: "n", Kind: elicit.Integer, Message: "How many?", Max: &two}, {ID: "sure", Kind: elicit.Boolean, Title: "Sure", Message: "Really?"},
		{ID: "one", Kind: elicit.SingleSelect, Message: "Which?", Required: true, AllowFreeform: true, Options: []elicit.Option{{ID: "a", Label: "Ay"}}},
		{ID: "many", Kind: elicit.MultiSelect, Message: "Which ones?", Min: &two, Options: []elicit.Option{{ID: "a", Label: "Ay", Description: "first", Recommended: true}}},
	}}
	want := `{"properties":{"many":{"items":{"anyOf":[{"const":"a","description":"Ay (recommended): first","title":"Ay"}]},"minItems":2,"title":"Which ones?","type":"array"},"n":{"maximum":2,"title":"How many?","type":"integer"},` +
		`"name":{"format":"email","minLength":2,"title":"Name?","type":"string"},"one":{"oneOf":[{"const":"a","title":"Ay"}],"title":"Which?","type":"string"},"one__other":{"title":"Other (your own words)","type":"string"},` +
		`"sure":{"description":"Really?","title":"Sure","type":"boolean"}},"required":["name"],"type":"object"}`
	if got := string(schemaOf(&r)); got != want {
		t.Errorf("schemaOf = %s\nwant %s", got, want)
	}
	r.Schema = json.RawMessage(`{"type":"object", "properties":{}}`)
	if got := string(schemaOf(&r)); got != string(r.Schema) {
		t.Errorf("schemaOf = %s, want what was asked: %s", got, r.Schema)
	}
}

func TestACallIsReadFromTheLastMessage(t *testing.T) {
	for name, c := range map[string]struct{ body, prompt, err string }{
		"openai":          {`{"conversationId":"s","messages":[{"role":"system","content":5},{"role":"user","content":"hi"}]}`, "hi", ""},
		"openai parts":    {`{"conversationId":"s","messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url"},{"type":"text","text":"b"}]}]}`, "a\n\nb", ""},
		"ai":              {`{"conversationId":"s","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"hi"},7]}]}`, "hi", ""},
		"answer":          {`{"conversationId":"s","messages":[{"role":"assistant","parts":[{"type":"text","text":"x"},{"type":"data-elicitation-response","data":{"elicitationId":"e","action":"decline"}}]}]}`, "", ""},
		"resume":          {`{"conversationId":"s","resume":true}`, "", ""},
		"no conversation": {`{"messages":[{"role":"user","content":"hi"}]}`, "", "conversationId"},
		"no messages":     {`{"conversationId":"s"}`, "", "messages"},
		"nobody speaks":   {`{"conversationId":"s","messages":[{"role":"assistant","content":"hi"}]}`, "", "no text"},
		"a format":        {`{"conversationId":"s","format":"xml","messages":[{}]}`, "", "format"},
		"both":            {`{"conversationId":"s","messages":[{"role":"user","parts":[{"type":"text","text":"x"},{"type":"elicitation-response","elicitationId":"e"}]}]}`, "", "both"},
		"odd content":     {`{"conversationId":"s","messages":[{"role":"user","content":{}}]}`, "", "content"},
		"no object":       {`[]`, "", "body"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readCall(httptest.NewRecorder(), httptest.NewRequest("POST", Path, strings.NewReader(c.body)))
			if c.err == "" && got.prompt != c.prompt || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("prompt %q, %v; want %q, %q", got.prompt, err, c.prompt, c.err)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"conversationId":"s","messages":[{"role":"user","content":"hi"}]}`, "p:1:2:3:0", "text")
	f.Add(`{"type":"NORMALIZED_ENTRY","content":{"entry_type":{"type":"assistant_message"},"content":"é"}}`, "p:0:0:1:0", "é")
	f.Fuzz(func(t *testing.T, body, id, text string) {
		_, _ = readCall(httptest.NewRecorder(), httptest.NewRequest("POST", Path, strings.NewReader(body)))
		at, err := readPlace(id)
		if err != nil {
			at = place{process: "p", entry: -1}
		}
		r := readerAt(at)
		r.read(Entry{0, 1, json.RawMessage(body)})
		if ev, ok := r.read(entry(at.entry, at.revision, "assistant_message", text)); ok && ev.kind == says && !strings.HasSuffix(text, ev.text) {
			t.Errorf("%q is no end of %q", ev.text, text)
		}
	})
}
