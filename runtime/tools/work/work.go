// Package work has the tools with which an agent hands work to other agents:
// tasks of a project, attempts at them, and what came of those.
//
// Each tool is one file: what it takes, what it answers, what a model reads of
// it, and the way from the types of the room to those of the wire. Its schemas
// are read from its types. A failure that a caller can do something about is an
// object {code, message, retryable, hint, details}; the hint names a tool and a
// field, always.
package work

import (
	"context"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
)

// Manager is what the tools need of the room; [tasks.Manager] has it.
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

// Options tunes the tools. Open is required.
type Options struct {
	// Open gives the manager; it is called by every call, and may open the store
	// at the first.
	Open func(context.Context) (Manager, error)
	// Prefix stands before the names of the tools, with "_" between. Empty: none.
	Prefix string
	// AttemptID is the attempt that get_context tells of. Empty: there is no
	// get_context.
	AttemptID string
	// Questions lists what waits for a person in an attempt. Nil: nothing is said
	// of it but the number.
	Questions func(ctx context.Context, attemptID string) ([]Question, error)
	// Pauses lists when the agents of an attempt waited for a person, in any
	// order. Nil: nothing is said of it.
	Pauses func(ctx context.Context, attemptID string) ([]Pause, error)
	// Show lets a client that follows a run of an attempt, which is the Client of
	// a [contract.Caller], show what waits for a person there. Take does what the
	// client's person has answered. Nil: such a client only follows.
	Show, Take func(ctx context.Context, attemptID string, client any) error
	// MaxAnswerBytes bounds an answer of which more can be had. Zero means 64 KiB,
	// under the 25,000 tokens that clients cut at.
	MaxAnswerBytes int

	// Hint words the next step after a failure of a tool, for a door that has
	// other names for what the tools do. Nil: it names tools and their fields.
	Hint func(tool string, f *fault.Fault) string

	fewer bool // the agent of an attempt has few of the tools
}

// Tools is the list of all.
func Tools(o Options) []contract.Tool {
	o = o.withDefaults()
	list := []contract.Tool{
		o.listProjects(), o.listRepos(), o.listExecutors(),
		o.listTasks(), o.getTask(), o.createTask(), o.updateTask(), o.deleteTask(),
		o.listTaskAttempts(), o.startTaskAttempt(), o.followUp(), o.stopAttempt(),
		o.getAttemptStatus(), o.tailAttemptLogs(), o.tailSessionMessages(),
		o.getAttemptChanges(), o.getAttemptFile(), o.getAttemptPatch(),
	}
	if o.AttemptID != "" {
		list = append(list, o.getContext())
	}
	return list
}

// AttemptTools is the list for the agent of an attempt, which [Options] name: it
// may note further work, and does not start or end any.
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
