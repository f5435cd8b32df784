package mcpserver

import (
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
)

// methods lists the methods that a client may send, in either era, and whether each
// is a call or a notification.
var methods = map[string]frameKind{
	"initialize":               call,
	"server/discover":          call,
	"ping":                     call,
	"tools/list":               call,
	"tools/call":               call,
	"prompts/list":             call,
	"prompts/get":              call,
	"resources/list":           call,
	"resources/templates/list": call,
	"resources/read":           call,
	"resources/subscribe":      call,
	"resources/unsubscribe":    call,
	"subscriptions/listen":     call,
	"completion/complete":      call,
	"logging/setLevel":         call,
	"tasks/get":                call,
	"tasks/update":             call,
	"tasks/cancel":             call,

	"notifications/initialized":        notification,
	"notifications/cancelled":          notification,
	"notifications/progress":           notification,
	"notifications/roots/list_changed": notification,
}

// bygone lists the methods that 2026-07-28 removed.
var bygone = map[string]bool{"initialize": true, "ping": true, "logging/setLevel": true, "resources/subscribe": true, "resources/unsubscribe": true}

// param is one member of a method's params, with the rules that are checked here.
// The SDK checks the rest, but its errors contain Go types.
type param struct {
	name     string
	want     byte // first byte of the JSON: '"' a string, '{' an object
	required bool
}

var methodParams = map[string][]param{
	"initialize":               {{"protocolVersion", '"', false}, {"capabilities", '{', false}, {"clientInfo", '{', false}},
	"tools/call":               {{"name", '"', true}, {"arguments", '{', false}},
	"prompts/get":              {{"name", '"', true}, {"arguments", '{', false}},
	"resources/read":           {{"uri", '"', true}},
	"resources/subscribe":      {{"uri", '"', true}},
	"resources/unsubscribe":    {{"uri", '"', true}},
	"subscriptions/listen":     {{"notifications", '{', true}},
	"completion/complete":      {{"ref", '{', true}, {"argument", '{', true}},
	"tools/list":               {{"cursor", '"', false}},
	"prompts/list":             {{"cursor", '"', false}},
	"resources/list":           {{"cursor", '"', false}},
	"resources/templates/list": {{"cursor", '"', false}},
	"logging/setLevel":         {{"level", '"', true}},
	"tasks/get":                {{"taskId", '"', true}},
	"tasks/update":             {{"taskId", '"', true}, {"inputResponses", '{', true}},
	"tasks/cancel":             {{"taskId", '"', true}},
}

// checkParams rejects params of the wrong shape. Null counts as absent.
func (f *frame) checkParams() *jsonrpc.Error {
	if string(f.params) == "null" {
		f.params = nil
	}
	if f.params == nil {
		if slices.ContainsFunc(methodParams[f.method], func(p param) bool { return p.required }) || f.method == "initialize" {
			return invalidParams("%s requires params", f.method)
		}
		return nil
	}
	if f.params[0] == '[' {
		return invalidParams("params must be an object")
	}
	if f.params[0] != '{' {
		return invalidRequest("params must be an object")
	}
	members, err := contract.Fields(f.params)
	if err != nil {
		return invalidParams("%s", fault.Of(err).Message)
	}
	f.members = members
	if refusal := f.checkMember(param{"_meta", '{', false}); refusal != nil {
		return refusal
	}
	for _, p := range methodParams[f.method] {
		if refusal := f.checkMember(p); refusal != nil {
			return refusal
		}
	}
	return f.carryTasks()
}

func (f *frame) checkMember(p param) *jsonrpc.Error {
	value := f.member(p.name)
	if value == nil && !p.required || value != nil && value[0] == p.want {
		return nil
	}
	return invalidParams("%s must be %s", p.name, map[byte]string{'"': "a string", '{': "an object"}[p.want])
}

// member returns one member of the frame's params, or nil if the member is missing
// or null.
func (f *frame) member(name string) json.RawMessage {
	i := slices.IndexFunc(f.members, func(m contract.Field) bool { return m.Name == name })
	if i < 0 || string(f.members[i].Value) == "null" {
		return nil
	}
	return f.members[i].Value
}
