package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/tasks"
)

func tasksCommitCommand(a *app) *cobra.Command {
	var asJSON, secrets bool
	cmd := &cobra.Command{
		Use:   "commit ID",
		Short: "Bring what an attempt has left onto its branch",
		Long: "Bring what an attempt has left onto its branch: the branch goes on to the commits that the agent made on a\n" +
			"detached head or on another branch, and changes that are not committed are. No file of the folder changes.\n" +
			"An unfinished merge or rebase, and a branch that has gone on as well, are for you to finish.",
		Args:              arguments(1, 1, "an attempt or a task"),
		ValidArgsFunction: a.ids(tasks.KindAttempt, tasks.KindTask),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withBench(cmd.Context(), asJSON, func(b *bench) error { return b.commit(cmd.Context(), args[0], secrets) })
		},
	}
	allowSecrets(cmd, &secrets)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was done as JSON")
	return cmd
}

func (b *bench) commit(ctx context.Context, prefix string, secrets bool) error {
	id, err := b.attempt(ctx, prefix)
	if err != nil {
		return err
	}
	done, err := b.manager.Collect(ctx, id, secrets)
	if err != nil {
		return err
	}
	if b.asJSON {
		return b.json(struct {
			AttemptID contract.UUID `json:"attempt_id"`
			Branch    string        `json:"workspace_branch"`
			Repos     int           `json:"repos_changed"`
			Work      string        `json:"work_state"`
			Notes     []string      `json:"work_notes"`
		}{contract.UUID(done.AttemptID), done.Branch, done.Repos, done.Work.State, append([]string{}, done.Work.Notes...)})
	}
	for _, n := range done.Work.Notes {
		b.tell(n)
	}
	if done.Repos == 0 {
		return b.line("%s  nothing to bring onto %s", brief(done.AttemptID), done.Branch)
	}
	return b.line("%s  the work is on %s", brief(done.AttemptID), done.Branch)
}
