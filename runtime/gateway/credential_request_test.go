package gateway

import (
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// I-033: a request that was taken back because its conversation shows none is
// worded as one that could not be made.
func TestAConversationThatShowsNothingIsToldAtOnce(t *testing.T) {
	u := &upstream{}
	u.Title = "Linear"
	r := elicit.Request{Completion: &elicit.Completion{Outcome: elicit.Abandoned, Reason: elicit.NoElicitation}}
	const want = "Tool linear_echo requires user authentication. The user needs to connect their Linear account before this tool can be used."
	if got, _ := u.unconnected("linear_echo", &r); got != want {
		t.Errorf("unconnected = %q, want %q", got, want)
	}
}
