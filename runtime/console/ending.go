package console

import "errors"

// Ending is an error with the exit code of the command that it ends.
type Ending struct {
	Err  error
	Code int
}

// Error implements [error].
func (e *Ending) Error() string { return e.Err.Error() }

// Unwrap returns the error without its exit code.
func (e *Ending) Unwrap() error { return e.Err }

// ErrSaid suppresses the message on stderr, because stdout already contains the answer.
var ErrSaid = errors.New("the answer was already printed")
