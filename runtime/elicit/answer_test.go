package elicit

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
)

func TestAnswersAreWrittenAsTheModelSays(t *testing.T) {
	for _, wire := range []string{
		`{"state":"submitted","value":{"kind":"text","value":""}}`,
		`{"state":"draft","value":{"kind":"text","value":" a\n\"🎉\u2028"}}`,
		`{"state":"submitted","value":{"kind":"number","value":1.5}}`,
		`{"state":"submitted","value":{"kind":"boolean","value":false}}`,
		`{"state":"submitted","value":{"kind":"selected","value":"opt"}}`,
		`{"state":"submitted","value":{"kind":"selected","value":"opt","freeformValues":["mine"]}}`,
		`{"state":"submitted","value":{"kind":"selected","freeformValues":["mine"]}}`,
		`{"state":"submitted","value":{"kind":"selected-many","value":[]}}`,
		`{"state":"submitted","value":{"kind":"selected-many","value":["a","b"],"freeformValues":["c","d"]}}`,
		`{"state":"skipped"}`,
		`{"state":"skipped","freeformValues":["why"]}`,
		`{"state":"draft","value":{"kind":"text","value":"x"},"_meta":{"rev":3,"by":"ada","channel":"web","at":"2026-02-25T12:00:00.000Z"}}`,
	} {
		var a Answer
		if err := json.Unmarshal([]byte(wire), &a); err != nil {
			t.Errorf("decode %s: %v", wire, err)
			continue
		}
		if got, err := json.Marshal(a); err != nil || string(got) != wire {
			t.Errorf("round trip of %s = %s, %v", wire, got, err)
		}
	}
}

func TestValuesOfTheWrongShapeAreRefused(t *testing.T) {
	for _, wire := range []string{
		`{"kind":"text"}`, `{"kind":"text","value":null}`, `{"kind":"text","value":1}`, `{"kind":"number","value":"1"}`, `{"kind":"number","value":1e999}`,
		`{"kind":"boolean","value":"yes"}`, `{"kind":"boolean"}`, `{"kind":"selected","value":["a"]}`, `{"kind":"selected-many","value":"a"}`,
		`{"kind":"selected-many"}`, `{"kind":"selected-many","value":[1]}`, `{"kind":"date","value":"x"}`, `{"value":"x"}`, `{}`, `[]`, `"x"`,
	} {
		var v Value
		if err := json.Unmarshal([]byte(wire), &v); err == nil {
			t.Errorf("decode %s = %+v, want an error", wire, v)
		}
	}
}

func TestIDsSortByTimeAndDiffer(t *testing.T) {
	seen, last := map[string]bool{}, ""
	for i := range 1000 {
		id := NewID(noon.Add(time.Duration(i) * time.Millisecond))
		if len(id) != 30 || !strings.HasPrefix(id, "elc_") || id <= last || seen[id] {
			t.Fatalf("id %q after %q", id, last)
		}
		seen[id], last = true, id
	}
}

func TestContextKeepsWhatItDoesNotKnow(t *testing.T) {
	for _, wire := range []string{
		`{}`, `{"attemptId":"a","cwd":"/x","other":{"deep":[1]},"turnId":"t"}`, `{"cwd":7}`, `{"cwd":null}`,
	} {
		var c Context
		if err := json.Unmarshal([]byte(wire), &c); err != nil {
			t.Fatalf("decode %s: %v", wire, err)
		}
		if got, err := json.Marshal(c); err != nil || string(got) != wire {
			t.Errorf("round trip of %s = %s, %v", wire, got, err)
		}
	}
}

// FuzzDecode passes arbitrary bytes to the decoders. They must not panic, and a
// value that was decoded must be the same after encoding and decoding.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"type":"answerChanged","requestId":"elc_1","questionId":"style","answer":{"state":"submitted","value":{"kind":"selected","value":"CSS","freeformValues":["x"]}},"ifRev":1}`))
	f.Add([]byte(`{"type":"completed","requestId":"elc_1","response":"accept","answers":{"name":{"state":"submitted","value":{"kind":"text","value":"abc"}},"sure":{"state":"submitted","value":{"kind":"boolean","value":true}}}}`))
	f.Add([]byte(`{"type":"requested","requestId":"elc_1","request":{"trigger":"ask_user","questions":[{"id":"q","kind":"select","message":"?","options":[{"id":"a","label":"a"}],"default":{"kind":"selected","value":"a"}}],"context":{"cwd":"/","x":1},"deadline":"2026-02-25T12:00:00Z"}}`))
	f.Add([]byte(`{"type":"extended","requestId":"elc_1","deadline":"9999-12-31T23:59:59.999Z"}`))
	f.Add([]byte(`{"type":"reassigned","requestId":"elc_1","audience":{"principal":"ada","roles":["x"]}}`))
	base := survey(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		a := decodeAction(store.Event{Key: "elc_1", Data: data})
		first, err := json.Marshal(a)
		if err != nil {
			return // a year after 9999, which only arithmetic creates
		}
		again := decodeAction(store.Event{Key: "elc_1", Data: first})
		second, err := json.Marshal(again)
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%s\nwas written as %s\nand again as  %s (%v)", data, first, second, err)
		}
		if a.Request != nil {
			if r, err := Prepare(*a.Request); err == nil {
				if _, err := json.Marshal(r); err != nil {
					t.Fatalf("a request that was taken cannot be written: %v", err)
				}
			}
		}
		before, _ := json.Marshal(base)
		next, err := Reduce(base, a)
		if after, _ := json.Marshal(base); !bytes.Equal(before, after) {
			t.Fatalf("%s changed the old request", data)
		}
		if err == nil && next != nil && next != base {
			if _, err := json.Marshal(next); err != nil {
				t.Fatalf("after %s the request cannot be written: %v", data, err)
			}
		}
	})
}
