package app

import (
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

// Expected converts a store failure to a fault for the user. It returns nil if
// err has another cause.
func Expected(err error) *fault.Fault {
	t, ok := store.TroubleOf(err)
	if !ok {
		return nil
	}
	return &fault.Fault{Code: t.Code, Message: t.Message, Hint: t.Hint, Retryable: t.Passing}
}
