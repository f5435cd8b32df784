package elicit

import (
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Rejection describes why an action or a request was refused. As an error, it is
// also a [fault.Fault].
type Rejection struct {
	fault.Fault
	// Problems lists every invalid question, in question order.
	Problems []Problem
	// Winner records how the request had already ended when the action arrived, or
	// nil if it had not.
	Winner *Completion
}

// Unwrap lets [fault.Of] find the fault.
func (r *Rejection) Unwrap() error { return &r.Fault }

// Problem describes what is wrong with one question or its answer.
type Problem struct {
	QuestionID string `json:"questionId,omitempty"`
	Code       string `json:"code"`
	Message    string `json:"message"`
}

// Rejection codes.
const (
	UnknownRequest   = "unknown_request"
	AmbiguousID      = "ambiguous_id"
	AlreadyCompleted = "already_completed"
	Expired          = "expired"
	NotDue           = "not_due"
	NotYours         = "not_yours"
	Stale            = "stale"
	Malformed        = "malformed_action"
	InvalidAnswers   = "invalid_answers"
	InvalidRequest   = "invalid_request"
	KeyReused        = "key_reused"
	NoSurface        = "no_surface"
	TooMany          = "too_many_requests"
	NobodyThere      = "nobody_there"       // no surface reaches the audience
	Unreachable      = "person_unreachable" // the person is known and can answer nowhere
	TakenBefore      = "taken"              // someone else has taken the request
)

func reject(code, hint, format string, args ...any) *Rejection {
	return &Rejection{Fault: fault.Fault{Code: code, Message: fmt.Sprintf(format, args...), Hint: hint}}
}

func rejectExpired() *Rejection {
	return reject(Expired, "answer anyway; a late answer is kept for the asker", "the deadline has passed and the asker was notified")
}

// rejectCompleted returns the rejection for an action on a completed request. It
// names who completed the request.
func rejectCompleted(r *Request) *Rejection {
	c := r.Completion
	var b strings.Builder
	switch c.Outcome {
	case Accept:
		b.WriteString("this question was already answered")
	case Decline:
		b.WriteString("this question was already declined")
	case Cancel:
		b.WriteString("this question was already cancelled")
	default:
		b.WriteString("this question was withdrawn")
	}
	if c.Rule != nil {
		b.WriteString(" " + c.Rule.Words())
	} else {
		b.WriteString(Who(c.By, c.Channel))
	}
	fmt.Fprintf(&b, " at %s", c.At.Format(timeFormat))
	if why := c.why(); why != "" {
		b.WriteString(": " + why)
	}
	winner := *c
	return &Rejection{Fault: fault.Fault{Code: AlreadyCompleted, Message: b.String()}, Winner: &winner}
}

// rejectProblems joins the problems, up to a readable number, into one message.
func rejectProblems(code string, problems []Problem) *Rejection {
	const most = 20
	var texts []string
	for i, p := range problems {
		if i == most {
			texts = append(texts, fmt.Sprintf("and %d more", len(problems)-most))
			break
		}
		texts = append(texts, p.Message)
	}
	return &Rejection{Fault: fault.Fault{Code: code, Message: strings.Join(texts, "; ")}, Problems: problems}
}
