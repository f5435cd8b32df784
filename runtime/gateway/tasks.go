package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Some upstream tools can only be called as a task: tools with
// execution.taskSupport: required (2025-11-25), and tools that refuse a call
// without the extension io.modelcontextprotocol/tasks (2026-07-28). Such a call is
// made as a task and followed here until the task ends. For an agent, it is an
// ordinary call. All other tools are called without a task.

const tasksExtension = "io.modelcontextprotocol/tasks"

// callTool makes a call, as a task if necessary.
func (u *upstream) callTool(ctx context.Context, s *session, c *call, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	if !c.asTask {
		result, err := s.CallTool(ctx, params)
		if !wantsTask(err) {
			return result, err
		}
	}
	defer c.clockNow().hold()() // a task is polled, or reports nothing until it ends
	t := &upstreamTask{u: u, s: s, c: c, told: map[string]bool{}}
	if opened := s.InitializeResult(); opened != nil {
		t.modern = opened.ProtocolVersion >= modernVersion
	}
	return t.run(ctx, params)
}

// wantsTask reports whether a call was refused because it was not a task.
func wantsTask(err error) bool {
	said := new(jsonrpc.Error)
	var data struct {
		RequiredCapabilities struct{ Extensions map[string]any }
	}
	if !errors.As(err, &said) || said.Code != mcp.CodeMissingRequiredClientCapabilities || json.Unmarshal(said.Data, &data) != nil {
		return false
	}
	_, wanted := data.RequiredCapabilities.Extensions[tasksExtension]
	return wanted
}

// upstreamTask is a call that runs as a task.
type upstreamTask struct {
	u      *upstream
	s      *session
	c      *call
	modern bool // version 2026-07-28 or later

	asking sync.WaitGroup
	told   map[string]bool // keys of the questions already passed on
}

// send sends a request.
func (t *upstreamTask) send(ctx context.Context, method string, p *taskParams) (json.RawMessage, error) {
	if t.modern {
		if p.Meta == nil {
			p.Meta = mcp.Meta{}
		}
		p.Meta[mcp.MetaKeyClientCapabilities] = map[string]any{
			"elicitation": map[string]any{"form": struct{}{}, "url": struct{}{}},
			"extensions":  map[string]any{tasksExtension: struct{}{}},
		}
	}
	answer, err := mcp.CallCustomMethod[*taskParams, *rawAnswer](ctx, t.s.ClientSession, method, p)
	if err != nil {
		return nil, err
	}
	return answer.raw, nil
}

// taskState is an upstream's report about a task, in either version.
type taskState struct {
	ResultType    string
	TaskID        string
	Status        string
	StatusMessage string
	PollInterval  int64 `json:"pollIntervalMs"`
	InputRequests mcp.InputRequestMap
	RequestState  json.RawMessage
	Result        json.RawMessage
	Error         *jsonrpc.Error
	Task          *taskState // in 2025-11-25, contains all of the above
}

// run makes the call and follows its task.
func (t *upstreamTask) run(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	p := &taskParams{ParamsBase: mcp.ParamsBase{Meta: maps.Clone(params.Meta)}, Name: params.Name, Arguments: params.Arguments}
	if !t.modern {
		p.Task = &taskWish{taskTTL.Milliseconds()}
	}
	for range maxRounds {
		raw, err := t.send(ctx, rawCall, p)
		if err != nil {
			return nil, err
		}
		var state taskState
		if err := json.Unmarshal(raw, &state); err != nil {
			return nil, t.odd(err)
		}
		switch {
		case !t.modern && state.Task != nil && state.Task.TaskID != "":
			return t.result(ctx, state.Task.TaskID)
		case t.modern && state.ResultType == "task" && state.TaskID != "":
			return t.follow(ctx, state)
		case !t.modern || state.ResultType != "input_required":
			return t.read(raw) // it finished without a task
		}
		if p.InputResponses, err = t.answers(ctx, state.InputRequests); err != nil {
			return nil, err
		}
		p.RequestState = state.RequestState
	}
	return nil, t.odd(fmt.Errorf("it requested input %d times before it started", maxRounds))
}

func (t *upstreamTask) read(raw json.RawMessage) (*mcp.CallToolResult, error) {
	result := new(mcp.CallToolResult)
	if err := json.Unmarshal(raw, result); err != nil {
		return nil, t.odd(err)
	}
	return result, nil
}

func (t *upstreamTask) odd(err error) error {
	return fault.New("upstream_error", t.u.clean(fmt.Sprintf("%s did not answer with a task: %v", t.u.Title, err)), "")
}

// result waits for a 2025-11-25 task. Its questions arrive as separate requests.
func (t *upstreamTask) result(ctx context.Context, id string) (*mcp.CallToolResult, error) {
	raw, err := t.send(ctx, "tasks/result", &taskParams{TaskID: id})
	if err != nil {
		t.cancel(ctx, id)
		return nil, err
	}
	return t.read(raw)
}

// Limits for the interval at which a task is polled.
const (
	leastPoll   = 100 * time.Millisecond
	defaultPoll = 2 * time.Second
	mostPoll    = time.Minute
)

// follow polls a task until it ends, and answers its questions.
func (t *upstreamTask) follow(ctx context.Context, state taskState) (*mcp.CallToolResult, error) {
	id := state.TaskID
	ctx, stop := context.WithCancelCause(ctx)
	defer t.asking.Wait()
	defer stop(nil)
	for {
		if state.StatusMessage != "" {
			t.c.progress(contract.Progress{Message: state.StatusMessage})
		}
		switch state.Status {
		case "completed":
			return t.read(state.Result)
		case "failed":
			if state.Error == nil {
				return nil, t.odd(errors.New("it failed without an error"))
			}
			return nil, state.Error
		case "cancelled":
			return nil, fault.New("upstream_error", t.u.Title+" cancelled the call", "")
		case "input_required":
			t.pass(ctx, stop, id, state.InputRequests)
		}
		poll := defaultPoll
		if state.PollInterval > 0 {
			poll = min(max(time.Duration(state.PollInterval)*time.Millisecond, leastPoll), mostPoll)
		}
		select {
		case <-ctx.Done():
			t.cancel(ctx, id)
			return nil, context.Cause(ctx)
		case <-time.After(poll):
		}
		raw, err := t.send(ctx, "tasks/get", &taskParams{TaskID: id})
		if err != nil {
			t.cancel(ctx, id)
			return nil, err
		}
		state = taskState{}
		if err := json.Unmarshal(raw, &state); err != nil {
			return nil, t.odd(err)
		}
	}
}

// maxQuestions is how many questions one task may ask.
const maxQuestions = 100

// pass asks a person the new questions. Each answer is sent as soon as it is
// available. A failure stops the call.
func (t *upstreamTask) pass(ctx context.Context, stop context.CancelCauseFunc, id string, requests mcp.InputRequestMap) {
	for key, request := range requests {
		if t.told[key] || len(t.told) >= maxQuestions {
			continue
		}
		t.told[key] = true
		t.asking.Go(func() {
			answers, err := t.answers(ctx, mcp.InputRequestMap{key: request})
			if err == nil {
				_, err = t.send(ctx, "tasks/update", &taskParams{TaskID: id, InputResponses: answers})
			}
			if err != nil {
				stop(err)
			}
		})
	}
}

// answers asks a person all of the requests.
func (t *upstreamTask) answers(ctx context.Context, requests mcp.InputRequestMap) (map[string]any, error) {
	answers := map[string]any{}
	for key, request := range requests {
		asked, ok := request.(*mcp.ElicitParams)
		if !ok {
			return nil, fault.New("upstream_error", t.u.Title+" requires more than a user's answer, for example sampling, which is not passed on", "")
		}
		reply, err := t.u.elicited(ctx, &mcp.ElicitRequest{Params: asked})
		if err != nil {
			return nil, err
		}
		answers[key] = reply
	}
	return answers, nil
}

// cancelTime is the time limit for telling an upstream that a task is no longer
// needed.
const cancelTime = 5 * time.Second

func (t *upstreamTask) cancel(ctx context.Context, id string) {
	if ctx.Err() == nil {
		return // it ended in another way
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer stop()
	if _, err := t.send(ctx, "tasks/cancel", &taskParams{TaskID: id}); err != nil {
		t.u.g.log.Debug("cannot cancel the upstream's task", "upstream", t.u.Name, "error", err)
	}
}
