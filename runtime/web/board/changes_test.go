package board

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/deskhand/deskhand/runtime/tasks"
)

func TestAPatchIsCutByFile(t *testing.T) {
	got := cutPatch("diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n one\n-+++ b/y\n+two\n" +
		"diff --git a/old name b/new name\nsimilarity index 100%\nrename from old name\nrename to new name\n" +
		"diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-last\n\\ No newline at end of file\n")
	want := map[string][]line{
		"x":    {{"at", "@@ -1 +1,2 @@"}, {"", " one"}, {"del", "-+++ b/y"}, {"add", "+two"}},
		"gone": {{"at", "@@ -1 +0,0 @@"}, {"del", "-last"}, {"", `\ No newline at end of file`}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("cutPatch = %q, want %q", got, want)
	}
}

func TestEntriesOfAnyVersionAreShown(t *testing.T) {
	for raw, want := range map[string]entry{
		`{"type":"STDERR","content":"oh\n"}`:                                                          {Kind: "raw", Who: "stderr", Text: "oh", Pre: true},
		`{"type":"NORMALIZED_ENTRY","content":{"entry_type":{"type":"thinking"},"content":"so"}}`:     {Kind: "thought", Who: "Agent thinks", Text: "so"},
		`{"type":"NORMALIZED_ENTRY","content":{"entry_type":{"type":"from_tomorrow"},"content":"x"}}`: {Kind: "note", Who: "from_tomorrow", Text: "x"},
		`{"type":"NORMALIZED_ENTRY","content":{"entry_type":{"type":"tool_use","status":{"status":"failed"},"action_type":{"action":"command_run","result":{"output":"no\n"}}},"content":"ls"}}`: {Kind: "tool", Who: "Tool", Text: "ls", Detail: "no", Status: "failed", Tone: "alarm"},
		`"no entry"`: {Kind: "raw", Text: `"no entry"`, Pre: true},
	} {
		if got := readEntry(tasks.LogEntry{Entry: json.RawMessage(raw)}); got != want {
			t.Errorf("readEntry(%s) = %+v, want %+v", raw, got, want)
		}
	}
}
