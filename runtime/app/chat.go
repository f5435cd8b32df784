package app

import (
	"context"
	"slices"
	"time"

	"github.com/deskhand/deskhand/runtime/chat"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/web"
)

// mountChat adds the chat routes to the front's mounts. The routes find sessions even
// if the server does not serve the work tools.
func (a *App) mountChat(o *web.Options) {
	server := chat.New(chat.Options{Log: a.log, Open: func(ctx context.Context) (*elicit.Hub, chat.Runner, error) {
		m, err := a.Work(ctx)
		if err != nil {
			return nil, nil, err
		}
		hub, err := a.Hub(ctx)
		return hub, chatRuns{m}, err
	}})
	mount(o, server.Mounts())
	atShutdown(o, server.Close)
}

// chatRuns implements [chat.Runner] with the attempt manager.
type chatRuns struct{ m *tasks.Manager }

// Send implements [chat.Runner].
func (c chatRuns) Send(ctx context.Context, session, prompt, key string) (chat.Run, error) {
	done, err := c.m.FollowUp(ctx, tasks.FollowUpRequest{Action: tasks.Send, SessionID: session, Prompt: prompt, RequestID: key})
	if err != nil {
		return chat.Run{}, err
	}
	return c.Find(ctx, session, done.ProcessID)
}

// Newest implements [chat.Runner]. If the session's checkout has to be set up
// again, the newest run may be a setup script. It is never a cleanup script.
func (c chatRuns) Newest(ctx context.Context, session string) (chat.Run, error) {
	s, processes, err := c.processes(ctx, session)
	if err != nil {
		return chat.Run{}, err
	}
	last := chat.Run{Session: s.ID, Attempt: s.AttemptID}
	for _, p := range processes {
		if p.SessionID == s.ID && p.Reason != tasks.Cleanup {
			last = runOf(s, p)
		}
	}
	return last, nil
}

// Find implements [chat.Runner].
func (c chatRuns) Find(ctx context.Context, session, process string) (chat.Run, error) {
	s, processes, err := c.processes(ctx, session)
	if err != nil {
		return chat.Run{}, err
	}
	for _, p := range processes {
		if p.ID == process && (p.SessionID == s.ID || p.SessionID == "") {
			return runOf(s, p), nil
		}
	}
	return chat.Run{}, fault.New(tasks.NotFound, "the session has no run with this ID", "send a message, or resume without Last-Event-ID")
}

func (c chatRuns) processes(ctx context.Context, session string) (s tasks.Session, all []tasks.Process, err error) {
	if s, err = c.m.Session(ctx, session); err == nil {
		all, err = c.m.Processes(ctx, s.AttemptID)
	}
	return s, all, err
}

func runOf(s tasks.Session, p tasks.Process) chat.Run {
	return chat.Run{Session: s.ID, Attempt: p.AttemptID, Process: p.ID, Executor: p.Executor, Began: p.Created}
}

// Log implements [chat.Runner].
func (c chatRuns) Log(ctx context.Context, r chat.Run, after int64, wait time.Duration) (page chat.Page, err error) {
	found, err := c.m.Logs(ctx, tasks.LogQuery{AttemptID: r.Attempt, ProcessID: r.Process, AfterRevision: &after, Limit: 200, Wait: wait})
	if err != nil {
		return page, err
	}
	for _, e := range found.Entries {
		page.Entries = append(page.Entries, chat.Entry{Index: e.Index, Revision: e.Revision, Data: e.Entry})
	}
	if !found.Ended || found.More {
		return page, nil
	}
	return c.ended(ctx, r, page, wait)
}

// ended records in page how a run ended. The run's log ends shortly before its
// process row does, so ended waits for the row.
func (c chatRuns) ended(ctx context.Context, r chat.Run, page chat.Page, wait time.Duration) (chat.Page, error) {
	until, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	w, err := c.m.Watch(until, -1, r.Attempt)
	if err != nil {
		return page, err
	}
	defer w.Close()
	for {
		processes, err := c.m.Processes(ctx, r.Attempt)
		if err != nil {
			return page, err
		}
		i := slices.IndexFunc(processes, func(p tasks.Process) bool { return p.ID == r.Process })
		if i >= 0 && processes[i].State.Ended() {
			p := processes[i]
			page.Ended, page.Failure = true, p.Failure
			if p.Reason == tasks.Setup && i+1 < len(processes) {
				next := runOf(tasks.Session{ID: r.Session}, processes[i+1])
				page.Next = &next
			}
			return page, nil
		}
		if _, err := w.Next(until); err != nil {
			if until.Err() != nil && ctx.Err() == nil {
				return page, nil
			}
			return page, err
		}
	}
}
