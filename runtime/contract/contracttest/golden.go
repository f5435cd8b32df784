// Package contracttest compares the published definitions of tools with golden
// files. It is for tests.
package contracttest

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/goldentest"
)

// GoldenSchemas compares the input schemas of tools with
// testdata/TOOL.schema.json, and their output schemas, if published, with
// TOOL.output.json.
func GoldenSchemas(t testing.TB, tools []contract.Tool) {
	t.Helper()
	for _, one := range tools {
		goldenSchema(t, one.Name+".schema.json", one.Input)
		if one.Output != nil {
			goldenSchema(t, one.Name+".output.json", one.Output)
		}
	}
}

// Frozen returns the sorted names of the tools whose input schemas are golden files
// in the folder testdata.
func Frozen(testdata string) (names []string) {
	found, err := filepath.Glob(filepath.Join(testdata, "*.schema.json"))
	if err != nil || len(found) == 0 {
		panic("contracttest: no schemas in " + testdata)
	}
	for _, path := range found {
		names = append(names, strings.TrimSuffix(filepath.Base(path), ".schema.json"))
	}
	return names
}

func goldenSchema(t testing.TB, name string, schema json.RawMessage) {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, schema, "", "  "); err != nil {
		t.Fatal(err)
	}
	b.WriteByte('\n')
	goldentest.Compare(t, filepath.Join("testdata", name), b.String())
}
