package main

import (
	"context"

	"github.com/spf13/cobra"

	installation "github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/console/upkeep"
	"github.com/deskhand/deskhand/runtime/store/backup"
)

func storeCommand(a *app) *cobra.Command {
	cmd := group("store COMMAND", "Back up, restore and move the store of questions and tasks",
		"  deskhand store backup deskhand-2026-11-23.db\n  deskhand store restore deskhand-2026-11-23.db\n  deskhand store copy --to postgres://deskhand@db.internal/deskhand")
	replace, to := false, ""
	copied := a.ofStore("copy", "Copy the store to another folder or database", 0, func(ctx context.Context, all *installation.App, _ string) (backup.Report, error) {
		if to == "" {
			return backup.Report{}, misuse("a copy needs a place", "write --to with a folder or a postgres:// URL")
		}
		return all.CopyStore(ctx, to, replace)
	})
	copied.Flags().StringVar(&to, "to", "", "state folder, or postgres:// URL of a database")
	restore := a.ofStore("restore FILE", "Replace the store with a backup", 1, func(ctx context.Context, all *installation.App, file string) (backup.Report, error) {
		return all.Restore(ctx, file, replace)
	})
	for _, one := range []*cobra.Command{copied, restore} {
		one.Flags().BoolVar(&replace, "replace", false, "delete what the target holds")
	}
	write := a.ofStore("backup FILE", "Write a backup of the store, also while it is in use", 1, func(ctx context.Context, all *installation.App, file string) (backup.Report, error) {
		r, err := all.Backup(ctx, file)
		if err == nil {
			a.Tell(upkeep.Secrets)
		}
		return r, err
	})
	cmd.AddCommand(write, restore, copied)
	return cmd
}

// ofStore returns a command with n arguments, 0 or 1, that prints a report.
func (a *app) ofStore(use, short string, n int, do func(context.Context, *installation.App, string) (backup.Report, error)) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: use, Short: short, Args: arguments(n, n, []string{"no arguments", "one file"}[n]), RunE: func(cmd *cobra.Command, args []string) error {
		all := a.installation(nil)
		defer all.Close()
		r, err := do(cmd.Context(), all, append(args, "")[0])
		if err != nil {
			return err
		}
		return upkeep.Copied(&a.Console, r, asJSON)
	}}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the tables with their rows and digests")
	return cmd
}
