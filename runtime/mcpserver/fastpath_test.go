package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/waittest"

	"github.com/deskhand/deskhand/runtime/contract"
)

// alikeParams are calls, most of them well-formed. "pages" answers what its
// structure is on several lines.
var alikeParams = []string{
	`"name":"search_docs","arguments":{"query":"retry","limit":5.0}`,
	`"name":"search_docs","arguments":{"query":"\u0000<é>\"","limit":50}`,
	`"name":"search_docs","arguments":{"query":"a","foo":1}`,
	`"name":"search_docs","arguments":{"query":"a","query":"b"}`,
	`"name":"search_docs","arguments":null`,
	`"name":"search_docs"`,
	`"name":"search_docs","arguments":[]`,
	`"name":"pages"`,
	`"name":"empty"`,
	`"name":"empty","arguments":{},"extra":1`,
	`"name":"nope"`,
	`"name":5`,
	`"arguments":{}`,
}

// alikeMetas are what _meta may hold in the legacy era.
var alikeMetas = []string{
	``,
	`,"_meta":null`,
	`,"_meta":{}`,
	`,"_meta":{"progressToken":1}`,
	`,"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"other","version":"2"}}`,
	`,"_meta":{"io.modelcontextprotocol/clientInfo":5}`,
	`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}`,
	`,"_meta":{"io.modelcontextprotocol/protocolVersion":5}`,
}

// modernMetas are what it may hold in the new one.
var modernMetas = []string{
	"," + modernMeta,
	`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{"listChanged":true},"x":1},"progressToken":"p"}`,
	`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`,
	`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":null}`,
	`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"sampling":1}}`,
	`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":null}`,
	`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":5}}`,
	`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}`,
}

// twoWays are servers that differ in nothing but the way to their tools: one is
// read-only, the other goes through the SDK. The counts are of calls that the
// SDK has seen.
func twoWays(t *testing.T) (fast, long *Server, fastSeen, longSeen *atomic.Int32) {
	build := func(readOnly bool) (*Server, *atomic.Int32) {
		catalog := newDesk().catalog()
		catalog.Tools = append(catalog.Tools, contract.Define(contract.Spec{Name: "pages", Description: "d", Input: noInput},
			func(context.Context, contract.Caller, struct{}) (contract.Result, error) {
				return contract.Result{Text: []string{"a\xff", "b\r\n"}, Structured: json.RawMessage("{\n\"n\" :\r\n [1.50, \"<\u2028>\"]\n}\n"),
					Meta: map[string]any{"deskhand/lexical": "<far> is down"}}, nil
			}))
		for i := range catalog.Tools {
			catalog.Tools[i].ReadOnly = readOnly
		}
		s, seen := newServer(t, Options{}, catalog), new(atomic.Int32)
		s.sdk.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if method == "tools/call" {
					seen.Add(1)
				}
				return next(ctx, method, req)
			}
		})
		return s, seen
	}
	fast, fastSeen = build(true)
	long, longSeen = build(false)
	return fast, long, fastSeen, longSeen
}

// data returns the JSON of an answer, from an event stream or not.
func data(t *testing.T, body string) (v map[string]any) {
	t.Helper()
	for line := range strings.Lines(body) {
		if rest, ok := strings.CutPrefix(line, "data: "); ok {
			body = rest
		}
	}
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("no JSON: %.300s", body)
	}
	return v
}

// The fast path and the SDK's must not be told apart by a client.
func TestBothWaysAnswerAlike(t *testing.T) {
	for _, door := range []string{"HTTP", "stdio"} {
		for _, era := range []string{"legacy", "modern"} {
			t.Run(door+" "+era, func(t *testing.T) { answerAlike(t, door, era) })
		}
	}
}

func answerAlike(t *testing.T, door, era string) {
	fast, long, fastSeen, longSeen := twoWays(t)
	ask := func(s *Server) func(id, params string) string {
		if door == "HTTP" {
			return askHTTP(t, s, era)
		}
		return askStdio(t, s, era)
	}
	a, b := ask(fast), ask(long)
	metas := alikeMetas
	if era == "modern" {
		metas = modernMetas
	}
	for _, params := range alikeParams {
		for _, meta := range metas {
			for _, id := range []string{`7`, `"s\u0065ven"`} {
				x, y := a(id, params+meta), b(id, params+meta)
				if !reflect.DeepEqual(data(t, x), data(t, y)) {
					t.Errorf("%s%s:\nstraight %s\nlong     %s", params, meta, x, y)
				}
			}
		}
	}
	if took := longSeen.Load() - fastSeen.Load(); took < 20 {
		t.Errorf("only %d calls went the fast path", took)
	}
}

// askHTTP returns the status and then what both ways give in the same place.
func askHTTP(t *testing.T, s *Server, era string) func(id, params string) string {
	url := overHTTP(t, s)
	session := openSession(t, url)
	return func(id, params string) string {
		header := map[string]string{"Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-11-25"}
		if era == "modern" {
			name, _, _ := strings.Cut(strings.TrimPrefix(params, `"name":"`), `"`)
			header = modernHeaders("tools/call", name)
		}
		status, got, body := request{body: `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{` + params + `}}`, header: header}.send(t, url)
		v := data(t, body)
		v["status"], v["cache"] = status, got.Get("Cache-Control")
		all, _ := encode(v)
		return string(all)
	}
}

func askStdio(t *testing.T, s *Server, era string) func(id, params string) string {
	c := newByHand(t, s)
	if era == "legacy" {
		c.initialize()
	} else {
		c.send(`{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{` + modernMeta + "}}\n")
		if w, err := c.read(); err != nil || w.says() != "0 ok" {
			t.Fatalf("server/discover: %+v, %v", w, err)
		}
	}
	return func(id, params string) string {
		c.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{` + params + "}}\n")
		line, err := c.out.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, `{"jsonrpc":"2.0","id":`+id+",") || strings.Count(line, "\r") > 0 {
			t.Fatalf("%s is answered with %q, %v", params, line, err)
		}
		return line
	}
}

func TestNoCallOvertakesInitialize(t *testing.T) {
	for range 20 {
		s, _, seen, _ := twoWays(t)
		c := newByHand(t, s)
		call := `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"empty"}}` + "\n"
		c.send(fmt.Sprintf(call, 1) + initializeLineWithID(2) + "\n" + fmt.Sprintf(call, 3))
		var got []string
		for range 3 {
			w, err := c.read()
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, w.says())
		}
		if said := strings.Join(got, ", "); said != "1 -32600, 2 ok, 3 ok" && said != "2 ok, 1 -32600, 3 ok" {
			t.Fatalf("a call, initialize and a call are answered with %s", said)
		}
		// The SDK answers a call before it has forgotten it, so the next one may still go there.
		id := 3
		waittest.Until(t, "a call goes past the SDK", func() (bool, any) {
			id++
			before := seen.Load()
			c.send(fmt.Sprintf(call, id))
			if w, err := c.read(); err != nil || w.says() != fmt.Sprint(id, " ok") {
				t.Fatalf("the next call: %s, %v", w.says(), err)
			}
			return seen.Load() == before, id
		})
	}
}

func initializeLineWithID(id int) string {
	return strings.Replace(initializeLine, `"id":1`, fmt.Sprintf(`"id":%d`, id), 1)
}

// wholeLines refuses what is not one whole line, or comes beside another.
type wholeLines struct {
	t    *testing.T
	busy atomic.Bool
	out  io.Writer
}

func (w *wholeLines) Write(p []byte) (int, error) {
	if !w.busy.CompareAndSwap(false, true) {
		w.t.Error("two writes at once")
	}
	defer w.busy.Store(false)
	if bytes.IndexByte(p, '\n') != len(p)-1 || !json.Valid(p) {
		w.t.Errorf("written %.200q, want one line", p)
	}
	return w.out.Write(p)
}

func TestAnswersAreWrittenOneByOne(t *testing.T) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	s := newServer(t, Options{}, newDesk().catalog())
	ended := make(chan error, 1)
	go func() { ended <- s.ServeStdio(context.Background(), inR, &wholeLines{t: t, out: outW}) }()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: outR, Writer: inW}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 20 {
				query := strings.Repeat("q", 1+i*j*10)
				saysIt(t, session, "search_docs", map[string]any{"query": query, "limit": 3}, query+" x3 for c <&>\u2028", false)
				saysIt(t, session, "refuse", nil, "There is none. Retry later.", true)
			}
		})
	}
	wg.Wait()
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// pageTool answers with 12 KB, as search_docs does: the text is JSON and the
// same is the structure. Its own cost is small.
func pageTool(way string) contract.Catalog {
	text, err := encode(map[string]string{"text": strings.Repeat("some \"text\" of a page, in lines as they are\n", 125)})
	if err != nil {
		panic(err) // a map of strings marshals
	}
	tool := contract.Define(contract.Spec{Name: "search_docs", Description: "d", Input: searchSchema, ReadOnly: way == "fast"},
		func(context.Context, contract.Caller, searchIn) (contract.Result, error) {
			return contract.Result{Text: []string{string(text)}, Structured: text}, nil
		})
	return contract.Catalog{Tools: []contract.Tool{tool}}
}

// eachWay runs bench with the body of a call, on each way and in each era.
func eachWay(b *testing.B, bench func(b *testing.B, s *Server, era, body string)) {
	for _, way := range []string{"fast", "SDK"} {
		for _, era := range []string{"modern", "legacy"} {
			b.Run(fmt.Sprintf("%s %s", way, era), func(b *testing.B) {
				params := `"name":"search_docs","arguments":{"query":"how to retry"}`
				if era == "modern" {
					params += "," + modernMeta
				}
				b.ReportAllocs()
				bench(b, newServer(b, Options{}, pageTool(way)), era, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+params+`}}`)
			})
		}
	}
}

// BenchmarkStdioCall is one client that calls over pipes and waits. Run it with
// -cpu 1 to read its time as CPU, of which the client has little.
func BenchmarkStdioCall(b *testing.B) {
	eachWay(b, func(b *testing.B, s *Server, _, body string) {
		c := newByHand(b, s)
		c.initialize()
		for b.Loop() {
			c.send(body + "\n")
			if line, err := c.out.ReadSlice('\n'); err != nil || len(line) < 12_000 {
				b.Fatalf("%.200q, %v", line, err)
			}
		}
	})
}

// BenchmarkHTTP is the same over HTTP, where the client has a good part of the
// time.
func BenchmarkHTTP(b *testing.B) {
	eachWay(b, func(b *testing.B, s *Server, era, body string) {
		url := overHTTP(b, s)
		header := modernHeaders("tools/call", "search_docs")
		if era == "legacy" {
			header = map[string]string{"Mcp-Session-Id": openSession(b, url)}
		}
		for b.Loop() {
			r, _ := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			for name, value := range header {
				r.Header.Set(name, value)
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				b.Fatal(err)
			}
			if n, err := io.Copy(io.Discard, resp.Body); err != nil || n < 10_000 {
				b.Fatalf("%d bytes, %v", n, err)
			}
			resp.Body.Close()
		}
	})
}
