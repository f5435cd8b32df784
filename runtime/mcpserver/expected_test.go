package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
)

func TestErrorsThatTheProgramExpectsAreSaidInItsWords(t *testing.T) {
	full := errors.New("disk full")
	tool := func(name string, err error) contract.Tool {
		return contract.Define(contract.Spec{Name: name, Description: "Fails.", Input: noInput},
			func(context.Context, contract.Caller, struct{}) (contract.Result, error) {
				return contract.Result{}, err
			})
	}
	s := newServer(t, Options{Expected: func(err error) *fault.Fault {
		if errors.Is(err, full) {
			return fault.New("full", "there is no room left", "make room")
		}
		return nil
	}}, contract.Catalog{Tools: []contract.Tool{tool("full", fmt.Errorf("write: %w", full)), tool("broken", errors.New("a bug"))}})
	session := dials(t, s, mcp.ClientOptions{})
	saysIt(t, session, "full", map[string]any{}, "there is no room left. make room", true)
	saysIt(t, session, "broken", map[string]any{}, "internal error (id *", true)
}
