package work

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
)

type followUpIn struct {
	Action string `json:"action" required:"true" enum:"send,queue,cancel" doc:"send runs the prompt now; queue runs it after the running process succeeds, or now if none runs; cancel removes the queued prompt."`
	target
	Prompt    string `json:"prompt" visible:"true" max:"100000" doc:"Message to the agent, at most 100000 characters. Required for send and queue, not allowed with cancel."`
	Variant   string `json:"variant" visible:"true" doc:"One of the executor's variants, from list_executors. Default: the session's."`
	RequestID string `json:"request_id" visible:"true" max:"200" doc:"Idempotency key for send or queue, for example a new UUID, at most 200 characters: a retry with the same key and arguments returns the first result and does not run the prompt again."`
}

// FollowUp is the result of follow_up.
type FollowUp struct {
	SessionID contract.UUID  `json:"session_id" doc:"The session that continues."`
	Action    string         `json:"action" enum:"send,queue,cancel" doc:"The action taken."`
	ProcessID *contract.UUID `json:"execution_process_id" doc:"Process that runs the prompt. Null while the prompt is waiting, and after cancel."`
	Status    string         `json:"status" enum:"empty,queued,started" doc:"Queue status: empty, no prompt is waiting; queued, the prompt is waiting or runs next; started, the prompt is running."`
	Queued    *QueuedMessage `json:"queued_message" doc:"The message queued for the session. Null if none."`
}

// QueuedMessage is a message that is waiting for a run to end.
type QueuedMessage struct {
	SessionID contract.UUID `json:"session_id" doc:"Its session."`
	Message   string        `json:"message" doc:"The prompt."`
	Variant   *string       `json:"variant" doc:"Variant to run it with. Null: the session's."`
	At        contract.Time `json:"queued_at" doc:"When it was queued."`
	Discarded *string       `json:"discarded_reason" doc:"Why it will never run, for example after a failed run. Null while it waits."`
}

func (o Options) followUp() contract.Tool {
	name := o.name("follow_up")
	return lasting[FollowUp](o, define(o, spec{
		name: name, title: "Follow up with the agent", additive: true,
		about: about{
			useWhen: "an attempt's agent should do more, in the same conversation and folder: corrections after a review, an answer, the next step.",
			next:    "get_attempt_status until state is not running, then get_attempt_changes.",
			avoid:   "both attempt_id and session_id; send while the attempt runs (queue instead, or stop_attempt first); send or queue without prompt. With queue, a later message replaces the waiting one.",
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
				return invalid("prompt", "prompt is not allowed with action cancel", "omit prompt from "+name+" to cancel; a later queue replaces the waiting message")
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

// followUpOf converts a follow-up to the tool's result.
func followUpOf(f tasks.FollowUp) FollowUp {
	return FollowUp{contract.UUID(f.SessionID), string(f.Action), idOrNull(f.ProcessID), f.Status, queuedOf(f.Queued)}
}

func queuedOf(q *tasks.QueuedMessage) *QueuedMessage {
	if q == nil {
		return nil
	}
	return &QueuedMessage{contract.UUID(q.SessionID), q.Message, textOrNull(q.Variant), stamp(q.At), textOrNull(q.Discarded)}
}
