package chat

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

// Fault codes of this package.
const (
	badRequest        = "invalid_argument"
	missing           = "missing_required"
	wrongConversation = "wrong_conversation"
	nothingToResume   = "nothing_to_resume"
	tooLarge          = "too_large"
)

// statuses maps fault codes to HTTP statuses. All other faults are bad
// requests.
var statuses = map[string]int{
	"not_found": http.StatusNotFound, elicit.UnknownRequest: http.StatusNotFound, nothingToResume: http.StatusNotFound,
	wrongConversation: http.StatusForbidden, elicit.NotYours: http.StatusForbidden,
	elicit.AlreadyCompleted: http.StatusConflict, "attempt_running": http.StatusConflict, "idempotency_conflict": http.StatusConflict,
	"no_session_yet": http.StatusConflict, "executor_unavailable": http.StatusConflict, tooLarge: http.StatusRequestEntityTooLarge,
}

// refuse writes an error response. Both OpenAI's library and the AI SDK read
// error.message.
func (s *Server) refuse(w http.ResponseWriter, err error) {
	status, body := s.failed(err)
	writeJSON(w, status, map[string]any{"error": body})
}

// failed converts an error for the client. It returns a fault unchanged. It
// logs other errors, and returns only a general message and the ID of the log
// entry.
func (s *Server) failed(err error) (status int, body map[string]any) {
	f := fault.Of(err)
	if t, ok := store.TroubleOf(err); ok && f == nil {
		s.o.Log.Error("chat call failed", "error", err)
		return http.StatusServiceUnavailable, map[string]any{"code": t.Code, "type": "server_error", "message": t.Message, "hint": t.Hint}
	}
	if f == nil {
		id := rand.Text()[:8]
		s.o.Log.Error("chat call failed", "error_id", id, "error", err)
		return http.StatusInternalServerError, map[string]any{"code": "internal", "type": "server_error", "message": "internal error (id " + id + ")"}
	}
	status = http.StatusBadRequest
	if known, ok := statuses[f.Code]; ok {
		status = known
	}
	body = map[string]any{"code": f.Code, "type": "invalid_request_error", "message": f.Message}
	if f.Hint != "" {
		body["hint"] = f.Hint
	}
	var rejected *elicit.Rejection
	if errors.As(err, &rejected) {
		if len(rejected.Problems) > 0 {
			body["problems"] = rejected.Problems
		}
		if rejected.Winner != nil {
			body["outcome"] = rejected.Winner.Outcome
		}
	}
	return status, body
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}
