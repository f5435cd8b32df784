package work

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
)

type getAttemptFileIn struct {
	ID        contract.UUID `json:"attempt_id" required:"true" doc:"Attempt to read from, from list_tasks or list_task_attempts."`
	Path      string        `json:"path" required:"true" visible:"true" max:"4096" doc:"File to read, as REPO_NAME/path of at most 4096 characters, from get_attempt_changes."`
	Start     *int64        `json:"start" min:"0" default:"0" doc:"First byte to read, from 0. Default 0. Not with start_line."`
	MaxBytes  int           `json:"max_bytes" min:"1" default:"65536" doc:"Maximum number of bytes, 1 or more; above 524288 is blocked. Default 65536."`
	StartLine *int          `json:"start_line" min:"1" doc:"First line to read, from 1. Not with start."`
	EndLine   *int          `json:"end_line" min:"1" doc:"Last line to read, 1 or more, with start_line. Default: the file's last."`
}

// File is the result of get_attempt_file.
type File struct {
	AttemptID     contract.UUID `json:"attempt_id" doc:"The requested attempt."`
	Path          string        `json:"path" doc:"The requested path."`
	Blocked       bool          `json:"blocked" doc:"True if there is no content; see blocked_reason."`
	BlockedReason *string       `json:"blocked_reason" enum:"path_outside_workspace,size_exceeded,summary_failed" doc:"path_outside_workspace: not a file in the attempt's worktrees; size_exceeded: more than the maximum was requested; summary_failed: the worktree could not be read. Null if not blocked."`
	blockedWhy
	Truncated  bool    `json:"truncated" doc:"Whether more of the requested part follows; continue with start at start + bytes."`
	Start      int64   `json:"start" doc:"Byte offset in the file at which content starts."`
	Bytes      int     `json:"bytes" doc:"Number of the file's bytes in content."`
	TotalBytes *int64  `json:"total_bytes" doc:"Size of the file in bytes. Null if blocked."`
	Encoding   string  `json:"encoding" enum:"utf8,base64" doc:"Encoding of content: utf8 for text, base64 for anything else."`
	Content    *string `json:"content" doc:"The part of the file. Null if blocked."`
}

func (o Options) getAttemptFile() contract.Tool {
	name := o.name("get_attempt_file")
	return define(o, spec{
		name: name, title: "Read a file of an attempt", readOnly: true,
		about: about{
			useWhen: "you want to read a file in its state in an attempt, whole or in part.",
			next:    "the same call with start if truncated, get_attempt_patch for the changes, or follow_up with a correction.",
			avoid:   "an absolute path, or a path without the repository's name; start together with start_line.",
		},
		refine: func(s *jsonschema.Schema) {
			s.Not = anyOf(needs("start", "start_line"), needs("start", "end_line"))
			s.If, s.Then = needs("end_line"), needs("start_line")
		},
		before: func(given contract.Given) *fault.Fault {
			switch {
			case given.Has("start") && (given.Has("start_line") || given.Has("end_line")):
				return because(tasks.MixedPagination, invalid("start", "start and start_line are both set", "call "+name+" again with start for bytes or start_line for lines, not both"))
			case given.Has("end_line") && !given.Has("start_line"):
				return because(tasks.MissingRequired, invalid("start_line", "end_line requires start_line", "call "+name+" again with start_line"))
			}
			return nil
		},
	}, func(ctx context.Context, in getAttemptFileIn) (out File, err error) {
		q := tasks.FileQuery{AttemptID: string(in.ID), Path: in.Path, MaxBytes: in.MaxBytes}
		if in.Start != nil {
			q.Start = *in.Start
		}
		if in.StartLine != nil {
			q.StartLine = *in.StartLine
			if in.EndLine != nil {
				if q.EndLine = *in.EndLine; q.EndLine < q.StartLine {
					return out, invalid("end_line", "end_line is before start_line", "call "+name+" again with end_line not before start_line")
				}
			}
		}
		m, err := o.Open(ctx)
		if err != nil {
			return out, err
		}
		f, err := m.File(ctx, q)
		if err != nil {
			return out, err
		}
		return fileOf(f), nil
	})
}

// fileOf converts part of a file to the tool's result.
func fileOf(f tasks.File) File {
	out := File{
		AttemptID: contract.UUID(f.AttemptID), Path: f.Path, Blocked: f.Blocked.Reason != "", BlockedReason: textOrNull(f.Blocked.Reason),
		blockedWhy: whyBlocked(f.Blocked), Truncated: f.Truncated, Start: f.Start, Bytes: len(f.Content), Encoding: "utf8",
	}
	if out.Blocked {
		return out
	}
	content := string(f.Content)
	if f.Binary || !utf8.ValidString(content) || strings.ContainsRune(content, 0) {
		out.Encoding, content = "base64", base64.StdEncoding.EncodeToString(f.Content)
	}
	out.TotalBytes, out.Content = &f.Total, &content
	if out.Truncated {
		text := fmt.Sprintf("call get_attempt_file again with start=%d for the rest", f.Start+int64(len(f.Content)))
		out.Hint = &text
	}
	return out
}
