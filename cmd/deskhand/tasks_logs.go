package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/tasks"
	asktools "github.com/deskhand/deskhand/runtime/tools/ask"
	"github.com/deskhand/deskhand/runtime/tools/work"
)

func tasksLogsCommand(a *app) *cobra.Command {
	var follow, raw, asJSON bool
	limit := 50
	cmd := &cobra.Command{
		Use:               "logs ID",
		Short:             "Show what the agent of an attempt says and does",
		Args:              arguments(1, 1, "an attempt or a task"),
		ValidArgsFunction: a.ids(tasks.KindAttempt, tasks.KindTask),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := within("limit", limit, 1, 1000); err != nil {
				return err
			}
			if err := settings.Exclusive(cmd.Flags(), "follow", "json"); err != nil {
				return err
			}
			channel := "normalized"
			if raw {
				channel = "raw"
			}
			return a.withBench(cmd.Context(), asJSON, func(b *bench) error {
				id, err := b.attempt(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if follow {
					return b.followLogs(cmd.Context(), id, channel, limit)
				}
				return b.logs(cmd.Context(), id, channel, limit)
			})
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until nothing runs")
	cmd.Flags().BoolVar(&raw, "raw", false, "the lines that the process wrote")
	cmd.Flags().IntVarP(&limit, "limit", "n", limit, "number of entries before, 1 to 1000")
	jsonFlag(cmd, &asJSON, "tail_attempt_logs")
	return cmd
}

func (b *bench) logs(ctx context.Context, id, channel string, limit int) error {
	var out work.Logs
	return b.show(ctx, "tail_attempt_logs", map[string]any{"attempt_id": id, "channel": channel, "limit": limit}, &out, func() error {
		p := newLogPrinter(b.app)
		if out.Page.More {
			b.tell("there is more before, --limit takes up to 1000")
		}
		for _, e := range out.Page.Entries {
			p.print(e)
		}
		return p.end()
	})
}

// followLogs prints the last entries of an attempt's newest process, all with
// limit -1, and every later one until nothing runs.
func (b *bench) followLogs(ctx context.Context, id, channel string, limit int) error {
	p, told := newLogPrinter(b.app), map[string]bool{}
	args := map[string]any{"attempt_id": id, "channel": channel, "limit": limit}
	if limit < 0 {
		args["limit"], args["after_revision"] = 1000, 0
	}
	for {
		var out work.Logs
		if _, err := b.call(ctx, "tail_attempt_logs", args, &out); err != nil {
			return err
		}
		for _, e := range out.Page.Entries {
			p.print(e)
		}
		args = map[string]any{"attempt_id": id, "channel": channel, "limit": 1000, "after_revision": out.Page.NextRevision, "wait_ms": 2000}
		switch {
		case out.ProcessID == nil: // before the first
			delete(args, "wait_ms")
			if err := b.pause(ctx, id); err != nil {
				return err
			}
			continue
		case out.Page.More && limit < 0 || len(out.Page.Entries) > 0:
		case out.Newer != nil:
			if err := p.end(); err != nil {
				return err
			}
			p = newLogPrinter(b.app)
			args["after_revision"] = 0
			args["execution_process_id"] = *out.Newer
			limit = -1
			continue
		case out.Ended:
			running, err := b.running(ctx, id)
			if err != nil {
				return err
			}
			if !running {
				return p.end()
			}
		default:
			if err := b.tellQuestions(ctx, id, p, told); err != nil {
				return err
			}
		}
		args["execution_process_id"] = *out.ProcessID
	}
}

// tellQuestions says once of each question of an attempt that it waits for a
// person.
func (b *bench) tellQuestions(ctx context.Context, id string, p *logPrinter, told map[string]bool) error {
	var s work.Status
	if _, err := b.call(ctx, "get_attempt_status", map[string]any{"attempt_id": id}, &s); err != nil {
		return err
	}
	for _, q := range s.Open {
		if !told[q.ID] && q.Standing == "" {
			told[q.ID] = true
			p.endLine()
			b.tell("the agent asks: " + oneLine(q.Text))
			fmt.Fprintf(b.stderr, "hint: answer in deskhand inbox, or see deskhand ask show %s\n", q.ID)
		}
	}
	return nil
}

// running says whether anything of an attempt runs or will run.
func (b *bench) running(ctx context.Context, id string) (bool, error) {
	s, err := b.manager.Status(ctx, id)
	return s.State == tasks.Running, err
}

// pause waits for something to happen in an attempt, a while at most.
func (b *bench) pause(ctx context.Context, id string) error {
	watch, err := b.manager.Watch(ctx, -1, id)
	if err != nil {
		return err
	}
	defer watch.Close()
	next, cancel := context.WithTimeout(ctx, pauseTime)
	defer cancel()
	if _, err = watch.Next(next); next.Err() != nil {
		return ctx.Err()
	}
	return err
}

// logPrinter writes entries for people, and of an entry that has grown since the
// rest alone.
type logPrinter struct {
	app   *app
	paint paint
	said  map[int64]string // by index, what was written of it
	open  int64            // index of the entry whose line is not ended; -1: none
	err   error
}

func newLogPrinter(a *app) *logPrinter {
	return &logPrinter{app: a, paint: painter(a.stdout), said: map[int64]string{}, open: -1}
}

func (p *logPrinter) print(e work.LogEntry) {
	text, raw := entryText(e.Entry)
	if raw {
		p.endLine()
		p.write(text + "\n")
		return
	}
	before, known := p.said[e.Index]
	p.said[e.Index] = text
	rest, grown := strings.CutPrefix(text, before)
	switch {
	case known && text == before || text == "":
		return
	case known && grown && p.open == e.Index:
		p.write(rest)
	default:
		p.endLine()
		p.write(text)
	}
	p.open = e.Index
}

func (p *logPrinter) endLine() {
	if p.open >= 0 {
		p.write("\n")
		p.open = -1
	}
}

func (p *logPrinter) end() error {
	p.endLine()
	return p.err
}

func (p *logPrinter) write(text string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.app.stdout, p.paint.plain(text))
	}
}

// entryText words an entry; raw says that it is a line as it was written.
func entryText(entry json.RawMessage) (text string, raw bool) {
	var e struct {
		Type    string
		Content json.RawMessage
	}
	if json.Unmarshal(entry, &e) != nil {
		return string(entry), false
	}
	if e.Type != "NORMALIZED_ENTRY" {
		if json.Unmarshal(e.Content, &text) != nil {
			return string(entry), true
		}
		return strings.TrimSuffix(text, "\n"), true
	}
	var n struct {
		Content   string
		EntryType struct {
			Type     string
			ToolName string `json:"tool_name"`
			Status   struct{ Status string }
		} `json:"entry_type"`
	}
	if json.Unmarshal(e.Content, &n) != nil {
		return string(e.Content), false
	}
	switch text = strings.TrimRight(n.Content, "\n"); n.EntryType.Type {
	case "user_message", "user_feedback":
		return marked("> ", text), false
	case "thinking":
		return marked("  ", text), false
	case "tool_use":
		if name := n.EntryType.ToolName; name != "" && !strings.HasPrefix(text, name) {
			text = name + " " + text
		}
		if status := n.EntryType.Status.Status; status != "" && status != "created" {
			text += " [" + status + "]"
		}
		return "* " + text, false
	case "error_message":
		return "! " + text, false
	case "system_message":
		return "- " + text, false
	}
	return text, false
}

func tasksMessagesCommand(a *app) *cobra.Command {
	var asJSON bool
	limit := 20
	cmd := &cobra.Command{
		Use:               "messages ID",
		Short:             "Show the prompts and final replies of an attempt's conversation",
		Args:              arguments(1, 1, "an attempt or a task"),
		ValidArgsFunction: a.ids(tasks.KindAttempt, tasks.KindTask),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := within("limit", limit, 1, 200); err != nil {
				return err
			}
			return a.withBench(cmd.Context(), asJSON, func(b *bench) error { return b.messages(cmd.Context(), args[0], limit) })
		},
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", limit, "number of turns, 1 to 200")
	jsonFlag(cmd, &asJSON, "tail_session_messages")
	return cmd
}

func (b *bench) messages(ctx context.Context, prefix string, limit int) error {
	id, err := b.attempt(ctx, prefix)
	if err != nil {
		return err
	}
	var out work.Messages
	err = b.show(ctx, "tail_session_messages", map[string]any{"attempt_id": id, "limit": limit}, &out, func() error {
		for _, t := range out.Page.Entries {
			text := marked("> ", t.Prompt)
			for _, p := range t.Pauses {
				asked, err := b.pauseText(ctx, p)
				if err != nil {
					return err
				}
				text += "\n\n" + asked
			}
			if t.Summary != nil {
				text += "\n\n" + strings.TrimRight(*t.Summary, "\n")
			}
			if err := b.line("%s\n", text); err != nil {
				return err
			}
		}
		return nil
	})
	if noSession(err) && !b.asJSON {
		b.tell("the agent has not started yet")
		return nil
	}
	return err
}

// pauseText is what an agent asked a person, and what came of it.
func (b *bench) pauseText(ctx context.Context, p work.Pause) (string, error) {
	asked := marked("? ", p.Text) + "\n"
	if p.Outcome == nil {
		return asked + fmt.Sprintf("= waits for an answer, asked %s (deskhand ask show %s)", age(p.Paused.Time), p.ID), nil
	}
	hub, err := b.all.Hub(ctx)
	if err != nil {
		return "", err
	}
	r, err := hub.Get(ctx, p.ID)
	if err != nil {
		return "", err
	}
	if *p.Outcome != string(elicit.Accept) {
		return asked + "= " + outcomeWords[elicit.Outcome(*p.Outcome)] + noteOf(r), nil
	}
	var answers []string
	for i, a := range asktools.OutputOf(&r).Answers {
		answer := strings.Join(a.Texts(), ", ")
		if len(r.Questions) > 1 {
			answer = oneLine(r.Questions[i].Message) + " " + answer
		}
		answers = append(answers, answer)
	}
	return asked + marked("= ", strings.Join(answers, "\n")+noteOf(r)), nil
}

// marked is text with a mark before each line.
func marked(mark, text string) string {
	return mark + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+mark)
}

// patchLine paints a line of a patch.
func (p paint) patchLine(line string) string {
	switch {
	case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "diff "):
		return p.bold(line)
	case strings.HasPrefix(line, "+"):
		return p.code(line, "32")
	case strings.HasPrefix(line, "-"):
		return p.code(line, "31")
	case strings.HasPrefix(line, "@@"):
		return p.path(line)
	}
	return p.plain(line)
}
