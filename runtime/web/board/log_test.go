package board

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

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

func TestATimeIsShownOnceAMinuteAndAtTheStartOfARun(t *testing.T) {
	at := func(clock string) moment {
		when, err := time.Parse(time.DateTime, "2026-11-29 "+clock)
		if err != nil {
			t.Fatal(err)
		}
		return moment{when}
	}
	entries := []entry{{At: at("10:00:58")}, {At: at("10:00:59")}, {At: at("10:01:00")}, {Kind: "raw"}, {At: at("10:01:10")}, {Kind: "run", At: at("10:01:20")}, {At: at("10:01:21")}, {At: at("10:01:22")}}
	quietTimes(entries)
	var same []bool
	for _, e := range entries {
		same = append(same, e.SameMinute)
	}
	// An entry without a time has none to show, whatever its mark is.
	want := []bool{false, true, false, false, false, false, false, true}
	if !slices.Equal(same, want) {
		t.Errorf("quietTimes marked %v, want %v", same, want)
	}
}

// What the quick look at an entry's JSON leaves out must not be on the page.
func TestASearchLooksQuicklyWithoutMissing(t *testing.T) {
	raw := `{"type":"NORMALIZED_ENTRY","content":{"entry_type":{"type":"tool_use","tool_name":"Read"},"content":"See /w/shop/src/Main.go <b> \"quoted\" ünï"}}`
	for words, want := range map[string]bool{
		"main.go": true, "SEE src/main": true, "src/main.go <b>": true, `"quoted"`: true, "ÜNÏ": true, "<b>": true,
		"absent": false, "see absent": false, "mainego": false,
	} {
		if got := mayHave(words)([]byte(raw)); got != want {
			t.Errorf("mayHave(%q) = %v, want %v", words, got, want)
		}
	}
}
