package mcpserver

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
)

// viewing is a catalog of a tool with a view, one that only the view calls, and
// the page.
func viewing() contract.Catalog {
	called := func(_ context.Context, caller contract.Caller, _ struct{}) (contract.Result, error) {
		text := map[bool]string{true: "called by a client with views", false: "called"}[caller.Views]
		return contract.Result{Text: []string{text}}, nil
	}
	ask := contract.Define(contract.Spec{Name: "ask", Description: "Asks.", Input: noInput}, called)
	ask.View = "ui://testdesk/ask"
	form := contract.Define(contract.Spec{Name: "form", Description: "The form.", Input: noInput}, called)
	form.OnlyViews = true
	quick := contract.Define(contract.Spec{Name: "quick_form", Description: "The form.", Input: noInput, ReadOnly: true}, called)
	quick.OnlyViews = true
	plain := contract.Define(contract.Spec{Name: "plain", Description: "Asks.", Input: noInput}, called)
	return contract.Catalog{Tools: []contract.Tool{ask, form, quick, plain}, Resources: []contract.Resource{
		{URI: "ui://testdesk/ask", Name: "ask", View: true, Read: func(context.Context) (string, error) { return "<!doctype html>", nil }},
		{URI: "docs:///a.md", Name: "a.md", MIMEType: "text/markdown", Read: func(context.Context) (string, error) { return "# A", nil }},
	}}
}

// viewsAs connects a client of each era that declares what it can do.
func viewsAs(t *testing.T, can *mcp.ClientCapabilities, test func(*testing.T, *mcp.ClientSession)) {
	s := newServer(t, Options{}, viewing())
	url := overHTTP(t, s)
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		connect := func(t *testing.T, over mcp.Transport) *mcp.ClientSession {
			session, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "7"}, &mcp.ClientOptions{Capabilities: can}).
				Connect(t.Context(), over, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { session.Close() })
			return session
		}
		t.Run("HTTP "+version, func(t *testing.T) {
			test(t, connect(t, &mcp.StreamableClientTransport{Endpoint: url, DisableStandaloneSSE: true, MaxRetries: -1}))
		})
		t.Run("stdio "+version, func(t *testing.T) {
			in, out, _ := overPipes(t, s)
			test(t, connect(t, &mcp.IOTransport{Reader: out, Writer: in}))
		})
	}
}

func extension(types ...any) *mcp.ClientCapabilities {
	return &mcp.ClientCapabilities{Extensions: map[string]any{viewExtension: map[string]any{"mimeTypes": types}}}
}

func TestAClientThatShowsViewsIsToldOfThem(t *testing.T) {
	viewsAs(t, extension("text/html;profile=mcp-app"), func(t *testing.T, session *mcp.ClientSession) {
		tools, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		metas := map[string]string{}
		for _, tool := range tools.Tools {
			raw, _ := json.Marshal(tool.Meta["ui"])
			metas[tool.Name] = string(raw)
		}
		for name, want := range map[string]string{"ask": `{"resourceUri":"ui://testdesk/ask"}`, "form": `{"visibility":["app"]}`,
			"quick_form": `{"visibility":["app"]}`, "plain": "null"} {
			if metas[name] != want {
				t.Errorf("_meta.ui of %s = %s, want %s", name, metas[name], want)
			}
		}
		resources, err := session.ListResources(t.Context(), nil)
		if err != nil || len(resources.Resources) != 2 {
			t.Errorf("ListResources = %v, %v; want both", resources, err)
		}
		read, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "ui://testdesk/ask"})
		if err != nil {
			t.Fatal(err)
		}
		page := read.Contents[0]
		meta, _ := json.Marshal(page.Meta)
		if want := `{"ui":{"csp":{"baseUriDomains":[],"connectDomains":[],"frameDomains":[],"resourceDomains":[]},"prefersBorder":false}}`; page.MIMEType != viewType || string(meta) != want {
			t.Errorf("the page is %s with %s, want %s with %s", page.MIMEType, meta, viewType, want)
		}
		for _, name := range []string{"form", "quick_form", "ask"} {
			saysIt(t, session, name, map[string]any{}, "called by a client with views", false)
		}
	})
}

// A client that says nothing, or that shows pages of another type, is served as
// if there were no views.
func TestAClientWithoutViewsNeverHearsOfThem(t *testing.T) {
	for name, can := range map[string]*mcp.ClientCapabilities{"nothing": {}, "another type": extension("text/vnd.other"),
		"no object": {Extensions: map[string]any{viewExtension: map[string]any{"mimeTypes": "text/html;profile=mcp-app"}}}} {
		t.Run(name, func(t *testing.T) {
			viewsAs(t, can, func(t *testing.T, session *mcp.ClientSession) {
				tools, err := session.ListTools(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				var names []string
				for _, tool := range tools.Tools {
					names = append(names, tool.Name)
					if tool.Meta != nil {
						t.Errorf("%s has _meta %v", tool.Name, tool.Meta)
					}
				}
				if want := []string{"ask", "plain"}; !slices.Equal(names, want) {
					t.Errorf("tools %v, want %v", names, want)
				}
				resources, err := session.ListResources(t.Context(), nil)
				if err != nil || len(resources.Resources) != 1 || resources.Resources[0].URI != "docs:///a.md" {
					t.Errorf("ListResources = %v, %v; want the document only", resources, err)
				}
				if _, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "ui://testdesk/ask"}); err == nil || !strings.Contains(err.Error(), "Resource not found") {
					t.Errorf("ReadResource of the page = %v, want that there is none", err)
				}
				for _, tool := range []string{"form", "quick_form"} {
					if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: map[string]any{}}); err == nil || !strings.Contains(err.Error(), "unknown tool") {
						t.Errorf("call %s = %v, want that there is none", tool, err)
					}
				}
				saysIt(t, session, "ask", map[string]any{}, "called", false)
			})
		})
	}
}
