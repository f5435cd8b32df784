package elicit

import (
	"context"
	"errors"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Take applies what a client says its person has done with a request, one action
// after the other. A client may close a question nobody has read, so a
// cancellation is ignored while a person can answer in another way; with
// unattended so is everything else. If the answers are not valid, they are kept
// as drafts and the error is a fault that says what is wrong. An action that
// comes too late is ignored.
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
		case err != nil && rejected.Code == "": // else somebody was faster
			return err
		}
	}
	return nil
}
