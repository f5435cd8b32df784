package mcpserver

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// If no call can be held, calls of tools and streams are refused with 503. A person's reply and
// all else are answered.
func TestCallsThatCannotBeHeldAreRefused(t *testing.T) {
	url := overHTTP(t, newServer(t, Options{Hold: func() (func(), bool) { return func() {}, false }}, newDesk().catalog()))
	session := map[string]string{"Mcp-Session-Id": openSession(t, url), "Mcp-Protocol-Version": "2025-11-25"}
	stream := map[string]string{"Accept": "text/event-stream"}
	for name, value := range session {
		stream[name] = value
	}
	call := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{}%s,` + modernMeta + `}}`
	for name, c := range map[string]struct {
		request
		refused bool
	}{
		"a call":              {request{body: fmt.Sprintf(call, ""), header: modernHeaders("tools/call", "echo")}, true},
		"a call in a session": {request{body: fmt.Sprintf(call, ""), header: session}, true},
		"a stream":            {request{method: http.MethodGet, header: stream}, true},
		"a person's reply":    {request{body: fmt.Sprintf(call, `,"requestState":"x","inputResponses":{}`), header: modernHeaders("tools/call", "echo")}, false},
		"a list":              {request{body: `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}`, header: session}, false},
		"a reply":             {request{body: `{"jsonrpc":"2.0","id":7,"result":{}}`, header: session}, false},
	} {
		status, header, body := c.request.send(t, url)
		if refused := status == http.StatusServiceUnavailable; refused != c.refused {
			t.Errorf("%s: %d %s, want it refused: %t", name, status, body, c.refused)
		}
		if c.refused && (header.Get("Retry-After") == "" || !strings.Contains(body, "retry in 5 seconds")) {
			t.Errorf("%s: %v %s, want Retry-After and a sentence", name, header, body)
		}
	}
}
