package main

import (
	"fmt"
	"strings"
	"testing"
)

// However small the bound on answers is, it holds or is refused at the start.
func TestMaxAnswerBytesHoldsOrIsRefused(t *testing.T) {
	index := indexed(t, acme(t, endpoints(60)))
	for _, most := range []int{1, 100, 600, 1500, 3000} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			flags := []string{"--index", index, "--max-answer-bytes", fmt.Sprint(most)}
			if r := deskhand(t, t.TempDir(), append([]string{"serve"}, flags...)...); r.code != 0 { // stdin is empty
				if r.code != 2 || !strings.Contains(r.stderr, "\nhint: ") {
					t.Errorf("exit %d, stderr %q; want 2 and a hint", r.code, r.stderr)
				}
				return
			}
			d := byPipe(t, index, flags[2:]...)
			for _, call := range [][2]string{
				{"search_docs", `{"query":"widget","limit":50}`},
				{"get_doc", `{"chunk_id":"guides/retries.md"}`},
				{"get_doc", `{"chunk_id":"guides/retries.md#retries/jitter","context":5}`},
				{"list_docs", `{"folder":"api"}`},
			} {
				if n := len(d.succeed(call[0], call[1])); n > most {
					t.Errorf("%s %s has %d bytes, more than %d", call[0], call[1], n, most)
				}
			}
		})
	}
}

// Whatever bytes arrive on stdin, the server answers what can be answered and
// lives on; the hostile frames themselves are tested where they are read.
func TestServeOutlivesWhatIsNoMessage(t *testing.T) {
	p := overPipe(t, "--index", indexed(t, acme(t, nil)))
	for _, line := range []string{
		"", "garbage", "[]", "{}", "null", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, "\ufeff{}", "\x00\xff\xfe",
		strings.Repeat("[", 100_000), `{"jsonrpc":"2.0","id":{},"method":"ping"}`, `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":7}`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `{"jsonrpc":"2.0","method":"notifications/nonsense"}`, strings.Repeat("x", 1<<20),
	} {
		p.line(line)
	}
	d := door{t, "stdio", p.ask}
	d.succeed("search_docs", `{"query":"jitter"}`)
	if m, err := p.ask("tools/call", `{"name":"nope","arguments":{}}`); err != nil || m.Error == nil || m.Error.Code != -32602 || !strings.Contains(m.Error.Message, `unknown tool "nope"`) {
		t.Errorf("an unknown tool: %+v, %v; want error -32602", m, err)
	}
}

// A corpus brings prompts, resources and instructions along.
func TestServeOffersWhatTheCorpusBrings(t *testing.T) {
	corpus := acme(t, map[string]string{
		"metadata.json": `{"corpus_description": "Acme SDK docs", "mcpServerInstructions": " Search first. ", "taxonomy": {"language": {"properties": {"go": {"mcp_resource": true}}}}}`,
	})
	index := indexed(t, corpus)
	if p, want := overPipe(t, "--index", index, "--tools", "docs"), `"instructions":"Search first."`; !strings.Contains(string(p.welcome), want) {
		t.Errorf("initialize = %s, want %s in it", p.welcome, want)
	}
	p := overPipe(t, "--index", index)
	if want := `\n\nSearch first."`; !strings.Contains(string(p.welcome), want) {
		t.Errorf("initialize = %s, want %s in it", p.welcome, want)
	}
	for _, c := range []struct{ method, params, want string }{
		{"prompts/list", `{}`, `"name":"ask"`},
		{"prompts/get", `{"name":"ask","arguments":{"question":"why <now>?"}}`, `Answer with sources: why <now>?`},
		{"resources/list", `{}`, `"uri":"docs:///sdk/go/pagination.md"`},
		{"resources/read", `{"uri":"docs:///sdk/go/pagination.md"}`, `"text":"# Pagination in go\n\nLists come in pages.`},
	} {
		if got := unescaped(string(p.rpc(c.method, c.params))); !strings.Contains(got, c.want) {
			t.Errorf("%s %s = %s, want %q in it", c.method, c.params, got, c.want)
		}
	}
	for _, c := range []struct{ method, params, want string }{
		{"prompts/get", `{"name":"ask"}`, "Missing required prompt argument 'question'"},
		{"resources/read", `{"uri":"docs:///guides/retries.md"}`, "Resource not found: docs:///guides/retries.md"},
		{"resources/read", `{"uri":"file:///etc/passwd"}`, "Resource not found: file:///etc/passwd"},
	} {
		if m, err := p.ask(c.method, c.params); err != nil || m.Error == nil || m.Error.Message != c.want {
			t.Errorf("%s %s: %+v, %v; want %q", c.method, c.params, m.Error, err, c.want)
		}
	}
}

// unescaped undoes the escapes of < and > that are allowed in JSON.
func unescaped(text string) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(text)
}
