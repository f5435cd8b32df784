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
