package contracttest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/contract"
)

func TestCheckFindsWhatClientsStumbleOver(t *testing.T) {
	good := contract.Tool{Name: "find", Description: "Find it.", Input: json.RawMessage(`{"type":"object"}`),
		Call: func(context.Context, contract.Caller, json.RawMessage) (contract.Result, error) {
			return contract.Result{}, nil
		}}
	if err := Check(good); err != nil {
		t.Errorf("Check(find) = %v, want nil", err)
	}
	with := func(change func(*contract.Tool)) contract.Tool { tool := good; change(&tool); return tool }
	for want, tool := range map[string]contract.Tool{
		"the name does not fit": with(func(t *contract.Tool) { t.Name = "find docs" }),
		"no description":        with(func(t *contract.Tool) { t.Description = "" }),
		"no function":           with(func(t *contract.Tool) { t.Call = nil }),
		"oneOf at the root":     with(func(t *contract.Tool) { t.Input = json.RawMessage(`{"type":"object","oneOf":[{"type":"object"}]}`) }),
		"anyOf at the root":     with(func(t *contract.Tool) { t.Output = json.RawMessage(`{"type":"object","anyOf":[{"type":"object"}]}`) }),
		"input.a: no description": with(func(t *contract.Tool) {
			t.Input = json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)
		}),
		"input.a/items.b: no description": with(func(t *contract.Tool) {
			t.Input = json.RawMessage(`{"type":"object","properties":{"a":{"description":"x","type":"array","items":{"type":"object","properties":{"b":{}}}}}}`)
		}),
		"workspace_id: not a word of ours": with(func(t *contract.Tool) {
			t.Input = json.RawMessage(`{"type":"object","properties":{"workspace_id":{"description":"x"}}}`)
		}),
		"$ref": with(func(t *contract.Tool) {
			t.Input = json.RawMessage(`{"type":"object","$defs":{"d":{}},"properties":{"a":{"description":"x","$ref":"#/$defs/d"}}}`)
		}),
		"input schema": with(func(t *contract.Tool) { t.Input = json.RawMessage(`{"type":"array"}`) }),
	} {
		if err := Check(tool); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check = %v, want %q", err, want)
		}
	}
}
