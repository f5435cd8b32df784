package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"github.com/deskhand/deskhand/runtime/fault"
)

// remote is an agent that is reached over the network with the Agent2Agent
// protocol. It uses version 1.0, or version 0.3 if the agent supports only
// that. A session is a context in the protocol. A run creates a task, or
// continues a task that is waiting. The agent has no process on this machine
// and sees none of its folders. The agent's results are the files that it
// sends.
type remote struct {
	*Run
	skill   string
	streams bool              // whether the agent can stream events
	talking *a2aclient.Client // client whose traffic is in the raw log
	looking *a2aclient.Client // client whose traffic is not logged

	asking context.Context // ends when the turn should end
	talk   *talk
	status a2a.TaskStatus
	seen   map[string]int // number of parts already shown, by message or artifact
	single bool           // the agent answered with a message instead of a task
	heard  bool           // the agent has sent an event since the last message to it

	cancels sync.WaitGroup

	mu   sync.Mutex // guards the fields below
	at   position
	over bool
}

var a2aKind = kind{
	name: "a2a",
	check: func(c Config) string {
		if u, err := url.Parse(c.URL); err != nil || !address(u) {
			return fmt.Sprintf("url %q is not the address of an agent, for example https://agent.example.com", c.URL)
		}
		return ""
	},
	can:     func(Config) Info { return Info{FollowUp: true} },
	start:   startRemote,
	abandon: abandon,
}

// position is the current place in a conversation. Its JSON form is the agent's
// session ID.
type position struct {
	Context string     `json:"contextId,omitempty"`
	Task    a2a.TaskID `json:"taskId,omitempty"`
}

// callTime is the timeout for a call that the agent can answer immediately.
// lastCallTime is the timeout for the last call before an immediate stop.
const (
	callTime     = 30 * time.Second
	lastCallTime = 2 * time.Second
)

// remoteControls implements controls for a remote agent. It stops the agent by
// closing the connection.
type remoteControls struct{ cut func() }

func (l remoteControls) Interrupt() { l.cut() }
func (l remoteControls) Terminate() { l.cut() }
func (l remoteControls) Kill()      { l.cut() }

// startRemote starts a run of a remote agent.
func startRemote(ctx context.Context, l *launch) (*Run, error) {
	c := &remote{skill: l.Mode, seen: map[string]int{}}
	connecting, done := context.WithTimeout(ctx, callTime)
	defer done()
	if err := c.connect(connecting, l); err != nil {
		return nil, fault.New(ExecutorUnavailable, fmt.Sprintf("cannot connect to the agent at %s: %v", l.URL, err), "see tasks.executors."+l.id+" in the configuration")
	}
	r := &Run{spec: l.spec, done: make(chan struct{})}
	var cut func()
	r.ctx, cut = context.WithCancel(context.Background())
	r.group, c.Run = remoteControls{cut}, r
	go func() {
		defer close(r.done)
		defer cut()
		r.result = c.runTurn()
	}()
	return r, nil
}

// runTurn runs one turn and returns its result.
func (c *remote) runTurn() Result {
	var quiet func()
	c.asking, quiet = context.WithCancel(c.ctx)
	defer quiet()
	c.talk = &talk{log: c.spec.Log, session: c.session}
	c.onInterrupt(func() bool {
		quiet()
		c.mu.Lock()
		defer c.mu.Unlock()
		if task := c.at.Task; task != "" && !c.over {
			c.cancels.Go(func() { c.cancel(c.ctx, task) })
		}
		return c.at.Task != ""
	})
	err := c.exchange()
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.cancels.Wait()
	if task := c.position().Task; c.ctx.Err() != nil && task != "" && !c.status.State.Terminal() { // the connection was closed
		ctx, done := context.WithTimeout(context.Background(), lastCallTime)
		c.cancel(ctx, task)
		done()
	}
	c.talk.endText()
	result := c.talk.result
	switch {
	case c.stopRequested() || c.ctx.Err() != nil:
		result.Failure = "cancelled"
	case err != nil:
		result.Failure = err.Error()
	}
	if result.AgentSession == "" {
		result.AgentSession = c.spec.Resume
	}
	return result
}

// cancel cancels a task. A task that has ended in the meantime is unchanged.
func (c *remote) cancel(ctx context.Context, task a2a.TaskID) {
	ctx, done := context.WithTimeout(ctx, callTime)
	defer done()
	c.looking.CancelTask(ctx, &a2a.CancelTaskRequest{ID: task}) // ignore errors: an agent that does not respond is abandoned
}

// abandon cancels the remote task of a run whose runner was killed. If the task
// is waiting for an answer, abandon keeps it, because the answer may still
// arrive. If a person has stopped the run, abandon cancels even a waiting task.
func abandon(ctx context.Context, l *launch, stopped bool) error {
	var last position
	if json.Unmarshal([]byte(l.spec.Resume), &last) != nil || last.Task == "" {
		return nil
	}
	ctx, done := context.WithTimeout(ctx, callTime)
	defer done()
	c := &remote{}
	if err := c.connect(ctx, l); err != nil {
		return err
	}
	t, err := c.looking.GetTask(ctx, &a2a.GetTaskRequest{ID: last.Task, HistoryLength: new(int)})
	if err == nil && !t.Status.State.Terminal() && (stopped || !awaitsInput(t.Status.State)) {
		_, err = c.looking.CancelTask(ctx, &a2a.CancelTaskRequest{ID: last.Task})
	}
	if refused(err) { // the agent has forgotten the task, or the task has ended
		return nil
	}
	return err
}

// exchange sends messages until the task has ended.
func (c *remote) exchange() error {
	err := c.sendPrompt()
	for err == nil {
		if err = c.followToRest(); err != nil {
			break
		}
		if c.single || c.status.State.Terminal() {
			return c.ended()
		}
		err = c.sendAnswer()
	}
	return err
}

// sendPrompt sends the prompt. If the agent no longer has the old conversation,
// sendPrompt starts a new one.
func (c *remote) sendPrompt() error {
	m, err := c.firstMessage()
	if err == nil {
		err = c.send(m, "")
	}
	if refused(err) && c.spec.Resume != "" && c.talk.result.AgentSession == "" {
		c.talk.system(fmt.Sprintf("the agent cannot continue its session and starts a new one: %v", err))
		c.setPosition(position{})
		err = c.send(a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(c.spec.Before+c.spec.Prompt)), "")
	}
	return err
}

// sendAnswer sends a person's answer. If the agent could not be reached, it
// sends the answer again. It also does so if the agent failed and is still
// waiting, because some agents are not ready for an answer immediately after
// they ask.
func (c *remote) sendAnswer() error {
	m, err := c.answer()
	if m == nil || err != nil {
		return err
	}
	stage, signing := c.stage(), c.status.State == a2a.TaskStateAuthRequired
	for failures, wait := 1, soonest; ; failures, wait = failures+1, min(2*wait, latest) {
		if err = c.send(m, stage); err == nil {
			return nil
		}
		heard := c.refresh() == nil
		switch {
		case heard && c.stage() != stage: // the agent has received this answer or another one
			return nil
		case heard && signing && refused(err): // the agent does not accept messages as proof of a sign-in
			return c.awaitStageChange(stage)
		case refused(err) && !(heard && errors.Is(err, a2a.ErrInternalError)), failures == maxFailures:
			return wrapError("the agent rejected the answer", err)
		}
		if err := c.pause(wait); err != nil {
			return err
		}
	}
}

// awaitStageChange waits until the agent notices that a person has done what its task
// is waiting for.
func (c *remote) awaitStageChange(stage string) error {
	failures := 0
	for wait := soonest; c.stage() == stage; wait = min(2*wait, latest) {
		if err := c.pause(wait); err != nil {
			return err
		}
		if err := c.refresh(); err == nil {
			failures = 0
		} else if failures++; failures == maxFailures || refused(err) {
			return wrapError("the agent does not respond", err)
		}
	}
	return nil
}

// refused reports whether the agent received the message and rejected it.
func refused(err error) bool { return errors.As(err, new(*a2a.Error)) }

// send sends a message and handles the events that follow. If the connection is
// lost after the agent has named a task, send returns nil, because the task can
// be polled.
func (c *remote) send(m *a2a.Message, stage string) error {
	if c.skill != "" {
		m.Metadata = map[string]any{"skill": c.skill}
	}
	// An agent that cannot stream would not answer until its task is done. Its
	// task is polled instead.
	config := &a2a.SendMessageConfig{ReturnImmediately: !c.streams}
	err := c.receive(c.talking.SendStreamingMessage(c.ctx, &a2a.SendMessageRequest{Message: m, Config: config}), stage)
	if !refused(err) && c.heard && c.position().Task != "" {
		return nil
	}
	return err
}

// firstMessage returns the message that begins the turn. If a task is waiting
// for a message, the message goes to that task; otherwise it goes to the last
// context.
func (c *remote) firstMessage() (*a2a.Message, error) {
	m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(c.spec.Prompt))
	var last position
	if c.spec.Resume == "" || json.Unmarshal([]byte(c.spec.Resume), &last) != nil {
		return m, nil
	}
	c.setPosition(last)
	m.ContextID = last.Context
	if last.Task == "" {
		return m, nil
	}
	ctx, done := context.WithTimeout(c.ctx, callTime)
	defer done()
	t, err := c.looking.GetTask(ctx, &a2a.GetTaskRequest{ID: last.Task})
	if refused(err) {
		// The agent has forgotten the task, but may still have the context.
		c.setPosition(position{Context: last.Context})
		if c.spec.Before != "" {
			c.talk.system("the agent no longer has its last task, so it receives a summary of the conversation")
			m.Parts[0] = a2a.NewTextPart(c.spec.Before + c.spec.Prompt)
		}
		return m, nil
	}
	if err != nil {
		return nil, err
	}
	c.markKnown(t)
	if state := t.Status.State; awaitsInput(state) {
		m.TaskID = last.Task
		return m, nil
	} else if !state.Terminal() { // the task was waiting for a run that has died
		c.cancel(c.ctx, last.Task)
	}
	c.setPosition(position{Context: last.Context})
	m.ReferenceTasks = []a2a.TaskID{last.Task}
	return m, nil
}

// awaitsInput reports whether a task in this state continues after it gets an
// answer.
func awaitsInput(s a2a.TaskState) bool {
	return s == a2a.TaskStateInputRequired || s == a2a.TaskStateAuthRequired
}

// receive handles events until the stream ends. It also returns when the task
// is at rest at a stage other than the given one.
func (c *remote) receive(events iter.Seq2[a2a.Event, error], stage string) error {
	before := c.status
	c.status, c.heard = a2a.TaskStatus{}, false
	defer func() {
		if !c.heard {
			c.status = before
		}
	}()
	for e, err := range events {
		if err != nil {
			return err
		}
		c.heard = true
		if c.handle(e); c.atRest() && c.stage() != stage {
			return nil
		}
	}
	return nil
}

func (c *remote) atRest() bool {
	return c.single || c.status.State.Terminal() || awaitsInput(c.status.State)
}

// Delays between two polls of a task.
const (
	soonest = 200 * time.Millisecond
	latest  = 8 * time.Second
)

// maxFailures is the maximum number of consecutive failed calls.
const maxFailures = 8

// followToRest follows a task until it is at rest. It continues if the stream
// is interrupted.
func (c *remote) followToRest() error {
	failures, wait := 0, soonest
	for !c.atRest() {
		if c.position().Task == "" {
			return errors.New("the agent sent no response")
		}
		before := c.stage()
		err := c.refresh()
		if err == nil && !c.atRest() && c.streams {
			c.receive(c.looking.SubscribeToTask(c.ctx, &a2a.SubscribeToTaskRequest{ID: c.position().Task}), "") // the next poll reports any error
		}
		if err == nil {
			failures = 0
		} else if failures++; failures == maxFailures || refused(err) {
			return wrapError("the agent does not respond", err)
		}
		if c.atRest() {
			return nil
		}
		if wait = min(2*wait, latest); c.stage() != before {
			wait = soonest
		}
		if err := c.pause(wait); err != nil {
			return err
		}
	}
	return nil
}

func (c *remote) pause(d time.Duration) error {
	select {
	case <-c.ctx.Done():
		return c.ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// refresh reads the state of the task.
func (c *remote) refresh() error {
	ctx, done := context.WithTimeout(c.ctx, callTime)
	defer done()
	t, err := c.looking.GetTask(ctx, &a2a.GetTaskRequest{ID: c.position().Task, HistoryLength: new(int)})
	if err == nil {
		c.handle(t)
	}
	return err
}

// stage returns a string that identifies the task's current state. A change of
// the string shows that the state has changed.
func (c *remote) stage() string {
	says := ""
	if m := c.status.Message; m != nil {
		says = orElse(m.ID, partsText(m.Parts))
	}
	return string(c.status.State) + " " + says
}

// ended returns the error for a task that ended without success.
func (c *remote) ended() error {
	why := "it gave no reason"
	if c.status.Message != nil {
		why = orElse(partsText(c.status.Message.Parts), why)
	}
	switch c.status.State {
	case a2a.TaskStateFailed:
		return errors.New("the agent failed: " + why)
	case a2a.TaskStateRejected:
		return errors.New("the agent rejected the task: " + why)
	case a2a.TaskStateCanceled:
		return errors.New("cancelled: " + why)
	}
	return nil
}

func (c *remote) position() position {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *remote) setPosition(to position) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = to
}
