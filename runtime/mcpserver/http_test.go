package mcpserver

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/waittest"
)

func overHTTP(t testing.TB, s *Server) (url string) {
	t.Helper()
	ts := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		_ = s.Close(context.Background())
		ts.Close()
	})
	return ts.URL
}

func connectHTTP(t testing.TB, url, version string) *mcp.ClientSession {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "7"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: url, DisableStandaloneSSE: true, MaxRetries: -1},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func TestClientsOfBothErasAreServedOverHTTP(t *testing.T) {
	url := overHTTP(t, newServer(t, Options{}, newDesk().catalog()))
	for _, version := range []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"} {
		t.Run(version, func(t *testing.T) { converse(t, connectHTTP(t, url, version)) })
	}
}

// request is a POST by hand; header names a client sends besides the usual.
type request struct {
	method, body string
	header       map[string]string
}

func (q request) send(t testing.TB, url string) (status int, header http.Header, body string) {
	t.Helper()
	method := q.method
	if method == "" {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(q.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range q.header {
		r.Header.Set(name, value)
		if value == "" {
			r.Header.Del(name)
		}
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(all)
}

const initializeLine = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"byhand","version":"1"}}}`

func openSession(t testing.TB, url string) (id string) {
	t.Helper()
	status, header, body := request{body: initializeLine}.send(t, url)
	if id = header.Get("Mcp-Session-Id"); status != 200 || id == "" {
		t.Fatalf("initialize: %d %s", status, body)
	}
	return id
}

// modernHeaders are what a request of 2026-07-28 repeats of its body.
func modernHeaders(method, name string) map[string]string {
	h := map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method}
	if name != "" {
		h["Mcp-Name"] = name
	}
	return h
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"byhand","version":"1"}}`

func TestHTTPRefusesWhatTheTransportForbids(t *testing.T) {
	url := overHTTP(t, newServer(t, Options{MaxBodyBytes: 1000}, newDesk().catalog()))
	session := openSession(t, url)
	inSession := map[string]string{"Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-11-25"}
	with := func(base map[string]string, more ...string) map[string]string {
		h := map[string]string{}
		for k, v := range base {
			h[k] = v
		}
		for i := 0; i < len(more); i += 2 {
			h[more[i]] = more[i+1]
		}
		return h
	}
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for name, c := range map[string]struct {
		request
		status int
		want   string // in the body
	}{
		"GET without session":       {request{method: "GET"}, 405, "Mcp-Session-Id"},
		"GET of the new era":        {request{method: "GET", header: modernHeaders("", "")}, 405, ""},
		"DELETE without session":    {request{method: "DELETE"}, 405, "Mcp-Session-Id"},
		"PUT":                       {request{method: "PUT", body: ping, header: inSession}, 405, "use POST"},
		"PUT of the new era":        {request{method: "PUT", header: modernHeaders("", "")}, 405, "use POST"},
		"GET for pages":             {request{method: "GET", header: with(inSession, "Accept", "text/html")}, 406, "text/event-stream"},
		"GET that resumes":          {request{method: "GET", header: with(inSession, "Last-Event-ID", "a_1")}, 400, "open a new one without Last-Event-ID"},
		"POST that resumes":         {request{body: list, header: with(inSession, "Last-Event-ID", "a_1")}, 200, "Last-Event-ID"},
		"GET of unknown session":    {request{method: "GET", header: map[string]string{"Mcp-Session-Id": "gone"}}, 404, "not found"},
		"POST to unknown session":   {request{body: list, header: map[string]string{"Mcp-Session-Id": "gone"}}, 404, "not found"},
		"DELETE unknown session":    {request{method: "DELETE", header: map[string]string{"Mcp-Session-Id": "gone"}}, 404, "not found"},
		"call without session":      {request{body: list}, 400, `"id":1,"error":{"code":-32600`},
		"ping without session":      {request{body: ping}, 400, "call initialize first"},
		"no content type":           {request{body: ping, header: with(inSession, "Content-Type", "")}, 415, "-32600"},
		"form":                      {request{body: ping, header: with(inSession, "Content-Type", "application/x-www-form-urlencoded")}, 415, "-32600"},
		"text/plain":                {request{body: ping, header: with(inSession, "Content-Type", "text/plain")}, 415, "-32600"},
		"no Accept":                 {request{body: ping, header: with(inSession, "Accept", "text/html")}, 406, "-32600"},
		"half Accept":               {request{body: ping, header: with(inSession, "Accept", "application/json")}, 406, "-32600"},
		"too large":                 {request{body: `{"a":"` + strings.Repeat("x", 1000) + `"}`, header: inSession}, 413, "at most 1000"},
		"empty":                     {request{header: inSession}, 400, "-32700"},
		"not JSON":                  {request{body: "hello", header: inSession}, 400, `"id":null,"error":{"code":-32700`},
		"batch":                     {request{body: "[" + ping + "]", header: inSession}, 400, "-32600"},
		"deep":                      {request{body: strings.Repeat("[", 500), header: inSession}, 400, "-32600"},
		"id too large":              {request{body: `{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/list"}`, header: inSession}, 200, `"id":9007199254740993,"error"`},
		"params array":              {request{body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}`, header: inSession}, 200, "-32602"},
		"arguments array":           {request{body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"empty","arguments":[]}}`, header: inSession}, 200, `"id":1,"error":{"code":-32602`},
		"broken params, gone":       {request{body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}`, header: map[string]string{"Mcp-Session-Id": "gone"}}, 404, "session not found"},
		"broken params, none":       {request{body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}`}, 400, "call initialize first"},
		"unknown method":            {request{body: `{"jsonrpc":"2.0","id":1,"method":"tasks/list"}`, header: inSession}, 200, `"id":1,"error":{"code":-32601,"message":"method not found: \"tasks/list\""`},
		"client's method":           {request{body: `{"jsonrpc":"2.0","id":"a","method":"roots/list"}`, header: inSession}, 200, `"id":"a","error":{"code":-32601`},
		"notification as call":      {request{body: `{"jsonrpc":"2.0","id":1,"method":"notifications/initialized"}`, header: inSession}, 200, `"id":1,"error":{"code":-32600`},
		"method of the new era":     {request{body: `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, header: inSession}, 200, `-32601`},
		"initialize again":          {request{body: initializeLine, header: inSession}, 200, `"id":1,"error":{"code":-32600,"message":"duplicate`},
		"odd params":                {request{body: `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":5},"argument":{"name":7}}}`, header: inSession}, 200, `"code":-32602,"message":"invalid params for this method"`},
		"modern unknown method":     {request{body: `{"jsonrpc":"2.0","id":1,"method":"x/y","params":{` + modernMeta + `}}`, header: modernHeaders("x/y", "")}, 404, `"id":1,"error":{"code":-32601`},
		"modern method of sessions": {request{body: `{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + modernMeta + `}}`, header: modernHeaders("ping", "")}, 404, `"id":1,"error":{"code":-32601`},
		"modern odd params":         {request{body: `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":5},"argument":{"name":7},` + modernMeta + `}}`, header: modernHeaders("completion/complete", "")}, 400, `"code":-32602,"message":"invalid params for this method"`},
		"modern, no longer there":   {request{body: `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{` + modernMeta + `}}`, header: modernHeaders("logging/setLevel", "")}, 404, `"id":1,"error":{"code":-32601`},
		"id with a bogus version":   {request{body: list, header: with(inSession, "Mcp-Protocol-Version", "v999.0.0")}, 400, `"id":1,"error":{"code":-32022`},
		"version no date":           {request{body: list, header: with(inSession, "Mcp-Protocol-Version", "bogus")}, 400, `\"bogus\" is not supported: send one of 2026-07-28, 2025-11-25`},
		"version of no day":         {request{body: list, header: with(inSession, "Mcp-Protocol-Version", "2099-13-01")}, 400, `"supported":["2026-07-28","2025-11-25"`},
		"GET of version no date":    {request{method: "GET", header: with(inSession, "Mcp-Protocol-Version", "zzz")}, 400, `-32022`},

		"unknown version":          {request{body: list, header: with(inSession, "Mcp-Protocol-Version", "1999-01-01")}, 400, "send one of"},
		"future version":           {request{body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}`, header: map[string]string{"Mcp-Protocol-Version": "2099-01-01", "Mcp-Method": "tools/list"}}, 400, "-32022"},
		"version only in _meta":    {request{body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`}, 400, "Mcp-Protocol-Version header is required"},
		"version only in header":   {request{body: list, header: modernHeaders("tools/list", "")}, 400, "missing or invalid _meta"},
		"method header missing":    {request{body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`, header: modernHeaders("", "")}, 400, "Mcp-Method"},
		"name header of another":   {request{body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"empty",` + modernMeta + `}}`, header: modernHeaders("tools/call", "search_docs")}, 400, "Mcp-Name"},
		"modern unknown tool":      {request{body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nope",` + modernMeta + `}}`, header: modernHeaders("tools/call", "nope")}, 400, "-32602"},
		"initialize params broken": {request{body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":[]}`}, 200, "-32602"},
	} {
		t.Run(name, func(t *testing.T) {
			status, header, body := c.send(t, url)
			if status != c.status || !strings.Contains(body, c.want) {
				t.Errorf("%d %s, want %d and %q", status, body, c.status, c.want)
			}
			var refusal wire
			if err := json.Unmarshal([]byte(body), &refusal); err != nil || refusal.Error == nil || refusal.ID == nil ||
				refusal.Error.Code == 0 || header.Get("Content-Type") != "application/json" {
				t.Errorf("%s %q is no JSON-RPC error with an id and a code: %v", header.Get("Content-Type"), body, err)
			}
			allow := map[bool]string{true: "POST, GET, DELETE", false: "POST"}[name == "PUT"]
			if status == 405 && header.Get("Allow") != allow {
				t.Errorf("405 with Allow %q, want %q", header.Get("Allow"), allow)
			}
		})
	}
	if status, _, body := (request{body: ping, header: inSession}).send(t, url); status != 200 {
		t.Errorf("the session afterwards: %d %s", status, body)
	}
}

func TestDeleteEndsASession(t *testing.T) {
	url := overHTTP(t, newServer(t, Options{}, newDesk().catalog()))
	header := map[string]string{"Mcp-Session-Id": openSession(t, url)}
	call := request{body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"empty"}}`, header: header}
	if status, _, body := call.send(t, url); status != 200 {
		t.Fatalf("before: %d %s", status, body)
	}
	if status, _, body := (request{method: "DELETE", header: header}).send(t, url); status != 204 {
		t.Errorf("DELETE: %d %s, want 204", status, body)
	}
	if status, _, body := call.send(t, url); status != 404 {
		t.Errorf("afterwards: %d %s, want 404", status, body)
	}
}

func TestFastPathKeepsLargeIDs(t *testing.T) {
	url := overHTTP(t, newServer(t, Options{}, newDesk().catalog()))
	_, _, body := request{
		body:   `{"jsonrpc":"2.0","id":18446744073709551617,"method":"tools/call","params":{"name":"empty"}}`,
		header: map[string]string{"Mcp-Session-Id": openSession(t, url)},
	}.send(t, url)
	if !strings.HasPrefix(body, `{"jsonrpc":"2.0","id":18446744073709551617,"result":`) {
		t.Errorf("answer %s", body)
	}
}

func TestCallsAreCancelledOverHTTP(t *testing.T) {
	for _, tool := range []string{"wait", "wait_long_way"} {
		t.Run("legacy "+tool, func(t *testing.T) {
			d := newDesk()
			url := overHTTP(t, newServer(t, Options{}, d.catalog()))
			header := map[string]string{"Mcp-Session-Id": openSession(t, url)}
			var wg sync.WaitGroup
			defer wg.Wait()
			wg.Go(func() {
				<-d.entered
				request{body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}`, header: header}.send(t, url)
				request{body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`, header: header}.send(t, url)
			})
			request{body: `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"` + tool + `"}}`, header: header}.send(t, url)
			if got := <-d.entered; got != "cancelled" {
				t.Errorf("the tool says %s, want cancelled", got)
			}
		})
		t.Run("modern "+tool, func(t *testing.T) { // there, going away is cancelling
			d := newDesk()
			url := overHTTP(t, newServer(t, Options{}, d.catalog()))
			session := connectHTTP(t, url, "2026-07-28")
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-d.entered
				cancel()
			}()
			if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool}); err == nil {
				t.Error("a cancelled call returned")
			}
			if got := <-d.entered; got != "cancelled" {
				t.Errorf("the tool says %s, want cancelled", got)
			}
		})
	}
}

func TestReplaceIsToldOverHTTP(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			d := newDesk()
			s := newServer(t, Options{}, d.catalog())
			url := overHTTP(t, s)
			changed := make(chan string, 8)
			client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- "tools" },
			})
			session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url}, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			tools := 0
			waittest.Until(t, "the client is told of new tools", func() (bool, any) { // its stream is opened beside
				tools = 3 - max(tools, 1)
				if err := s.Replace(contract.Catalog{Tools: d.catalog().Tools[:tools]}); err != nil {
					t.Fatal(err)
				}
				select {
				case <-changed:
					return true, nil
				case <-time.After(waittest.Quiet):
					return false, nil
				}
			})
		})
	}
}

func TestCloseEndsStreams(t *testing.T) {
	s := newServer(t, Options{}, newDesk().catalog())
	url := overHTTP(t, s)
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Mcp-Session-Id", openSession(t, url))
	resp, err := http.DefaultClient.Do(r)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("GET: %v, %v", resp, err)
	}
	defer resp.Body.Close()
	if err := s.Close(t.Context()); err != nil {
		t.Errorf("Close = %v", err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Errorf("the stream ends with %v, want its end", err)
	}
}

func TestSessionsAreBounded(t *testing.T) {
	url := overHTTP(t, newServer(t, Options{MaxSessions: 3}, newDesk().catalog()))
	alive := func(id string) bool {
		status, _, _ := request{body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`, header: map[string]string{"Mcp-Session-Id": id}}.send(t, url)
		return status == 200
	}
	var ids []string
	for range 3 {
		ids = append(ids, openSession(t, url))
	}
	if !alive(ids[0]) { // and thereby used last
		t.Fatal("the first session is gone already")
	}
	ids = append(ids, openSession(t, url))
	waittest.Until(t, "the session that was used first ends", func() (bool, any) { return !alive(ids[1]), nil })
	for i, want := range []bool{true, false, true, true} {
		if got := alive(ids[i]); got != want {
			t.Errorf("session %d of 4 alive: %v, want %v", i+1, got, want)
		}
	}
}

func TestIdleSessionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newSessions(10, time.Hour)
		var ended atomic.Int32
		add := func(id string) { table.add(&session{id: id, end: func() { ended.Add(1) }}) }
		add("idle")
		add("polled")
		add("streaming")
		_, release := table.hold("streaming", "")
		for range 5 {
			time.Sleep(30 * time.Minute)
			_, done := table.hold("polled", "")
			done()
		}
		synctest.Wait()
		for id, want := range map[string]bool{"idle": false, "polled": true, "streaming": true} {
			s, done := table.hold(id, "")
			done()
			if (s != nil) != want {
				t.Errorf("after 2.5 h session %s is there: %v, want %v", id, s != nil, want)
			}
		}
		release()
		time.Sleep(3 * time.Hour)
		table.wait()
		if ended.Load() != 3 {
			t.Errorf("%d of 3 sessions ended", ended.Load())
		}
	})
}
