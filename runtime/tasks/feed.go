package tasks

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/store"
)

// Topic is the feed topic of this package's events. An event's key is the ID of
// the attempt. If the event concerns no attempt, the key is the ID of the task,
// or else of the project.
const Topic = "tasks"

// EventType is the kind of an event.
type EventType string

// Event types.
const (
	ProjectChanged EventType = "project_changed"
	TaskCreated    EventType = "task_created"
	TaskUpdated    EventType = "task_updated"
	TaskDeleted    EventType = "task_deleted"
	AttemptStarted EventType = "attempt_started"
	SessionStarted EventType = "session_started"
	ProcessQueued  EventType = "process_queued"
	ProcessStarted EventType = "process_started"
	ProcessAsks    EventType = "process_asks"    // the process is waiting for a person
	ProcessResumed EventType = "process_resumed" // the process is no longer waiting for a person
	ProcessEnded   EventType = "process_ended"
	StopRequested  EventType = "stop_requested"
	MessageQueued  EventType = "message_queued"
	MessageDropped EventType = "message_dropped" // cancelled or discarded
	ReviewChanged  EventType = "review_changed"  // a comment changed, or the files that a person has marked as viewed
)

// Event is a change in this package's state. IDs that do not apply are empty.
type Event struct {
	Seq       int64     `json:"-"`
	At        time.Time `json:"-"`
	Type      EventType `json:"type"`
	ProjectID string    `json:"projectId,omitempty"`
	TaskID    string    `json:"taskId,omitempty"`
	AttemptID string    `json:"attemptId,omitempty"`
	SessionID string    `json:"sessionId,omitempty"`
	ProcessID string    `json:"processId,omitempty"`
	State     State     `json:"state,omitempty"`  // state of the process
	Status    Status    `json:"status,omitempty"` // status of the task
}

func (e Event) key() string {
	for _, id := range []string{e.AttemptID, e.TaskID} {
		if id != "" {
			return id
		}
	}
	return e.ProjectID
}

// note appends e to the feed and returns its sequence number.
func note(tx *store.Tx, e Event) (int64, error) {
	data, err := json.Marshal(e)
	if err != nil {
		return 0, err
	}
	return tx.Append(Topic, e.key(), data), nil
}

// Watcher follows events. Only one goroutine may use it, but any goroutine may
// call Close.
type Watcher struct {
	m      *Manager
	events *store.Watcher
	seen   map[string]bool // tasks of events without a project, and whether the caller knows of them
}

// ErrGone is [store.ErrGone], for packages that do not know the store.
var ErrGone = store.ErrGone

// Watch follows the events after seq. If id is not empty, it selects the events
// of the attempt with that ID, or the events that concern the task or project
// itself. A negative seq means the end of the feed. Watch returns
// [store.ErrGone] if the feed no longer contains the events after seq.
func (m *Manager) Watch(ctx context.Context, seq int64, id string) (*Watcher, error) {
	if seq < 0 {
		err := m.db.View(ctx, func(tx *store.Tx) error {
			seq = tx.Seq
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	w, err := m.db.Watch(ctx, seq, store.Filter{Topic: Topic, Key: id})
	if err != nil {
		return nil, err
	}
	return &Watcher{m: m, events: w}, nil
}

// Close stops the watcher.
func (w *Watcher) Close() { w.events.Close() }

// Wait and Resume are those of [store.Watcher].
func (w *Watcher) Wait(ctx context.Context) error {
	_, err := w.Next(ctx)
	return w.Resume(ctx, err)
}

func (w *Watcher) Resume(ctx context.Context, err error) error { return w.events.Resume(ctx, err) }

// Next waits for events and returns them in order. An event that cannot be
// decoded, for example from a newer version, has an empty Type. Next returns
// the errors of [store.Watcher.Next]. It leaves out events of projects that the caller of
// ctx does not know of.
func (w *Watcher) Next(ctx context.Context) ([]Event, error) {
	for {
		found, err := w.events.Next(ctx)
		if err != nil {
			return nil, err
		}
		events := make([]Event, len(found))
		for i, e := range found {
			if json.Unmarshal(e.Data, &events[i]) != nil {
				events[i] = Event{}
			}
			events[i].Seq, events[i].At = e.Seq, e.At
		}
		if events = slices.DeleteFunc(events, func(e Event) bool { return !w.knows(ctx, e) }); len(events) > 0 {
			return events, nil
		}
	}
}

// knows reports whether the caller knows of an event's project. If that cannot be read, the
// event is left out.
func (w *Watcher) knows(ctx context.Context, e Event) bool {
	c := access.Of(ctx)
	if c.Everything() || e.ProjectID != "" {
		return c.Sees(e.ProjectID)
	}
	known, found := w.seen[e.TaskID]
	if !found {
		err := w.m.db.View(ctx, func(tx *store.Tx) error { return withinTask(ctx, tx, e.TaskID, "task_id", e.TaskID) })
		if known = err == nil; w.seen == nil || len(w.seen) > 1000 {
			w.seen = map[string]bool{}
		}
		w.seen[e.TaskID] = known
	}
	return known
}
