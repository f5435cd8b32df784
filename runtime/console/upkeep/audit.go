package upkeep

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/text"
)

// Log is the audit log. [app.App] implements it.
type Log interface {
	AuditLog(ctx context.Context, filter store.AuditFilter, follow bool, f func(store.Record) error) error
	PruneAudit(ctx context.Context, before time.Time) (int64, error)
}

// Audit holds the flags of deskhand audit.
type Audit struct {
	Since, Who   string
	Before       string // of audit prune
	JSON, Follow bool
	Yes          bool // prune without asking
}

// Print prints the log: a line for each record, or JSON lines.
func (a Audit) Print(ctx context.Context, c *console.Console, log Log) error {
	since, err := past("since", a.Since)
	if err != nil {
		return err
	}
	found := false
	err = log.AuditLog(ctx, store.AuditFilter{Since: since, Who: a.Who}, a.Follow, func(r store.Record) error {
		found = true
		if a.JSON {
			line, err := json.Marshal(r)
			if err != nil {
				return err
			}
			return c.Line("%s", line)
		}
		from := r.Way
		if r.Address != "" {
			from += " " + r.Address
		}
		return c.Line("%s", text.OneLine(fmt.Sprintf("%s %s %s %s %s %s (%s)", r.At.Local().Format("2006-01-02 15:04:05"), r.Who, r.Action, r.Object, r.Outcome, r.Detail, from)))
	})
	if err == nil && !found && !a.Follow {
		c.Tell("no record matches")
	}
	return err
}

// Prune deletes old records.
func (a Audit) Prune(ctx context.Context, c *console.Console, log Log) error {
	if a.Before == "" {
		return fault.Misuse("nothing says which records to delete", "write --before with a time: 365d, 2026-01-31 or 2026-01-31T18:00:00Z")
	}
	before, err := past("before", a.Before)
	if err != nil {
		return err
	}
	if err := c.Confirmed(ctx, "Delete all audit records before "+before.Local().Format("2006-01-02 15:04:05")+"? Nothing brings them back.", a.Yes); err != nil {
		return err
	}
	n, err := log.PruneAudit(ctx, before)
	if err == nil {
		c.Tell(text.Count(int(n), "record") + " deleted; the log says so")
	}
	return err
}

// past reads a time in the past: a duration such as 90m or 30d, a date, which means its
// beginning, or an RFC 3339 time. Empty is the zero time.
func past(flag, given string) (at time.Time, err error) {
	now, days := time.Now(), 0
	if given == "" {
		return at, nil
	}
	if d, err := time.ParseDuration(given); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	if n, err := fmt.Sscanf(given, "%dd", &days); n == 1 && err == nil && given == fmt.Sprintf("%dd", days) && days >= 0 && days < 100_000 {
		return now.AddDate(0, 0, -days), nil
	}
	if at, err = time.ParseInLocation(time.DateOnly, given, time.Local); err != nil {
		at, err = time.Parse(time.RFC3339, given)
	}
	if err != nil || at.After(now) {
		return time.Time{}, fault.Misuse(fmt.Sprintf("--%s takes a time in the past, not %q", flag, given), "write a duration such as 90m or 30d, a date such as 2026-01-31, or a time such as 2026-01-31T18:00:00Z")
	}
	return at, nil
}
