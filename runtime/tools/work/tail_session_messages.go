package work

import (
	"context"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
)

type tailSessionMessagesIn struct {
	target
	Limit  int    `json:"limit" min:"1" default:"20" doc:"Maximum number of turns, 1 or more; above 200 counts as 200. Default 20."`
	Cursor *int64 `json:"cursor" min:"0" doc:"next_cursor of an earlier answer, 0 or more, for older turns. Not with after_entry_index."`
	After  *int64 `json:"after_entry_index" min:"-1" doc:"Only turns newer than this entry_index, oldest first; -1 for all from the start. Not with cursor."`
}

// Messages is the result of tail_session_messages.
type Messages struct {
	SessionID contract.UUID `json:"session_id" doc:"The session read."`
	Page      MessagePage   `json:"page" doc:"The turns."`
}

// MessagePage is one page of a transcript.
type MessagePage struct {
	Entries    []Turn `json:"entries" doc:"The turns, oldest first."`
	NextCursor *int64 `json:"next_cursor" doc:"Cursor for the next page of older turns. Null if there are none, or with after_entry_index."`
	More       bool   `json:"has_more" doc:"Whether there are more turns: older ones, or newer ones with after_entry_index."`
	NextAfter  *int64 `json:"next_after_entry_index" doc:"after_entry_index for the next call. Null if there are no turns."`
	Cut        bool   `json:"cut" doc:"Whether turns or texts were left out to keep the answer short; continue with the cursor as usual."`
}

// Turn is a prompt and its result.
type Turn struct {
	Index   int64         `json:"entry_index" doc:"Position in the session, from 0."`
	ID      contract.UUID `json:"turn_id" doc:"ID of the turn."`
	Prompt  string        `json:"prompt" doc:"The prompt to the agent."`
	Summary *string       `json:"summary" doc:"The agent's final message. Null while the turn is running, or if there was none."`
	Created contract.Time `json:"created_at" doc:"When the turn began."`
	Updated contract.Time `json:"updated_at" doc:"When the turn last changed."`
	Pauses  []Pause       `json:"pauses" doc:"The agent's waits for a person, oldest first, at most the newest 20."`
}

// Pause is a period in which an agent waited for a person.
type Pause struct {
	ID      string         `json:"id" doc:"ID of the question, elc_..."`
	Text    string         `json:"text" doc:"The question, at most 200 characters."`
	Paused  contract.Time  `json:"paused_at" doc:"When it was asked."`
	Resumed *contract.Time `json:"resumed_at" doc:"When the agent continued. Null while it is waiting."`
	Outcome *string        `json:"outcome" doc:"How the question ended: accept, decline, cancel, timeout or abandoned. Null while it is open."`
}

const mostPauses = 20

func (o Options) tailSessionMessages() contract.Tool {
	name := o.name("tail_session_messages")
	return define(o, spec{
		name: name, title: "Read a conversation", readOnly: true,
		about: about{
			useWhen: "you want a session's prompts and final replies, for a short summary of an attempt's context.",
			next:    "follow_up to continue the session, or tail_attempt_logs for each step of a turn.",
			avoid:   "both attempt_id and session_id; cursor together with after_entry_index.",
		},
		refine: func(s *jsonschema.Schema) {
			s.Not = anyOf(needs("attempt_id", "session_id"), not(anyOf(needs("attempt_id"), needs("session_id"))), needs("cursor", "after_entry_index"))
		},
		before: func(given contract.Given) *fault.Fault {
			if f := oneTarget(name, given); f != nil {
				return f
			}
			return onePagination(name, given, "after_entry_index")
		},
	}, func(ctx context.Context, in tailSessionMessagesIn) (out Messages, err error) {
		m, err := o.Open(ctx)
		if err != nil {
			return out, err
		}
		page, err := m.Messages(ctx, tasks.MessageQuery{
			AttemptID: string(in.AttemptID), SessionID: string(in.SessionID),
			Limit: min(orDefault(in.Limit, 20), 200), Before: in.Cursor, After: in.After,
		})
		if err != nil {
			return out, err
		}
		var pauses []Pause
		if o.Pauses != nil && len(page.Turns) > 0 {
			if pauses, err = o.Pauses(ctx, page.AttemptID); err != nil {
				return out, err
			}
		}
		return messagesOf(page, pauses, in.After != nil, o.MaxAnswerBytes), nil
	})
}

// messagesOf converts a page of a transcript to the tool's result, with at most
// about maxBytes of text. newer reports whether it was read towards newer turns.
func messagesOf(page tasks.MessagePage, pauses []Pause, newer bool, maxBytes int) Messages {
	in := pausesIn(page.Turns, pauses)
	kept, cut := turnsFitting(page.Turns, in, newer, maxBytes)
	out := Messages{SessionID: contract.UUID(page.SessionID), Page: MessagePage{
		Entries: each(kept, func(t tasks.Turn) Turn {
			return Turn{t.Index, contract.UUID(t.ID), t.Prompt, textOrNull(t.Summary), stamp(t.Created), stamp(t.Updated), in[t.Index]}
		}),
		More: page.More || len(kept) < len(page.Turns), Cut: cut,
	}}
	if len(kept) > 0 {
		last := kept[len(kept)-1].Index
		out.Page.NextAfter = &last
	}
	switch {
	case newer && len(kept) == 0:
		out.Page.NextAfter = page.NextAfter
	case newer:
	case len(kept) < len(page.Turns):
		first := kept[0].Index
		out.Page.NextCursor = &first
	default:
		out.Page.NextCursor = page.Next
	}
	return out
}

// pausesIn returns an attempt's pauses by the turn in which they began. A turn
// lasts until the next one begins, or until it has ended.
func pausesIn(turns []tasks.Turn, pauses []Pause) map[int64][]Pause {
	in := map[int64][]Pause{}
	for i, t := range turns {
		until := t.Updated
		switch {
		case i+1 < len(turns):
			until = turns[i+1].Created
		case !until.After(t.Created): // the turn is running
			until = time.Now()
		}
		list := []Pause{}
		for _, p := range pauses {
			if !p.Paused.Before(t.Created) && p.Paused.Before(until) {
				list = append(list, p)
			}
		}
		slices.SortFunc(list, func(a, b Pause) int { return a.Paused.Compare(b.Paused.Time) })
		in[t.Index] = list[max(0, len(list)-mostPauses):]
	}
	return in
}

// turnsFitting returns the turns that fit: the oldest if newer is set, otherwise
// the newest. It returns at least one, with its text truncated if necessary.
func turnsFitting(turns []tasks.Turn, pauses map[int64][]Pause, newer bool, maxBytes int) (kept []tasks.Turn, cut bool) {
	const frame, framePause = 250, 200 // bytes of a turn and of a pause, without their text
	room := maxBytes
	for n := range turns {
		i := n
		if !newer {
			i = len(turns) - 1 - n
		}
		t := &turns[i]
		room -= len(t.Prompt) + len(t.Summary) + frame
		for _, p := range pauses[t.Index] {
			room -= len(p.Text) + framePause
		}
		switch {
		case room >= 0:
		case n == 0:
			t.Prompt, t.Summary = shorten(t.Prompt, maxBytes/2), shorten(t.Summary, maxBytes/2)
			cut = true
		case newer:
			return turns[:i], true
		default:
			return turns[i+1:], true
		}
	}
	return turns, cut
}
