package contract

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
)

type moveIn struct {
	moveTo
	How  string `json:"how" enum:"sail,row" default:"\"sail\"" doc:"How to move."`
	Note string `json:"note" visible:"true" max:"5" doc:"What to note."`
	Men  *int   `json:"men" min:"1" max:"9" doc:"How many row."`
}

type moveTo struct {
	ID UUID `json:"ship_id" required:"true" doc:"Ship to move."`
}

type moveOut struct {
	At   Time            `json:"moved_at" doc:"When it moved."`
	Log  *string         `json:"log" doc:"What was noted. Null: nothing."`
	Raw  json.RawMessage `json:"raw" doc:"Anything."`
	Rest []moveTo        `json:"rest,omitempty" doc:"The others."`
}

func TestSchemaIsReadFromTheFields(t *testing.T) {
	for want, got := range map[string]json.RawMessage{
		`{"type":"object","properties":{` +
			`"ship_id":{"type":"string","description":"Ship to move. UUID.","pattern":"` + uuidPattern + `","format":"uuid"},` +
			`"how":{"type":"string","description":"How to move. One of: sail, row.","default":"sail","enum":["sail","row"]},` +
			`"note":{"type":"string","description":"What to note.","maxLength":5,"pattern":"\\S"},` +
			`"men":{"type":"integer","description":"How many row.","minimum":1,"maximum":9}},` +
			`"required":["ship_id"],"additionalProperties":false}`: Freeze(Schema[moveIn](false)),
		`{"type":"object","properties":{` +
			`"moved_at":{"type":"string","description":"When it moved. RFC3339, UTC.","format":"date-time"},` +
			`"log":{"type":["string","null"],"description":"What was noted. Null: nothing."},` +
			`"raw":{"description":"Anything."},` +
			`"rest":{"type":"array","description":"The others.","items":{"type":"object","properties":{"ship_id":` +
			`{"type":"string","description":"Ship to move. UUID.","format":"uuid"}},"required":["ship_id"]}}},` +
			`"required":["moved_at","log","raw"]}`: Freeze(Schema[moveOut](true)),
	} {
		var a, b any
		text := strings.ReplaceAll(string(got), `{"not":{}}`, "false")
		if json.Unmarshal([]byte(want), &a) != nil || json.Unmarshal([]byte(text), &b) != nil {
			t.Fatal("broken JSON")
		}
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		if string(x) != string(y) {
			t.Errorf("Schema = %s\nwant %s", y, x)
		}
	}
}

func TestFormatsAreCheckedByTheQuickWay(t *testing.T) {
	s, err := parseInput(Freeze(Schema[moveIn](false)), nil)
	if err != nil || s.rest != nil {
		t.Fatalf("rest %v, %v; want the quick checks to know all", s.rest != nil, err)
	}
	const id = `"ship_id":"0197F3A4-5b6c-7d8e-9f00-112233445566"`
	for args, want := range map[string]string{
		`{` + id + `,"note":"a b"}`:    "",
		`{` + id + `,"note":" "}`:      "note must be a non-empty string",
		`{` + id + `,"note":"aaaaaa"}`: "note must be at most 5 characters long",
		`{"ship_id":"abc"}`:            "ship_id must be a UUID, not 'abc'",
		`{"ship_id":null}`:             "ship_id must be a string",
		`{}`:                           "ship_id is required",
	} {
		_, refusal := s.check(json.RawMessage(args))
		if got := refusal; (got == nil) != (want == "") || got != nil && got.Message != want {
			t.Errorf("check(%s) = %+v, want %q", args, got, want)
		}
	}
}

func TestTimeIsUTCWithMilliseconds(t *testing.T) {
	at := time.Date(2026, 1, 31, 10, 0, 0, 5e6, time.FixedZone("", 3600))
	if got, err := json.Marshal(Time{at}); err != nil || string(got) != `"2026-01-31T09:00:00.005Z"` {
		t.Errorf("Marshal = %s, %v", got, err)
	}
}

func TestBeforeRefusesAheadOfTheSchema(t *testing.T) {
	tool := Define(Spec{
		Name: "move", Description: "Moves.", Input: Freeze(Schema[moveIn](false)), Envelope: true,
		Before: func(g Given) *fault.Fault {
			if g.Is("how", "row") && !g.Has("men") {
				return fault.New("invalid_argument", "row with whom?", "name men")
			}
			return nil
		},
	}, func(context.Context, Caller, moveIn) (Result, error) { return Result{}, nil })
	const id = `"ship_id":"0197f3a4-5b6c-7d8e-9f00-112233445566"`
	for args, want := range map[string]string{
		`{"how":"row"}`:                     "row with whom?",
		`{"how":"row","men":2}`:             "ship_id is required",
		`{"how":"row","men":12,` + id + `}`: "men must be between 1 and 9",
		`{"how":`:                           "Arguments are not valid JSON",
		`{"how":"row","men":2,` + id + `}`:  "",
	} {
		_, err := tool.Call(t.Context(), Caller{}, json.RawMessage(args))
		if f := fault.Of(err); (f == nil) != (want == "") || f != nil && f.Message != want {
			t.Errorf("Call(%s) = %v, want %q", args, err, want)
		}
	}
	_, err := tool.Call(t.Context(), Caller{}, json.RawMessage(`{"ship_id":5}`))
	if f := fault.Of(err); f == nil || f.Details["field"] != "ship_id" {
		t.Errorf("Call = %+v, want the field in the details", f)
	}
}
