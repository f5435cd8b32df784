package work

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
)

type tailAttemptLogsIn struct {
	AttemptID     contract.UUID `json:"attempt_id" required:"true" doc:"Attempt whose log to read, from list_tasks or list_task_attempts."`
	Channel       string        `json:"channel" enum:"normalized,raw" default:"\"normalized\"" doc:"normalized: one entry for each message and action of the agent. raw: the lines that the process wrote. Default normalized."`
	Limit         int           `json:"limit" min:"1" doc:"Maximum number of entries, 1 or more; above 1000 counts as 1000. Default 20, or 200 for the raw channel."`
	Cursor        *int64        `json:"cursor" min:"0" doc:"next_cursor of an earlier answer, 0 or more, for older entries. Not with after_entry_index or after_revision."`
	After         *int64        `json:"after_entry_index" min:"-1" doc:"Only entries newer than this entry_index, oldest first; -1 for all from the start. Not with cursor."`
	AfterRevision *int64        `json:"after_revision" min:"0" doc:"Only entries added or changed after this revision, 0 or more, for example a tool call that has ended. Not with cursor or after_entry_index."`
	Wait          int           `json:"wait_ms" min:"0" max:"30000" default:"0" doc:"How long to wait for an entry if there is none yet, in milliseconds, up to 30000. Only with after_entry_index or after_revision. Default 0."`
	ProcessID     contract.UUID `json:"execution_process_id" doc:"Process of the attempt whose log to read, for example an older one. Default: the newest."`
}

// Logs is the result of tail_attempt_logs.
type Logs struct {
	AttemptID contract.UUID  `json:"attempt_id" doc:"The requested attempt."`
	ProcessID *contract.UUID `json:"execution_process_id" doc:"Process that wrote the entries; each process counts from 0. Null if there is none yet."`
	Channel   string         `json:"channel" enum:"normalized,raw" doc:"The channel read."`
	Page      LogPage        `json:"page" doc:"The entries."`
	Newer     *contract.UUID `json:"newer_execution_process_id" doc:"ID of a newer process, for example of a follow-up, to read from its start. Null if this is the newest."`
	Ended     bool           `json:"process_ended" doc:"Whether the process has ended, so that no entries follow."`
}

// LogPage is one page of a log.
type LogPage struct {
	Entries      []LogEntry `json:"entries" doc:"The entries, oldest first."`
	NextCursor   *int64     `json:"next_cursor" doc:"Cursor for the next page of older entries. Null if there are none, or when reading newer entries."`
	More         bool       `json:"has_more" doc:"Whether there are more entries: older ones, or newer ones with after_entry_index or after_revision."`
	Truncated    bool       `json:"history_truncated" doc:"Whether old entries were deleted to save space."`
	NextAfter    *int64     `json:"next_after_entry_index" doc:"after_entry_index for the next call. Null if there are no entries."`
	NextRevision int64      `json:"next_after_revision" doc:"after_revision for the next call."`
	Cut          bool       `json:"cut" doc:"Whether the answer was shortened to fewer entries than the limit; continue with the cursor as usual."`
}

// LogEntry is one entry of a log.
type LogEntry struct {
	Index    int64           `json:"entry_index" doc:"Position in the process's log, from 0."`
	Revision int64           `json:"revision" doc:"Increases with every change; a changed entry keeps its entry_index."`
	Entry    json.RawMessage `json:"entry" doc:"The entry: type STDOUT or STDERR with a line as content, or type NORMALIZED_ENTRY with content.entry_type.type as the kind of event. Branch on type; other fields may be added."`
}

func (o Options) tailAttemptLogs() contract.Tool {
	name := o.name("tail_attempt_logs")
	return define(o, spec{
		name: name, title: "Read the log of an attempt", readOnly: true,
		about: about{
			useWhen: "you want to see what an attempt's agent says and does, or why it failed.",
			next:    "the same call with after_entry_index and wait_ms to keep watching, or with cursor for older entries; get_attempt_status for the state.",
			avoid:   "cursor together with after_entry_index; reusing an entry_index after execution_process_id has changed; polling without wait_ms.",
		},
		refine: func(s *jsonschema.Schema) {
			s.Not = anyOf(needs("cursor", "after_entry_index"), needs("cursor", "after_revision"), needs("after_entry_index", "after_revision"))
			s.If = needs("wait_ms")
			s.Then = anyOf(needs("after_entry_index"), needs("after_revision"))
		},
		before: func(given contract.Given) *fault.Fault {
			if f := onePagination(name, given, "after_entry_index", "after_revision"); f != nil {
				return f
			}
			if given.Has("wait_ms") && !given.Has("after_entry_index") && !given.Has("after_revision") {
				return because(tasks.MissingRequired, invalid("wait_ms", "wait_ms requires after_entry_index or after_revision",
					"call "+name+" again with after_entry_index, or without wait_ms"))
			}
			return nil
		},
	}, func(ctx context.Context, in tailAttemptLogsIn) (out Logs, err error) {
		m, err := o.Open(ctx)
		if err != nil {
			return out, err
		}
		page, err := m.Logs(ctx, tasks.LogQuery{
			AttemptID: string(in.AttemptID), ProcessID: string(in.ProcessID), Channel: tasks.Channel(in.Channel), Limit: min(in.Limit, 1000),
			Before: in.Cursor, After: in.After, AfterRevision: in.AfterRevision, Wait: time.Duration(in.Wait) * time.Millisecond,
		})
		if err != nil {
			return out, err
		}
		order := backward
		switch {
		case in.AfterRevision != nil:
			order = byRevision
		case in.After != nil:
			order = byIndex
		}
		return logsOf(page, order, o.MaxAnswerBytes), nil
	})
}

// order is the order in which a log was read.
type order int

const (
	backward   order = iota // the newest entries, or those before a cursor
	byIndex                 // the entries after an index
	byRevision              // the entries after a revision, in order of revision
)

// logsOf converts a page of a log to the tool's result, with at most about maxBytes
// of entries.
func logsOf(page tasks.LogPage, in order, maxBytes int) Logs {
	out := Logs{
		AttemptID: contract.UUID(page.AttemptID), ProcessID: idOrNull(page.ProcessID), Channel: string(page.Channel),
		Newer: idOrNull(page.Newer), Ended: page.Ended,
	}
	kept, cut := fitting(page.Entries, in != backward, maxBytes)
	out.Page = LogPage{
		Entries: each(kept, func(e tasks.LogEntry) LogEntry { return LogEntry(e) }), Cut: cut,
		More: page.More || cut, Truncated: page.Truncated, NextRevision: page.Revision,
	}
	if len(kept) == 0 {
		if in == byIndex {
			out.Page.NextAfter = page.NextAfter
		}
		return out
	}
	newest := slices.MaxFunc(kept, func(a, b tasks.LogEntry) int { return cmp.Compare(a.Index, b.Index) })
	out.Page.NextAfter = &newest.Index
	switch {
	case in == backward && cut:
		out.Page.NextCursor = &kept[0].Index
	case in == backward:
		out.Page.NextCursor = page.Next
	case !out.Page.More: // everything up to page.Revision was included
	case in == byRevision:
		out.Page.NextRevision = kept[len(kept)-1].Revision
	default: // everything that was left out is newer than the oldest of these
		out.Page.NextRevision = slices.MinFunc(kept, func(a, b tasks.LogEntry) int { return cmp.Compare(a.Revision, b.Revision) }).Revision
	}
	return out
}

// fitting returns the entries that fit, at least one: the oldest if newer is set,
// otherwise the newest.
func fitting(entries []tasks.LogEntry, newer bool, maxBytes int) (kept []tasks.LogEntry, cut bool) {
	const frame = 48 // bytes around an entry
	room := maxBytes
	for n := range entries {
		i := n
		if !newer {
			i = len(entries) - 1 - n
		}
		room -= len(entries[i].Entry) + frame
		if room >= 0 || n == 0 {
			continue
		}
		if newer {
			return entries[:i], true
		}
		return entries[i+1:], true
	}
	return entries, false
}
