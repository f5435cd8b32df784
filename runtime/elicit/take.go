package elicit

import (
	"context"
	"errors"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Take applies a person's actions on a request, as the client reports them, one
// after another. A client may close a question that nobody has read, so Take
// ignores a cancel while a person can be reached in another way. If unattended is
// set, it then ignores every other action too. If the answers are not valid, Take
// keeps them as drafts and returns a fault that explains what is wrong. It
// ignores actions that come too late.
func (h *Hub) Take(ctx context.Context, actions []Action, unattended bool) error {
	reachable, err := h.Reachable(ctx)
	if err != nil {
		return err
	}
	for _, a := range actions {
		if reachable && (unattended || a.Type == CompletedBy && a.Response == Cancel) {
			continue
		}
		_, err := h.Dispatch(ctx, a)
		rejected := new(Rejection)
		switch {
		case errors.As(err, &rejected) && rejected.Code == InvalidAnswers:
			h.KeepDrafts(ctx, a)
			return fault.New("invalid_argument", rejected.Message, rejected.Hint)
		case err != nil && rejected.Code == "": // otherwise someone else was faster
			return err
		}
	}
	return nil
}
