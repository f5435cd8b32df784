package contract

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

func TestFreezeKeepsTheOrderOfProperties(t *testing.T) {
	build := func() string {
		return string(Freeze(Object([]string{"query"},
			Property{"query", &jsonschema.Schema{Type: "string", Description: "words"}},
			Property{"limit", &jsonschema.Schema{Type: "integer", Minimum: jsonschema.Ptr(1.0), Default: json.RawMessage("10")}},
			Property{"cursor", &jsonschema.Schema{Type: "string"}},
			Property{"b", &jsonschema.Schema{Type: "string", Enum: []any{"x", "Y"}}},
			Property{"a", &jsonschema.Schema{Type: "string"}},
		)))
	}
	want := `{"type":"object","properties":{"query":{"type":"string","description":"words"},` +
		`"limit":{"type":"integer","default":10,"minimum":1},"cursor":{"type":"string"},` +
		`"b":{"type":"string","enum":["x","Y"]},"a":{"type":"string"}},` +
		`"required":["query"],"additionalProperties":false}`
	for range 20 {
		if got := build(); got != want {
			t.Fatalf("Freeze = %s\nwant     %s", got, want)
		}
	}
}

func TestFreezePanicsOnAPropertyTwice(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Freeze took a property twice")
		}
	}()
	Freeze(Object(nil, Property{"a", &jsonschema.Schema{}}, Property{"a", &jsonschema.Schema{}}))
}

func TestCheckFindsWhatClientsStumbleOver(t *testing.T) {
	good := find(nil)
	if err := Check(good); err != nil {
		t.Errorf("Check(find) = %v, want nil", err)
	}
	with := func(change func(*Tool)) Tool { tool := good; change(&tool); return tool }
	for want, tool := range map[string]Tool{
		"the name does not fit": with(func(t *Tool) { t.Name = "find docs" }),
		"no description":        with(func(t *Tool) { t.Description = "" }),
		"no function":           with(func(t *Tool) { t.Call = nil }),
		"oneOf at the root":     with(func(t *Tool) { t.Input = json.RawMessage(`{"type":"object","oneOf":[{"type":"object"}]}`) }),
		"anyOf at the root":     with(func(t *Tool) { t.Output = json.RawMessage(`{"type":"object","anyOf":[{"type":"object"}]}`) }),
		"input.a: no description": with(func(t *Tool) {
			t.Input = json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)
		}),
		"input.a/items.b: no description": with(func(t *Tool) {
			t.Input = json.RawMessage(`{"type":"object","properties":{"a":{"description":"x","type":"array","items":{"type":"object","properties":{"b":{}}}}}}`)
		}),
		"workspace_id: not a word of ours": with(func(t *Tool) {
			t.Input = json.RawMessage(`{"type":"object","properties":{"workspace_id":{"description":"x"}}}`)
		}),
		"$ref": with(func(t *Tool) {
			t.Input = json.RawMessage(`{"type":"object","$defs":{"d":{}},"properties":{"a":{"description":"x","$ref":"#/$defs/d"}}}`)
		}),
		"input schema": with(func(t *Tool) { t.Input = json.RawMessage(`{"type":"array"}`) }),
	} {
		if err := Check(tool); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check = %v, want %q", err, want)
		}
	}
}

func TestValidName(t *testing.T) {
	for name, want := range map[string]bool{
		"search_docs": true, "A-9": true, strings.Repeat("a", 64): true,
		"": false, strings.Repeat("a", 65): false, "a.b": false, "a b": false, "ä": false, "a/b": false,
	} {
		if got := ValidName(name); got != want {
			t.Errorf("ValidName(%q) = %v, want %v", name, got, want)
		}
	}
}
