package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/mcpserver"
	"github.com/deskhand/deskhand/runtime/tools/docs"
)

// door is a way to ask a server: over a pipe or a socket, by hand or through a
// client.
type door struct {
	t    *testing.T
	name string
	ask  func(method, params string) (message, error)
}

// tool is what tools/list says of one tool.
type tool struct {
	Name, Description string
	InputSchema       json.RawMessage
}

// answer is the result of tools/call.
type answer struct {
	Content []struct{ Type, Text string }
	IsError bool
	// Structured is the same facts as data.
	Structured json.RawMessage `json:"structuredContent"`
}

// text is the only block of an answer.
func (a answer) text() string {
	if len(a.Content) != 1 {
		return ""
	}
	return a.Content[0].Text
}

// line shows one line of the acceptance list to hold at this door.
func (d door) line(name string, check func(*testing.T, door)) {
	d.t.Run(name, func(t *testing.T) {
		d.t = t
		check(t, d)
	})
}

// tools lists the tools.
func (d door) tools() []tool {
	d.t.Helper()
	m, err := d.ask("tools/list", "{}")
	if err != nil || m.Error != nil {
		d.t.Fatalf("tools/list: %v %+v", err, m.Error)
	}
	var list struct{ Tools []tool }
	if err := json.Unmarshal(m.Result, &list); err != nil {
		d.t.Fatalf("tools/list = %s: %v", m.Result, err)
	}
	return list.Tools
}

// tool is one of them.
func (d door) tool(name string) tool {
	d.t.Helper()
	for _, one := range d.tools() {
		if one.Name == name {
			return one
		}
	}
	d.t.Fatalf("tools/list has no %s", name)
	return tool{}
}

// call calls a tool with raw arguments. The protocol must not fail; the tool
// may refuse.
func (d door) call(name, arguments string) answer {
	d.t.Helper()
	m, err := d.ask("tools/call", `{"name":"`+name+`","arguments":`+arguments+`}`)
	if err == nil && m.Error != nil {
		err = fmt.Errorf("protocol error %d: %s", m.Error.Code, m.Error.Message)
	}
	var a answer
	if err == nil {
		err = json.Unmarshal(m.Result, &a)
	}
	if err != nil {
		d.t.Fatalf("%s %.200s: %v", name, arguments, err)
	}
	if len(a.Content) != 1 || a.Content[0].Type != "text" {
		d.t.Fatalf("%s %.200s: content %+v, want one block of text", name, arguments, a.Content)
	}
	return a
}

// succeed calls a tool that must not refuse and returns its text.
func (d door) succeed(name, arguments string) string {
	d.t.Helper()
	a := d.call(name, arguments)
	if a.IsError {
		d.t.Fatalf("%s %.200s refused: %.400s", name, arguments, a.text())
	}
	return a.text()
}

// refused calls a tool that must refuse in words that hold all of want.
func (d door) refused(name, arguments string, want ...string) string {
	d.t.Helper()
	a := d.call(name, arguments)
	if !a.IsError {
		d.t.Errorf("%s %.200s is answered: %.200s; want a refusal", name, arguments, a.text())
	}
	for _, w := range want {
		if !strings.Contains(a.text(), w) {
			d.t.Errorf("%s %.200s is refused with %.400q, want %q in it", name, arguments, a.text(), w)
		}
	}
	return a.text()
}

// search asks search_docs with arguments as a map.
func (d door) search(arguments map[string]any) docs.SearchResult {
	d.t.Helper()
	text := d.succeed("search_docs", encoded(d.t, arguments))
	var result docs.SearchResult
	if err := json.Unmarshal([]byte(text), &result); err != nil {
		d.t.Fatalf("search_docs %v: %v in %.200s", arguments, err, text)
	}
	return result
}

// get asks get_doc.
func (d door) get(id string, context int) string {
	d.t.Helper()
	return d.succeed("get_doc", encoded(d.t, map[string]any{"chunk_id": id, "context": context}))
}

func encoded(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func ids(hits []docs.Hit) []string {
	var list []string
	for _, h := range hits {
		list = append(list, h.ChunkID)
	}
	return list
}

// byPipe serves an index over a pipe for one test.
func byPipe(t *testing.T, index string, flags ...string) door {
	t.Helper()
	p := overPipe(t, append([]string{"--index", index}, flags...)...)
	return door{t, "stdio", p.ask}
}

// everyDoor runs a test against one index through each way in.
func everyDoor(t *testing.T, index string, test func(*testing.T, door)) {
	s := overSocket(t, "--index", index)
	deskhand, err := exec.LookPath("deskhand")
	if err != nil {
		t.Fatal(err)
	}
	doors := []door{
		{name: "stdio", ask: overPipe(t, "--index", index).ask},
		{name: "http with session", ask: s.withSession().ask},
		{name: "http without session", ask: s.withoutSession().ask},
		{name: "client over stdio", ask: dialled(t, mcpserver.Target{Command: []string{deskhand, "serve", "--index", index}})},
		{name: "client over http", ask: dialled(t, mcpserver.Target{URL: s.url, Token: bearer})},
	}
	for _, d := range doors {
		t.Run(d.name, func(t *testing.T) {
			d.t = t
			test(t, d)
		})
	}
}

// dialled asks through deskhand's own client, in whatever era it agrees on
// with the server.
func dialled(t testing.TB, target mcpserver.Target) func(method, params string) (message, error) {
	t.Helper()
	client, err := mcpserver.Dial(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return func(method, params string) (m message, err error) {
		var result any
		switch method {
		case "tools/list":
			tools, err := client.ListTools(t.Context())
			if err != nil {
				return m, err
			}
			list := []map[string]any{}
			for _, one := range tools {
				list = append(list, map[string]any{"name": one.Name, "description": one.Description, "inputSchema": one.Input})
			}
			result = map[string]any{"tools": list}
		case "tools/call":
			var p struct {
				Name      string
				Arguments map[string]any
			}
			if err := json.Unmarshal([]byte(params), &p); err != nil {
				return m, err
			}
			text, structured, isError, err := client.Call(t.Context(), p.Name, p.Arguments)
			if err != nil {
				return m, err
			}
			result = map[string]any{
				"content": []map[string]string{{"type": "text", "text": text}}, "structuredContent": structured, "isError": isError,
			}
		default:
			return m, fmt.Errorf("this door does not know %s", method)
		}
		m.Result, err = json.Marshal(result)
		return m, err
	}
}
