// Package land implements the tools with which an agent outside an attempt finishes
// it: landing, updating or discarding the attempt, opening a pull request, and
// waiting until attempts end.
//
// Each call that moves a branch asks a person first, unless a person has turned
// that off for the project. A yes applies only to the plan in the question: if
// commits have changed since then, nothing is landed. The tools are described like
// those of package work, whose table contains their hints.
package land

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/tasks"
	textutil "github.com/deskhand/deskhand/runtime/text"
	"github.com/deskhand/deskhand/runtime/tools/ask"
	"github.com/deskhand/deskhand/runtime/tools/work"
)

// Manager lists the methods of the task manager that the tools need.
// [tasks.Manager] implements it.
type Manager interface {
	MayLand(ctx context.Context, attemptID string) (c tasks.Context, ask bool, err error)
	Land(context.Context, tasks.LandRequest) (tasks.Landed, error)
	Update(ctx context.Context, q tasks.UpdateRequest) (tasks.Landed, error)
	Discard(ctx context.Context, attemptID string, dryRun bool) (tasks.Discarded, error)
	OpenPull(context.Context, tasks.PullQuery) (tasks.Pulled, error)
	Changes(ctx context.Context, attemptID string, force bool) (tasks.Changes, error)
	Status(ctx context.Context, attemptID string) (tasks.AttemptStatus, error)
	AwaitEnds(ctx context.Context, attemptIDs []string, all bool) error
}

// Desk asks people and holds calls. [ask.Toolset] implements it.
type Desk interface {
	Confirm(context.Context, contract.Caller, ask.Confirmation) (ask.Confirmed, error)
	Held(ctx context.Context, caller contract.Caller, most time.Duration, says func() string, wait func(context.Context) error) (done bool, err error)
}

// Options configure the tools. Open and Desk are required to call a tool.
type Options struct {
	// Open returns the manager. Every tool call calls it. The first call may open
	// the store.
	Open func(context.Context) (Manager, error)
	Desk Desk
	// Work sets the prefix of tool names and the wording of hints.
	Work work.Options
}

// Tools returns all tools.
func Tools(o Options) []contract.Tool {
	return []contract.Tool{o.landAttempt(), o.updateAttempt(), o.discardAttempt(), o.openPullRequest(), o.waitForAttempts()}
}

// Instructions tells a model how to land work.
func Instructions(o Options) string { return o.Work.Named(instructions) }

const instructions = `Landing: wait_for_attempts returns when attempts have ended. After a review, land_attempt merges an attempt into its target branch, update_attempt first merges the target into the attempt, discard_attempt deletes an attempt, open_pull_request pushes it for review. Each asks the person, which may take a while: status waiting means no answer yet, so call again later with the same arguments. Never land work that the user does not want landed.`

// Outcome is the part of the result that is common to all tools that ask first.
type Outcome struct {
	Status    string  `json:"status" enum:"done,planned,waiting,refused,unreachable" doc:"done; planned: dry_run, nothing was changed; waiting: the person has not answered yet, nothing was changed; refused: the person said no; unreachable: no person could be asked."`
	RequestID *string `json:"request_id" doc:"ID of the question to the person, elc_.... Null if none was asked."`
	Note      *string `json:"note" doc:"The person's note on the answer. Null if there is none."`
	Hint      *string `json:"hint" doc:"What to do next. Null if done."`
}

// Values of Outcome.Status.
const (
	done        = "done"
	planned     = "planned"
	waiting     = "waiting"
	refused     = "refused"
	unreachable = "unreachable"
)

// question describes what a person is asked before a tool acts.
type question struct {
	tool string // without the prefix
	does string // for example "Land"
	// facts lists what will be done, one line each.
	facts []string
	// The field words is an agent's text, shown under heading. Both may be empty.
	heading, words string
}

// mostWords is the maximum number of bytes of an agent's text in a question.
const mostWords = 1500

// permitted asks a person. ok reports whether the person agreed; if not, the
// outcome says what happened.
func (o Options) permitted(ctx context.Context, caller contract.Caller, in tasks.Context, q question) (out Outcome, ok bool, err error) {
	name := o.Work.Named(q.tool)
	id := tasks.ShortID(in.Attempt.ID)
	text := fmt.Sprintf("%s attempt %s of the task %q in project %s:\n\n%s", q.does, id, in.Task.Title, in.Project.Name, strings.Join(q.facts, "\n"))
	if q.words != "" {
		text += "\n\n" + q.heading + "\n" + textutil.Excerpt(elicit.Visible(q.words), mostWords)
	}
	got, err := o.Desk.Confirm(ctx, caller, ask.Confirmation{
		Tool: name, Title: fmt.Sprintf("%s attempt %s?", q.does, id), Ask: fmt.Sprintf("%s attempt %s?", q.does, id), Message: text,
		About: elicit.Context{ProjectID: in.Project.ID, Project: in.Project.Name, TaskID: in.Task.ID, Branch: in.Attempt.Branch},
	})
	if err != nil {
		return out, false, err
	}
	out.Status, out.RequestID, out.Note = done, textOrNull(got.RequestID), textOrNull(got.Note)
	hint := ""
	switch got.Verdict {
	case ask.Agreed:
		return out, true, nil
	case ask.Waiting:
		out.Status = waiting
		hint = got.Reach + ". No one has answered yet, and nothing was changed. Call " + name + " again later with the same arguments; the person is not asked twice."
	case ask.Unreachable:
		out.Status = unreachable
		hint = "No person could be asked, and nothing was changed. Say so, or have someone open the inbox and call " + name + " again."
	default:
		out.Status = refused
		hint = "The person said no, and nothing was changed. Do not call " + name + " again unless the person asks for it."
	}
	out.Hint = &hint
	return out, false, nil
}

// plan returns the outcome of a dry run.
func (o Options) plan(tool string) Outcome {
	hint := o.Work.Named("nothing was changed; call " + tool + " without dry_run to do it")
	return Outcome{Status: planned, Hint: &hint}
}

func textOrNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
