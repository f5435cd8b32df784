package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An upstream of version 2026-07-28 asks by ending a call with its questions. Then
// deskhand repeats the call with the replies. The SDK can do this too, but only
// with one list of roots for all calls.

// maxRounds is how many times an upstream may ask in one call. It is the SDK's
// limit.
const maxRounds = 10

// rounds repeats calls as long as the upstream asks for input.
func (u *upstream) rounds(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		for range maxRounds {
			result, err := next(ctx, method, req)
			if err != nil {
				return nil, err
			}
			asks, state := inputOf(result)
			if asks == nil {
				return result, nil
			}
			replies, err := u.fulfil(ctx, asks)
			if err != nil {
				return nil, err
			}
			if req = withReplies(req, replies, state); req == nil {
				return result, nil
			}
		}
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf("it requested further input more than %d times in one call", maxRounds-1)}
	}
}

// inputOf returns the input that a result asks for, or nil if it asks for none.
func inputOf(result mcp.Result) (mcp.InputRequestMap, string) {
	switch r := result.(type) {
	case *mcp.CallToolResult:
		return r.InputRequests, r.RequestState
	case *mcp.GetPromptResult:
		return r.InputRequests, r.RequestState
	case *mcp.ReadResourceResult:
		return r.InputRequests, r.RequestState
	}
	return nil, ""
}

// withReplies returns a copy of a request with replies, or nil if it accepts none.
func withReplies(req mcp.Request, replies mcp.InputResponseMap, state string) mcp.Request {
	session, ok := req.GetSession().(*mcp.ClientSession)
	var params mcp.Params
	switch p := req.GetParams().(type) {
	case *mcp.CallToolParams:
		again := *p
		again.InputResponses, again.RequestState = replies, state
		params = &again
	case *mcp.GetPromptParams:
		again := *p
		again.InputResponses, again.RequestState = replies, state
		params = &again
	case *mcp.ReadResourceParams:
		again := *p
		again.InputResponses, again.RequestState = replies, state
		params = &again
	}
	if !ok || params == nil {
		return nil
	}
	return &mcp.ClientRequest[mcp.Params]{Session: session, Params: params}
}

// fulfil answers all of an upstream's questions concurrently.
func (u *upstream) fulfil(ctx context.Context, asks mcp.InputRequestMap) (mcp.InputResponseMap, error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	var failed error
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	replies := mcp.InputResponseMap{}
	for key, one := range asks {
		all.Go(func() {
			reply, err := u.reply(ctx, one)
			mu.Lock()
			defer mu.Unlock()
			if replies[key] = reply; err != nil && failed == nil {
				failed = err
				cancel()
			}
		})
	}
	all.Wait()
	if failed != nil {
		return nil, failed
	}
	return replies, nil
}

func (u *upstream) reply(ctx context.Context, one mcp.InputRequest) (mcp.InputResponse, error) {
	p, ok := one.(*mcp.ElicitParams)
	if !ok {
		return u.lend(ctx, one)
	}
	result, err := u.elicited(ctx, &mcp.ElicitRequest{Params: p})
	if err == nil && result.Action == "accept" && p.Mode != "url" {
		err = u.addDefaults(result, p.RequestedSchema)
	}
	return result, err
}

// addDefaults sets form fields that the person left empty to their defaults.
func (u *upstream) addDefaults(result *mcp.ElicitResult, schema any) error {
	raw, err := u.rawCache.of(schema)
	if err != nil {
		return err
	}
	var form struct {
		Properties map[string]struct{ Default any }
	}
	if json.Unmarshal(raw, &form) != nil {
		return nil // asRequest has already read it
	}
	for name, p := range form.Properties {
		if _, given := result.Content[name]; p.Default != nil && !given {
			if result.Content == nil {
				result.Content = map[string]any{}
			}
			result.Content[name] = p.Default
		}
	}
	return nil
}
