package work

import (
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
)

// The functions below return null for an empty string or a zero time.

func idOrNull(id string) *contract.UUID {
	if id == "" {
		return nil
	}
	u := contract.UUID(id)
	return &u
}

func textOrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func timeOrNull(t time.Time) *contract.Time {
	if t.IsZero() {
		return nil
	}
	return &contract.Time{Time: t}
}

func stamp(t time.Time) contract.Time { return contract.Time{Time: t} }

// text returns the value of an optional argument, or "" if the argument is missing.
func text[T ~string](p *T) string {
	if p == nil {
		return ""
	}
	return string(*p)
}

// each converts a list for the wire. Its result is [] for an empty list, never
// null.
func each[A, B any](list []A, one func(A) B) []B {
	out := make([]B, len(list))
	for i, a := range list {
		out[i] = one(a)
	}
	return out
}

// blockedWhy holds the fields that go with blocked and blocked_reason.
type blockedWhy struct {
	Code      *string `json:"code" doc:"The reason as a stable code, the same as blocked_reason. Null if not blocked."`
	Retryable *bool   `json:"retryable" doc:"Whether the same call may succeed later. Null if not blocked."`
	Hint      *string `json:"hint" doc:"What to do next, with a tool and a field. Null if there is no hint."`
}

func whyBlocked(b tasks.Blocked) blockedWhy {
	if b.Reason == "" {
		return blockedWhy{}
	}
	hint, _ := hints.Of(fault.New(b.Reason, b.Detail, "").WithCase(b.Case), nil)
	return blockedWhy{Code: &b.Reason, Retryable: &b.Retryable, Hint: textOrNull(hint)}
}

// advising is a result that contains the next step. Its method advise renames the
// tools in that step.
type advising interface {
	advise(named func(string) string)
}

func (w *blockedWhy) advise(named func(string) string) {
	if w.Hint != nil {
		text := named(*w.Hint)
		w.Hint = &text
	}
}
