package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
)

func tasksDiscardCommand(a *app) *cobra.Command {
	var yes, dryRun, asJSON bool
	cmd := &cobra.Command{
		Use:   "discard ID",
		Short: "Delete one attempt with its folder, logs and branch; its commits are kept",
		Long: "Delete one attempt with its folder, logs and branch. Its commits stay below refs/deskhand/kept, and changes that\n" +
			"it has not committed are committed before. Files that git ignores go.",
		Args:              arguments(1, 1, "an attempt or a task"),
		ValidArgsFunction: a.ids(tasks.KindAttempt, tasks.KindTask),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withBench(cmd.Context(), asJSON, func(b *bench) error { return b.discard(cmd.Context(), args[0], yes, dryRun) })
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "say whether it could be deleted, and delete nothing")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was done as JSON")
	return cmd
}

func (b *bench) discard(ctx context.Context, prefix string, yes, dryRun bool) error {
	id, err := b.attempt(ctx, prefix)
	if err != nil {
		return err
	}
	would, err := b.manager.Discard(ctx, id, true)
	if err != nil || dryRun {
		return b.discarded([]tasks.Discarded{would}, true, err)
	}
	if err := b.confirmed(ctx, fmt.Sprintf("Delete attempt %s with its folder, logs and branch %s?", brief(contract.UUID(id)), would.Branch), yes); err != nil {
		return err
	}
	done, err := b.manager.Discard(ctx, id, false)
	return b.discarded([]tasks.Discarded{done}, false, err)
}

// discarded prints what was deleted.
func (b *bench) discarded(all []tasks.Discarded, dryRun bool, err error) error {
	if err != nil {
		return err
	}
	if b.asJSON {
		return b.json(discardsOf(all, dryRun)[0])
	}
	return b.line("%s", strings.TrimSuffix(discardLines(all, dryRun), "\n"))
}

type discardReport struct {
	AttemptID contract.UUID `json:"attempt_id"`
	Branch    string        `json:"workspace_branch"`
	DryRun    bool          `json:"dry_run"`
	Kept      []string      `json:"kept_refs"`
}

func discardsOf(all []tasks.Discarded, dryRun bool) (reports []discardReport) {
	for _, d := range all {
		reports = append(reports, discardReport{contract.UUID(d.AttemptID), d.Branch, dryRun, append([]string{}, d.Kept...)})
	}
	return reports
}

func discardLines(all []tasks.Discarded, dryRun bool) string {
	word := map[bool]string{false: "discarded", true: "would be discarded"}[dryRun]
	var text strings.Builder
	for _, d := range all {
		fmt.Fprintf(&text, "%s  %s\n", brief(contract.UUID(d.AttemptID)), word)
		for _, k := range d.Kept {
			fmt.Fprintf(&text, "  commits kept: %s\n", k)
		}
	}
	return text.String()
}

func tasksPickCommand(a *app) *cobra.Command {
	var w ways
	var q tasks.LandRequest
	var yes, asJSON bool
	cmd := &cobra.Command{
		Use:               "pick ID",
		Short:             "Land one attempt of a task and discard the others",
		Long:              "Land one attempt of a task and discard the others. Their commits stay below refs/deskhand/kept.",
		Args:              arguments(1, 1, "an attempt"),
		ValidArgsFunction: a.ids(tasks.KindAttempt),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.How = w.how()
			return a.withBench(cmd.Context(), asJSON, func(b *bench) error { return b.pick(cmd.Context(), args[0], q, yes) })
		},
	}
	w.flags(cmd, &q)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	landFlags(cmd, &q.DryRun, &asJSON)
	return cmd
}

func (b *bench) pick(ctx context.Context, prefix string, q tasks.LandRequest, yes bool) error {
	id, err := b.manager.Find(ctx, tasks.KindAttempt, prefix)
	if f := fault.Of(err); f != nil && f.Code == tasks.NotFound { // a task does not say which of them
		err = fault.New(f.Code, f.Message, "name one attempt of the task; deskhand tasks show TASK lists them")
	}
	if err != nil {
		return err
	}
	q.AttemptID = id
	dry := q
	dry.DryRun = true
	var done tasks.Landed
	var others []tasks.Discarded
	err = b.allowing(ctx, &dry.Secrets, q.DryRun, func() (err error) {
		done, others, err = b.manager.Pick(ctx, dry)
		return err
	})
	if err != nil {
		return err
	}
	q.Secrets = dry.Secrets
	if !q.DryRun {
		if err := b.confirmed(ctx, fmt.Sprintf("Land attempt %s and discard %d others?", brief(contract.UUID(id)), len(others)), yes || len(others) == 0); err != nil {
			return err
		}
		err := b.allowing(ctx, &q.Secrets, false, func() (err error) {
			done, others, err = b.manager.Pick(ctx, q)
			return err
		})
		if err != nil {
			return err
		}
	}
	if b.asJSON {
		return b.json(struct {
			Landed    landed          `json:"landed"`
			Discarded []discardReport `json:"discarded"`
		}{landedOf(done, q.DryRun, nil), append([]discardReport{}, discardsOf(others, q.DryRun)...)})
	}
	if err := b.landing(done, q.DryRun, "landed", nil); err != nil || len(others) == 0 {
		return err
	}
	return b.line("%s", strings.TrimSuffix(discardLines(others, q.DryRun), "\n"))
}

func tasksApplyCommand(a *app) *cobra.Command {
	var dryRun, asJSON bool
	var secrets tasks.Allowance
	cmd := &cobra.Command{
		Use:   "apply ID",
		Short: "Bring the changes of an attempt into your checkout, uncommitted",
		Long: "Bring the changes of an attempt into your checkout of each repository, uncommitted, whatever branch is checked\n" +
			"out there. It is refused where they would conflict with it, or with changes of yours.",
		Args:              arguments(1, 1, "an attempt or a task"),
		ValidArgsFunction: a.ids(tasks.KindAttempt, tasks.KindTask),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withBench(cmd.Context(), asJSON, func(b *bench) error { return b.apply(cmd.Context(), args[0], dryRun, secrets) })
		},
	}
	allowSecrets(cmd, &secrets.All)
	landFlags(cmd, &dryRun, &asJSON)
	return cmd
}

func (b *bench) apply(ctx context.Context, prefix string, dryRun bool, secrets tasks.Allowance) error {
	id, err := b.attempt(ctx, prefix)
	if err != nil {
		return err
	}
	var done tasks.Applied
	err = b.allowing(ctx, &secrets, dryRun, func() (err error) {
		done, err = b.manager.Apply(ctx, id, dryRun, secrets)
		return err
	})
	if err != nil {
		return err
	}
	if b.asJSON {
		return b.json(struct {
			AttemptID contract.UUID `json:"attempt_id"`
			Branch    string        `json:"workspace_branch"`
			DryRun    bool          `json:"dry_run"`
			Dirs      []string      `json:"dirs"`
			Secrets   []string      `json:"secrets,omitempty"`
		}{contract.UUID(done.AttemptID), done.Branch, dryRun, append([]string{}, done.Dirs...), done.Secrets})
	}
	b.tellSecrets(done.Secrets)
	word := map[bool]string{false: "its changes are in", true: "its changes would be in"}[dryRun]
	return b.line("%s  %s %s", brief(contract.UUID(done.AttemptID)), word, strings.Join(done.Dirs, ", "))
}
