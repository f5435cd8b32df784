// Package fault is an expected failure: one where the caller can do something.
//
// Rooms return a *Fault, doors word it in their protocol. Anything that is not
// a fault is unexpected, and a door shows it as "internal error" with an ID.
package fault

import (
	"errors"
	"maps"
)

// Fault is an expected failure. The zero value is not useful: Code and Message
// are always set.
type Fault struct {
	// Code is stable, lower case with underscores, for programs to branch on.
	Code string
	// Message is one sentence that says what is wrong, naming the value.
	Message string
	// Hint names the next step. Empty when Message already does. A room's hint
	// holds for every door: it names no tool and no command.
	Hint string
	// Case tells apart the faults of one Code, for a door that has its own hint
	// for each; see [Hints]. It is a constant of the package that returns the
	// fault, and no caller sees it. Empty: Code says it all.
	Case string `json:"-"`
	// Values are what a door's hint can name, such as the ID of an attempt. Nil:
	// none.
	Values map[string]string `json:"-"`
	// Retryable says that the same call may succeed later.
	Retryable bool
	// Details are small facts for programs, such as the field at fault; values
	// marshal to JSON. Nil: none.
	Details map[string]any
}

// With returns a copy of f that has one detail more.
func (f *Fault) With(name string, value any) *Fault {
	own := *f
	own.Details = maps.Clone(f.Details)
	if own.Details == nil {
		own.Details = map[string]any{}
	}
	own.Details[name] = value
	return &own
}

// WithCase returns a copy of f of a case, with what a hint can name in pairs of
// name and value.
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

// Error returns the message alone; doors add the hint in their own form.
func (f *Fault) Error() string { return f.Message }

// New returns a fault that is not retryable. hint may be empty.
func New(code, message, hint string) *Fault {
	return &Fault{Code: code, Message: message, Hint: hint}
}

// Misuse returns the fault of a command line or of a setting that cannot be meant.
func Misuse(message, hint string) *Fault { return New("misuse", message, hint) }

// Of returns the fault in err's chain, or nil if there is none.
func Of(err error) *Fault {
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	return nil
}
