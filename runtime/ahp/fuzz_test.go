package ahp_test

import (
	"bytes"
	"encoding/json"
	"testing"

	. "github.com/deskhand/deskhand/runtime/ahp"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
)

// FuzzMessage holds the reader to what it promises of any bytes: no panic, an id
// that can be written back, and an action that is refused as a fault or one that
// a client may dispatch, and that says nothing of who and when.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientId":"a","protocolVersions":["0.1.0"]}}`,
		`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":"ahp-session:/x","clientSeq":1,"action":{"type":"session/inputCompleted","requestId":"elc_1","response":"accept","answers":{"q":{"state":"submitted","value":{"kind":"selected-many","value":["a"],"freeformValues":["b"]}}}}}}`,
		`{"type":"session/inputAnswerChanged","requestId":"elc_1","questionId":"q","answer":{"state":"draft","value":{"kind":"number","value":1e400},"_meta":{"by":"eve"}}}`,
		`{"type":"session/inputAnswerChanged","answer":null}`, `[]`, `null`, `7`, `"`, `{"id":{}}`, `{"id":1e999,"jsonrpc":"2.0","method":""}`, "\xff\xfe",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if method, id, ok := Decode(data); ok && id != nil && (!json.Valid(id) || !json.Valid(data)) {
			t.Errorf("Decode(%q) = %q, %q: the id cannot be written back", data, method, id)
		}
		a, err := ParseAction(bytes.Clone(data))
		switch {
		case err != nil && fault.Of(err) == nil:
			t.Errorf("ParseAction(%q) = %v, want a fault", data, err)
		case err == nil && a.Type != elicit.AnswerChanged && a.Type != elicit.CompletedBy:
			t.Errorf("ParseAction(%q) = %s, which is not a client's", data, a.Type)
		case a.By != "" || a.Client != "" || a.Roles != nil || a.Final || a.Answer != nil && a.Answer.Meta != nil:
			t.Errorf("ParseAction(%q) = %+v: who and when are not the client's to say", data, a)
		}
	})
}

// FuzzApply holds the reducer to its promise: no action breaks it, and the state
// before stays as it was.
func FuzzApply(f *testing.F) {
	f.Add([]byte(`{"type":"session/inputRequested","request":{"id":"b","message":"?","answers":{"q":{"state":"skipped"}}}}`))
	f.Add([]byte(`{"type":"session/inputAnswerChanged","requestId":"a","questionId":"q"}`))
	f.Add([]byte(`{"type":"session/inputCompleted","requestId":"a","response":"accept"}`))
	f.Add([]byte(`{"type":"session/error","turnId":"t"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var a Action
		if json.Unmarshal(data, &a) != nil {
			return
		}
		before := SessionState{ActiveTurn: &Turn{ID: "t"}, InputRequests: []InputRequest{{ID: "a", Answers: map[string]Answer{"q": {State: elicit.Draft}}}}}
		was := dump(before)
		after := Applied(before, a)
		if dump(before) != was {
			t.Errorf("Apply(%s) changed the state from %s to %s", data, was, dump(before))
		}
		if again := Applied(after, a); a.Type != Requested && dump(again) != dump(after) {
			t.Errorf("Apply(%s) twice gives %s, once %s", data, dump(again), dump(after))
		}
	})
}
