package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestASchemaHasWhatItsKindNeedsAndRefusesOtherFields(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "swagger.json")
	if err := os.WriteFile(file, []byte(`{"definitions": {
		"v1.Policy": {"properties": {"spec": {"$ref": "#/definitions/v1.Spec"}},
			"x-kubernetes-group-version-kind": [{"group": "networking.k8s.io", "kind": "NetworkPolicy", "version": "v1"}, {"group": "", "kind": "Secret", "version": "v1"}]},
		"v1.Spec": {"properties": {"port": {"$ref": "#/definitions/util.IntOrString"}, "labels": {"type": "object", "additionalProperties": {"type": "string"}}}},
		"util.IntOrString": {"type": "string", "format": "int-or-string"},
		"v1.Other": {"type": "string"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "schemas")
	if err := run(file, out); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"networkpolicy-networking-v1.json", "secret-v1.json"} {
		text, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		var schema struct {
			Ref         string            `json:"$ref"`
			Definitions map[string]object `json:"definitions"`
		}
		if err := json.Unmarshal(text, &schema); err != nil {
			t.Fatal(err)
		}
		spec := schema.Definitions["v1.Spec"]
		if schema.Ref != "#/definitions/v1.Policy" || len(schema.Definitions) != 3 || spec["additionalProperties"] != false {
			t.Errorf("%s is %s", name, text)
		}
		if types, _ := schema.Definitions["util.IntOrString"]["type"].([]any); len(types) != 2 {
			t.Errorf("a port is %v, want a text or a number", schema.Definitions["util.IntOrString"])
		}
	}
}
