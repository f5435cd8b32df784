package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// abroad is a catalog with prompts and resources of another server, and what
// tells of their changes.
func abroad(changed *func()) contract.Catalog {
	c := newDesk().catalog()
	c.Elsewhere = &contract.Elsewhere{
		Prompts:   []contract.Entry{{Key: "up_greet", Published: json.RawMessage(`{"name":"up_greet","arguments":[{"name":"who","required":false}],"x-kept":1}`)}},
		Resources: []contract.Entry{{Key: "demo://a", Published: json.RawMessage(`{"uri":"demo://a","name":"a","x-kept":1}`)}},
		Templates: []contract.Entry{{Key: "demo://item/{id}", Published: json.RawMessage(`{"uriTemplate":"demo://item/{id}","name":"item","x-kept":1}`)}},
		Prompt: func(_ context.Context, _ contract.Caller, name string, args map[string]string) (json.RawMessage, error) {
			if args["who"] == "nobody" {
				return nil, fault.New("not_connected", "Nobody is connected.", "Connect first.")
			}
			return json.RawMessage(`{"messages":[{"role":"user","content":{"type":"image","data":"eA==","mimeType":"image/png"}},{"role":"user","content":{"type":"text","text":"` + name + " " + args["who"] + `"}}]}`), nil
		},
		Read: func(_ context.Context, _ contract.Caller, uri string) (json.RawMessage, error) {
			switch uri {
			case "demo://none":
				return nil, nil
			case "demo://broken":
				return nil, errors.New("secret path")
			}
			return json.RawMessage(`{"contents":[{"uri":"` + uri + `","blob":"eA=="}]}`), nil
		},
		Complete: func(_ context.Context, _ contract.Caller, c contract.Completing) (json.RawMessage, error) {
			if c.Prompt == "unknown" {
				return nil, nil
			}
			return json.RawMessage(`{"completion":{"values":["` + c.Value + `!"],"hasMore":false}}`), nil
		},
		Watch: func(_ context.Context, _ contract.Caller, uri string, told func()) (func(), error) {
			*changed = told
			return func() {}, nil
		},
	}
	return c
}

func TestPromptsAndResourcesOfOtherServersAreServed(t *testing.T) {
	var changed func()
	s := newServer(t, Options{Watches: true}, abroad(&changed))
	bothEras(t, s, func(t *testing.T, session *mcp.ClientSession) {
		ctx := t.Context()
		prompts, err := session.ListPrompts(ctx, nil)
		if err != nil || len(prompts.Prompts) != 2 || prompts.Prompts[1].Name != "up_greet" {
			t.Errorf("prompts = %+v, %v; want our own and the other's", prompts, err)
		}
		resources, err := session.ListResources(ctx, nil)
		if err != nil || len(resources.Resources) != 3 {
			t.Errorf("resources = %+v, %v; want our own and the other's", resources, err)
		}
		templates, err := session.ListResourceTemplates(ctx, nil)
		if err != nil || len(templates.ResourceTemplates) != 1 {
			t.Errorf("templates = %+v, %v; want the one", templates, err)
		}
		got, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "up_greet", Arguments: map[string]string{"who": "Ada"}})
		if err != nil || len(got.Messages) != 2 || string(got.Messages[0].Content.(*mcp.ImageContent).Data) != "x" || got.Messages[1].Content.(*mcp.TextContent).Text != "up_greet Ada" {
			t.Errorf("prompts/get = %+v, %v; want image and text", got, err)
		}
		for _, uri := range []string{"demo://a", "demo://item/1", "other://linked"} {
			read, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
			if err != nil || len(read.Contents) != 1 || string(read.Contents[0].Blob) != "x" || read.Contents[0].URI != uri {
				t.Errorf("read of %s = %+v, %v", uri, read, err)
			}
		}
		wantRPC(t, "read of nothing", codeOf(notFound(&mcp.ReadResourceParams{Meta: eraMeta(session)})), "Resource not found: demo://none", func() error {
			_, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "demo://none"})
			return err
		})
		if _, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "demo://broken"}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("read that fails inside = %v, want an error without its inside", err)
		}
		if _, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "up_greet", Arguments: map[string]string{"who": "nobody"}}); err == nil || !strings.Contains(err.Error(), "Nobody is connected. Connect first.") {
			t.Errorf("prompt that is refused = %v, want the words of the fault", err)
		}
		done, err := session.Complete(ctx, &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "up_greet"}, Argument: mcp.CompleteParamsArgument{Name: "who", Value: "A"}})
		if err != nil || len(done.Completion.Values) != 1 || done.Completion.Values[0] != "A!" {
			t.Errorf("completion = %+v, %v", done, err)
		}
		if _, err := session.Complete(ctx, &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "unknown"}, Argument: mcp.CompleteParamsArgument{Name: "a"}}); err == nil {
			t.Error("completion of an unknown prompt has an answer")
		}
	})
}

func eraMeta(session *mcp.ClientSession) mcp.Meta {
	if session.InitializeResult().ProtocolVersion < modernVersion {
		return nil
	}
	return mcp.Meta{mcp.MetaKeyProtocolVersion: modernVersion}
}

// What the SDK does not know, and what says false, stays in the lists.
func TestEntriesOfOtherServersKeepTheirBytes(t *testing.T) {
	var changed func()
	for era, c := range map[string]struct{ first, meta string }{
		"legacy": {`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, ""},
		"modern": {"", `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`},
	} {
		t.Run(era, func(t *testing.T) {
			in, out, _ := overPipes(t, newServer(t, Options{}, abroad(&changed)))
			lines := bufio.NewScanner(out)
			lines.Buffer(nil, 1<<20)
			ask := func(line string) string {
				fmt.Fprintln(in, line)
				lines.Scan()
				return lines.Text()
			}
			if c.first != "" {
				if got := ask(c.first); !strings.Contains(got, `"completions":{}`) {
					t.Errorf("initialize = %s, want completions", got)
				}
				fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			}
			for method, want := range map[string]string{
				"prompts/list":             `{"name":"up_greet","arguments":[{"name":"who","required":false}],"x-kept":1}`,
				"resources/list":           `{"uri":"demo://a","name":"a","x-kept":1}`,
				"resources/templates/list": `"resourceTemplates":[{"uriTemplate":"demo://item/{id}","name":"item","x-kept":1}]`,
			} {
				got := ask(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + c.meta + `}}`)
				if !strings.Contains(got, want) || strings.Contains(got, anyURI) || (era == "modern") != strings.Contains(got, `"resultType":"complete"`) {
					t.Errorf("%s = %s, want %s", method, got, want)
				}
			}
			meta := c.meta
			if meta != "" {
				meta = "," + meta
			}
			got := ask(`{"jsonrpc":"2.0","id":2,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"up_greet"},"argument":{"name":"who","value":"A"}` + meta + `}}`)
			if !strings.Contains(got, `"completion":{"values":["A!"],"hasMore":false}`) {
				t.Errorf("completion = %s", got)
			}
		})
	}
}

func TestCatalogWithoutOtherServersHasNoCompletions(t *testing.T) {
	bothEras(t, newServer(t, Options{}, newDesk().catalog()), func(t *testing.T, session *mcp.ClientSession) {
		if c := session.InitializeResult().Capabilities; c.Completions != nil || c.Resources.Subscribe {
			t.Errorf("capabilities = %+v, want no completions and no subscriptions", c)
		}
	})
}

func TestListsOfOtherServersAreReplaced(t *testing.T) {
	var changed func()
	full := abroad(&changed)
	s := newServer(t, Options{}, full)
	bothEras(t, s, func(t *testing.T, session *mcp.ClientSession) {
		defer func() {
			if err := s.Replace(full); err != nil {
				t.Error(err)
			}
		}()
		own := newDesk().catalog()
		own.Prompts[0].Name = "up_greet" // ours now
		if err := s.Replace(own); err != nil {
			t.Fatal(err)
		}
		got, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "up_greet", Arguments: map[string]string{"topic": "cats"}})
		if err != nil || got.Messages[0].Content.(*mcp.TextContent).Text != "About cats" {
			t.Errorf("prompt that became our own = %+v, %v", got, err)
		}
		if _, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "demo://item/1"}); err == nil {
			t.Error("a resource of a server that is gone can be read")
		}
	})
	bad := abroad(&changed)
	bad.Elsewhere.Templates[0].Key = "demo://{"
	if err := s.Replace(bad); err != nil {
		t.Errorf("a template that no client can read takes the others along: %v", err)
	}
	if got := s.current.Load().elsewhere; len(got.templates) != len(bad.Elsewhere.Templates)-1 || len(got.prompts) != len(bad.Elsewhere.Prompts) {
		t.Errorf("published are %d templates and %d prompts, want all but the bad template", len(got.templates), len(got.prompts))
	}
}

func TestChangesOfResourcesReachTheirSubscribers(t *testing.T) {
	for _, version := range []string{"2025-11-25", modernVersion} {
		t.Run(version, func(t *testing.T) {
			var changed func()
			s := newServer(t, Options{Watches: true}, abroad(&changed))
			told := make(chan string, 10)
			in, out, _ := overPipes(t, s)
			session, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "7"}, &mcp.ClientOptions{
				ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { told <- r.Params.URI },
			}).Connect(t.Context(), &mcp.IOTransport{Reader: out, Writer: in}, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			if err := session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "demo://a"}); err != nil {
				t.Fatal(err)
			}
			waittest.Until(t, "the client is told of the change", func() (bool, any) {
				s.watching.mu.Lock()
				watched := len(s.watching.all)
				s.watching.mu.Unlock()
				if watched == 1 {
					changed()
				}
				select {
				case uri := <-told:
					if uri != "demo://a" {
						t.Errorf("told of %s", uri)
					}
					return true, nil
				default:
					return false, watched
				}
			})
			if err := session.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "demo://a"}); err != nil {
				t.Error(err)
			}
		})
	}
}
