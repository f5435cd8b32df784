package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// calls implements the protocol's methods.
type calls struct {
	*Server
	legacy bool // whether the caller uses protocol 0.3
}

// snapshot is the state of a task at a position in the feed.
type snapshot struct {
	*task
	view *a2a.Task
	open *elicit.Request // the request that can be answered; nil if there is none
	seq  int64
}

// look reads a task. It returns [a2a.ErrTaskNotFound] if the task does not exist,
// or if the task's request or attempt has been deleted.
func (s *Server) look(ctx context.Context, id a2a.TaskID) (snapshot, error) {
	t, err := s.load(ctx, id)
	if err != nil {
		return snapshot{}, err
	}
	now, err := s.snapshotOf(ctx, t)
	if f := fault.Of(err); f != nil && (f.Code == elicit.UnknownRequest || f.Code == notFound) {
		if access.Of(ctx).Everything() { // otherwise it may only be hidden from this caller
			if err := s.forget(ctx, id); err != nil {
				return snapshot{}, err
			}
		}
		err = a2a.ErrTaskNotFound
	}
	return now, err
}

// notFound is the fault code for an attempt that does not exist.
const notFound = "not_found"

func (s *Server) snapshotOf(ctx context.Context, t *task) (snapshot, error) {
	if t.skill == RunSkill {
		return s.running(ctx, t)
	}
	r, seq, err := s.hub.GetAt(ctx, t.subject)
	if err != nil {
		return snapshot{}, err
	}
	now := snapshot{task: t, view: t.view(&r), seq: seq}
	if !r.Ended() {
		now.open = &r
	}
	return now, nil
}

// GetTask implements the protocol's method.
func (c *calls) GetTask(ctx context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	now, err := c.look(ctx, req.ID)
	if err != nil {
		return nil, c.failed(err)
	}
	return trimmed(now.view, req.HistoryLength), nil
}

// trimmed keeps only the newest length messages of the history, or all if
// length is nil.
func trimmed(t *a2a.Task, length *int) *a2a.Task {
	if length != nil && len(t.History) > max(*length, 0) {
		t.History = t.History[len(t.History)-max(*length, 0):]
	}
	return t
}

// ListTasks implements the protocol's method. A page token is the number of
// tasks on the earlier pages.
func (c *calls) ListTasks(ctx context.Context, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	skip, err := strconv.Atoi(req.PageToken)
	if err != nil && req.PageToken != "" || skip < 0 {
		return nil, invalid("pageToken %q was not returned by a list call", textutil.Shorten(req.PageToken, 60))
	}
	size := req.PageSize
	if size <= 0 {
		size = 50
	}
	size = min(size, 100)
	all, err := c.list(ctx, req.ContextID)
	if err != nil {
		return nil, c.failed(err)
	}
	response := &a2a.ListTasksResponse{Tasks: []*a2a.Task{}, PageSize: size}
	for _, t := range all {
		now, err := c.snapshotOf(ctx, t)
		if fault.Of(err) != nil {
			continue
		}
		if err != nil {
			return nil, c.failed(err)
		}
		v := trimmed(now.view, req.HistoryLength)
		if req.Status != "" && v.Status.State != req.Status || req.StatusTimestampAfter != nil && v.Status.Timestamp.Before(*req.StatusTimestampAfter) {
			continue
		}
		response.TotalSize++
		if response.TotalSize <= skip || len(response.Tasks) == size {
			continue
		}
		if !req.IncludeArtifacts {
			v.Artifacts = nil
		}
		response.Tasks = append(response.Tasks, v)
	}
	if next := skip + len(response.Tasks); next < response.TotalSize {
		response.NextPageToken = strconv.Itoa(next)
	}
	return response, nil
}

// CancelTask implements the protocol's method: it withdraws the question or
// stops the agent.
func (c *calls) CancelTask(ctx context.Context, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	now, err := c.look(ctx, req.ID)
	if err != nil {
		return nil, c.failed(err)
	}
	if now.view.Status.State.Terminal() {
		return nil, a2a.NewError(a2a.ErrTaskNotCancelable, "the task has ended")
	}
	if now.skill == RunSkill {
		err = c.o.Runner.Stop(ctx, now.subject)
	} else {
		_, err = c.hub.Dispatch(ctx, elicit.Action{Type: elicit.Withdrawn, RequestID: now.subject, Reason: "cancelled", Channel: Channel})
	}
	if f := fault.Of(err); f != nil {
		return nil, a2a.NewError(a2a.ErrTaskNotCancelable, f.Message)
	}
	if err == nil {
		now, err = c.look(ctx, req.ID)
	}
	if err != nil {
		return nil, c.failed(err)
	}
	return now.view, nil
}

// SendMessage implements the protocol's method. It waits while an agent works,
// but not for a person: it then returns the task, which requires input. A 1.0
// client that does not want to wait sets returnImmediately. Calls of 0.3 clients
// never wait: their field has the opposite meaning and defaults to false, and the
// library cannot tell the default from true.
func (c *calls) SendMessage(ctx context.Context, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	v, err := c.send(ctx, req)
	if err == nil && !c.legacy && (req.Config == nil || !req.Config.ReturnImmediately) {
		v, err = c.afterWork(ctx, v)
	}
	if err != nil {
		return nil, c.failed(err)
	}
	var length *int
	if req.Config != nil {
		length = req.Config.HistoryLength
	}
	return trimmed(v, length), nil
}

// afterWork waits until the task has ended or is waiting for a person, and
// returns it. If the server stops, it returns the task's current state. If the
// client disconnects, only the wait ends.
func (c *calls) afterWork(ctx context.Context, v *a2a.Task) (*a2a.Task, error) {
	for !rests(v.Status.State) && c.stopped.Err() == nil {
		var failure error
		c.follow(ctx, v, true, func(e a2a.Event, err error) bool {
			failure = err
			status, ok := e.(*a2a.TaskStatusUpdateEvent)
			return err == nil && !(ok && rests(status.Status.State))
		})
		if failure != nil && (c.stopped.Err() == nil || ctx.Err() != nil) {
			return nil, failure // when the server stops, reading the feed may fail
		}
		now, err := c.look(ctx, v.ID)
		if err != nil {
			return nil, err
		}
		v = now.view
	}
	return v, nil
}

// rests reports whether the task has ended or is waiting for input or a
// sign-in.
func rests(s a2a.TaskState) bool {
	return s.Terminal() || s == a2a.TaskStateInputRequired || s == a2a.TaskStateAuthRequired
}

// send handles a message: the first message of a task asks, and a later one
// answers.
func (c *calls) send(ctx context.Context, req *a2a.SendMessageRequest) (*a2a.Task, error) {
	m := req.Message
	if m == nil || m.ID == "" || len(m.Parts) == 0 {
		return nil, invalid("a message needs a messageId and parts")
	}
	if m.Role == a2a.MessageRoleAgent {
		return nil, invalid("a message to an agent must have the role user: an agent's text does not count as a person's answer")
	}
	if b, err := json.Marshal(m); err != nil || len(b) > maxMessageBytes {
		return nil, invalid("a message can have at most %d bytes", maxMessageBytes)
	}
	if req.Config != nil && req.Config.PushConfig != nil {
		if err := c.mayPush(req.Config.PushConfig); err != nil { // before a person is asked
			return nil, err
		}
	}
	ctx = context.WithoutCancel(ctx) // the message counts even if the client disconnects now
	t, v, err := c.take(ctx, m)
	if err != nil || req.Config == nil || req.Config.PushConfig == nil {
		return v, err
	}
	push := *req.Config.PushConfig
	push.TaskID = t.id
	_, err = c.CreateTaskPushConfig(ctx, &push)
	return v, err
}

// maxMessageBytes is the maximum size in bytes of a message, which a task's
// history keeps.
const maxMessageBytes = 256 << 10

func (c *calls) take(ctx context.Context, m *a2a.Message) (*task, *a2a.Task, error) {
	if m.TaskID == "" {
		return c.begin(ctx, m)
	}
	now, err := c.look(ctx, m.TaskID)
	switch {
	case err != nil:
		return nil, nil, err
	case m.ContextID != "" && m.ContextID != now.context:
		return nil, nil, invalid("contextId does not match the task's")
	case now.view.Status.State.Terminal():
		return nil, nil, a2a.NewError(a2a.ErrUnsupportedOperation, "the task has ended and takes no more messages")
	case now.open == nil:
		return nil, nil, a2a.NewError(a2a.ErrUnsupportedOperation, "the task does not require input now: wait until it requires input or has ended")
	}
	if c.o.MayAnswer != nil && !c.o.MayAnswer(ctx) {
		return nil, nil, errForPeople
	}
	if err := c.said(ctx, now.id, m); err != nil {
		return nil, nil, err
	}
	action, err := readAnswer(m, now.open)
	if err == nil {
		_, err = c.hub.Dispatch(ctx, action)
	}
	rejection := new(elicit.Rejection)
	wrong := errors.Is(err, errPage) || errors.As(err, &rejection) && rejection.Code == elicit.InvalidAnswers
	if err != nil && !wrong {
		return nil, nil, err
	}
	after, e := c.look(ctx, m.TaskID)
	if e != nil {
		return nil, nil, e
	}
	if wrong { // the task still requires input and says what was wrong
		parts := &after.view.Status.Message.Parts
		*parts = append([]*a2a.Part{a2a.NewTextPart("Rejected: " + err.Error())}, *parts...)
	}
	return after.task, after.view, nil
}

// errForPeople rejects an answer that comes with the agents' token. Otherwise, an
// agent could answer its own question.
var errForPeople = a2a.NewError(a2a.ErrUnsupportedOperation, "only a person may answer this task: send the answer with this installation's person key instead of the agents' token, or wait until the person has answered")

// begin handles a task's first message. metadata.skill selects the skill.
func (c *calls) begin(ctx context.Context, m *a2a.Message) (*task, *a2a.Task, error) {
	t := &task{id: a2a.TaskID(uuid.Must(uuid.NewV7()).String()), context: m.ContextID, skill: c.o.Skill}
	if skill, ok := m.Metadata["skill"].(string); ok {
		t.skill = skill
	}
	if t.context == "" {
		t.context = uuid.Must(uuid.NewV7()).String()
	}
	mine := *m
	mine.TaskID, mine.ContextID = t.id, t.context
	t.history = []*a2a.Message{&mine}
	var err error
	switch {
	case t.skill == AskSkill:
		err = c.ask(ctx, m, t)
	case t.skill == RunSkill && c.o.Runner != nil:
		t.subject, err = c.start(ctx, m)
	default:
		err = invalid("there is no skill %q", textutil.Shorten(t.skill, 60))
	}
	if err != nil {
		return nil, nil, err
	}
	if t, err = c.insert(ctx, t); err != nil {
		return nil, nil, err
	}
	now, err := c.snapshotOf(ctx, t)
	return t, now.view, err
}

func (c *calls) ask(ctx context.Context, m *a2a.Message, t *task) error {
	r, err := readRequest(m, c.o.Wait)
	if err != nil {
		return err
	}
	r.Context.ConversationID = t.context
	opened, err := c.open(ctx, r, t)
	t.subject = opened.ID
	return err
}

// open opens a request, or returns an earlier request with the same question, if
// that request was answered too late.
func (c *calls) open(ctx context.Context, r elicit.Request, t *task) (elicit.Request, error) {
	late, err := c.hub.Earlier(ctx, r)
	if err != nil {
		return elicit.Request{}, err
	}
	if late != nil {
		if err := c.hub.Delivered(ctx, *late); err != nil {
			return elicit.Request{}, err
		}
		t.late = true
		return *late, nil
	}
	reachable, err := c.hub.Reachable(ctx)
	if err != nil {
		return elicit.Request{}, err
	}
	opened, err := c.hub.Open(ctx, r)
	if err != nil || reachable || opened.Ended() {
		return opened, err
	}
	change, err := c.hub.Dispatch(ctx, elicit.Action{Type: elicit.Withdrawn, RequestID: opened.ID, Reason: unreachable})
	if err != nil {
		return elicit.Request{}, err
	}
	return *change.Request, nil
}

// SendStreamingMessage implements the protocol's method. The stream ends when
// the task ends or requires input: the client can then answer, or subscribe to
// wait for a person's answer. If the task requires a sign-in on a page, the
// stream continues.
func (c *calls) SendStreamingMessage(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		v, err := c.send(ctx, req)
		if err != nil {
			yield(nil, c.failed(err))
			return
		}
		if yield(v, nil) {
			c.follow(ctx, v, true, yield)
		}
	}
}

// SubscribeToTask implements the protocol's method. The stream lasts until the
// task ends.
func (c *calls) SubscribeToTask(ctx context.Context, req *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		now, err := c.look(ctx, req.ID)
		if err != nil {
			yield(nil, c.failed(err))
			return
		}
		if now.view.Status.State.Terminal() {
			yield(nil, a2a.NewError(a2a.ErrUnsupportedOperation, "the task has ended: use get instead"))
			return
		}
		if yield(now.view, nil) {
			c.follow(ctx, now.view, false, yield)
		}
	}
}

// follow yields the changes of a task from v on until the task ends or, if
// untilInput, requires input.
func (c *calls) follow(ctx context.Context, v *a2a.Task, untilInput bool, yield func(a2a.Event, error) bool) {
	ended := func() bool {
		return v.Status.State.Terminal() || untilInput && v.Status.State == a2a.TaskStateInputRequired
	}
	if ended() {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.stopped, cancel)()
	now, err := c.look(ctx, v.ID)
	if err != nil {
		yield(nil, c.failed(err))
		return
	}
	filter := store.Filter{Topic: elicit.Topic, Key: now.subject}
	if now.skill == RunSkill {
		filter = store.Filter{} // the agent's questions have their own IDs
	}
	w, err := c.db.Watch(ctx, now.seq, filter)
	if err != nil {
		yield(nil, c.failed(err))
		return
	}
	defer w.Close()
	for {
		was := v
		v = now.view
		if !reflect.DeepEqual(was.Status.Message.Parts, v.Status.Message.Parts) || was.Status.State != v.Status.State {
			if !c.update(v, yield) || ended() {
				return
			}
		}
		if err := w.Wait(ctx); err != nil {
			if ctx.Err() == nil {
				yield(nil, c.failed(err))
			}
			return
		}
		if now, err = c.look(ctx, v.ID); err != nil {
			yield(nil, c.failed(err))
			return
		}
	}
}

func (c *calls) update(v *a2a.Task, yield func(a2a.Event, error) bool) bool {
	for _, artifact := range v.Artifacts {
		if !yield(&a2a.TaskArtifactUpdateEvent{TaskID: v.ID, ContextID: v.ContextID, Artifact: artifact, LastChunk: true}, nil) {
			return false
		}
	}
	return yield(&a2a.TaskStatusUpdateEvent{TaskID: v.ID, ContextID: v.ContextID, Status: v.Status}, nil)
}

// GetExtendedAgentCard implements the protocol's method.
func (c *calls) GetExtendedAgentCard(context.Context, *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	return nil, a2a.ErrExtendedCardNotConfigured
}

// failed converts an error for the client. Errors of the protocol are
// unchanged, and faults become invalid parameters. All other errors are logged,
// and the client receives only a general message.
func (s *Server) failed(err error) error {
	if errors.As(err, new(*a2a.Error)) || errors.Is(err, a2a.ErrTaskNotFound) || errors.Is(err, context.Canceled) {
		return err
	}
	if f := fault.Of(err); f != nil {
		text := f.Message
		if f.Hint != "" {
			text += "; " + f.Hint
		}
		return a2a.NewError(a2a.ErrInvalidParams, text)
	}
	if t, ok := store.TroubleOf(err); ok {
		s.o.Log.Error("a2a call failed", "error", err)
		return a2a.NewError(a2a.ErrInternalError, t.Message+"; "+t.Hint)
	}
	id := uuid.NewString()
	s.o.Log.Error("a2a call failed", "id", id, "error", err)
	return a2a.NewError(a2a.ErrInternalError, fmt.Sprintf("internal error %s", id))
}
