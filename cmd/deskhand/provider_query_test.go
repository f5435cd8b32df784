//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A provider that fails while questions come costs no answer: it goes by words,
// and says so beside the answer, and in the log once.
func TestQuestionsOutliveTheirProvider(t *testing.T) {
	t.Parallel()
	p := newProvider(t, -1)
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	done(t, dir, "index", sections(t, 50), "-o", out, "--embed", p.spec(), "--cache", filepath.Join(dir, "cache"))
	s := overPipe(t, "--index", out, "--embed-timeout", "2s")
	lexical := func(query string) string {
		t.Helper()
		var reply struct {
			Meta    map[string]any `json:"_meta"`
			Content []struct{ Text string }
		}
		start := time.Now()
		raw := s.rpc("tools/call", encoded(t, map[string]any{"name": "search_docs", "arguments": map[string]any{"query": query}}))
		if err := json.Unmarshal(raw, &reply); err != nil || len(reply.Content) != 1 || !strings.Contains(reply.Content[0].Text, "chunk_id") {
			t.Fatalf("search_docs(%q) = %.300s, %v; want hits", query, raw, err)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("search_docs(%q) took %v", query, took)
		}
		reason, _ := reply.Meta["deskhand/lexical"].(string)
		return reason
	}
	if why := lexical("words of part 3"); why != "" {
		t.Errorf("a well provider: %q", why)
	}
	requests, _, _ := p.counts()
	p.set(requests, 0) // silent
	if why := lexical("part 4 on page 2"); !strings.Contains(why, "within 2s") {
		t.Errorf("a silent provider: %q", why)
	}
	if why := lexical("words of part 3"); why != "" {
		t.Errorf("a question of before: %q, want its vector from memory", why)
	}
	p.set(-1, 500)
	if why := lexical("page 2"); !strings.Contains(why, "500") {
		t.Errorf("a failing provider: %q", why)
	}
	p.set(-1, 0)
	if why := lexical("page 3"); why != "" {
		t.Errorf("well again: %q", why)
	}
	// The log comes through a pipe of its own.
	eventually(t, "each of the two lines once in the log", func() error {
		log := s.stderr.String()
		if strings.Count(log, "keyword search only") != 1 || strings.Count(log, "search by meaning works again") != 1 {
			return fmt.Errorf("it is:\n%s", log)
		}
		return nil
	})
}
