package chat

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// buffer collects a stream's events for a client that wants a single response.
type buffer struct {
	texts   []string
	asked   map[string]question // current state of each question, by ID
	order   []string
	failure string
	at      string
}

func (b *buffer) text() string { return strings.Join(b.texts, "") }

func (b *buffer) add(all []placed) {
	for _, e := range all {
		if e.at != "" {
			b.at = e.at
		}
		switch e.kind {
		case says:
			if e.first && len(b.texts) > 0 {
				b.texts = append(b.texts, "\n\n")
			}
			b.texts = append(b.texts, e.text)
		case asks:
			if _, known := b.asked[e.asked.ElicitationID]; !known {
				b.order = append(b.order, e.asked.ElicitationID)
			}
			b.asked[e.asked.ElicitationID] = e.asked
		case ends:
			b.failure = e.text
		}
	}
}

// pending returns the open questions.
func (b *buffer) pending() []question {
	open := []question{}
	for _, id := range b.order {
		if q := b.asked[id]; q.Status == elicit.Open {
			q.Type = "elicitation-request"
			open = append(open, q)
		}
	}
	return open
}

// errWaits stops following a run that is waiting for a person.
var errWaits = errors.New("the run is waiting for an answer")

// buffered responds when the run has ended, is waiting for a person whom the
// client can ask, or has taken too long. In the last two cases the run
// continues, and the client can get the rest with resume and lastEventId.
func (s *Server) buffered(w http.ResponseWriter, r *http.Request, f *flow, c *call, model string) error {
	ctx, cancel := context.WithTimeout(r.Context(), s.o.Buffer)
	defer cancel()
	b := &buffer{asked: map[string]question{}, at: f.log.at.String()}
	err := f.follow(ctx, s.closing, nil, func(all []placed) error {
		b.add(all)
		if len(b.pending()) > 0 {
			return errWaits
		}
		return nil
	})
	late := ctx.Err() != nil && r.Context().Err() == nil
	if err != nil && !errors.Is(err, errWaits) && !late {
		return err
	}
	body := b.message(f.run)
	if c.Format == openAI {
		body = b.completion(f.run, model)
	}
	body["pendingElicitations"], body["lastEventId"], body["conversationId"] = b.pending(), b.at, c.ConversationID
	switch {
	case f.ended && b.failure != "":
		body["status"], body["failure"] = "failed", b.failure
	case f.ended:
		body["status"] = "completed"
	case f.waits:
		body["status"] = "waiting"
	default:
		body["status"] = "running"
	}
	if len(f.results) > 0 {
		body["results"] = f.results
	}
	writeJSON(w, http.StatusOK, body)
	return nil
}
