package gateway

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/mcpserver"
	"github.com/deskhand/deskhand/runtime/store"
)

// badTools maps what is wrong with a tool to a tool that cannot be published.
var badTools = map[string]string{
	"type in another case":         `{"name":"s","inputSchema":{"type":"object","Type":"array"}}`,
	"type in another case, number": `{"name":"s","inputSchema":{"type":"object","Type":0}}`,
	"only in another case":         `{"name":"s","inputSchema":{"Type":"object"}}`,
	"a letter that folds":          `{"name":"s","inputSchema":{"type":"object","propertieſ":{"a":0}}}`,
	"type array":                   `{"name":"s","inputSchema":{"type":"array"}}`,
	"type a list":                  `{"name":"s","inputSchema":{"type":["object"]}}`,
	"type a number":                `{"name":"s","inputSchema":{"type":0}}`,
	"type null":                    `{"name":"s","inputSchema":{"type":null}}`,
	"true":                         `{"name":"s","inputSchema":true}`,
	"false":                        `{"name":"s","inputSchema":false}`,
	"no schema":                    `{"name":"s"}`,
	"a null schema":                `{"name":"s","inputSchema":null}`,
	"a text":                       `{"name":"s","inputSchema":"object"}`,
	"a list":                       `{"name":"s","inputSchema":[]}`,
	"too deep":                     `{"name":"s","inputSchema":{"type":"object","properties":` + strings.Repeat(`{"a":{"properties":`, 60) + `{}` + strings.Repeat(`}}`, 60) + `}}`,
	"no name":                      `{"name":"","inputSchema":{"type":"object"}}`,
	"no name at all":               `{"inputSchema":{"type":"object"}}`,
	"a reference to nothing":       `{"name":"s","inputSchema":{"type":"object","properties":{"a":{"$ref":"#/$defs/gone"}}}}`,
	"a reference that is a number": `{"name":"s","inputSchema":{"type":"object","properties":{"a":{"$ref":5}}}}`,
	"a property that is a number":  `{"name":"s","inputSchema":{"type":"object","properties":{"a":5}}}`,
	"properties that are a list":   `{"name":"s","inputSchema":{"type":"object","properties":[]}}`,
	"required that is a text":      `{"name":"s","inputSchema":{"type":"object","required":"a"}}`,
	"required of numbers":          `{"name":"s","inputSchema":{"type":"object","required":[1]}}`,
	"a broken pattern":             `{"name":"s","inputSchema":{"type":"object","properties":{"a":{"type":"string","pattern":"("}}}}`,
	"a pattern that is a number":   `{"name":"s","inputSchema":{"type":"object","properties":{"a":{"type":"string","pattern":1}}}}`,
	"an unknown type inside":       `{"name":"s","inputSchema":{"type":"object","properties":{"a":{"type":"text"}}}}`,
	"a negative length":            `{"name":"s","inputSchema":{"type":"object","properties":{"a":{"minLength":-1}}}}`,
	"a header that is none":        `{"name":"s","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"a b"}}}}`,
	"a header of an object":        `{"name":"s","inputSchema":{"type":"object","properties":{"a":{"type":"object","x-mcp-header":"A"}}}}`,
	"a header twice":               `{"name":"s","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}}`,
	"an output that is no schema":  `{"name":"s","inputSchema":{"type":"object"},"outputSchema":{"type":"object","Type":"array"}}`,
	"an output that is true":       `{"name":"s","inputSchema":{"type":"object"},"outputSchema":true}`,
	"a megabyte of description":    `{"name":"s","description":"` + strings.Repeat("x", contract.MaxDefinition) + `","inputSchema":{"type":"object"}}`,
}

// A tool that cannot be published is left out. The other tools, the server and its
// next start are not affected.
func TestAttackDoorsUpstreamTools(t *testing.T) {
	for what, bad := range badTools {
		for _, prefix := range []string{"", noPrefix} {
			t.Run(what+" "+prefix, func(t *testing.T) {
				t.Parallel()
				s := offers(t, bad+",")
				d, door := through(t, Upstream{Name: "up", URL: s.URL, Prefix: prefix})
				good := d.upstreams[0].named("good")
				d.tool(good)
				session := visit(t, door, "stdio", "2025-11-25", nil)
				if got := shownTools(t, session); !slices.Equal(got, []string{good}) {
					t.Errorf("a client is shown %q, want %s alone", got, good)
				}
				if got := says(t.Context(), session, good, "{}"); got != "done" {
					t.Errorf("the good tool says %s", got)
				}
				kept, _, err := d.vault.remembered(t.Context(), "up", "")
				if err != nil || len(kept.Tools) != 1 {
					t.Errorf("%d tools are remembered, %v; want the good one", len(kept.Tools), err)
				}
			})
		}
	}
}

// A store in which an earlier version has saved such a tool does not prevent the
// next start, whether or not the upstream is running.
func TestAttackDoorsUpstreamRemembered(t *testing.T) {
	for what, bad := range badTools {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			var tool struct{ Name, Description string }
			var schemas struct{ InputSchema, OutputSchema json.RawMessage }
			if json.Unmarshal([]byte(bad), &tool) != nil || json.Unmarshal([]byte(bad), &schemas) != nil {
				t.Fatal("the tool is no JSON")
			}
			row, err := json.Marshal(offered{Tools: []remote{
				{Name: tool.Name, Description: tool.Description, Input: schemas.InputSchema, Output: schemas.OutputSchema, Published: json.RawMessage(`{"name":"s","inputSchema":null}`)},
				{Name: "good", Input: json.RawMessage(`{"type":"object"}`), Published: json.RawMessage(`{"name":"good","inputSchema":null}`)},
			}})
			if err != nil {
				t.Fatal(err)
			}
			d, door := startedOver(t, string(row))
			if got := shownTools(t, visit(t, door, "stdio", "2025-11-25", nil)); !slices.Equal(got, []string{"up_good"}) {
				t.Errorf("a client is shown %q, want up_good alone\n%s", got, d.log)
			}
		})
	}
}

// startedOver returns a server with a store that contains this row for an upstream
// that is not running.
func startedOver(t *testing.T, row string) (*desk, *mcpserver.Server) {
	t.Helper()
	dir := t.TempDir()
	db, err := store.Open(t.Context(), dir, elicit.Schema(), Schema())
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(t.Context(), "INSERT INTO upstream_tools (upstream, principal, changed_at, data) VALUES ('up', '', 1, ?)", row)
		return err
	})
	db.Close()
	if err != nil {
		t.Fatal(err)
	}
	d := at(t, dir, nil, Upstream{Name: "up", URL: "http://127.0.0.1:1"})
	s, err := mcpserver.New(mcpserver.Options{Logger: slog.New(slog.NewTextHandler(d.log, nil))}, contract.Catalog{Tools: d.Tools(), Elsewhere: d.Elsewhere(none, none)})
	if err != nil {
		t.Fatalf("the server does not start: %v", err)
	}
	return d, s
}

// shownTools returns the names of the tools that a client sees.
func shownTools(t *testing.T, session *mcp.ClientSession) (all []string) {
	t.Helper()
	for one, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one.Name)
	}
	return all
}

// The same for prompts, resources and templates.
func TestAttackDoorsUpstreamEntries(t *testing.T) {
	for what, c := range map[string]struct{ list, bad, good string }{
		"prompt in another case":           {"prompts", `{"name":"p","Name":"up_good"}`, `{"name":"good"}`},
		"prompt in another case, a number": {"prompts", `{"name":"p","Name":5}`, `{"name":"good"}`},
		"prompt without a name":            {"prompts", `{"name":""}`, `{"name":"good"}`},
		"resource in another case":         {"resources", `{"uri":"x://1","name":"a","URI":5}`, `{"uri":"x://2","name":"b"}`},
		"resource that is no address":      {"resources", `{"uri":"no address","name":"a"}`, `{"uri":"x://2","name":"b"}`},
		"resource twice":                   {"resources", `{"uri":"x://2","name":"a"}`, `{"uri":"x://2","name":"b"}`},
		"resource under our scheme":        {"resources", `{"uri":"deskhand:up/x://2","name":"a"}`, `{"uri":"x://2","name":"b"}`},
		"template of everything":           {"resourceTemplates", `{"uriTemplate":"{+deskhand}","name":"a"}`, `{"uriTemplate":"x://{a}","name":"b"}`},
		"template that is broken":          {"resourceTemplates", `{"uriTemplate":"x://{","name":"a"}`, `{"uriTemplate":"x://{a}","name":"b"}`},
		"template under our scheme":        {"resourceTemplates", `{"uriTemplate":"deskhand:up/x://{a}","name":"a"}`, `{"uriTemplate":"x://{a}","name":"b"}`},
		"template in another case":         {"resourceTemplates", `{"uriTemplate":"y://{a}","name":"a","UriTemplate":0}`, `{"uriTemplate":"x://{a}","name":"b"}`},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			method := strings.Replace(c.list, "resourceTemplates", "resources/templates", 1) + "/list"
			s := newStranger(t, &stranger{lists: map[string]string{"tools/list": `{"tools":[` + oneGoodTool + `]}`,
				method: fmt.Sprintf(`{%q:[%s,%s]}`, c.list, c.bad, c.good)}})
			d, door := through(t, Upstream{Name: "up", URL: s.URL}, Upstream{Name: "down", URL: s.URL})
			d.tool("up_good")
			d.tool("down_good")
			session := visit(t, door, "stdio", "2025-11-25", nil)
			if got := shownTools(t, session); len(got) != 2 {
				t.Errorf("a client is shown the tools %q", got)
			}
			found := false
			for _, u := range d.upstreams {
				for _, e := range slices.Concat(u.Prompts, u.Resources, u.Templates) {
					found = found || strings.Contains(string(e.Published), strings.Trim(c.good, "{}"))
					if e.Key == "" || strings.Contains(string(e.Published), "Name\":5") {
						t.Errorf("%s is passed on", e.Published)
					}
				}
			}
			if !found && what != "resource twice" {
				t.Errorf("the good one is gone\n%s", d.log)
			}
		})
	}
}

// FuzzOfferedIsPublishable checks that the server accepts everything that the
// gateway offers, whatever an upstream offers, and starts.
func FuzzOfferedIsPublishable(f *testing.F) {
	for _, bad := range badTools {
		f.Add(bad, false)
		f.Add(bad, true)
	}
	f.Add(`{"name":"a","inputSchema":{"type":"object","properties":{"a":{"$ref":"#/properties/b"},"b":{"enum":[1]}}},"outputSchema":{"type":"array"}}`, false)
	f.Fuzz(func(t *testing.T, tool string, bare bool) {
		var r struct {
			Name, Title, Description  string
			InputSchema, OutputSchema json.RawMessage
		}
		if json.Unmarshal([]byte(tool), &r) != nil {
			return
		}
		one := Upstream{Name: "up", URL: "http://127.0.0.1:1"}
		if bare {
			one.Prefix = noPrefix
		}
		g, err := New(Options{Upstreams: []Upstream{one}})
		if err != nil {
			t.Fatal(err)
		}
		u := g.upstreams[0]
		u.know(u.fitting(offered{Tools: []remote{{Name: r.Name, Title: r.Title, Description: r.Description, Input: r.InputSchema, Output: r.OutputSchema, Published: json.RawMessage(tool)}}}))
		for _, t2 := range g.Tools() {
			if err := contract.Publishable(&t2); err != nil {
				t.Fatalf("%s is offered: %v", tool, err)
			}
			t2.Published = nil // so that the server fails instead of leaving the tool out
			if _, err := mcpserver.New(mcpserver.Options{}, contract.Catalog{Tools: []contract.Tool{t2}}); err != nil {
				t.Fatalf("%s is offered and cannot be published: %v", tool, err)
			}
		}
	})
}
