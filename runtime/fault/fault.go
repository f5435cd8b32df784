// Package fault defines expected failures: failures that the caller can do
// something about.
//
// The packages that hold the logic ("rooms") return a *Fault, and the packages
// that serve a protocol ("doors") express it in that protocol. Any other error
// is unexpected, and a door reports it as "internal error" with an ID.
package fault

import (
	"errors"
	"maps"
)

// Fault is an expected failure. The zero value is not useful: Code and Message
// are always set.
type Fault struct {
	// Code is a stable identifier in lower case with underscores, for programs
	// to branch on.
	Code string
	// Message is one sentence that states what is wrong and names the value.
	Message string
	// Hint describes the next step. It is empty if Message already describes it.
	// A room's hint must fit every door, so it names no tool and no command.
	Hint string
	// Case distinguishes faults with the same Code if a door has a separate hint
	// for each of them; see [Hints]. It is a constant of the package that returns
	// the fault, and callers do not see it. It is empty if Code is enough.
	Case string `json:"-"`
	// Values are the values that a door's hint can refer to, for example an
	// attempt's ID. Nil if there are none.
	Values map[string]string `json:"-"`
	// Retryable reports whether the same call may succeed later.
	Retryable bool
	// Details are additional facts for programs, for example the invalid field.
	// The values can be marshaled to JSON. Nil if there are none.
	Details map[string]any
}

// With returns a copy of f with one more detail.
func (f *Fault) With(name string, value any) *Fault {
	own := *f
	own.Details = maps.Clone(f.Details)
	if own.Details == nil {
		own.Details = map[string]any{}
	}
	own.Details[name] = value
	return &own
}

// WithCase returns a copy of f with Case set to the given value. The pairs are
// alternating names and values for the hint.
func (f *Fault) WithCase(which string, pairs ...string) *Fault {
	own := *f
	own.Case, own.Values = which, maps.Clone(f.Values)
	if own.Values == nil {
		own.Values = map[string]string{}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		own.Values[pairs[i]] = pairs[i+1]
	}
	return &own
}

// Error returns only the message. Doors add the hint in their own form.
func (f *Fault) Error() string { return f.Message }

// New returns a fault that is not retryable. hint may be empty.
func New(code, message, hint string) *Fault {
	return &Fault{Code: code, Message: message, Hint: hint}
}

// Misuse returns the fault for an invalid command line or setting.
func Misuse(message, hint string) *Fault { return New("misuse", message, hint) }

// Of returns the fault in err's chain, or nil if there is none.
func Of(err error) *Fault {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	return nil
}
