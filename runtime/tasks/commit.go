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

// commit commits the work of a successful run. m has the agent, if it did the work, and
// what it said last. before is the state before the run. If git refuses, for example in
// the middle of a merge, the work stays uncommitted. Work that looks like a secret stays
// uncommitted until a person allows the commit. In both cases, commit logs the reason.
func (r *run) commit(e ending, m CommitMessage, before priorState) ending {
	r.logExposed(before)
	if e.State != Completed || context.Cause(r.ctx) != nil {
		return e
	}
	project, err := r.m.project(r.ctx, r.task.ProjectID)
	if err != nil {
		return failed("commit: " + err.Error())
	}
	m.Title, m.Summary, m.Template = r.task.Title, r.redact(m.Summary), project.CommitTemplate
	made := 0
	err = r.m.allowing(r.ctx, &r.c, r.redactor.Finds, r.allowed, func(tree worktree.Tree, checks ...worktree.Check) error {
		n, err := tree.Commit(r.ctx, m.ofRun(), checks...)
		made += n
		return err
	})
	if made > 0 {
		if _, anonymous := r.c.tree.AuthorEnv(r.ctx); anonymous {
			r.log.Append(logs.System(`the commit's author is "deskhand", because git has no name and email address for you: git config --global user.name "Your Name" && git config --global user.email you@example.com`))
		}
	}
	switch f := fault.Of(err); {
	case err == nil:
	case f != nil && (f.Code == CommitHeld || f.Code == worktree.HeadMoved):
		r.log.Append(logs.Failed("not committed: " + f.Message + "; a person can commit it to the branch"))
	case f != nil:
		r.log.Append(logs.Failed("not committed: " + errorText(err)))
	default:
		r.log.Append(logs.Failed("not committed: " + err.Error()))
		e.State, e.Failure = Failed, "commit: "+err.Error()
	}
	r.logLeftOut(before)
	return e
}

// heldPatience is how long a run waits for a person to allow a commit. After
// that, the run ends without the commit.
const heldPatience = 30 * time.Minute

// allowed asks a person whether to commit something that looks like a secret.
func (r *run) allowed(what string) bool {
	if r.m.options.Ask == nil {
		return false
	}
	r.log.Append(logs.System("held back until a person decides: " + what))
	ctx, cancel := context.WithCancelCause(r.ctx)
	defer cancel(nil)
	defer time.AfterFunc(heldPatience, func() { cancel(executor.ErrSettled) }).Stop()
	answer, err := r.ask(ctx, executor.Question{
		Permission: true, Tool: "git commit", Title: "Commit something that looks like a secret?",
		Message: "deskhand was about to commit this attempt's work, but " + what + ". Commit it anyway?",
		Options: []executor.Option{
			{ID: "allow", Label: "Commit it", Kind: "allow_once"},
			{ID: "reject", Label: "Leave it uncommitted in the folder", Kind: "reject_once"},
		},
	})
	if err != nil || answer.Outcome != "accept" || answer.Option != "allow" {
		return false
	}
	r.log.Append(logs.System("a person has allowed the commit: " + what))
	return true
}

// exposurePatience is the time limit for checking an agent's own commits after
// its run was stopped.
const exposurePatience = time.Minute

// logExposed logs the secrets in the agent's own commits. It does so even if
// the run failed or was stopped.
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

// priorState is the state before a process starts.
type priorState struct {
	heads   map[string]string
	ignored []string
}

func (r *run) priorState() priorState {
	return priorState{r.c.tree.Heads(r.ctx), r.c.tree.Ignored(r.ctx)}
}

// maxNamed is the maximum number of names in a log line.
const maxNamed = 20

// logLeftOut logs files that are never committed: nested repositories, and
// ignored files that the process has created.
func (r *run) logLeftOut(before priorState) {
	s, err := r.c.tree.Standing(r.ctx)
	if err != nil {
		return
	}
	w := workOf(s, r.remarks)
	r.work = &w
	if len(s.Nested) > 0 {
		r.log.Append(logs.Failed("not committed because they are separate repositories: " + named(s.Nested)))
	}
	made := slices.DeleteFunc(s.Ignored, func(name string) bool { return slices.Contains(before.ignored, name) })
	if len(made) > 0 {
		r.log.Append(logs.System("not committed because git ignores them: " + named(made)))
	}
}

func named(names []string) string {
	text := storable(strings.Join(names[:min(len(names), maxNamed)], ", "))
	if more := len(names) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
