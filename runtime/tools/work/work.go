// Package work implements the tools for handing work to other agents: a project's
// tasks, attempts at them, and their results.
//
// Each tool is one file: its arguments, its result, its description for models, and
// the conversion between the manager's types and the wire's. Schemas are derived
// from the types. A failure that a caller can act on is an object {code, message,
// retryable, hint, details}. The hint always names a tool and a field.
package work

import (
	"context"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
)

// Manager is the part of [tasks.Manager] that the tools need.
type Manager interface {
	Projects(context.Context, tasks.Page) (tasks.ProjectPage, error)
	Repos(ctx context.Context, projectID string) ([]tasks.Repo, error)
	Executors(context.Context) ([]tasks.Executor, error)
	Tasks(context.Context, tasks.TaskQuery) (tasks.TaskPage, error)
	Task(ctx context.Context, id string) (tasks.Task, error)
	CreateTask(context.Context, tasks.NewTask) (tasks.Task, error)
	UpdateTask(ctx context.Context, id string, change tasks.TaskChange) (tasks.Task, error)
	DeleteTask(ctx context.Context, id string) error
	Attempts(ctx context.Context, taskID string) ([]tasks.AttemptSummary, error)
	Start(context.Context, tasks.StartRequest) (tasks.Started, error)
	FollowUp(context.Context, tasks.FollowUpRequest) (tasks.FollowUp, error)
	Status(ctx context.Context, attemptID string) (tasks.AttemptStatus, error)
	Logs(context.Context, tasks.LogQuery) (tasks.LogPage, error)
	Messages(context.Context, tasks.MessageQuery) (tasks.MessagePage, error)
	Changes(ctx context.Context, attemptID string, force bool) (tasks.Changes, error)
	File(context.Context, tasks.FileQuery) (tasks.File, error)
	Patch(context.Context, tasks.PatchQuery) (tasks.Patch, error)
	Stop(ctx context.Context, attemptID string, force bool) (tasks.Stopped, error)
	RunFrom(ctx context.Context, processID string) (tasks.Run, error)
	Watch(ctx context.Context, seq int64, id string) (*tasks.Watcher, error)
	Context(ctx context.Context, attemptID string) (tasks.Context, error)
}

// Options configure the tools. Open is required.
type Options struct {
	// Open returns the manager. Every tool call calls it, and the first one may
	// open the store.
	Open func(context.Context) (Manager, error)
	// Prefix is put before the tools' names, joined by "_". It may be empty.
	Prefix string
	// AttemptID is the attempt that get_context describes. If it is empty, there is
	// no get_context.
	AttemptID string
	// Questions lists an attempt's questions that are waiting for a person. If nil,
	// only their number is returned.
	Questions func(ctx context.Context, attemptID string) ([]Question, error)
	// Pauses lists the periods in which an attempt's agents waited for a person, in
	// any order. If nil, no pauses are returned.
	Pauses func(ctx context.Context, attemptID string) ([]Pause, error)
	// Show lets a client that follows an attempt's run, the Client of a
	// [contract.Caller], show the questions that are waiting for a person. Take
	// applies the answers of the client's user. If both are nil, such a client can
	// only follow the run.
	Show, Take func(ctx context.Context, attemptID string, client any) error
	// MaxAnswerBytes is the maximum size of answers that can be continued. Zero
	// means 64 KiB, which is below the 25,000 tokens at which clients truncate.
	MaxAnswerBytes int

	// Hint returns the next step after a tool's failure, for a door that has
	// other names for the tools. If nil, hints name tools and their fields.
	Hint func(tool string, f *fault.Fault) string

	fewer bool // the attempt's agent gets few of the tools
}

// definition is a tool's name without a prefix, and the function that defines it.
type definition struct {
	name   string
	define func(Options) contract.Tool
}

// definitions returns the tools that do not need an attempt, in the order of [Tools]. It
// is a function because texts of the tools refer to all names.
func definitions() []definition {
	return []definition{
		{"list_projects", Options.listProjects}, {"list_repos", Options.listRepos}, {"list_executors", Options.listExecutors},
		{"list_tasks", Options.listTasks}, {"get_task", Options.getTask}, {"create_task", Options.createTask},
		{"update_task", Options.updateTask}, {"delete_task", Options.deleteTask},
		{"list_task_attempts", Options.listTaskAttempts}, {"start_task_attempt", Options.startTaskAttempt},
		{"follow_up", Options.followUp}, {"stop_attempt", Options.stopAttempt},
		{"get_attempt_status", Options.getAttemptStatus}, {"tail_attempt_logs", Options.tailAttemptLogs},
		{"tail_session_messages", Options.tailSessionMessages}, {"get_attempt_changes", Options.getAttemptChanges},
		{"get_attempt_file", Options.getAttemptFile}, {"get_attempt_patch", Options.getAttemptPatch},
	}
}

// Tools returns all tools.
func Tools(o Options) (list []contract.Tool) {
	o = o.withDefaults()
	for _, t := range definitions() {
		list = append(list, t.define(o))
	}
	if o.AttemptID != "" {
		list = append(list, o.getContext())
	}
	return list
}

// Tool returns one of the tools that do not need an attempt, by its name without the
// prefix. A command that calls one tool does not have to derive the schemas of all, which
// takes 30 ms. Tool panics if there is no such tool.
func Tool(o Options, name string) contract.Tool {
	for _, t := range definitions() {
		if t.name == name {
			return t.define(o.withDefaults())
		}
	}
	panic("work: no tool " + name)
}

// AttemptTools returns the tools for the agent of the attempt o.AttemptID. The
// agent may record further work, but may not start or stop work.
func AttemptTools(o Options) []contract.Tool {
	o.fewer = true
	o = o.withDefaults()
	return []contract.Tool{o.getContext(), o.createTask()}
}

func (o Options) withDefaults() Options {
	if o.MaxAnswerBytes <= 0 {
		o.MaxAnswerBytes = 64 << 10
	}
	if o.Hint == nil {
		o.Hint = o.hint
	}
	return o
}

func (o Options) name(tool string) string {
	if o.Prefix == "" {
		return tool
	}
	return o.Prefix + "_" + tool
}
