// Command kubeschema writes JSON schemas for kubeconform from the OpenAPI file of a
// Kubernetes release, one file for each kind. The schemas are strict: an object has no
// fields but its own. chart.sh runs it, so that the chart is checked with no network but
// Go's proxy, which has that file in the module k8s.io/kubernetes.
//
//	kubeschema swagger.json DIR
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const refPrefix = "#/definitions/"

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: kubeschema swagger.json DIR")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintf(os.Stderr, "kubeschema: %v\n", err)
		os.Exit(1)
	}
}

// object is one JSON object of a schema.
type object = map[string]any

func run(file, dir string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var spec struct {
		Definitions map[string]object `json:"definitions"`
	}
	if err := json.Unmarshal(data, &spec); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, one := range spec.Definitions {
		strict(one)
		if strings.HasSuffix(name, ".IntOrString") || strings.HasSuffix(name, ".Quantity") {
			one["type"] = []string{"string", "number"} // "80%" and 80, "1Gi" and 1
			delete(one, "format")
		}
	}
	for name, one := range spec.Definitions {
		kinds, _ := one["x-kubernetes-group-version-kind"].([]any)
		for _, kind := range kinds {
			gvk, _ := kind.(object)
			needed := map[string]object{}
			collect(spec.Definitions, object{"$ref": refPrefix + name}, needed)
			text, err := json.Marshal(object{"$ref": refPrefix + name, "definitions": needed})
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, fileOf(gvk)), text, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// fileOf returns the name under which kubeconform looks for the schema of a kind.
func fileOf(gvk object) string {
	text := func(key string) string { s, _ := gvk[key].(string); return strings.ToLower(s) }
	group, _, _ := strings.Cut(text("group"), ".")
	if group != "" {
		group += "-"
	}
	return text("kind") + "-" + group + text("version") + ".json"
}

// strict refuses unknown fields in every object of a schema.
func strict(v any) {
	switch v := v.(type) {
	case object:
		if _, has := v["properties"].(object); has && v["additionalProperties"] == nil {
			v["additionalProperties"] = false
		}
		for _, child := range v {
			strict(child)
		}
	case []any:
		for _, child := range v {
			strict(child)
		}
	}
}

// collect adds the definitions that v refers to, directly or not.
func collect(all map[string]object, v any, needed map[string]object) {
	switch v := v.(type) {
	case object:
		ref, _ := v["$ref"].(string)
		if name, ok := strings.CutPrefix(ref, refPrefix); ok && needed[name] == nil && all[name] != nil {
			needed[name] = all[name]
			collect(all, all[name], needed)
		}
		for _, child := range v {
			collect(all, child, needed)
		}
	case []any:
		for _, child := range v {
			collect(all, child, needed)
		}
	}
}
