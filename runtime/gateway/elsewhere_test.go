package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// withShelf gives an upstream prompts, resources, a template, completions and
// links.
func withShelf(s *upstreamServer, name string) {
	s.AddPrompt(&mcp.Prompt{Name: "greet.me", Title: "Greet", Arguments: []*mcp.PromptArgument{{Name: "who", Required: true}, {Name: "how"}}},
		func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Description: "greets", Messages: []*mcp.PromptMessage{
				{Role: "user", Content: &mcp.TextContent{Text: name + " greets " + r.Params.Arguments["who"]}},
				{Role: "assistant", Content: &mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"}},
				{Role: "user", Content: &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "demo://page/1", Text: "page"}}},
			}}, nil
		})
	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		s.count("read")
		switch {
		case strings.HasSuffix(r.Params.URI, "gone"):
			return nil, mcp.ResourceNotFoundError(r.Params.URI)
		case strings.HasSuffix(r.Params.URI, "blob"):
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: "image/png", Blob: []byte(name)}}}, nil
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: "text/plain", Text: name + " has " + r.Params.URI}}}, nil
	}
	s.AddResource(&mcp.Resource{URI: "demo://page/1", Name: "page", Title: "Page", MIMEType: "text/plain", Size: 3}, read)
	s.AddResource(&mcp.Resource{URI: "demo://" + name, Name: name}, read)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "demo://item/{id}", Name: "item"}, read)
	s.AddTool(&mcp.Tool{Name: "link", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.ResourceLink{URI: "demo://page/1", Name: "listed"},
			&mcp.ResourceLink{URI: "demo://item/7", Name: "of a template"},
			&mcp.ResourceLink{URI: "other://" + name + "/unlisted", Name: "in no list"},
		}}, nil
	})
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if r, ok := req.(*mcp.ReadResourceRequest); ok && strings.HasPrefix(r.Params.URI, "other://") {
				return read(ctx, r)
			}
			return next(ctx, method, req)
		}
	})
}

// shelved starts an upstream that has more than tools.
func shelved(t *testing.T, name string, stateless bool) (*upstreamServer, string) {
	t.Helper()
	double := newDouble(&mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true},
			Prompts: &mcp.PromptCapabilities{ListChanged: true}, Resources: &mcp.ResourceCapabilities{ListChanged: true, Subscribe: true}},
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		CompletionHandler: func(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			others := ""
			if r.Params.Context != nil {
				others = r.Params.Context.Arguments["how"]
			}
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Total: 1, Values: []string{
				strings.Join([]string{name, r.Params.Ref.Name + r.Params.Ref.URI, r.Params.Argument.Name, r.Params.Argument.Value, others}, "|")}}}, nil
		},
	})
	withShelf(double, name)
	server := httptest.NewServer(double.handler(stateless))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return double, server.URL
}

// eachShelf runs a test with such an upstream of each era.
func eachShelf(t *testing.T, test func(t *testing.T, double *upstreamServer, url string)) {
	for era, stateless := range map[string]bool{"legacy": false, "modern": true} {
		t.Run(era, func(t *testing.T) {
			double, url := shelved(t, "one", stateless)
			test(t, double, url)
		})
	}
}

func none(string) bool { return false }

// shelves returns what clients see when key is listed.
func (d *desk) shelves(key string) *contract.Elsewhere {
	d.t.Helper()
	var all *contract.Elsewhere
	waittest.Until(d.t, key+" is there", func() (bool, any) {
		all = d.Elsewhere(none, none)
		seen := keys(all.Prompts, all.Resources, all.Templates)
		return strings.Contains(strings.Join(seen, " ")+" ", key+" "), seen
	})
	return all
}

func keys(lists ...[]contract.Entry) (all []string) {
	for _, list := range lists {
		for _, e := range list {
			all = append(all, e.Key)
		}
	}
	return all
}

func TestPromptsOfAnUpstreamPassThrough(t *testing.T) {
	eachShelf(t, func(t *testing.T, _ *upstreamServer, url string) {
		d := at(t, t.TempDir(), nil, Upstream{Name: "linear", URL: url})
		all := d.shelves("linear_greet_me")
		if got := string(all.Prompts[0].Published); !strings.Contains(got, `"name":"linear_greet_me"`) || !strings.Contains(got, `"title":"Greet"`) || !strings.Contains(got, `"required":true`) {
			t.Errorf("prompt = %s, want it as the upstream has it under the prefix", got)
		}
		raw, err := all.Prompt(t.Context(), contract.Caller{}, "linear_greet_me", map[string]string{"who": "Ada"})
		for _, want := range []string{`"description":"greets"`, `one greets Ada`, `"mimeType":"image/png"`, `"type":"resource"`, `"uri":"demo://page/1"`} {
			if err != nil || !strings.Contains(string(raw), want) {
				t.Errorf("prompts/get = %s, %v; want %s in it", raw, err, want)
			}
		}
		d = at(t, t.TempDir(), nil, Upstream{Name: "linear", URL: url, Deny: []string{"greet*"}})
		d.shelves("demo://page/1")
		if all := d.Elsewhere(none, none); len(all.Prompts) != 0 {
			t.Errorf("prompts = %v, want none: they are denied", keys(all.Prompts))
		}
	})
}

func TestResourcesAndLinksOfAnUpstreamCanBeRead(t *testing.T) {
	eachShelf(t, func(t *testing.T, double *upstreamServer, url string) {
		d := at(t, t.TempDir(), nil, Upstream{Name: "linear", URL: url})
		all := d.shelves("demo://page/1")
		if got := keys(all.Templates); len(got) != 1 || got[0] != "demo://item/{id}" {
			t.Errorf("templates = %v, want the one of the upstream as it is", got)
		}
		text := d.now("linear_link", `{}`).result.Content
		for uri, want := range map[string]string{
			"demo://page/1": "one has demo://page/1", "demo://item/7": "one has demo://item/7",
			"other://one/unlisted": "one has other://one/unlisted", "demo://item/blob": `"blob":"b25l"`,
		} {
			if !strings.HasSuffix(uri, "blob") && !strings.Contains(string(text), `"uri":"`+uri+`"`) {
				t.Errorf("links = %s, want %s as it is", text, uri)
			}
			raw, err := all.Read(t.Context(), contract.Caller{}, uri)
			if err != nil || !strings.Contains(string(raw), want) || !strings.Contains(string(raw), `"uri":"`+uri+`"`) {
				t.Errorf("read of %s = %s, %v; want %s", uri, raw, err, want)
			}
		}
		if raw, err := all.Read(t.Context(), contract.Caller{}, "demo://item/gone"); err == nil && raw != nil {
			t.Errorf("read of what is not there = %s, want that it is not", raw)
		}
		double.AddResource(&mcp.Resource{URI: "demo://new", Name: "new"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: "new"}}}, nil
		})
		d.shelves("demo://new")
	})
}

func TestSameURIOfTwoUpstreamsLeadsToEach(t *testing.T) {
	_, first := shelved(t, "one", true)
	_, second := shelved(t, "two", false)
	d := at(t, t.TempDir(), nil, Upstream{Name: "alpha", URL: first}, Upstream{Name: "beta", URL: second})
	d.shelves("demo://one")
	d.shelves("demo://two")
	all := d.shelves("deskhand:beta/demo://page/1")
	for uri, want := range map[string]string{
		"demo://page/1": "one has demo://page/1", "deskhand:beta/demo://page/1": "two has demo://page/1",
		"demo://item/7": "one has demo://item/7", "deskhand:beta/demo://item/7": "two has demo://item/7",
		"demo://two": "two has demo://two",
	} {
		raw, err := all.Read(t.Context(), contract.Caller{}, uri)
		if err != nil || !strings.Contains(string(raw), want) || !strings.Contains(string(raw), `"uri":"`+uri+`"`) {
			t.Errorf("read of %s = %s, %v; want %s", uri, raw, err, want)
		}
	}
	links := string(d.now("beta_link", `{}`).result.Content)
	for _, want := range []string{`"deskhand:beta/demo://page/1"`, `"deskhand:beta/demo://item/7"`, `"other://two/unlisted"`} {
		if !strings.Contains(links, want) {
			t.Errorf("links of the second = %s, want %s", links, want)
		}
	}
	if raw, err := all.Read(t.Context(), contract.Caller{}, "nobody://has/this"); raw != nil || err != nil {
		t.Errorf("read of what neither has = %s, %v; want nothing", raw, err)
	}
	raw, err := all.Prompt(t.Context(), contract.Caller{}, "beta_greet_me", map[string]string{"who": "Ada"})
	if err != nil || !strings.Contains(string(raw), "two greets Ada") || !strings.Contains(string(raw), `"uri":"deskhand:beta/demo://page/1"`) {
		t.Errorf("prompt of the second = %s, %v; want its own link", raw, err)
	}
	own := d.Elsewhere(func(name string) bool { return name == "alpha_greet_me" }, func(uri string) bool { return uri == "demo://page/1" })
	if got := strings.Join(keys(own.Prompts, own.Resources), " "); strings.Contains(got, "alpha_greet_me") || !strings.Contains(got, "deskhand:alpha/demo://page/1") {
		t.Errorf("beside what this server has itself: %s", got)
	}
}

func TestCompletionsOfAnUpstreamPassThrough(t *testing.T) {
	eachShelf(t, func(t *testing.T, _ *upstreamServer, url string) {
		d := at(t, t.TempDir(), nil, Upstream{Name: "linear", URL: url})
		all := d.shelves("linear_greet_me")
		for want, c := range map[string]contract.Completing{
			"one|greet.me|who|A|loud":    {Prompt: "linear_greet_me", Argument: "who", Value: "A", Others: map[string]string{"how": "loud"}},
			"one|demo://item/{id}|id|1|": {Template: "demo://item/{id}", Argument: "id", Value: "1"},
		} {
			if raw, err := all.Complete(t.Context(), contract.Caller{}, c); err != nil || !strings.Contains(string(raw), `"`+want+`"`) {
				t.Errorf("Complete(%+v) = %s, %v; want %s", c, raw, err, want)
			}
		}
		if raw, err := all.Complete(t.Context(), contract.Caller{}, contract.Completing{Prompt: "nobody", Argument: "a"}); raw != nil || err != nil {
			t.Errorf("Complete of no prompt = %s, %v; want nothing", raw, err)
		}
	})
}

func TestResourcesAreLeftOutIfSoConfigured(t *testing.T) {
	_, url := shelved(t, "one", true)
	d := at(t, t.TempDir(), nil, Upstream{Name: "linear", URL: url, NoResources: true})
	all := d.shelves("linear_greet_me")
	if len(all.Resources) != 0 || len(all.Templates) != 0 {
		t.Errorf("resources = %v, want none", keys(all.Resources, all.Templates))
	}
	for _, uri := range []string{"demo://page/1", "deskhand:linear/demo://page/1"} {
		if raw, err := all.Read(t.Context(), contract.Caller{}, uri); raw != nil || err != nil {
			t.Errorf("read of %s = %s, %v; want nothing", uri, raw, err)
		}
	}
}

func TestChangesOfResourcesAreTold(t *testing.T) {
	eachShelf(t, func(t *testing.T, double *upstreamServer, url string) {
		d := at(t, t.TempDir(), nil, Upstream{Name: "linear", URL: url})
		all := d.shelves("demo://page/1")
		told := make(chan struct{}, 100)
		stop, err := all.Watch(t.Context(), contract.Caller{}, "demo://page/1", func() { told <- struct{}{} })
		if err != nil || stop == nil {
			t.Fatalf("Watch = %v", err)
		}
		waittest.Until(t, "somebody is told of the change", func() (bool, any) {
			if err := double.ResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotificationParams{URI: "demo://page/1"}); err != nil {
				t.Error(err)
			}
			return len(told) > 0, nil
		})
		stop()
		if left := d.upstreams[0].watchers.uris(); len(left) != 0 {
			t.Errorf("watched after the end: %v", left)
		}
	})
}

func TestReadWaitsForTheCredentialLikeACall(t *testing.T) {
	g := newGuard(t)
	withShelf(g.upstream, "one")
	g.onlyCalls = true
	g.guards = []string{"resources/read", "prompts/get"}
	d := at(t, t.TempDir(), nil, userScoped(g))
	all := d.shelves("demo://page/1")
	read := make(chan string, 1)
	go func() {
		raw, err := all.Read(t.Context(), contract.Caller{Name: "agent"}, "demo://page/1")
		read <- fmt.Sprintf("%s %v", raw, err)
	}()
	r := d.asked()
	if r.Trigger != elicit.CredentialRequired || r.Context.ToolName != "demo://page/1" {
		t.Errorf("request = %+v, want it to connect, for the resource", r)
	}
	if n := g.upstream.called("read"); n != 0 {
		t.Errorf("the upstream was read from %d times before somebody connected", n)
	}
	newBrowser(t).press(r.URL, "connect")
	if got := <-read; !strings.Contains(got, "one has demo://page/1") {
		t.Errorf("read = %s", got)
	}
	raw, err := all.Prompt(t.Context(), contract.Caller{}, "linear_greet_me", map[string]string{"who": "Ada"})
	if err != nil || !strings.Contains(string(raw), "greets Ada") {
		t.Errorf("prompt = %s, %v", raw, err)
	}
	ended := make(chan error, 1)
	if _, err := d.Disconnect(t.Context(), "linear"); err != nil {
		t.Fatal(err)
	}
	go func() { _, err := all.Read(t.Context(), contract.Caller{}, "demo://page/1"); ended <- err }()
	d.answer(d.asked().ID, elicit.Decline)
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "Authentication required but not provided.") {
		t.Errorf("read that nobody connects for = %v", err)
	}
}

func TestShelfIsRememberedAndOldMemoryIsRead(t *testing.T) {
	_, url := shelved(t, "one", true)
	dir := t.TempDir()
	d := at(t, dir, nil, Upstream{Name: "linear", URL: url})
	d.shelves("demo://page/1")
	d.end()
	d = at(t, dir, nil, Upstream{Name: "linear", URL: "http://127.0.0.1:1"})
	if all := d.Elsewhere(none, none); len(all.Prompts) != 1 || len(all.Resources) != 2 || len(all.Templates) != 1 {
		t.Errorf("remembered = %v", keys(all.Prompts, all.Resources, all.Templates))
	}
	if o, err := decodeOffered([]byte(`[{"name":"a","input":{},"published":{}}]`)); err != nil || len(o.Tools) != 1 {
		t.Errorf("decodeOffered of a list = %+v, %v; want its tool", o, err)
	}
}
