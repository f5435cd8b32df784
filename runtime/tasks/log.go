package tasks

import (
	"context"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/logs"
)

// maxWait is the maximum time that a reader of a log waits, because clients
// give up on longer calls.
const maxWait = 30 * time.Second

// Logs returns one page of the log of an attempt's newest process, or of the
// given process. Indexes belong to one process: each log begins at 0. Faults:
// mixed_pagination, wait_ms_too_large.
func (m *Manager) Logs(ctx context.Context, q LogQuery) (page LogPage, err error) {
	if q.AttemptID, err = parseID("attempt_id", q.AttemptID); err != nil {
		return LogPage{}, err
	}
	if err := q.check(); err != nil {
		return LogPage{}, err
	}
	if q.Channel == "" {
		q.Channel = Normalized
	}
	p, newest, err := m.logged(ctx, q)
	page = LogPage{AttemptID: q.AttemptID, Channel: q.Channel, NextAfter: q.After}
	if q.AfterRevision != nil {
		page.NextAfter = q.AfterRevision
	}
	if err != nil || p == nil {
		return page, err
	}
	found, err := logs.Tail(ctx, m.db, p.ID, logs.Channel(q.Channel),
		logs.Query{Limit: q.Limit, MaxBytes: q.MaxBytes, Before: q.Before, After: q.After, AfterRevision: q.AfterRevision}, q.Wait)
	if err != nil {
		return LogPage{}, err
	}
	page.ProcessID, page.More, page.Next, page.NextAfter = p.ID, found.More, found.Next, found.NextAfter
	page.Truncated, page.Revision, page.Ended = found.Truncated, found.Revision, found.Ended || p.State.Ended()
	if newest.ID != p.ID {
		page.Newer = newest.ID
	}
	for _, e := range found.Entries {
		page.Entries = append(page.Entries, LogEntry{e.Index, e.Revision, e.Entry})
	}
	return page, nil
}

func (q LogQuery) check() error {
	set := 0
	for _, p := range []*int64{q.Before, q.After, q.AfterRevision} {
		if p != nil {
			set++
		}
	}
	switch {
	case set > 1:
		return mixedPagination()
	case q.Channel != "" && q.Channel != Normalized && q.Channel != Raw:
		return refuse(InvalidArgument, "use channel normalized or raw", "there is no channel %q", brief(string(q.Channel))).WithCase(WhichChannel)
	case q.Wait < 0 || q.Wait > maxWait:
		return refuse(WaitTooLong, "wait at most 30 seconds", "a wait of %v is out of range", q.Wait)
	case q.Wait > 0 && q.After == nil && q.AfterRevision == nil:
		return refuse(InvalidArgument, "pass the entry to wait after", "can only wait for newer entries").WithCase(WaitForOlder)
	}
	return nil
}

// logged returns the requested process (by default the newest) and the newest
// one. Both are nil if the attempt has no process.
func (m *Manager) logged(ctx context.Context, q LogQuery) (p, newest *process, err error) {
	if q.ProcessID != "" {
		if q.ProcessID, err = parseID("execution_process_id", q.ProcessID); err != nil {
			return nil, nil, err
		}
	}
	err = m.db.View(ctx, func(tx *store.Tx) error {
		if _, err := readAttempt(ctx, tx, q.AttemptID); err != nil {
			return err
		}
		newest, err = latestProcess(ctx, tx, q.AttemptID)
		if err != nil || q.ProcessID == "" {
			p = newest
			return err
		}
		found, err := readProcess(ctx, tx, q.ProcessID)
		if err == nil && found.AttemptID != q.AttemptID {
			err = unknown("execution_process_id", q.ProcessID)
		}
		p = &found
		return err
	})
	return p, newest, err
}
