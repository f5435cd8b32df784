package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tools/work"
)

func tasksShowCommand(a *app) *cobra.Command {
	var asJSON, follow bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a task with its attempts, or how an attempt stands",
		Long: "Show a task with its attempts, or how an attempt stands. With --follow it goes on until nothing runs;\n" +
			"the exit code is then 1 if the attempt failed.",
		Args:              arguments(1, 1, "a task or an attempt"),
		ValidArgsFunction: a.ids(tasks.KindTask, tasks.KindAttempt),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withBench(cmd.Context(), asJSON, func(b *bench) error { return b.showOne(cmd.Context(), args[0], follow) })
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "show every change until nothing runs")
	jsonFlag(cmd, &asJSON, "get_task or get_attempt_status")
	return cmd
}

func (b *bench) showOne(ctx context.Context, prefix string, follow bool) error {
	if !follow {
		id, err := b.manager.Find(ctx, tasks.KindTask, prefix)
		if err == nil {
			return b.showTask(ctx, id)
		}
		if f := fault.Of(err); f == nil || f.Code != tasks.NotFound {
			return err
		}
	}
	id, err := b.attempt(ctx, prefix)
	if err != nil {
		return err
	}
	if follow {
		return b.followStatus(ctx, id)
	}
	var out work.Status
	return b.show(ctx, "get_attempt_status", map[string]any{"attempt_id": id}, &out, func() error { return b.status(ctx, out) })
}

func (b *bench) showTask(ctx context.Context, id string) error {
	var out work.TaskAnswer
	return b.show(ctx, "get_task", map[string]any{"task_id": id}, &out, func() error {
		paint := painter(b.stdout)
		t := out.Task
		if err := b.line("%s  %s, changed %s\n\n%s", t.ID, t.Status, age(t.Updated.Time), t.Title); err != nil {
			return err
		}
		if t.Description != nil {
			if err := b.line("\n%s", strings.TrimRight(*t.Description, "\n")); err != nil {
				return err
			}
		}
		var all work.Attempts
		if _, err := b.call(ctx, "list_task_attempts", map[string]any{"task_id": id}, &all); err != nil || all.Count == 0 {
			return err
		}
		w := tabwriter.NewWriter(b.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "\nATTEMPT\tSTATE\tEXECUTOR\tSTARTED\tBRANCH")
		var newest work.Status
		for i, one := range all.Attempts {
			var s work.Status
			if _, err := b.call(ctx, "get_attempt_status", map[string]any{"attempt_id": one.ID}, &s); err != nil {
				return err
			}
			if i == 0 {
				newest = s
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", brief(one.ID), stateWord(s), orDash(one.Executor), age(one.Created.Time), paint.plain(one.Branch))
		}
		if err := w.Flush(); err != nil {
			return err
		}
		return b.line("\n%s", strings.TrimRight(b.folder(ctx, newest)+b.why(ctx, newest)+waiting(newest)+whereWork(newest)+b.pullLines(ctx, string(newest.AttemptID)), "\n"))
	})
}

// folder is a line with the folder of an attempt, if it is known.
func (b *bench) folder(ctx context.Context, s work.Status) string {
	c, err := b.manager.Context(ctx, string(s.AttemptID))
	if err != nil {
		return ""
	}
	text := fmt.Sprintf("folder    %s\n", c.Attempt.Dir)
	if s := c.Attempt.Sandbox; s.Mode != "" {
		text += fmt.Sprintf("sandbox   %s\n", oneLine(s.String()))
	}
	return text
}

// waiting is a line for each question that waits for a person.
func waiting(s work.Status) string {
	var text strings.Builder
	for _, q := range s.Open {
		fmt.Fprintf(&text, "%-9s %s  %s (deskhand ask show %s)\n", map[bool]string{true: "asks", false: "asked"}[q.Standing == ""], q.ID, oneLine(q.Text), q.ID)
		if q.Standing != "" {
			fmt.Fprintf(&text, "          %s\n", q.Standing)
		}
	}
	return text.String()
}

// stateWord is the state of an attempt in a word or two.
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

// waitWord says in a word what an attempt does that does not run.
func waitWord(f string) string {
	if tasks.Wait(f) == tasks.ForPerson {
		return "asks"
	}
	return "waits"
}

// why is a line about what an attempt waits for, and what to do if nobody will
// start it.
func (b *bench) why(ctx context.Context, s work.Status) string {
	if s.WaitsFor == nil {
		return ""
	}
	switch tasks.Wait(*s.WaitsFor) {
	case tasks.ForSlot:
		return "waits     for a free slot\n"
	case tasks.ForStarter:
		made, err := b.manager.Stranded(ctx, string(s.AttemptID))
		if err != nil || made == nil {
			return ""
		}
		return fmt.Sprintf("waits     for the environment that it was started with%s: nothing that has it runs\n"+
			"          run any deskhand tasks command in that shell, or take it over into this one:\n"+
			"          deskhand tasks start --resume %s\n", startedWith(*made), brief(s.AttemptID))
	}
	return ""
}

// startedWith names what an attempt was started with.
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

// offBranch says that the attempt has work which is not on its branch.
func offBranch(s work.Status) bool { return s.Work != nil && *s.Work == tasks.OffBranch }

// whereWork is a line for each thing to know of where the work is.
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
		fmt.Fprintf(&text, "          deskhand tasks commit %s brings what it can onto the branch\n", brief(s.AttemptID))
	}
	return text.String()
}

// status prints how an attempt stands.
func (b *bench) status(ctx context.Context, s work.Status) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s  %s", s.AttemptID, stateWord(s))
	if s.Failure != nil {
		fmt.Fprintf(&text, ": %s", *s.Failure)
	}
	fmt.Fprintf(&text, "\ntask      %s\nbranch    %s\n", brief(s.TaskID), s.Branch)
	text.WriteString(b.folder(ctx, s))
	fmt.Fprintf(&text, "executor  %s\nsession   %s\n", orDash(s.Executor), briefOr(s.SessionID, "-"))
	if s.Active != nil {
		fmt.Fprintf(&text, "active    %s\n", age(s.Active.Time))
	}
	if s.Usage.TokensIn+s.Usage.TokensOut > 0 || s.Usage.Cost > 0 {
		fmt.Fprintf(&text, "usage     %d tokens read, %d written, $%.2f\n", s.Usage.TokensIn, s.Usage.TokensOut, s.Usage.Cost)
	}
	text.WriteString(b.why(ctx, s))
	text.WriteString(waiting(s))
	text.WriteString(whereWork(s))
	text.WriteString(b.pullLines(ctx, string(s.AttemptID)))
	if q := s.Queued; q != nil && q.Discarded == nil {
		fmt.Fprintf(&text, "queued    %s\n", oneLine(q.Message))
	} else if q != nil {
		fmt.Fprintf(&text, "dropped   %s: %s\n", oneLine(q.Message), *q.Discarded)
	}
	return b.line("%s", strings.TrimRight(text.String(), "\n"))
}

// followStatus prints the state at every change until nothing runs.
func (b *bench) followStatus(ctx context.Context, id string) error {
	watch, err := b.manager.Watch(ctx, -1, id)
	if err != nil {
		return err
	}
	defer watch.Close()
	var last string
	for {
		var s work.Status
		raw, err := b.call(ctx, "get_attempt_status", map[string]any{"attempt_id": id}, &s)
		if err != nil {
			return err
		}
		now := stateWord(s)
		if s.Failure != nil {
			now += ": " + *s.Failure
		}
		if now += " " + briefOr(s.ProcessID, ""); now != last {
			last = now
			if b.asJSON {
				err = b.json(raw)
			} else {
				err = b.line("%s  %s", time.Now().Format(time.TimeOnly), strings.TrimSpace(now))
			}
			if err != nil {
				return err
			}
		}
		if s.State != string(tasks.Running) {
			return failedEnd(s)
		}
		// Questions are of another topic: look again after a while.
		next, cancel := context.WithTimeout(ctx, 2*time.Second)
		_, err = watch.Next(next)
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && next.Err() == nil {
			return err
		}
	}
}

// failedEnd is the error of a command that followed an attempt to its end.
func failedEnd(s work.Status) error {
	if s.State == string(tasks.Failed) {
		why := "failed"
		if s.Failure != nil {
			why = *s.Failure
		}
		next := "go on with deskhand tasks say"
		if s.SessionID == nil { // its agent has not started
			next = "try again with deskhand tasks start"
		}
		return fault.New("attempt_failed", "the attempt failed: "+why, "see deskhand tasks logs "+brief(s.AttemptID)+", and "+next)
	}
	return nil
}
