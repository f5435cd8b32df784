package work

import (
	"context"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
)

// Executors is the result of list_executors.
type Executors struct {
	Executors []Executor `json:"executors" doc:"All executors, installed or not."`
	Count     int        `json:"count" doc:"Number of executors."`
}

// Executor is one executor.
type Executor struct {
	ID                string   `json:"executor" doc:"Stable identifier for start_task_attempt."`
	Variants          []string `json:"variants" doc:"Values for variant in start_task_attempt and follow_up. Empty if there are none."`
	DefaultVariant    *string  `json:"default_variant" doc:"The default variant, one of variants. Null if there is none."`
	SupportsMCP       bool     `json:"supports_mcp" doc:"Whether the agent gets this server's tools, to search the docs and ask a person."`
	SupportsFollowUp  bool     `json:"supports_follow_up" doc:"Whether the agent itself keeps the conversation for follow_up. If not, deskhand gives the history to its new session."`
	SupportsApprovals bool     `json:"supports_approvals" doc:"Whether the agent asks a person before actions that need permission."`
	Protocol          protocol `json:"protocol" doc:"How deskhand communicates with the agent."`
	Available         bool     `json:"available" doc:"Whether it is installed here and can be started."`
	UnavailableReason *string  `json:"unavailable_reason" doc:"What is missing. Null if available."`
}

// protocol is the kind of an executor.
type protocol string

// Enum lists all kinds; see [contract.Schema].
func (protocol) Enum() []string { return executor.Kinds() }

func (o Options) listExecutors() contract.Tool {
	return define(o, spec{
		name: o.name("list_executors"), title: "List executors", readOnly: true,
		about: about{
			useWhen: "you are about to start an attempt and need to know which coding agents are available here.",
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

// executorsOf converts executors to the tool's result.
func executorsOf(executors []tasks.Executor) Executors {
	list := each(executors, func(e tasks.Executor) Executor {
		return Executor{
			ID: e.ID, Variants: append([]string{}, e.Variants...), DefaultVariant: textOrNull(e.Default),
			SupportsMCP: e.MCP, SupportsFollowUp: e.FollowUp, SupportsApprovals: e.Approvals,
			Protocol: protocol(e.Protocol), Available: e.Missing == "", UnavailableReason: textOrNull(e.Missing),
		}
	})
	return Executors{list, len(list)}
}
