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

// The extension io.modelcontextprotocol/tasks (SEP-2663, protocol 2026-07-28):
// a client that declares it on a call of a tool with a contract.Later gets a
// task instead of a held call. The server keeps nothing of a task: tasks/get,
// tasks/update and tasks/cancel pass its ID to the tool's PendingCalls, which has it
// in the store, so any server over the same store answers them.

// tasksExtension names the extension in capabilities.
const tasksExtension = "io.modelcontextprotocol/tasks"

// taskParams are those of the three methods.
type taskParams struct {
	mcp.ParamsBase
	TaskID         string                     `json:"taskId"`
	InputResponses map[string]json.RawMessage `json:"inputResponses,omitempty"`
}

// taskResult is a Task as it is created (resultType task), and with what its
// status adds to it as tasks/get returns it (resultType complete).
type taskResult struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
	taskFields
	delivered func(ok bool) // if not nil, wants to know whether the client has the result
}

type taskFields struct {
	TaskID        string              `json:"taskId"`
	Status        string              `json:"status"`
	StatusMessage string              `json:"statusMessage,omitempty"`
	CreatedAt     elicit.Time         `json:"createdAt"`
	LastUpdatedAt elicit.Time         `json:"lastUpdatedAt"`
	TTL           *int64              `json:"ttlMs"` // milliseconds; null: forever
	Poll          int64               `json:"pollIntervalMs,omitempty"`
	InputRequests mcp.InputRequestMap `json:"inputRequests,omitempty"`
	Result        *inlined            `json:"result,omitempty"`
	Error         *jsonrpc.Error      `json:"error,omitempty"`
}

// inlined is the result of a call as the call would have returned it.
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

// ack is the answer of tasks/update and tasks/cancel.
type ack struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
}

// taskMethods are those of the extension. No version before 2026-07-28 has them.
var taskMethods = map[string]func(*Server, context.Context, *visitor, contract.PendingCalls, string) (mcp.Result, error){
	"tasks/get":    (*Server).getTask,
	"tasks/update": (*Server).updateTask,
	"tasks/cancel": (*Server).cancelTask,
}

// serveTasks lets the SDK take the methods. The middleware answers them
// (serveTask): it gets all of a request, and a function registered here does not.
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

// startLater begins a call as a task if its client may get one and the tool
// can, and reports whether it did. Otherwise the tool is called as ever.
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
		return nil, false, nil // the second half of a call that began without a task
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

// taskKey is where a task travels through the SDK, in a result that has nothing
// else.
const taskKey = "deskhand/task"

// created takes the task out of a result that startLater made.
func created(r *mcp.CallToolResult) mcp.Result {
	if t, ok := r.Meta[taskKey].(*taskResult); ok {
		return t
	}
	return r
}

// task is what all states of a task have.
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

// detailed adds what the status has. A question that the client can show makes
// a task that works one that needs input.
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

// taskID makes the ID of a task that caller may follow: the call's own ID, and
// a code that nobody can make for another owner or another call. Who has
// neither the ID nor the owner's name cannot find the task.
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

// needsTasks is the error for a client that has not declared the extension.
func needsTasks() error {
	data, _ := json.Marshal(map[string]any{ // which always marshals
		"requiredCapabilities": map[string]any{"extensions": map[string]any{tasksExtension: struct{}{}}},
	})
	return &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Data: data,
		Message: "missing required client capability: declare the extension " + tasksExtension + " in clientCapabilities of this request"}
}

// announceTasks says in server/discover that there are tools with tasks.
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
