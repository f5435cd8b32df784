package inbox

import (
	"net/url"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// The page of a question that ended with its turn accepts no answer. The page of a
// question that was returned as pending says what its answer does, and accepts it.
func TestAttackApprovalsAnEndedQuestionOnThePage(t *testing.T) {
	for _, c := range []struct{ reason, says string }{
		{elicit.TurnCompleted, "withdrawn, its agent has finished"},
		{elicit.TurnFailed, "withdrawn, its run failed"},
		{elicit.TurnStopped, "withdrawn, its run was stopped"},
		{elicit.TaskDeleted, "withdrawn, its task was deleted"},
		{elicit.TaskCancelled, "withdrawn, its task was cancelled"},
	} {
		for _, pending := range []bool{false, true} {
			over := strings.HasPrefix(c.reason, "task_")
			t.Run(map[bool]string{false: "held, ", true: "pending, "}[pending]+c.reason, func(t *testing.T) {
				s := open(t)
				r, err := s.hub.Open(t.Context(), elicit.Request{Trigger: elicit.AskUser, Source: elicit.Source{Name: "agent"}, OnTurnEnd: elicit.Abandon,
					Context: elicit.Context{AttemptID: "a1"}, Questions: []elicit.Question{name}})
				if err == nil && pending {
					err = s.hub.HandedBack(t.Context(), r.ID)
				}
				if err == nil {
					err = s.hub.EndAttempt(t.Context(), elicit.AttemptTurn{AttemptID: "a1", Reason: c.reason, Over: over})
				}
				if err != nil {
					t.Fatal(err)
				}
				stays := pending && !over
				const says = "The agent has finished; your answer starts a follow-up."
				_, body := s.do("GET", "/inbox/"+r.ID, nil)
				if strings.Contains(body, says) != stays || strings.Contains(body, c.says) == stays {
					t.Errorf("the page says how it stands: %v, how it ended: %v\n%s", strings.Contains(body, says), strings.Contains(body, c.says), body)
				}
				if _, list := s.do("GET", "/", nil); strings.Contains(list, "agent finished") != stays {
					t.Errorf("the list says so: %v, want %v", !stays, stays)
				}
				status, body := s.do("POST", "/inbox/"+r.ID, url.Values{"do.act": {"send"}, "a.name": {"Ada"}})
				now := s.get(r.ID)
				if stays && (status != 200 || !now.Undelivered()) {
					t.Errorf("an answer: %d, %+v; want it kept for a follow-up", status, now)
				}
				if !stays && (status != 409 || !strings.Contains(body, `data-ended="abandoned"`) || now.Answers != nil) {
					t.Errorf("an answer: %d, %+v; want 409 and its end\n%s", status, now, body)
				}
			})
		}
	}
}
