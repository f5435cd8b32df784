package work

import (
	"context"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/tasks"
)

// Executors is the answer of list_executors.
type Executors struct {
	Executors []Executor `json:"executors" doc:"The executors, those that are installed and those that are not."`
	Count     int        `json:"count" doc:"Number of executors."`
}

// Executor is one of them.
type Executor struct {
	ID                string   `json:"executor" doc:"Stable identifier; start_task_attempt takes it as it is."`
	Variants          []string `json:"variants" doc:"Names that start_task_attempt and follow_up take as variant. Empty: there are none."`
	DefaultVariant    *string  `json:"default_variant" doc:"The variant used without one, which is one of variants. Null: none."`
	SupportsMCP       bool     `json:"supports_mcp" doc:"Whether the agent is given this server's tools: it can search the docs and ask a person."`
	SupportsFollowUp  bool     `json:"supports_follow_up" doc:"Whether the agent itself remembers the conversation at follow_up. If not, a new session of it is told what was said before."`
	SupportsApprovals bool     `json:"supports_approvals" doc:"Whether the agent asks a person before it does what needs permission."`
	Protocol          string   `json:"protocol" enum:"acp,stream,shell,fake,a2a" doc:"How the agent is spoken to."`
	Available         bool     `json:"available" doc:"Whether it is installed here and can be started."`
	UnavailableReason *string  `json:"unavailable_reason" doc:"What is missing. Null if it is available."`
}

func (o Options) listExecutors() contract.Tool {
	return define(o, spec{
		name: o.name("list_executors"), title: "List executors", readOnly: true,
		about: about{
			useWhen: "you are about to start an attempt and need to know which coding agents can be started here.",
			next:    "start_task_attempt with an executor that is available.",
			avoid:   "an executor with available=false; unavailable_reason says what to install.",
		},
	}, func(ctx context.Context, _ struct{}) (out Executors, err error) {
		m, err := o.Open(ctx)
		if err != nil {
			return out, err
		}
		executors, err := m.Executors(ctx)
		if err != nil {
			return out, err
		}
		return executorsOf(executors), nil
	})
}

// executorsOf words the executors.
func executorsOf(executors []tasks.Executor) Executors {
	list := each(executors, func(e tasks.Executor) Executor {
		return Executor{
			ID: e.ID, Variants: append([]string{}, e.Variants...), DefaultVariant: textOrNull(e.Default),
			SupportsMCP: e.MCP, SupportsFollowUp: e.FollowUp, SupportsApprovals: e.Approvals,
			Protocol: e.Protocol, Available: e.Missing == "", UnavailableReason: textOrNull(e.Missing),
		}
	})
	return Executors{list, len(list)}
}
