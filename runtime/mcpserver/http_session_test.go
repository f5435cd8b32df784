package mcpserver

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// Calls are answered with 200 and the code that stdio has; what is no call with
// a readable id is refused by its status, and ignored when it is in order.
func TestHostileFramesAreAnsweredOverHTTPAsOverStdio(t *testing.T) {
	url := overHTTP(t, newServer(t, Options{MaxBodyBytes: 2 << 20}, newDesk().catalog()))
	header := map[string]string{"Mcp-Session-Id": openSession(t, url), "Mcp-Protocol-Version": "2025-11-25"}
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			status, got, body := request{body: h.line, header: header}.send(t, url)
			if strings.HasPrefix(got.Get("Content-Type"), "text/event-stream") {
				_, body, _ = strings.Cut(body, "data: ")
			}
			var w wire
			if body != "" {
				if err := json.Unmarshal([]byte(body), &w); err != nil || w.JSONRPC != "2.0" {
					t.Fatalf("%d %.200q is no message: %v", status, body, err)
				}
			}
			if w.Error != nil && (strings.Contains(w.Error.Message, "mcp.") || w.Error.Message == "" || len(w.Error.Message) > 1000) {
				t.Errorf("error message %.1100q", w.Error.Message)
			}
			f, _ := parseFrame([]byte(h.line))
			id, _ := cutLast(h.want)
			wantStatus, want := 400, h.want
			switch {
			case strings.HasPrefix(h.name, "too long"):
				wantStatus = 413
			case strings.Contains(h.name, "version,") || h.name == "future version": // which sessions do not speak
				wantStatus, want = 200, "1 -32022"
			case len(id) > 15 && id[0] != '"' || id == "-0": // which HTTP cannot carry
				wantStatus, want = 200, id+" -32600"
			case f.kind == call:
				wantStatus = 200
			case h.want == none && status == 202:
				wantStatus = 202
			}
			if status != wantStatus || h.want != none && !sameAnswer(w.says(), want) {
				t.Errorf("%d %.200s, want %d %.200s: %.300s", status, w.says(), wantStatus, want, body)
			}
		})
	}
	if status, _, body := (request{body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`, header: header}).send(t, url); status != 200 {
		t.Errorf("the session afterwards: %d %s", status, body)
	}
}

// sameAnswer compares ids by value: over HTTP one may be escaped otherwise.
func sameAnswer(got, want string) bool {
	gotID, gotEnd := cutLast(got)
	wantID, wantEnd := cutLast(want)
	var a, b any
	return gotEnd == wantEnd && json.Unmarshal([]byte(gotID), &a) == nil && json.Unmarshal([]byte(wantID), &b) == nil && a == b
}

func cutLast(s string) (before, after string) {
	i := max(strings.LastIndex(s, " "), 0)
	return s[:i], s[i:]
}

func TestUnknownNotificationsAreAccepted(t *testing.T) {
	url := overHTTP(t, newServer(t, Options{}, newDesk().catalog()))
	session := map[string]string{"Mcp-Session-Id": openSession(t, url)}
	for _, method := range []string{"notifications/x", "notifications/message", "$/cancelRequest", "tools/list"} {
		for era, header := range map[string]map[string]string{"legacy": session, "modern": modernHeaders(method, "")} {
			status, _, body := request{body: `{"jsonrpc":"2.0","method":"` + method + `"}`, header: header}.send(t, url)
			if status != 202 || body != "" {
				t.Errorf("%s %s: %d %s, want 202", era, method, status, body)
			}
		}
	}
}

// listen opens a stream and returns its lines.
func listen(t *testing.T, url string, q request) <-chan string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), q.method, url, strings.NewReader(q.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range q.header {
		r.Header.Set(name, value)
	}
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return
		}
		defer resp.Body.Close()
		if kind := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || kind != "text/event-stream" {
			lines <- resp.Status + " " + kind
		}
		for in := bufio.NewScanner(resp.Body); in.Scan(); {
			lines <- in.Text()
		}
	}()
	return lines
}

// await returns the first line that begins so.
func await(t *testing.T, lines <-chan string, begin string) string {
	t.Helper()
	var seen []string
	for late := time.After(waittest.Patience); ; {
		select {
		case line, ok := <-lines:
			if !ok {
				t.Fatalf("the stream ended without %q: %q", begin, seen)
			}
			if strings.HasPrefix(line, begin) {
				return line
			}
			seen = append(seen, line)
		case <-late:
			t.Fatalf("no %q in the stream: %q", begin, seen)
		}
	}
}

func TestSilentStreamsArePinged(t *testing.T) {
	d := newDesk()
	s := newServer(t, Options{PingEvery: 20 * time.Millisecond}, d.catalog())
	url := overHTTP(t, s)
	session := map[string]string{"Mcp-Session-Id": openSession(t, url)}
	streams := map[string]<-chan string{
		"GET": listen(t, url, request{method: "GET", header: session}),
		"subscriptions/listen": listen(t, url, request{method: "POST", header: modernHeaders("subscriptions/listen", ""),
			body: `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + modernMeta + `}}`}),
	}
	for name, lines := range streams {
		for range 3 {
			if got := await(t, lines, ": ping"); got != ": ping" {
				t.Errorf("%s: %q", name, got)
			}
		}
	}
	if err := s.Replace(contract.Catalog{Tools: d.catalog().Tools[:1]}); err != nil {
		t.Fatal(err)
	}
	for name, lines := range streams {
		if got := await(t, lines, "data: "); !strings.Contains(got, "notifications/") {
			t.Errorf("%s: after pings %q, want a notification", name, got)
		}
	}
}

func TestCallsThatTakeLongArePinged(t *testing.T) {
	for era, header := range map[string]map[string]string{"legacy": nil, "modern": modernHeaders("tools/call", "wait_long_way")} {
		d := newDesk()
		url := overHTTP(t, newServer(t, Options{PingEvery: 20 * time.Millisecond}, d.catalog()))
		meta := ""
		if header == nil {
			header = map[string]string{"Mcp-Session-Id": openSession(t, url)}
		} else {
			meta = "," + modernMeta
		}
		lines := listen(t, url, request{method: "POST", header: header,
			body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait_long_way"` + meta + `}}`})
		await(t, lines, ": ping")
		await(t, lines, ": ping")
		<-d.entered
		d.release <- struct{}{}
		if got := await(t, lines, "data: "); !strings.Contains(got, `"id":1,"result":{`) || !strings.Contains(got, "released") {
			t.Errorf("%s: after pings %q, want the answer", era, got)
		}
	}
}

func TestOneStreamASession(t *testing.T) {
	url := overHTTP(t, newServer(t, Options{}, newDesk().catalog()))
	header := map[string]string{"Mcp-Session-Id": openSession(t, url)}
	await(t, listen(t, url, request{method: "GET", header: header}), ": ok")
	status, got, body := request{method: "GET", header: header}.send(t, url)
	if status != 409 || got.Get("Content-Type") != "application/json" || !strings.Contains(body, `"code":-32600,"message":"invalid request: the session already has an open stream`) {
		t.Errorf("the second stream: %d %s", status, body)
	}
}

func TestListsMayBeKeptForAMinute(t *testing.T) {
	session := connectHTTP(t, overHTTP(t, newServer(t, Options{}, newDesk().catalog())), "2026-07-28")
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil || tools.TTLMs != 60_000 || tools.CacheScope != "private" {
		t.Errorf("tools/list = %+v, %v; want 60000 ms, private", tools, err)
	}
	read, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "docs:///a.md"})
	if err != nil || read.TTLMs != 0 {
		t.Errorf("resources/read = %+v, %v; want 0 ms", read, err)
	}
}

// What is no id is not cut to one that a call in flight has.
func TestACancellationNamesAnID(t *testing.T) {
	for params, want := range map[string]bool{
		`{"requestId":1}`: true, `{"requestId":"a"}`: true, `{"requestId":1.5}`: false, `{"requestId":{}}`: false, `{"requestId":null}`: false, `{}`: false,
	} {
		f, refusal := parseFrame([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":` + params + `}`))
		if refusal != nil {
			t.Fatalf("parseFrame(%s): %v", params, refusal)
		}
		if got := inexact(&f) == nil; got != want {
			t.Errorf("cancelled %s is passed on: %v, want %v", params, got, want)
		}
	}
}
