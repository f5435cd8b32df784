package attempts

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tools/work"
)

// Logs prints the last entries of an attempt's log, at most limit. If follow is
// set, it continues until no process runs.
func (c *Command) Logs(ctx context.Context, prefix string, raw bool, limit int, follow bool) error {
	id, err := c.attempt(ctx, prefix)
	if err != nil {
		return err
	}
	channel := "normalized"
	if raw {
		channel = "raw"
	}
	if follow {
		return c.followLogs(ctx, id, channel, limit)
	}
	var out work.Logs
	return c.answer(ctx, "tail_attempt_logs", map[string]any{"attempt_id": id, "channel": channel, "limit": limit}, &out, func() error {
		p := console.NewLogPrinter(c.Console)
		if out.Page.More {
			c.Tell("earlier entries are not shown; raise --limit (at most 1000)")
		}
		for _, e := range out.Page.Entries {
			p.Print(e)
		}
		return p.End()
	})
}

// followLogs prints the last entries of an attempt's newest process, at most limit,
// or all if limit is -1. It then prints every later entry until no process runs.
func (c *Command) followLogs(ctx context.Context, id, channel string, limit int) error {
	p, told := console.NewLogPrinter(c.Console), map[string]bool{}
	args := map[string]any{"attempt_id": id, "channel": channel, "limit": limit}
	if limit < 0 {
		args["limit"], args["after_revision"] = 1000, 0
	}
	for {
		var out work.Logs
		if _, err := c.call(ctx, "tail_attempt_logs", args, &out); err != nil {
			return err
		}
		for _, e := range out.Page.Entries {
			p.Print(e)
		}
		args = map[string]any{"attempt_id": id, "channel": channel, "limit": 1000, "after_revision": out.Page.NextRevision, "wait_ms": 2000}
		switch {
		case out.ProcessID == nil: // before the first process
			delete(args, "wait_ms")
			if err := c.pause(ctx, id); err != nil {
				return err
			}
			continue
		case out.Page.More && limit < 0 || len(out.Page.Entries) > 0:
		case out.Newer != nil:
			if err := p.End(); err != nil {
				return err
			}
			p = console.NewLogPrinter(c.Console)
			args["after_revision"] = 0
			args["execution_process_id"] = *out.Newer
			limit = -1
			continue
		case out.Ended:
			running, err := c.Manager.Running(ctx, id)
			if err != nil {
				return err
			}
			if !running {
				return p.End()
			}
		default:
			if err := c.tellQuestions(ctx, id, p, told); err != nil {
				return err
			}
		}
		args["execution_process_id"] = *out.ProcessID
	}
}

// tellQuestions reports the attempt's questions that wait for a person, each of
// them only once.
func (c *Command) tellQuestions(ctx context.Context, id string, p *console.LogPrinter, told map[string]bool) error {
	var s work.Status
	if _, err := c.call(ctx, "get_attempt_status", map[string]any{"attempt_id": id}, &s); err != nil {
		return err
	}
	for _, q := range s.Open {
		if !told[q.ID] && q.Standing == "" {
			told[q.ID] = true
			p.EndLine()
			c.Tell("the agent asks: " + console.OneLine(q.Text))
			fmt.Fprintf(c.Stderr, "hint: answer it in \"deskhand inbox\", or show it: deskhand ask show %s\n", q.ID)
		}
	}
	return nil
}

// pause waits for a change in an attempt, at most for pauseTime.
func (c *Command) pause(ctx context.Context, id string) error {
	watch, err := c.Manager.Watch(ctx, -1, id)
	if err != nil {
		return err
	}
	defer watch.Close()
	next, cancel := context.WithTimeout(ctx, pauseTime)
	defer cancel()
	if err = watch.Wait(next); next.Err() != nil {
		return ctx.Err()
	}
	return err
}

// followToEnd prints the log until no process runs.
func (c *Command) followToEnd(ctx context.Context, attemptID string) error {
	if err := c.followLogs(ctx, attemptID, "normalized", -1); err != nil {
		return err
	}
	var s work.Status
	if _, err := c.call(ctx, "get_attempt_status", map[string]any{"attempt_id": attemptID}, &s); err != nil {
		return err
	}
	return failedEnd(s)
}

// followStatus prints the state at every change until no process runs.
func (c *Command) followStatus(ctx context.Context, id string) error {
	watch, err := c.Manager.Watch(ctx, -1, id)
	if err != nil {
		return err
	}
	defer watch.Close()
	var last string
	for {
		var s work.Status
		raw, err := c.call(ctx, "get_attempt_status", map[string]any{"attempt_id": id}, &s)
		if err != nil {
			return err
		}
		now := stateWord(s)
		if s.Failure != nil {
			now += ": " + *s.Failure
		}
		if now += " " + briefOr(s.ProcessID, ""); now != last {
			last = now
			if c.AsJSON {
				err = c.JSON(raw)
			} else {
				err = c.Line("%s  %s", time.Now().Format(time.TimeOnly), strings.TrimSpace(now))
			}
			if err != nil {
				return err
			}
		}
		if s.State != string(tasks.Running) {
			return failedEnd(s)
		}
		// The watch does not report questions, so check again after a while.
		next, cancel := context.WithTimeout(ctx, 2*time.Second)
		err = watch.Wait(next)
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && next.Err() == nil {
			return err
		}
	}
}

// failedEnd returns the error of a command that followed an attempt until it failed, or
// nil if it did not fail.
func failedEnd(s work.Status) error {
	if s.State == string(tasks.Failed) {
		why := "the attempt failed"
		if s.Failure != nil {
			why += strings.TrimPrefix(": "+*s.Failure, ": failed") // most begin with "failed: " or "failed (exit_code=1)"
		}
		next := "continue with \"deskhand tasks say\""
		if s.SessionID == nil { // the agent has not started
			next = "start a new attempt with \"deskhand tasks start\""
		}
		return fault.New("attempt_failed", why, "see why with \"deskhand tasks logs "+brief(s.AttemptID)+"\", then "+next)
	}
	return nil
}
