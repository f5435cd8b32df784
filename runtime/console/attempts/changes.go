package attempts

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
	textutil "github.com/deskhand/deskhand/runtime/text"
	"github.com/deskhand/deskhand/runtime/tools/work"
)

// Shown selects what Diff prints. Force also prints changes that the diff guard would
// withhold.
// ToRead prints a patch for reading, even if the output is not a terminal.
type Shown struct{ Stat, Names, Force, ToRead bool }

// Diff prints what an attempt has changed, or only the changes to some paths.
func (c *Command) Diff(ctx context.Context, prefix string, paths []string, f Shown) error {
	id, err := c.attempt(ctx, prefix)
	if err != nil {
		return err
	}
	if paths, err = c.inRepo(ctx, id, paths); err != nil {
		return err
	}
	if len(paths) > 0 && c.AsJSON {
		var out work.Patch
		return c.answer(ctx, "get_attempt_patch", map[string]any{"attempt_id": id, "paths": paths, "force": f.Force, "max_bytes": mostPatch}, &out, nil)
	}
	if len(paths) > 0 && !f.Stat && !f.Names {
		return c.patch(ctx, id, paths, f)
	}
	var out work.Changes
	return c.answer(ctx, "get_attempt_changes", map[string]any{"attempt_id": id, "force": f.Force}, &out, func() error {
		if out.Away != nil {
			c.Tell(*out.Away)
		}
		for _, n := range out.Nested {
			c.Tell("not shown or committed because it is a separate repository: " + n)
		}
		switch {
		case out.Blocked && *out.BlockedReason == worktree.SummaryFailed:
			why := "cannot read the worktree"
			if changes, err := c.Manager.Changes(ctx, id, f.Force); err == nil && changes.Blocked.Detail != "" {
				why = changes.Blocked.Detail
			}
			return notShown(*out.BlockedReason, why)
		case out.Blocked:
			return notShown(*out.BlockedReason, heldBack(out))
		case f.Names:
			for _, file := range out.Files {
				if !within(file, paths) {
					continue
				}
				if err := c.Line("%s", file); err != nil {
					return err
				}
			}
			return nil
		case f.Stat:
			return c.stat(ctx, id, f.Force, paths)
		}
		for part := range slices.Chunk(out.Files, 100) {
			if err := c.patch(ctx, id, part, f); err != nil {
				return err
			}
		}
		return nil
	})
}

// inRepo adds the repository to paths that lack it, if the attempt has only one.
func (c *Command) inRepo(ctx context.Context, id string, paths []string) ([]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	at, err := c.Manager.Context(ctx, id)
	if err != nil || len(at.Attempt.Repos) != 1 {
		return paths, err
	}
	full := slices.Clone(paths)
	for i, p := range full {
		if name := at.Attempt.Repos[0].Name; p != name && !strings.HasPrefix(p, name+"/") {
			full[i] = name + "/" + p
		}
	}
	return full, nil
}

// heldBack describes changes that the guard withholds. The lines are unknown if the
// changes are too large.
func heldBack(c work.Changes) string {
	if c.Summary.Added+c.Summary.Deleted == 0 {
		return fmt.Sprintf("%d files", c.Summary.Files)
	}
	return fmt.Sprintf("%d files, %d lines added and %d deleted", c.Summary.Files, c.Summary.Added, c.Summary.Deleted)
}

// notShown returns the error for changes that the guard withholds.
func notShown(reason, what string) error {
	return fault.New(reason, "not shown ("+reason+"): "+what, "")
}

// stat prints a line for each file, or only for the files in some paths.
func (c *Command) stat(ctx context.Context, id string, force bool, paths []string) error {
	changes, err := c.Manager.Changes(ctx, id, force)
	if err != nil {
		return err
	}
	count, added, deleted := changes.Count, changes.Added, changes.Deleted
	if len(paths) > 0 {
		changes.Files = slices.DeleteFunc(changes.Files, func(f tasks.Change) bool {
			return !within(f.Path, paths) && (f.OldPath == "" || !within(f.OldPath, paths))
		})
		count, added, deleted = len(changes.Files), 0, 0
		for _, f := range changes.Files {
			added, deleted = added+f.Added, deleted+f.Deleted
		}
	}
	paint := console.PainterFor(c.Stdout)
	w := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	for _, f := range changes.Files {
		name := f.Path
		if f.OldPath != "" {
			name = f.OldPath + " -> " + f.Path
		}
		fmt.Fprintf(w, "%s\t+%d\t-%d\t%s\n", f.Kind, f.Added, f.Deleted, paint.Plain(name))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return c.Line("%s, %s added, %d deleted", textutil.Count(count, "file"), textutil.Count(added, "line"), deleted)
}

// within reports whether a file is one of the paths or in a folder among them. Without
// paths, every file is.
func within(file string, paths []string) bool {
	return len(paths) == 0 || slices.ContainsFunc(paths, func(p string) bool {
		return file == p || strings.HasPrefix(file, strings.TrimSuffix(p, "/")+"/")
	})
}

// mostPatch is the maximum size in bytes of a patch in a tool answer.
const mostPatch = 2 << 20

// patch prints the patch for the given paths, in as many parts as necessary. On a terminal
// it is for reading; elsewhere it is exact, so that git can apply it.
func (c *Command) patch(ctx context.Context, id string, paths []string, f Shown) error {
	paint := console.PainterFor(c.Stdout)
	for len(paths) > 0 {
		out, err := c.Manager.Patch(ctx, tasks.PatchQuery{AttemptID: id, Paths: paths, Force: f.Force, MaxBytes: mostPatch, Exact: !f.ToRead && !paint.OnTerminal()})
		if err != nil {
			return err
		}
		if out.Blocked.Reason != "" {
			return notShown(out.Blocked.Reason, strings.Join(paths[:min(len(paths), 3)], ", "))
		}
		text := out.Text
		if text == "" && len(out.Omitted) == 0 {
			c.Tell("nothing has changed in " + textutil.Some(paths, 3))
		}
		if paint.OnTerminal() {
			lines := strings.Split(text, "\n")
			for i, line := range lines {
				lines[i] = paint.PatchLine(line)
			}
			text = strings.Join(lines, "\n")
		}
		if _, err := io.WriteString(c.Stdout, text); err != nil {
			return err
		}
		if len(out.Omitted) == len(paths) && slices.Equal(out.Omitted, paths) {
			for _, path := range paths {
				c.Tell(path + " is skipped because its part of the patch is too long")
			}
			return nil
		}
		paths = out.Omitted
	}
	return nil
}

// mostFile is the maximum number of a file's bytes in a tool answer.
const mostFile = 512 << 10

// Cat prints a file as it is in an attempt.
func (c *Command) Cat(ctx context.Context, prefix, path string) error {
	id, err := c.attempt(ctx, prefix)
	if err != nil {
		return err
	}
	for start := int64(0); ; {
		var out work.File
		raw, err := c.call(ctx, "get_attempt_file", map[string]any{"attempt_id": id, "path": path, "start": start, "max_bytes": mostFile}, &out)
		switch {
		case err != nil:
			return err
		case c.AsJSON:
			return c.JSON(raw)
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
		if _, err := io.WriteString(c.Stdout, console.PainterFor(c.Stdout).Plain(text)); err != nil {
			return err
		}
		if start += int64(out.Bytes); !out.Truncated || out.Bytes == 0 {
			return nil
		}
	}
}
