package mcpserver

import (
	"context"
	"crypto/hmac"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
)

// The extension io.modelcontextprotocol/tasks (SEP-2663, protocol 2026-07-28): a
// client that declares it when calling a tool with a contract.Later gets a task
// instead of waiting for the call. The server keeps no state for a task: tasks/get,
// tasks/update and tasks/cancel pass its ID to the tool's PendingCalls, whose state
// is in the store. Any server with the same store can therefore answer them.

// tasksExtension is the extension's name in capabilities.
const tasksExtension = "io.modelcontextprotocol/tasks"

// taskParams holds the parameters of the three methods.
type taskParams struct {
	mcp.ParamsBase
	TaskID         string                     `json:"taskId"`
	InputResponses map[string]json.RawMessage `json:"inputResponses,omitempty"`
}

// taskResult is a newly created Task (resultType task), or a Task that tasks/get
// returns, with the additional members for its status (resultType complete).
type taskResult struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
	taskFields
	delivered func(ok bool) // if not nil, called with whether the client received the result
}

type taskFields struct {
	TaskID        string              `json:"taskId"`
	Status        string              `json:"status"`
	StatusMessage string              `json:"statusMessage,omitempty"`
	CreatedAt     elicit.Time         `json:"createdAt"`
	LastUpdatedAt elicit.Time         `json:"lastUpdatedAt"`
	TTL           *int64              `json:"ttlMs"` // milliseconds; null means forever
	Poll          int64               `json:"pollIntervalMs,omitempty"`
	InputRequests mcp.InputRequestMap `json:"inputRequests,omitempty"`
	Result        *inlined            `json:"result,omitempty"`
	Error         *jsonrpc.Error      `json:"error,omitempty"`
}

// inlined is a call's result as the call itself would have returned it.
type inlined struct{ mcp.CallToolResult }

// MarshalJSON implements [json.Marshaler]. The SDK adds resultType only to its
// own messages.
func (r *inlined) MarshalJSON() ([]byte, error) {
	raw, err := r.CallToolResult.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return append([]byte(`{"resultType":"complete",`), raw[1:]...), nil
}

// ack is the answer to tasks/update and tasks/cancel.
type ack struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
}

// taskMethods holds the extension's methods. No version before 2026-07-28 has them.
var taskMethods = map[string]func(*Server, context.Context, *visitor, contract.PendingCalls, string) (mcp.Result, error){
	"tasks/get":    (*Server).getTask,
	"tasks/update": (*Server).updateTask,
	"tasks/cancel": (*Server).cancelTask,
}

// serveTasks registers the methods with the SDK. The middleware answers them
// (serveTask), because it gets the whole request, unlike a function registered
// here.
func (s *Server) serveTasks() error {
	for method := range taskMethods {
		err := mcp.AddReceivingCustomMethod(s.sdk, method, func(context.Context, *mcp.ServerSession, *taskParams) (*ack, error) {
			return nil, fmt.Errorf("%s has passed the middleware", method)
		})
		if err != nil {
			return fmt.Errorf("serve %s: %w", method, err)
		}
	}
	return nil
}

// serveTask answers a request about a task.
func (s *Server) serveTask(ctx context.Context, method string, req *mcp.ServerRequest[*taskParams]) (_ mcp.Result, err error) {
	defer s.recovered(method, &err)
	v, err := s.visitorOf(req, method)
	if err != nil {
		return nil, err
	}
	calls, id, err := s.findTask(req.Params.TaskID, v.caller)
	if err != nil {
		return nil, err
	}
	return taskMethods[method](s, ctx, v, calls, id)
}

func (s *Server) getTask(ctx context.Context, v *visitor, calls contract.PendingCalls, id string) (mcp.Result, error) {
	pending, err := calls.Look(ctx, v.caller, id)
	if err != nil {
		return nil, s.protocolError("look at task "+id, err)
	}
	t, err := s.detailed(v, pending)
	if err != nil {
		return nil, s.protocolError("show task "+id, err)
	}
	s.tellDelivered(ctx, v.key, t.delivered)
	return t, nil
}

func (s *Server) updateTask(ctx context.Context, v *visitor, calls contract.PendingCalls, id string) (mcp.Result, error) {
	if err := calls.Answer(ctx, v.caller, id); err != nil {
		return nil, s.protocolError("answer task "+id, err)
	}
	return &ack{ResultType: "complete"}, nil
}

func (s *Server) cancelTask(ctx context.Context, v *visitor, calls contract.PendingCalls, id string) (mcp.Result, error) {
	if err := calls.Cancel(ctx, v.caller, id); err != nil {
		return nil, s.protocolError("cancel task "+id, err)
	}
	return &ack{ResultType: "complete"}, nil
}

// startLater begins a call as a task if the client supports tasks and the tool has
// a Later, and reports whether it did. Otherwise the caller calls the tool as
// usual.
func (s *Server) startLater(ctx context.Context, tool *contract.Tool, caller contract.Caller, req *mcp.CallToolRequest) (_ *mcp.CallToolResult, started bool, err error) {
	if tool.Later == nil {
		return nil, false, nil
	}
	if !declaresTasks(req.ProtocolVersion(), req.ClientCapabilities()) {
		if tool.Later.Only {
			return nil, true, needsTasks()
		}
		return nil, false, nil
	}
	if req.Params.RequestState != "" && !tool.Later.Only {
		return nil, false, nil // this continues a call that began without a task
	}
	var pending contract.Pending
	a := s.outcome(ctx, tool, func(ctx context.Context) (_ contract.Result, err error) {
		pending, err = tool.Later.Start(ctx, caller, req.Params.Arguments)
		return pending.Result, err
	})
	if a.isError || a.again != nil || pending.ID == "" {
		s.tellDelivered(ctx, keyOf(req.Extra), a.delivered)
		result, err := s.callResult(tool, a)
		return result, true, err
	}
	t, err := s.task(caller, pending)
	if err != nil {
		return nil, true, s.protocolError("create task of "+tool.Name, err)
	}
	t.ResultType = "task"
	return &mcp.CallToolResult{Meta: mcp.Meta{taskKey: t}}, true, nil
}

// taskKey is the Meta key that carries a task through the SDK in an otherwise empty
// result.
const taskKey = "deskhand/task"

// created returns the task in a result of startLater, or r itself if there is none.
func created(r *mcp.CallToolResult) mcp.Result {
	if t, ok := r.Meta[taskKey].(*taskResult); ok {
		return t
	}
	return r
}

// task returns the members that a task has in every state.
func (s *Server) task(caller contract.Caller, p contract.Pending) (*taskResult, error) {
	id, err := s.taskID(p.ID, caller)
	if err != nil {
		return nil, err
	}
	t := &taskResult{ResultType: "complete", taskFields: taskFields{
		TaskID: id, Status: statuses[p.State], StatusMessage: p.Message,
		CreatedAt: elicit.At(p.Created), LastUpdatedAt: elicit.At(p.Updated), Poll: p.Poll.Milliseconds(),
	}}
	if p.TTL > 0 {
		ms := p.TTL.Milliseconds()
		t.TTL = &ms
	}
	return t, nil
}

var statuses = map[contract.PendingState]string{
	contract.Working: "working", contract.Ended: "completed", contract.Cancelled: "cancelled", contract.Lost: "failed",
}

// detailed returns the task with the members of its status. If there is a question
// that the client can show, a working task becomes a task that requires input.
func (s *Server) detailed(v *visitor, p contract.Pending) (*taskResult, error) {
	t, err := s.task(v.caller, p)
	if err != nil {
		return nil, err
	}
	switch {
	case p.State == contract.Working && len(v.requests) > 0:
		t.Status, t.InputRequests = "input_required", v.requests
	case p.State == contract.Ended:
		tool := &contract.Tool{Name: p.ID, Envelope: p.Envelope}
		a := s.outcome(context.Background(), tool, func(context.Context) (contract.Result, error) { return p.Result, p.Err })
		result, err := s.callResult(tool, a)
		if err != nil {
			return nil, err
		}
		t.Result, t.delivered = &inlined{*result}, a.delivered
	case p.State == contract.Lost:
		t.Error = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: p.Message}
	}
	return t, err
}

// taskID returns the ID of a task that caller may follow: the call's own ID, and a
// code for this owner and call, computed with the secret state key. Other owners
// cannot use this ID to find the task.
func (s *Server) taskID(id string, caller contract.Caller) (string, error) {
	mac, err := s.mac([]byte("task\n" + caller.Owner() + "\n" + id))
	if err != nil {
		return "", err
	}
	return id + "." + strings.ToLower(base32.StdEncoding.EncodeToString(mac[:10])), nil
}

// findTask returns the calls of a task that caller may follow, and the call's
// own ID.
func (s *Server) findTask(task string, caller contract.Caller) (contract.PendingCalls, string, error) {
	id, _, _ := strings.Cut(task, ".")
	want, err := s.taskID(id, caller)
	if err != nil {
		return nil, "", s.protocolError("check task", err)
	}
	if hmac.Equal([]byte(want), []byte(task)) {
		for _, calls := range s.current.Load().later {
			if strings.HasPrefix(id, calls.Kind) {
				return calls.Calls, id, nil
			}
		}
	}
	return nil, "", s.protocolError("find task", contract.NoCall())
}

// declaresTasks reports whether a request may be answered with a task.
func declaresTasks(version string, can *mcp.ClientCapabilities) bool {
	if version < modernVersion || can == nil {
		return false
	}
	_, declared := can.Extensions[tasksExtension]
	return declared
}

// needsTasks returns the error for a client that has not declared the extension.
func needsTasks() error {
	data, _ := json.Marshal(map[string]any{ // this always marshals
		"requiredCapabilities": map[string]any{"extensions": map[string]any{tasksExtension: struct{}{}}},
	})
	return &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Data: data,
		Message: "missing required client capability: declare the extension " + tasksExtension + " in clientCapabilities of this request"}
}

// announceTasks adds the extension to server/discover if there are tools with
// tasks.
func (s *Server) announceTasks(r *mcp.DiscoverResult) {
	if len(s.current.Load().later) == 0 || r.Capabilities == nil {
		return
	}
	can := *r.Capabilities
	can.Extensions = maps.Clone(can.Extensions)
	if can.Extensions == nil {
		can.Extensions = map[string]any{}
	}
	can.Extensions[tasksExtension] = struct{}{}
	r.Capabilities = &can
}
