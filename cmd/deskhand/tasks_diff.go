package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	textutil "github.com/deskhand/deskhand/runtime/text"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
	"github.com/deskhand/deskhand/runtime/tools/work"
)

type diffFlags struct{ stat, names, force bool }

func tasksDiffCommand(a *app) *cobra.Command {
	var f diffFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff ID [PATH...]",
		Short: "Show what an attempt has changed, as a patch",
		Long: "Show what an attempt has changed, as a patch against the branch that it started from. PATH is\n" +
			"REPOSITORY/path of a file or folder. With --json it is the answer of get_attempt_changes, or with PATH\n" +
			"that of get_attempt_patch.",
		Args:              arguments(1, 101, "an attempt or a task, and up to 100 paths"),
		ValidArgsFunction: a.ids(tasks.KindAttempt, tasks.KindTask),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := settings.Exclusive(cmd.Flags(), "stat", "names", "json"); err != nil {
				return err
			}
			return a.withBench(cmd.Context(), asJSON, func(b *bench) error {
				id, err := b.attempt(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return b.diff(cmd.Context(), id, args[1:], f)
			})
		},
	}
	cmd.Flags().BoolVar(&f.stat, "stat", false, "files and numbers of lines instead of the patch")
	cmd.Flags().BoolVar(&f.names, "names", false, "names of the files alone")
	cmd.Flags().BoolVar(&f.force, "force", false, "also if there are more changes than the guard lets through")
	jsonFlag(cmd, &asJSON, "get_attempt_changes or get_attempt_patch")
	return cmd
}

func (b *bench) diff(ctx context.Context, id string, paths []string, f diffFlags) error {
	if len(paths) > 0 && b.asJSON {
		var out work.Patch
		return b.show(ctx, "get_attempt_patch", map[string]any{"attempt_id": id, "paths": paths, "force": f.force, "max_bytes": mostPatch}, &out, nil)
	}
	if len(paths) > 0 && !f.stat && !f.names {
		return b.patch(ctx, id, paths, f.force)
	}
	var out work.Changes
	return b.show(ctx, "get_attempt_changes", map[string]any{"attempt_id": id, "force": f.force}, &out, func() error {
		for _, n := range out.Nested {
			b.tell("not shown and not committed, as it is a repository of its own: " + n)
		}
		switch {
		case out.Blocked && *out.BlockedReason == worktree.SummaryFailed:
			why := "the worktree cannot be read"
			if c, err := b.manager.Changes(ctx, id, f.force); err == nil && c.Blocked.Detail != "" {
				why = c.Blocked.Detail
			}
			return notShown(*out.BlockedReason, why)
		case out.Blocked:
			return notShown(*out.BlockedReason, heldBack(out))
		case f.names:
			for _, file := range out.Files {
				if err := b.line("%s", file); err != nil {
					return err
				}
			}
			return nil
		case f.stat:
			return b.stat(ctx, id, f.force, out)
		}
		for part := range slices.Chunk(out.Files, 100) {
			if err := b.patch(ctx, id, part, f.force); err != nil {
				return err
			}
		}
		return nil
	})
}

// heldBack is what a guard holds back. Lines are not counted of what is too
// large.
func heldBack(c work.Changes) string {
	if c.Summary.Added+c.Summary.Deleted == 0 {
		return fmt.Sprintf("%d files", c.Summary.Files)
	}
	return fmt.Sprintf("%d files, %d lines added and %d deleted", c.Summary.Files, c.Summary.Added, c.Summary.Deleted)
}

// notShown is the error of what a guard holds back.
func notShown(reason, what string) error {
	return fault.New(reason, "not shown ("+reason+"): "+what, "")
}

// stat prints a line for each file.
func (b *bench) stat(ctx context.Context, id string, force bool, out work.Changes) error {
	c, err := b.manager.Changes(ctx, id, force)
	if err != nil {
		return err
	}
	paint := painter(b.stdout)
	w := tabwriter.NewWriter(b.stdout, 0, 0, 2, ' ', 0)
	for _, f := range c.Files {
		name := f.Path
		if f.OldPath != "" {
			name = f.OldPath + " -> " + f.Path
		}
		fmt.Fprintf(w, "%s\t+%d\t-%d\t%s\n", f.Kind, f.Added, f.Deleted, paint.plain(name))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return b.line("%s, %s added, %d deleted", textutil.Count(out.Summary.Files, "file"), textutil.Count(out.Summary.Added, "line"), out.Summary.Deleted)
}

// mostPatch is the longest patch that the tool sends, in bytes.
const mostPatch = 2 << 20

// patch prints the patch of some paths, in as many calls as it takes.
func (b *bench) patch(ctx context.Context, id string, paths []string, force bool) error {
	for len(paths) > 0 {
		var out work.Patch
		if _, err := b.call(ctx, "get_attempt_patch", map[string]any{"attempt_id": id, "paths": paths, "force": force, "max_bytes": mostPatch}, &out); err != nil {
			return err
		}
		if out.Blocked {
			return notShown(*out.BlockedReason, strings.Join(paths[:min(len(paths), 3)], ", "))
		}
		paint := painter(b.stdout)
		text := *out.Patch
		if paint.terminal {
			lines := strings.Split(text, "\n")
			for i, line := range lines {
				lines[i] = paint.patchLine(line)
			}
			text = strings.Join(lines, "\n")
		}
		if _, err := io.WriteString(b.stdout, text); err != nil {
			return err
		}
		if len(out.Omitted) == len(paths) && slices.Equal(out.Omitted, paths) {
			for _, path := range paths {
				b.tell(path + " is left out, its part of the patch is longer than 2 MiB")
			}
			return nil
		}
		paths = out.Omitted
	}
	return nil
}

func tasksCatCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "cat ID PATH",
		Short:             "Print a file as an attempt has left it",
		Args:              arguments(2, 2, "an attempt or a task, and REPOSITORY/path"),
		ValidArgsFunction: a.ids(tasks.KindAttempt, tasks.KindTask),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withBench(cmd.Context(), asJSON, func(b *bench) error { return b.cat(cmd.Context(), args[0], args[1]) })
		},
	}
	jsonFlag(cmd, &asJSON, "get_attempt_file")
	return cmd
}

// mostFile is the longest part of a file that the tool sends, in bytes.
const mostFile = 512 << 10

func (b *bench) cat(ctx context.Context, prefix, path string) error {
	id, err := b.attempt(ctx, prefix)
	if err != nil {
		return err
	}
	for start := int64(0); ; {
		var out work.File
		raw, err := b.call(ctx, "get_attempt_file", map[string]any{"attempt_id": id, "path": path, "start": start, "max_bytes": mostFile}, &out)
		switch {
		case err != nil:
			return err
		case b.asJSON:
			return b.json(raw)
		case out.Blocked:
			return notShown(*out.BlockedReason, path)
		}
		text := *out.Content
		if out.Encoding == "base64" {
			bytes, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				return err
			}
			text = string(bytes)
		}
		if _, err := io.WriteString(b.stdout, painter(b.stdout).plain(text)); err != nil {
			return err
		}
		if start += int64(out.Bytes); !out.Truncated || out.Bytes == 0 {
			return nil
		}
	}
}
