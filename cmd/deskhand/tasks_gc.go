package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/tasks"
)

func tasksGCCommand(a *app) *cobra.Command {
	var olderThan string
	var g tasks.GC
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "gc [ID]",
		Short: "Take away the folders of attempts that nobody needs; branches stay",
		Long: "Take away the folders of attempts that were not used for long: those of tasks that are done or cancelled\n" +
			"after 7 days, in review after 30, or what the setting tasks.retain says; or the folder of one attempt. A\n" +
			"folder that is in use stays, and so does one with work that is not on its branch: changes that are not\n" +
			"committed, commits elsewhere, an unfinished merge, a repository of its own inside. A folder comes back when\n" +
			"the attempt goes on; files that git ignores do not, and are listed.",
		Args:              arguments(0, 1, "an attempt or a task, or nothing"),
		ValidArgsFunction: a.ids(tasks.KindAttempt, tasks.KindTask),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if len(args) == 1 && cmd.Flags().Changed("older-than") {
				return misuse("--older-than is for all attempts", "leave it out, or the ID")
			}
			if cmd.Flags().Changed("older-than") {
				if g.OlderThan, err = settings.Days(olderThan); err != nil || g.OlderThan <= 0 {
					return misuse(fmt.Sprintf("--older-than takes a time, not %q", olderThan), "write it as 12h or 7d")
				}
			}
			return a.withBench(cmd.Context(), asJSON, func(b *bench) error {
				if len(args) == 1 {
					if g.AttemptID, err = b.attempt(cmd.Context(), args[0]); err != nil {
						return err
					}
				}
				return b.gc(cmd.Context(), g)
			})
		},
	}
	cmd.Flags().StringVar(&olderThan, "older-than", "", "those not used for so long, of tasks of any status, as 12h or 7d")
	cmd.Flags().BoolVar(&g.DryRun, "dry-run", false, "say what would be taken away, and take nothing")
	cmd.Flags().BoolVar(&g.KeepIgnored, "keep-ignored", false, "keep those that have files which git ignores")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return cmd
}

// gcReport is what gc prints as JSON.
type gcReport struct {
	DryRun    bool         `json:"dry_run"`
	Worktrees []gcWorktree `json:"worktrees"`
	Bytes     int64        `json:"total_bytes"`
	Freed     int64        `json:"freed_bytes"`
}

type gcWorktree struct {
	AttemptID contract.UUID `json:"attempt_id"`
	TaskID    contract.UUID `json:"task_id"`
	Title     string        `json:"task_title"`
	Status    tasks.Status  `json:"task_status"`
	Dir       string        `json:"dir"`
	Bytes     int64         `json:"total_bytes"`
	LastUsed  contract.Time `json:"last_used_at"`
	Removed   bool          `json:"removed"`
	Kept      string        `json:"kept_reason,omitempty"`
	Ignored   []string      `json:"ignored"`
}

func (b *bench) gc(ctx context.Context, g tasks.GC) error {
	r, err := b.manager.GC(ctx, g)
	if err != nil {
		return err
	}
	out := gcReport{DryRun: g.DryRun, Worktrees: []gcWorktree{}, Bytes: r.Bytes, Freed: r.Freed}
	for _, w := range r.Worktrees {
		out.Worktrees = append(out.Worktrees, gcWorktree{
			contract.UUID(w.AttemptID), contract.UUID(w.TaskID), w.Title, w.Status, w.Dir, w.Bytes, contract.Time{Time: w.LastUsed}, w.Removed, w.Kept, append([]string{}, w.Ignored...),
		})
	}
	if b.asJSON {
		return b.json(out)
	}
	if len(out.Worktrees) == 0 {
		b.tell("no attempt has a folder")
		return nil
	}
	paint := painter(b.stdout)
	w := tabwriter.NewWriter(b.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ATTEMPT\tSIZE\tUSED\tSTATUS\tFOLDER\tTASK")
	removed := map[bool]string{false: "removed", true: "would go"}[g.DryRun]
	for _, one := range out.Worktrees {
		state := removed
		if !one.Removed {
			state = "kept: " + one.Kept
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", brief(one.AttemptID), size(one.Bytes), age(one.LastUsed.Time), one.Status, paint.plain(state), paint.plain(oneLine(one.Title)))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, one := range out.Worktrees {
		if len(one.Ignored) > 0 && one.Removed {
			if err := b.line("%s  git ignores: %s", brief(one.AttemptID), some(one.Ignored)); err != nil {
				return err
			}
		}
	}
	verb := map[bool]string{false: "freed", true: "could be freed"}[g.DryRun]
	return b.line("%s in all, %s %s", size(out.Bytes), size(out.Freed), verb)
}

// some are the first of many names.
func some(names []string) string {
	const most = 8
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// pauseTime is how long a command waits for an event before it looks again.
const pauseTime = 2 * time.Second
