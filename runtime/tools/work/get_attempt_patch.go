package work

import (
	"context"
	"fmt"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/tasks"
)

type getAttemptPatchIn struct {
	ID       contract.UUID `json:"attempt_id" required:"true" doc:"Attempt whose changes to read, from list_tasks or list_task_attempts."`
	Paths    []string      `json:"paths" required:"true" min:"1" doc:"Changed files or folders, at least one, each REPO_NAME/path, from get_attempt_changes; more than 100 are blocked."`
	MaxBytes int           `json:"max_bytes" min:"1" default:"65536" doc:"Maximum length of the patch in bytes, 1 or more; above 2097152 is blocked. Default 65536."`
	Force    bool          `json:"force" default:"false" doc:"Continue even if the attempt has more changes in total than the guard allows. Default false."`
}

// Patch is the result of get_attempt_patch.
type Patch struct {
	AttemptID     contract.UUID `json:"attempt_id" doc:"The requested attempt."`
	Paths         []string      `json:"paths" doc:"The requested paths."`
	Blocked       bool          `json:"blocked" doc:"True if there is no patch; see blocked_reason."`
	BlockedReason *string       `json:"blocked_reason" enum:"path_outside_workspace,size_exceeded,too_many_paths,summary_failed,threshold_exceeded" doc:"Why there is no patch: a path outside the attempt's worktrees, more bytes or paths requested than the maximum, a worktree that could not be read, or more changes than the guard allows. Null if not blocked."`
	blockedWhy
	Truncated bool     `json:"truncated" doc:"Whether files were left out; omitted_paths lists them."`
	Omitted   []string `json:"omitted_paths" doc:"Files that did not fit; request them with another call."`
	Lossy     bool     `json:"lossy" doc:"Whether bytes that are not UTF-8 were replaced, so that git apply rejects the patch."`
	Bytes     int      `json:"bytes" doc:"Length of the patch in bytes."`
	Patch     *string  `json:"patch" doc:"The patch, for git apply in a checkout of the target branch, file by file. Null if blocked."`
}

func (o Options) getAttemptPatch() contract.Tool {
	return define(o, spec{
		name: o.name("get_attempt_patch"), title: "Read changes as a patch", readOnly: true,
		about: about{
			useWhen: "you want to review an attempt's changes to some files, line by line.",
			next:    "the same call with omitted_paths if truncated, follow_up with corrections, or update_task with status=done.",
			avoid:   "requesting everything at once: take paths from get_attempt_changes, a few at a time.",
		},
	}, func(ctx context.Context, in getAttemptPatchIn) (out Patch, err error) {
		m, err := o.Open(ctx)
		if err != nil {
			return out, err
		}
		p, err := m.Patch(ctx, tasks.PatchQuery{AttemptID: string(in.ID), Paths: in.Paths, MaxBytes: orDefault(in.MaxBytes, o.MaxAnswerBytes), Force: in.Force})
		if err != nil {
			return out, err
		}
		return patchOf(in.Paths, p), nil
	})
}

// maxNamed is the maximum number of paths that a result repeats.
const maxNamed = 100

// patchOf converts the patch for the given paths to the tool's result.
func patchOf(paths []string, p tasks.Patch) Patch {
	out := Patch{
		AttemptID: contract.UUID(p.AttemptID), Paths: paths[:min(len(paths), maxNamed)], Blocked: p.Blocked.Reason != "", BlockedReason: textOrNull(p.Blocked.Reason),
		blockedWhy: whyBlocked(p.Blocked), Truncated: p.Truncated, Omitted: append([]string{}, p.Omitted[:min(len(p.Omitted), maxNamed)]...),
	}
	if out.Blocked {
		return out
	}
	out.Patch, out.Bytes, out.Lossy = &p.Text, len(p.Text), p.Lossy
	if out.Truncated && out.Hint == nil {
		text := fmt.Sprintf("%d files were left out; call get_attempt_patch again with omitted_paths as paths, or a larger max_bytes", len(p.Omitted))
		if p.Text == "" {
			text = fmt.Sprintf("%s does not fit by itself; call get_attempt_patch again with a larger max_bytes, or read it with get_attempt_file", p.Omitted[0])
		}
		out.Hint = &text
	}
	return out
}
