package gateway

import (
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// I-033: if a request was withdrawn because its conversation cannot show it, the
// error is the same as for a request that could not be created.
func TestAConversationThatShowsNothingIsToldAtOnce(t *testing.T) {
	u := &upstream{}
	u.Title = "Linear"
	r := elicit.Request{Completion: &elicit.Completion{Outcome: elicit.Abandoned, Reason: elicit.NoElicitation}}
	const want = "Tool linear_echo requires user authentication. The user needs to connect their Linear account before this tool can be used."
	if got, _ := u.unconnected("linear_echo", &r); got != want {
		t.Errorf("unconnected = %q, want %q", got, want)
	}
}
