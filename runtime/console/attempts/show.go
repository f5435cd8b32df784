package attempts

import (
	"context"
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tools/work"
)

// Show prints a task with its attempts, or an attempt's status. If follow is set, it
// prints every change of an attempt until no process runs.
func (c *Command) Show(ctx context.Context, prefix string, follow bool) error {
	if !follow {
		id, err := c.find(ctx, tasks.KindTask, prefix)
		if err == nil {
			return c.showTask(ctx, id)
		}
		if f := fault.Of(err); f == nil || f.Code != tasks.NotFound || prefix == newest {
			return err
		}
	}
	id, err := c.attempt(ctx, prefix)
	if err != nil {
		return err
	}
	if follow {
		return c.followStatus(ctx, id)
	}
	var out work.Status
	return c.answer(ctx, "get_attempt_status", map[string]any{"attempt_id": id}, &out, func() error { return c.printStatus(ctx, out) })
}

// shownTask is the JSON output for a task: the result of get_task, that of
// get_attempt_status for each attempt, newest first, and how the newest attempt's branch
// relates to its target, as in that result.
type shownTask struct {
	work.TaskAnswer
	Attempts  []work.Status `json:"attempts"`
	Ahead     *int          `json:"ahead,omitempty"`
	Behind    *int          `json:"behind,omitempty"`
	Conflicts *[]string     `json:"conflicts,omitempty"`
	Landed    *bool         `json:"landed,omitempty"`
}

func (c *Command) showTask(ctx context.Context, id string) error {
	out := shownTask{Attempts: []work.Status{}}
	if _, err := c.call(ctx, "get_task", map[string]any{"task_id": id}, &out.TaskAnswer); err != nil {
		return err
	}
	var all work.Attempts
	if _, err := c.call(ctx, "list_task_attempts", map[string]any{"task_id": id}, &all); err != nil {
		return err
	}
	for _, one := range all.Attempts {
		var s work.Status
		if _, err := c.call(ctx, "get_attempt_status", map[string]any{"attempt_id": one.ID}, &s); err != nil {
			return err
		}
		out.Attempts = append(out.Attempts, s)
	}
	if !c.AsJSON {
		return c.printTask(ctx, out)
	}
	if len(out.Attempts) > 0 {
		newest := out.Attempts[0]
		out.Ahead, out.Behind, out.Conflicts, out.Landed = &newest.Ahead, &newest.Behind, &newest.Conflicts, &newest.Landed
	}
	return c.JSON(out)
}

// printTask prints a task with a table of its attempts.
func (c *Command) printTask(ctx context.Context, shown shownTask) error {
	paint := console.PainterFor(c.Stdout)
	t, id := shown.Task, string(shown.Task.ID)
	if err := c.Line("%s  %s, changed %s\n\n%s", t.ID, t.Status, console.Age(t.Updated.Time), t.Title); err != nil {
		return err
	}
	if t.Description != nil {
		if err := c.Line("\n%s", strings.TrimRight(*t.Description, "\n")); err != nil {
			return err
		}
	}
	if plan := c.planLines(ctx, string(t.ProjectID), id); plan != "" {
		if err := c.Line("%s", plan); err != nil {
			return err
		}
	}
	if len(shown.Attempts) == 0 {
		return nil
	}
	w := console.NewTable(c.Stdout)
	fmt.Fprintln(w, "\nATTEMPT\tSTATE\tEXECUTOR\tSTARTED\tCOST\tBRANCH")
	costs := c.costs(ctx, tasks.UsageQuery{By: tasks.UsageByAttempt, TaskID: id})
	for _, s := range shown.Attempts {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", brief(s.AttemptID), stateWord(s), orDash(s.Executor), console.Age(s.Created.Time), costs[string(s.AttemptID)].Short(), paint.Plain(s.Branch))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	newest := shown.Attempts[0]
	return c.Line("\n%s", strings.TrimRight(c.folder(ctx, newest)+c.why(ctx, newest)+waiting(newest)+whereWork(newest)+c.pullLines(ctx, string(newest.AttemptID))+c.devLine(ctx, string(newest.AttemptID))+c.used(ctx, tasks.UsageQuery{TaskID: id}), "\n"))
}

// folder returns the lines with an attempt's folder and sandbox, or ""
// if they are unknown.
func (c *Command) folder(ctx context.Context, s work.Status) string {
	at, err := c.Manager.Context(ctx, string(s.AttemptID))
	if err != nil {
		return ""
	}
	text := fmt.Sprintf("folder    %s\n", at.Attempt.Dir)
	if s := at.Attempt.Sandbox; s.Mode != "" {
		text += fmt.Sprintf("sandbox   %s\n", console.OneLine(s.String()))
	}
	return text
}

// waiting returns the lines for each open question of an attempt.
func waiting(s work.Status) string {
	var text strings.Builder
	for _, q := range s.Open {
		fmt.Fprintf(&text, "%-9s %s  %s (deskhand ask show %s)\n", map[bool]string{true: "asks", false: "asked"}[q.Standing == ""], q.ID, console.OneLine(q.Text), q.ID)
		if q.Standing != "" {
			fmt.Fprintf(&text, "          %s\n", q.Standing)
		}
	}
	return text.String()
}

// stateWord returns an attempt's state in a few words.
func stateWord(s work.Status) string {
	switch {
	case s.WaitsFor != nil:
		return waitWord(*s.WaitsFor)
	case offBranch(s):
		return s.State + ", off its branch"
	case s.Landed:
		return "landed"
	}
	return s.State
}

// waitWord returns "asks" if an attempt waits for a person, and "waits" otherwise.
func waitWord(f string) string {
	if tasks.Wait(f) == tasks.ForPerson {
		return "asks"
	}
	return "waits"
}

// why returns the lines that say what an attempt waits for. If no process will start
// it, they also say what to do.
func (c *Command) why(ctx context.Context, s work.Status) string {
	if s.WaitsFor == nil {
		return ""
	}
	switch tasks.Wait(*s.WaitsFor) {
	case tasks.ForSlot:
		if now, err := c.Manager.Status(ctx, string(s.AttemptID)); err == nil && now.Unassigned {
			return "waits     for a machine that runs \"deskhand runner\" with its labels\n"
		}
		return "waits     for a free slot\n"
	case tasks.ForStarter:
		made, err := c.Manager.Stranded(ctx, string(s.AttemptID))
		if err != nil || made == nil {
			return ""
		}
		return fmt.Sprintf("waits     for the environment that it was started with%s: no process with this environment is running\n"+
			"          run any \"deskhand tasks\" command in that shell, or take the attempt over into this one:\n"+
			"          deskhand tasks start --resume %s\n", startedWith(*made), brief(s.AttemptID))
	}
	return ""
}

// startedWith describes the environment and configuration that an attempt was started
// with.
func startedWith(made tasks.Origin) string {
	var parts []string
	if len(made.Names) > 0 {
		parts = append(parts, strings.Join(made.Names, ", "))
	}
	if made.Config != "" {
		parts = append(parts, "configuration "+made.Config)
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}

// offBranch reports whether the attempt has work that is not on its branch.
func offBranch(s work.Status) bool { return s.Work != nil && *s.Work == tasks.OffBranch }

// whereWork returns the lines that say where an attempt's work is.
func whereWork(s work.Status) string {
	var text strings.Builder
	if !s.Landed && s.Ahead+s.Behind > 0 {
		fmt.Fprintf(&text, "target    %d behind, %d ahead", s.Behind, s.Ahead)
		if len(s.Conflicts) > 0 {
			fmt.Fprintf(&text, ", conflicts in %s", strings.Join(s.Conflicts, ", "))
		}
		text.WriteString("\n")
	}
	for _, n := range s.WorkNotes {
		fmt.Fprintf(&text, "work      %s\n", n)
	}
	if offBranch(s) {
		fmt.Fprintf(&text, "          move what is possible onto the branch: deskhand tasks commit %s\n", brief(s.AttemptID))
	}
	return text.String()
}

// printStatus prints an attempt's status.
func (c *Command) printStatus(ctx context.Context, s work.Status) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s  %s", s.AttemptID, stateWord(s))
	if s.Failure != nil {
		fmt.Fprintf(&text, ": %s", *s.Failure)
	}
	fmt.Fprintf(&text, "\ntask      %s\nbranch    %s\n", brief(s.TaskID), s.Branch)
	text.WriteString(c.folder(ctx, s))
	fmt.Fprintf(&text, "executor  %s\nsession   %s\n", orDash(s.Executor), briefOr(s.SessionID, "-"))
	if s.Active != nil {
		fmt.Fprintf(&text, "active    %s\n", console.Age(s.Active.Time))
	}
	text.WriteString(c.used(ctx, tasks.UsageQuery{AttemptID: string(s.AttemptID)}))
	text.WriteString(c.why(ctx, s))
	text.WriteString(waiting(s))
	text.WriteString(whereWork(s))
	text.WriteString(c.pullLines(ctx, string(s.AttemptID)))
	text.WriteString(c.devLine(ctx, string(s.AttemptID)))
	if q := s.Queued; q != nil && q.Discarded == nil {
		fmt.Fprintf(&text, "queued    %s\n", console.OneLine(q.Message))
	} else if q != nil {
		fmt.Fprintf(&text, "dropped   %s: %s\n", console.OneLine(q.Message), *q.Discarded)
	}
	return c.Line("%s", strings.TrimRight(text.String(), "\n"))
}
