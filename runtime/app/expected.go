package app

import (
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

// Expected makes a fault of what ails the store, which knows none; nil: err is
// of something else.
func Expected(err error) *fault.Fault {
	t, ok := store.TroubleOf(err)
	if !ok {
		return nil
	}
	return &fault.Fault{Code: t.Code, Message: t.Message, Hint: t.Hint, Retryable: t.Passing}
}
