package work

import (
	"context"
	"fmt"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/tasks"
)

type getAttemptChangesIn struct {
	ID    contract.UUID `json:"attempt_id" required:"true" doc:"Attempt whose changes to list, from list_tasks or list_task_attempts."`
	Force bool          `json:"force" default:"false" doc:"List the files even if there are more changes than the guard allows. Default false."`
}

// Changes is the result of get_attempt_changes.
type Changes struct {
	AttemptID     contract.UUID `json:"attempt_id" doc:"The requested attempt."`
	Summary       Summary       `json:"summary" doc:"Totals of all changes, even if the files are not listed."`
	Blocked       bool          `json:"blocked" doc:"True if the files are not listed; see blocked_reason."`
	BlockedReason *string       `json:"blocked_reason" enum:"summary_failed,threshold_exceeded" doc:"summary_failed: the worktree could not be read; threshold_exceeded: more than the guard allows. Null if not blocked."`
	blockedWhy
	Files     []string `json:"files" doc:"Paths of the changed files, each REPO_NAME/path, sorted: committed, uncommitted and untracked changes against the target branch. Empty when blocked."`
	Truncated bool     `json:"truncated" doc:"Whether some files are not listed; summary counts them all."`
	Nested    []string `json:"nested_repositories" doc:"Nested git repositories that are not submodules: their files are neither listed nor committed."`
	Away      *string  `json:"other_machine" doc:"If another machine ran the attempt: which one, and by when the listed changes were committed there. Uncommitted changes are then not listed. Null otherwise."`
}

// Summary holds the totals of an attempt's changes.
type Summary struct {
	Files   int   `json:"file_count" doc:"Number of changed files."`
	Added   int   `json:"added" doc:"Lines added."`
	Deleted int   `json:"deleted" doc:"Lines deleted."`
	Bytes   int64 `json:"total_bytes" doc:"Current size of the changed files in bytes."`
}

func (o Options) getAttemptChanges() contract.Tool {
	return define(o, spec{
		name: o.name("get_attempt_changes"), title: "List an attempt's changes", readOnly: true,
		about: about{
			useWhen: "you want to know which files an attempt has changed, before reading or reviewing them.",
			next:    "get_attempt_patch with some of the files as paths, or get_attempt_file.",
			avoid:   "force=true before reading the summary: a generated folder can have thousands of files. An empty list with blocked=true does not mean no changes.",
		},
	}, func(ctx context.Context, in getAttemptChangesIn) (out Changes, err error) {
		m, err := o.Open(ctx)
		if err != nil {
			return out, err
		}
		c, err := m.Changes(ctx, string(in.ID), in.Force)
		if err != nil {
			return out, err
		}
		return changesOf(c, o.MaxAnswerBytes), nil
	})
}

// changesOf converts a set of changes to the tool's result, with at most about
// maxBytes of paths.
func changesOf(c tasks.Changes, maxBytes int) Changes {
	room := maxBytes
	for i, f := range c.Files {
		if room -= len(f.Path) + len(`"",`); room < 0 {
			c.Files, c.Truncated = c.Files[:i], true
			break
		}
	}
	out := Changes{
		AttemptID: contract.UUID(c.AttemptID), Summary: Summary{c.Count, c.Added, c.Deleted, c.Bytes},
		Blocked: c.Blocked.Reason != "", BlockedReason: textOrNull(c.Blocked.Reason), blockedWhy: whyBlocked(c.Blocked),
		Files: each(c.Files, func(f tasks.Change) string { return f.Path }), Truncated: c.Truncated,
		Nested: append([]string{}, c.Nested[:min(len(c.Nested), maxNamed)]...),
	}
	if c.Away != nil {
		out.Away = textOrNull(c.Away.String())
	}
	if out.Truncated && out.Hint == nil {
		text := fmt.Sprintf("only %d of %d files are listed; call get_attempt_patch with folders as paths for the rest", len(out.Files), c.Count)
		out.Hint = &text
	}
	return out
}
