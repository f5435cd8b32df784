package work

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
)

type followUpIn struct {
	Action string `json:"action" required:"true" enum:"send,queue,cancel" doc:"send runs the prompt now; queue runs it when the running process has ended well, at once if none runs; cancel takes back what is queued."`
	target
	Prompt    string `json:"prompt" visible:"true" max:"100000" doc:"What to tell the agent, at most 100000 characters. Required for send and queue, not allowed with cancel."`
	Variant   string `json:"variant" visible:"true" doc:"One of the executor's variants, from list_executors. Default: that of the session."`
	RequestID string `json:"request_id" visible:"true" max:"200" doc:"Key of your own for a safe retry of send or queue, such as a new UUID, at most 200 characters: the same key with the same arguments runs the prompt once and answers the same again."`
}

// FollowUp is the answer of follow_up.
type FollowUp struct {
	SessionID contract.UUID  `json:"session_id" doc:"The session that goes on."`
	Action    string         `json:"action" enum:"send,queue,cancel" doc:"The action that was done."`
	ProcessID *contract.UUID `json:"execution_process_id" doc:"Process that runs the prompt. Null while it waits, and after cancel."`
	Status    string         `json:"status" enum:"empty,queued,started" doc:"Queue status: empty, nothing waits; queued, the prompt waits or runs next; started, the prompt runs."`
	Queued    *QueuedMessage `json:"queued_message" doc:"The message that waits for the session. Null if none does."`
}

// QueuedMessage waits for the end of a run.
type QueuedMessage struct {
	SessionID contract.UUID `json:"session_id" doc:"The session that it is for."`
	Message   string        `json:"message" doc:"The prompt."`
	Variant   *string       `json:"variant" doc:"Variant to run it with. Null: that of the session."`
	At        contract.Time `json:"queued_at" doc:"When it was queued."`
	Discarded *string       `json:"discarded_reason" doc:"Why it will never run, as after a run that failed. Null while it waits."`
}

func (o Options) followUp() contract.Tool {
	name := o.name("follow_up")
	return lasting[FollowUp](o, define(o, spec{
		name: name, title: "Tell the agent more", additive: true,
		about: about{
			useWhen: "the agent of an attempt shall do more, in the same conversation and folder: corrections after a review, an answer, the next step.",
			next:    "get_attempt_status until state is not running, then get_attempt_changes.",
			avoid:   "both attempt_id and session_id; send while the attempt runs (queue instead, or stop_attempt first); prompt left out of send or queue. With queue a later message takes the place of the one that waits.",
		},
		refine: func(s *jsonschema.Schema) {
			s.If = &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{"action": {Enum: []any{"send", "queue"}}}}
			s.Then = needs("prompt")
			s.Else = not(needs("prompt"))
			s.Not = notOneTarget()
		},
		before: func(given contract.Given) *fault.Fault {
			if f := oneTarget(name, given); f != nil {
				return f
			}
			cancel := given.Is("action", string(tasks.Cancel))
			switch has := given.Has("prompt"); {
			case cancel && has:
				return invalid("prompt", "prompt is not allowed with action cancel", "leave prompt out of "+name+" to cancel; a later queue takes the place of the message that waits")
			case !cancel && !has && given.Has("action"):
				return because(tasks.MissingRequired, invalid("prompt", "prompt is required for actions send and queue", "call "+name+" again with prompt"))
			}
			return nil
		},
	}, func(ctx context.Context, in followUpIn) (out FollowUp, err error) {
		m, err := o.Open(ctx)
		if err != nil {
			return out, err
		}
		f, err := m.FollowUp(ctx, tasks.FollowUpRequest{
			Action: tasks.Action(in.Action), AttemptID: string(in.AttemptID), SessionID: string(in.SessionID),
			Prompt: in.Prompt, Variant: in.Variant, RequestID: in.RequestID,
		})
		if err != nil {
			return out, err
		}
		return followUpOf(f), nil
	}))
}

// followUpOf words what became of a follow-up.
func followUpOf(f tasks.FollowUp) FollowUp {
	return FollowUp{contract.UUID(f.SessionID), string(f.Action), idOrNull(f.ProcessID), f.Status, queuedOf(f.Queued)}
}

func queuedOf(q *tasks.QueuedMessage) *QueuedMessage {
	if q == nil {
		return nil
	}
	return &QueuedMessage{contract.UUID(q.SessionID), q.Message, textOrNull(q.Variant), stamp(q.At), textOrNull(q.Discarded)}
}
