package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// stranger is an HTTP server that answers with any bytes that a test chooses.
type stranger struct {
	*httptest.Server
	mu     sync.Mutex
	tokens map[string]int // number of requests by token
	// lists maps the list methods to their results in JSON.
	lists map[string]string
	// list returns the result of tools/list. If nil, it is in lists.
	list func() string
	// call answers tools/call. If nil, the answer is one text.
	call func(w http.ResponseWriter, r *http.Request, id json.RawMessage)
}

const oneGoodTool = `{"name":"good","inputSchema":{"type":"object"}}`

func newStranger(t *testing.T, s *stranger) *stranger {
	t.Helper()
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

// offers returns a stranger with these tools and a good one.
func offers(t *testing.T, tools string) *stranger {
	t.Helper()
	return newStranger(t, &stranger{lists: map[string]string{"tools/list": `{"tools":[` + tools + oneGoodTool + `]}`}})
}

// ServeHTTP implements [http.Handler].
func (s *stranger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "); token != "" {
		s.mu.Lock()
		if s.tokens == nil {
			s.tokens = map[string]int{}
		}
		s.tokens[token]++
		s.mu.Unlock()
	}
	if r.Method != http.MethodPost {
		http.Error(w, "", http.StatusMethodNotAllowed)
		return
	}
	var m struct {
		ID     json.RawMessage
		Method string
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &m) != nil {
		http.Error(w, "", http.StatusBadRequest)
		return
	}
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	result := s.lists[m.Method]
	switch {
	case m.Method == "tools/list" && s.list != nil:
		result = s.list()
	case m.Method == "initialize":
		result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"stranger","version":"1"}}`
	case m.Method == "tools/call" && s.call != nil:
		s.call(w, r, m.ID)
		return
	case m.Method == "tools/call":
		result = `{"content":[{"type":"text","text":"done"}]}`
	}
	answer(w, m.ID, result)
}

// seen returns the number of requests with a token.
func (s *stranger) seen(token string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tokens[token]
}

// answer sends a result. If the result is empty, it answers that the method does
// not exist.
func answer(w http.ResponseWriter, id json.RawMessage, result string) {
	w.Header().Set("Content-Type", "application/json")
	if result == "" {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, id)
		return
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}
