package app

import (
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

// Expected converts a store error to a fault for the user. It returns
// nil for other errors.
func Expected(err error) *fault.Fault {
	t, ok := store.TroubleOf(err)
	if !ok {
		return nil
	}
	return &fault.Fault{Code: t.Code, Message: t.Message, Hint: t.Hint, Retryable: t.Passing}
}
