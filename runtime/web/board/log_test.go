package board

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/deskhand/deskhand/runtime/tasks"
)

func TestEntriesOfAnyVersionAreShown(t *testing.T) {
	for raw, want := range map[string]entry{
		`{"type":"STDERR","content":"oh\n"}`:                                                          {Kind: "raw", Who: "stderr", Text: "oh", Pre: true},
		`{"type":"NORMALIZED_ENTRY","content":{"entry_type":{"type":"thinking"},"content":"so"}}`:     {Kind: "thought", Who: "Agent thinks", Text: "so"},
		`{"type":"NORMALIZED_ENTRY","content":{"entry_type":{"type":"from_tomorrow"},"content":"x"}}`: {Kind: "note", Who: "from_tomorrow", Text: "x"},
		`{"type":"NORMALIZED_ENTRY","content":{"entry_type":{"type":"tool_use","status":{"status":"failed"},"action_type":{"action":"command_run","result":{"output":"no\n"}}},"content":"ls"}}`: {Kind: "tool", Who: "Tool", Text: "ls", Detail: "no", Status: "failed", Tone: "alarm", Jump: "fail"},
		`"no entry"`: {Kind: "raw", Text: `"no entry"`, Pre: true},
	} {
		if got := readEntry(tasks.LogEntry{Entry: json.RawMessage(raw)}); !reflect.DeepEqual(got, want) {
			t.Errorf("readEntry(%s) = %+v, want %+v", raw, got, want)
		}
	}
}
