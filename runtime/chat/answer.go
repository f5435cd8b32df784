package chat

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// response is a client's answer to one request.
type response struct {
	ElicitationID string         `json:"elicitationId"`
	Action        string         `json:"action"`
	Content       map[string]any `json:"content,omitempty"` // by question ID
	Note          string         `json:"note,omitempty"`    // the person's additional note

	unread bool // the response has the wrong form; the other fields hold the parts that could be parsed
}

// result is the outcome of one response.
type result struct {
	ElicitationID string         `json:"elicitationId"`
	Status        int            `json:"status"` // HTTP status that a call with only this response would have
	Success       bool           `json:"success"`
	Action        string         `json:"action,omitempty"`
	Error         map[string]any `json:"error,omitempty"`
}

// maxResponses is the maximum number of responses in a call. Even two open
// questions in a session are rare.
const maxResponses = 100

// answer serves AnswerPath. It accepts one response, or several that do not
// depend on each other.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		ConversationID string `json:"conversationId"`
		response
		Responses []json.RawMessage `json:"responses"`
	}
	if err := readBody(w, r, &body); err != nil {
		return err
	}
	if body.ConversationID == "" {
		return fault.New(missing, "conversationId is missing", "send the conversationId of the stream that asked the question")
	}
	hub, runner, err := s.o.Open(r.Context())
	if err != nil {
		return err
	}
	switch n := len(body.Responses); {
	case n > maxResponses:
		return fault.New(badRequest, fmt.Sprintf("%d responses were sent", n), fmt.Sprintf("send at most %d in one call", maxResponses))
	case n > 0 && body.ElicitationID != "":
		return fault.New(badRequest, "elicitationId and responses cannot be combined", "send only one of them")
	case body.Responses != nil:
		writeJSON(w, http.StatusOK, map[string]any{"conversationId": body.ConversationID, "results": s.respond(r.Context(), hub, runner, body.ConversationID, responses(body.Responses))})
		return nil
	}
	if err := respond(r.Context(), hub, runner, body.ConversationID, body.response); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string]any{"conversationId": body.ConversationID, "elicitationId": body.ElicitationID, "success": true, "action": body.Action})
	return nil
}

// responses parses a batch. A malformed response is marked as unread, and
// respond then rejects it.
func responses(batch []json.RawMessage) (all []response) {
	for _, raw := range batch {
		var one response
		one.unread = json.Unmarshal(raw, &one) != nil
		all = append(all, one)
	}
	return all
}

// respond handles each response separately and returns a result for each. A
// rejected response does not affect the others.
func (s *Server) respond(ctx context.Context, hub *elicit.Hub, runner Runner, conversation string, all []response) (results []result) {
	results = []result{}
	for _, one := range all {
		r := result{ElicitationID: one.ElicitationID, Action: one.Action, Status: http.StatusOK, Success: true}
		if err := respond(ctx, hub, runner, conversation, one); err != nil {
			r.Success = false
			r.Status, r.Error = s.failed(err)
		}
		results = append(results, r)
	}
	return results
}

func respond(ctx context.Context, hub *elicit.Hub, runner Runner, conversation string, one response) error {
	if one.unread {
		return fault.New(badRequest, "the response has the wrong form", "send a JSON object with elicitationId, action and content, where content is an object")
	}
	if one.ElicitationID == "" {
		return fault.New(missing, "elicitationId is missing", "send the request's elicitationId")
	}
	a := elicit.Action{Type: elicit.CompletedBy, RequestID: one.ElicitationID, Channel: Channel, Response: elicit.Outcome(one.Action), Note: one.Note}
	switch a.Response {
	case elicit.Accept, elicit.Decline, elicit.Cancel:
	case "":
		return fault.New(missing, "action is missing", "send action accept, decline or cancel")
	default:
		return fault.New(badRequest, fmt.Sprintf("unknown action %q", textutil.Shorten(one.Action, 200)), "send action accept, decline or cancel")
	}
	r, err := hub.Get(ctx, one.ElicitationID)
	if err != nil {
		return err
	}
	if ours, err := belongs(ctx, runner, &r, conversation); err != nil {
		return err
	} else if !ours {
		return fault.New(wrongConversation, fmt.Sprintf("request %s does not belong to conversation %q", r.ID, textutil.Shorten(conversation, 200)), "send the conversationId of the stream that asked the question")
	}
	if a.Response == elicit.Accept {
		if a.Answers, err = answersOf(&r, one.Content); err != nil {
			return err
		}
	}
	_, err = hub.Dispatch(ctx, a)
	return err
}

// belongs reports whether a request was asked in a conversation. A request that
// an agent made through its tools may have only the attempt's ID.
func belongs(ctx context.Context, runner Runner, r *elicit.Request, conversation string) (bool, error) {
	if c := r.Context; c.SessionID != "" || c.ConversationID != "" || c.AttemptID == "" {
		return conversation == c.SessionID || conversation == c.ConversationID, nil
	}
	run, err := runner.Newest(ctx, conversation)
	if fault.Of(err) != nil {
		return false, nil
	}
	return run.Attempt == r.Context.AttemptID, err
}

// answersOf parses the content of an accepting response.
func answersOf(r *elicit.Request, content map[string]any) (map[string]elicit.Answer, error) {
	fields := map[string][]string{}
	for id, v := range content {
		texts, ok := elicit.TextsOf(v)
		if !ok {
			return nil, fault.New(elicit.InvalidAnswers, fmt.Sprintf("content of %q is not a string, a number, true, false or a list of strings", textutil.Shorten(id, 200)), "send content that matches requestedSchema")
		}
		fields[id] = texts
	}
	answers, err := r.Fields(fields)
	if err != nil {
		return nil, err
	}
	return r.Final(answers), nil
}
