package mcpserver

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/clients"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
)

// visitor represents the client of a request about a task, which shows questions
// and returns answers. A PendingCalls asserts its methods from a contract.Caller's
// Client.
type visitor struct {
	caller    contract.Caller
	revision  string
	form, url bool // declared by the client
	replies   map[string]*mcp.ElicitResult
	requests  mcp.InputRequestMap // recorded by Put
	meta      map[string]any      // meta of the request
	key       string              // of the request, see calls
}

// visitorOf returns the client that requests a task. It fails if the client may not
// use tasks.
func (s *Server) visitorOf(req *mcp.ServerRequest[*taskParams], method string) (*visitor, error) {
	version, can := req.ProtocolVersion(), req.ClientCapabilities()
	if version < modernVersion {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found: \"" + method + "\""}
	}
	if !declaresTasks(version, can) {
		return nil, needsTasks()
	}
	caller := callerOf(req.ClientInfo())
	caller.Principal = s.calls.principal(keyOf(req.Extra))
	v := newVisitor(caller, version, can)
	if !s.mayAnswer(req) {
		v.form, v.url = false, false
	}
	v.meta, v.key = req.Params.Meta, keyOf(req.Extra)
	for key, raw := range req.Params.InputResponses {
		reply := new(mcp.ElicitResult)
		if json.Unmarshal(raw, reply) == nil {
			v.replies[key] = reply
		}
	}
	return v, nil
}

func newVisitor(caller contract.Caller, version string, can *mcp.ClientCapabilities) *visitor {
	v := &visitor{caller: caller, revision: version, replies: map[string]*mcp.ElicitResult{}, requests: mcp.InputRequestMap{}}
	v.form, v.url = canElicit(version, can)
	v.caller.Client = v
	return v
}

// canElicit reports what a client can show, according to its declared
// capabilities.
func canElicit(version string, can *mcp.ClientCapabilities) (form, url bool) {
	if can == nil || can.Elicitation == nil {
		return false, false
	}
	return can.Elicitation.Form != nil || can.Elicitation.URL == nil, can.Elicitation.URL != nil && version >= richElicitation
}

// CanShow reports whether the client has declared the capabilities to show r.
func (v *visitor) CanShow(r *elicit.Request) bool {
	return (&peer{form: v.form, url: v.url}).CanShow(r)
}

// Put records that the call is waiting for r, so the client shows it. A link that
// the client has already opened is not shown again: its page reports when it is
// done.
func (v *visitor) Put(r *elicit.Request) {
	for _, e := range elicitations(r, v.revision) {
		if e.params.Mode != "url" || !v.opened(r) {
			v.requests[e.key] = e.params
		}
	}
}

func (v *visitor) opened(r *elicit.Request) bool {
	for _, p := range r.Presented {
		if p.Channel == "client" && p.Client == v.caller.Name {
			return true
		}
	}
	return false
}

// Actions returns the user's actions on r. A link and its form may be answered
// separately.
func (v *visitor) Actions(r *elicit.Request) (actions []elicit.Action) {
	for _, e := range elicitations(r, v.revision) {
		if reply := v.replies[e.key]; reply != nil {
			actions = append(actions, actionsOn(r, v.revision, e, reply)...)
		}
	}
	return (&peer{caller: v.caller}).signed(actions)
}

// Unattended reports whether an answer may come from the client instead of a
// person. Some clients run without a user, decline by themselves, and do not
// report that. The server cannot know how long they showed a question.
func (v *visitor) Unattended(r *elicit.Request) bool {
	for _, e := range elicitations(r, v.revision) {
		if reply := v.replies[e.key]; reply != nil && reply.Action != "accept" {
			return clients.Of(v.caller.Name).Alone(v.meta)
		}
	}
	return false
}
