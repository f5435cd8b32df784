package executor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/goldentest"
)

// read converts a recorded stream to log entries.
func read(t testing.TB, events string, in []byte) (*memory, Result) {
	t.Helper()
	log := &memory{}
	talk := &talk{log: log, session: func(string) {}, tools: map[string]*tool{}}
	m := mappers[events]()
	eachLine(bytes.NewReader(in), func(line []byte) { talk.line(m, line) })
	return log, talk.result
}

func TestStreamsGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/streams/*.jsonl")
	if err != nil || len(files) < 11 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		if strings.HasPrefix(name, "acp-") {
			continue
		}
		events, _, _ := strings.Cut(name, "-")
		in, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		log, result := read(t, events, in)
		data, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		goldentest.Compare(t, "testdata/"+name+".golden", fmt.Sprintf("%s%s\n", log.text(), data))
	}
}

func TestEventsThatNobodyKnowsAreSystemMessages(t *testing.T) {
	for events := range mappers {
		in := "plain text\n{\"type\":\"brand_new\",\"x\":1}\n{\"type\":7}\n[1]\n{}\nnot \xff utf8\n\n{\"type\":\"message\",\"role\":5}\n"
		log, result := read(t, events, []byte(in))
		if result.Failure != "" || !strings.Contains(log.text(), "system_message \"plain text\"\nsystem_message \"brand_new\"\n") {
			t.Errorf("%s: %+v\n%s", events, result, log.text())
		}
	}
}

func TestFailuresOfStreamsAreSeen(t *testing.T) {
	for events, in := range map[string]string{
		"claude":   `{"type":"result","subtype":"error_during_execution","is_error":true,"result":"no credit"}`,
		"codex":    `{"type":"turn.failed","error":{"message":"no credit"}}`,
		"gemini":   `{"type":"result","status":"error","error":{"message":"no credit"}}`,
		"opencode": `{"type":"error","sessionID":"s","error":{"name":"APIError","data":{"message":"no credit"}}}`,
	} {
		log, result := read(t, events, []byte(in))
		if !strings.Contains(result.Failure, "no credit") || !strings.Contains(log.text(), "error_message") {
			t.Errorf("%s: %+v\n%s", events, result, log.text())
		}
	}
}

// An agent that could not ask anybody goes on without what it was refused, and calls its
// run a success. The log must say so.
func TestRefusedToolCallsAreSeen(t *testing.T) {
	log, result := read(t, "claude", []byte(`{"type":"result","subtype":"success","result":"Done.","permission_denials":[{"tool_name":"WebFetch"},{"tool_name":"Bash","tool_input":{"command":"make"}},{"tool_name":"Bash"}]}`))
	if result.Failure != "" || !strings.Contains(log.text(), `error_message "3 tool calls refused, because this executor cannot ask a person: Bash, WebFetch; `) {
		t.Errorf("%+v\n%s", result, log.text())
	}
}

func TestALineThatIsTooLongIsSkipped(t *testing.T) {
	var got []string
	eachLine(strings.NewReader("a\n"+strings.Repeat("x", maxLine+1)+"\n"+strings.Repeat("y", 100_000)+"\nlast"), func(line []byte) {
		got = append(got, fmt.Sprint(len(line), line == nil))
	})
	if want := "1 false,0 true,100000 false,4 false"; strings.Join(got, ",") != want {
		t.Errorf("lines %v, want %s", got, want)
	}
}

func FuzzStreams(f *testing.F) {
	files, _ := filepath.Glob("testdata/streams/*.jsonl")
	for _, path := range files {
		in, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		for events := range mappers {
			read(t, events, in)
		}
	})
}

func TestSettingsOfARunAreFoundByItsID(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	t.Setenv("LocalAppData", cache)
	l := launch{spec: Spec{ID: "run-1", MCP: MCP{URL: "http://127.0.0.1:1/mcp", Token: "secret"}}}
	path, err := l.private("mcp.json", object{"a": 1})
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Base(filepath.Dir(path)) != "agent-run-1" || !strings.HasPrefix(path, cache) {
		t.Errorf("private = %s, want it below agent-run-1 in %s", path, cache)
	}
	for _, run := range []string{"", "run-2", "run-1", "run-1"} {
		if err := Forget(run); err != nil {
			t.Errorf("Forget(%q) = %v", run, err)
		}
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("Stat(%s) = %v, want it gone", path, err)
	}
}
