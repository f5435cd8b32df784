package tasks

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
	"github.com/deskhand/deskhand/runtime/tasks/logs"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// commit commits what a good run has left, of which the heads were before. What
// git refuses, as in the middle of a merge, stays as it is, and so does what
// looks like a secret until a person allows it; the log says so.
func (r *run) commit(e ending, message string, before priorState) ending {
	r.logExposed(before)
	if e.State != Completed || context.Cause(r.ctx) != nil {
		return e
	}
	if message == "" {
		message = r.task.Title
	}
	message, _, _ = strings.Cut(strings.TrimSpace(r.redact(message)), "\n\n\n")
	err := r.m.allowing(r.ctx, &r.c, r.redactor.Finds, r.allowed, func(tree worktree.Tree, checks ...worktree.Check) error {
		_, err := tree.Commit(r.ctx, message, checks...)
		return err
	})
	switch f := fault.Of(err); {
	case err == nil:
	case f != nil && (f.Code == CommitHeld || f.Code == worktree.HeadMoved):
		r.log.Append(logs.Failed("not committed: " + f.Message + "; a person can bring it onto the branch"))
	case f != nil:
		r.log.Append(logs.Failed("not committed: " + errorText(err)))
	default:
		r.log.Append(logs.Failed("not committed: " + err.Error()))
		e.State, e.Failure = Failed, "commit: "+err.Error()
	}
	r.logLeftOut(before)
	return e
}

// heldPatience is how long a person has to allow a commit before the run ends
// without it.
const heldPatience = 30 * time.Minute

// allowed asks whether something that looks like a secret is to be committed.
func (r *run) allowed(what string) bool {
	if r.m.options.Ask == nil {
		return false
	}
	r.log.Append(logs.System("held back until a person has decided: " + what))
	ctx, cancel := context.WithCancelCause(r.ctx)
	defer cancel(nil)
	defer time.AfterFunc(heldPatience, func() { cancel(executor.ErrSettled) }).Stop()
	answer, err := r.ask(ctx, executor.Question{
		Permission: true, Tool: "git commit", Title: "Commit what looks like a secret?",
		Message: "Deskhand was about to commit the work of this attempt, and " + what + ". Commit it all the same?",
		Options: []executor.Option{
			{ID: "allow", Label: "Commit it", Kind: "allow_once"},
			{ID: "reject", Label: "Leave it uncommitted in the folder", Kind: "reject_once"},
		},
	})
	if err != nil || answer.Outcome != "accept" || answer.Option != "allow" {
		return false
	}
	r.log.Append(logs.System("a person has allowed to commit it: " + what))
	return true
}

// exposurePatience bounds the look at what the agent of a run has committed that
// was made to end.
const exposurePatience = time.Minute

// logExposed says which secrets the agent has committed itself, however its run
// ended.
func (r *run) logExposed(before priorState) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), exposurePatience)
	defer cancel()
	err := r.m.loadAllowed(ctx, &r.c)
	var exposed []string
	if err == nil {
		exposed, err = r.c.tree.Exposed(ctx, before.heads, r.redactor.Finds)
	}
	if err != nil {
		r.log.Append(logs.Failed("the agent's commits were not checked for secrets: " + err.Error()))
	}
	for _, what := range exposed {
		r.log.Append(logs.Failed("the agent has committed this itself: " + what))
		r.remarks = append(r.remarks, committedItself+what)
	}
}

// priorState is what there was before a process ran.
type priorState struct {
	heads   map[string]string
	ignored []string
}

func (r *run) priorState() priorState {
	return priorState{r.c.tree.Heads(r.ctx), r.c.tree.Ignored(r.ctx)}
}

// maxNamed is how many names a line of the log has.
const maxNamed = 20

// logLeftOut names what no commit has: the repositories inside, and what git
// ignores of what the process has made.
func (r *run) logLeftOut(before priorState) {
	s, err := r.c.tree.Standing(r.ctx)
	if err != nil {
		return
	}
	w := workOf(s, r.remarks)
	r.work = &w
	if len(s.Nested) > 0 {
		r.log.Append(logs.Failed("not committed, as they are repositories of their own: " + named(s.Nested)))
	}
	made := slices.DeleteFunc(s.Ignored, func(name string) bool { return slices.Contains(before.ignored, name) })
	if len(made) > 0 {
		r.log.Append(logs.System("not committed, as git ignores them: " + named(made)))
	}
}

func named(names []string) string {
	text := storable(strings.Join(names[:min(len(names), maxNamed)], ", "))
	if more := len(names) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
