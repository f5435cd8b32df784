package ahp_test

import (
	"testing"

	. "github.com/deskhand/deskhand/runtime/ahp"
	"github.com/deskhand/deskhand/runtime/elicit"
)

// A question that a call waits for leaves the channel with its turn, and cannot
// be answered there. One that was handed back as pending stays, says so, and does
// not make its session InputNeeded.
func TestAttackApprovalsAnEndedQuestionOnTheChannel(t *testing.T) {
	const session = "ahp-session:/s1"
	in1 := elicit.Context{SessionID: "s1", AttemptID: "a1"}
	for reason, c := range map[string]struct {
		action string
		status float64
	}{
		elicit.TurnCompleted: {TurnComplete, idle}, elicit.TurnFailed: {TurnFailed, 2}, elicit.TurnStopped: {TurnCancelled, idle},
	} {
		t.Run("held, "+reason, func(t *testing.T) {
			d := serve(t, t.TempDir(), Options{})
			r := d.open(t, elicit.Request{Trigger: elicit.AskUser, Context: in1, OnTurnEnd: elicit.Abandon, Questions: []elicit.Question{name}})
			a, _ := d.client(t, "a", session)
			if err := d.hub.EndAttempt(t.Context(), elicit.AttemptTurn{AttemptID: "a1", Reason: reason}); err != nil {
				t.Fatal(err)
			}
			if n := a.action(); n.Action["type"] != c.action || in(n.Action, "_meta", "outcome") != "abandoned" {
				t.Errorf("it is told %s, want %s", dump(n), c.action)
			}
			d.shows(t, a, session, c.status, "")
			a.refused(session, completed(r.ID, "decline"), elicit.AlreadyCompleted)
		})
		t.Run("pending, "+reason, func(t *testing.T) {
			d := serve(t, t.TempDir(), Options{})
			r := d.open(t, elicit.Request{Trigger: elicit.AskUser, Context: in1, OnTurnEnd: elicit.Abandon, Questions: []elicit.Question{name}})
			held := d.open(t, elicit.Request{Trigger: elicit.AskUser, Context: in1, OnTurnEnd: elicit.Abandon, Questions: []elicit.Question{age}})
			if err := d.hub.HandedBack(t.Context(), r.ID); err != nil {
				t.Fatal(err)
			}
			a, _ := d.client(t, "a", session)
			if err := d.hub.EndAttempt(t.Context(), elicit.AttemptTurn{AttemptID: "a1", Reason: reason}); err != nil {
				t.Fatal(err)
			}
			a.action()
			a.action()
			d.shows(t, a, session, c.status, "The agent has finished; your answer starts a follow-up.")
			a.refused(session, completed(held.ID, "decline"), elicit.AlreadyCompleted)
			a.taken(session, `{"type":"session/inputCompleted","requestId":"`+r.ID+`","response":"accept","answers":{"name":`+text("submitted", "Ada")+`}}`)
			d.ended(t, r.ID, elicit.Accept)
		})
	}
}

// shows checks what a client and a newcomer see of a session: its status, and the
// one request that says of itself how it stands; empty: there is none.
func (d *desk) shows(t *testing.T, a *raw, session string, status float64, standing string) {
	t.Helper()
	newcomer, _ := d.client(t, "new")
	for who, c := range map[string]*raw{"the client": a, "a newcomer": newcomer} {
		state := c.watch(session).State
		if in(state, "summary", "status") != status || in(state, "activeTurn") != nil {
			t.Errorf("%s sees %s, want status %v and no turn", who, dump(state), status)
		}
		requests, _ := in(state, "inputRequests").([]any)
		switch {
		case standing == "" && len(requests) > 0:
			t.Errorf("%s sees %s, want no request", who, dump(state))
		case standing != "" && (len(requests) != 1 || in(requests[0], "_meta", "standing") != standing):
			t.Errorf("%s sees %s, want one request that says %q", who, dump(state), standing)
		}
	}
}
