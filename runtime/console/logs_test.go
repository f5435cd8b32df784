package console

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/deskhand/deskhand/runtime/tools/work"
)

// What has grown is not printed again, what has changed is, and each entry
// begins a line.
func TestLogsArePrintedAsTheyGrow(t *testing.T) {
	said := func(kind, text, more string) json.RawMessage {
		b, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return json.RawMessage(`{"type":"NORMALIZED_ENTRY","content":{"content":` + string(b) + `,"entry_type":{"type":"` + kind + `"` + more + `}}}`)
	}
	var out bytes.Buffer
	p := NewLogPrinter(&Console{Stdout: &out})
	for _, e := range []work.LogEntry{
		{Index: 0, Entry: said("user_message", "go on\nplease", "")},
		{Index: 1, Entry: said("assistant_message", "I wi", "")},
		{Index: 1, Entry: said("assistant_message", "I will", "")},
		{Index: 1, Entry: said("assistant_message", "I will", "")},
		{Index: 2, Entry: said("tool_use", "a.txt", `,"tool_name":"write","status":{"status":"created"}`)},
		{Index: 3, Entry: said("thinking", "hm", "")},
		{Index: 2, Entry: said("tool_use", "a.txt", `,"tool_name":"write","status":{"status":"success"}`)},
		{Index: 4, Entry: said("error_message", "no room", "")},
		{Index: 5, Entry: said("system_message", "ended", "")},
		{Index: 6, Entry: json.RawMessage(`{"type":"STDOUT","content":"as it is\n"}`)},
		{Index: 7, Entry: json.RawMessage(`no JSON`)},
	} {
		p.Print(e)
	}
	if err := p.End(); err != nil {
		t.Fatal(err)
	}
	want := "> go on\n> please\nI will\n* write a.txt\n  hm\n* write a.txt [success]\n! no room\n- ended\nas it is\nno JSON\n"
	if got := out.String(); got != want {
		t.Errorf("printed %q\nwant %q", got, want)
	}
}
