package main

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/waittest"
)

// accountShelf is an upstream with prompts, resources and a template of each account, some under
// the same names. Without a key it refuses.
type accountShelf struct {
	url string

	mu      sync.Mutex
	servers map[string][]*mcp.Server // by account
}

func newAccountShelf(t *testing.T) *accountShelf {
	t.Helper()
	s := &accountShelf{servers: map[string][]*mcp.Server{}}
	s.url = forAccounts(t, s.of)
	return s
}

// of returns a new server that shows what one account has.
func (a *accountShelf) of(account string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "accounts", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{"friends of " + account}}}, nil
		},
	})
	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: r.Params.URI + " of " + account}}}, nil
	}
	for _, name := range []string{"inbox", account} {
		s.AddPrompt(&mcp.Prompt{Name: name, Arguments: []*mcp.PromptArgument{{Name: "to"}}}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "prompt of " + account}}}}, nil
		})
		s.AddResource(&mcp.Resource{URI: "mail://" + name, Name: name}, read)
	}
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "mail://of-" + account + "/{id}", Name: "letter"}, read)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "note://{+any}", Name: "note"}, read)
	s.AddTool(&mcp.Tool{Name: "link", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ResourceLink{URI: "mail://inbox", Name: "listed"}, &mcp.ResourceLink{URI: "cards://" + account, Name: "in no list"}}}, nil
	})
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if r, ok := req.(*mcp.ReadResourceRequest); ok && strings.HasPrefix(r.Params.URI, "cards://") {
				return read(ctx, r)
			}
			return next(ctx, method, req)
		}
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	a.servers[account] = append(a.servers[account], s)
	return s
}

// changed tells the clients of an account that its inbox has changed.
func (a *accountShelf) changed(account string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.servers[account] {
		_ = s.ResourceUpdated(context.Background(), &mcp.ResourceUpdatedNotificationParams{URI: "mail://inbox"})
	}
}

// bearing is an HTTP client that sends a token.
type bearing string

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// reader is one person's MCP client.
type reader struct {
	*mcp.ClientSession
	t               *testing.T
	updated, listed chan string
}

func newReader(t *testing.T, url, token, version string) *reader {
	t.Helper()
	r := &reader{t: t, updated: make(chan string, 100), listed: make(chan string, 100)}
	client := mcp.NewClient(&mcp.Implementation{Name: "reads", Version: "1"}, &mcp.ClientOptions{
		Capabilities:               &mcp.ClientCapabilities{},
		ResourceUpdatedHandler:     func(_ context.Context, n *mcp.ResourceUpdatedNotificationRequest) { r.updated <- n.Params.URI },
		PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { r.listed <- "prompts" },
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { r.listed <- "resources" },
	})
	var err error
	r.ClientSession, err = client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearing(token)}, MaxRetries: -1},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// sees returns the keys of all of the reader's lists.
func (r *reader) sees() (all []string) {
	for p, err := range r.Prompts(r.t.Context(), nil) {
		if err != nil {
			r.t.Fatal(err)
		}
		all = append(all, p.Name)
	}
	for one, err := range r.Resources(r.t.Context(), nil) {
		if err != nil {
			r.t.Fatal(err)
		}
		all = append(all, one.URI)
	}
	for one, err := range r.ResourceTemplates(r.t.Context(), nil) {
		if err != nil {
			r.t.Fatal(err)
		}
		all = append(all, one.URITemplate)
	}
	return all
}

func (r *reader) prompt(name string) string {
	got, err := r.GetPrompt(r.t.Context(), &mcp.GetPromptParams{Name: name})
	if err != nil {
		return err.Error()
	}
	return got.Messages[0].Content.(*mcp.TextContent).Text
}

func (r *reader) read(uri string) string {
	got, err := r.ReadResource(r.t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return err.Error()
	}
	return got.Contents[0].URI + ": " + got.Contents[0].Text
}

func (r *reader) completes(ref mcp.CompleteReference) string {
	got, err := r.Complete(r.t.Context(), &mcp.CompleteParams{Ref: &ref, Argument: mcp.CompleteParamsArgument{Name: "to", Value: "x"}})
	if err != nil {
		return err.Error()
	}
	return strings.Join(got.Completion.Values, ",")
}

// Each person's client lists, reads, completes and follows what the person's own account has,
// also where two accounts have something under the same name. Nobody sees another's.
func TestEachPersonSeesThePromptsAndResourcesOfTheirOwnCredential(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			mail, news := newAccountShelf(t), newAccountShelf(t)
			file, state := configured(t, "upstreams:\n  - {name: mail, url: '"+mail.url+"', credential_scope: user, auth: {kind: header}}\n"+
				"  - {name: news, url: '"+news.url+"', headers: {Authorization: Bearer key-of-press}}\n")
			t.Setenv("DESKHAND_CONFIG", file)
			t.Setenv("DESKHAND_STATE", state)
			for _, name := range []string{"ada", "bob"} {
				done(t, ".", "people", "add", name)
			}
			token := func(name string) string {
				return strings.TrimSpace(done(t, ".", "token", "create", "--for", name, "--scope", "ask"))
			}
			connect := func(name string) {
				t.Helper()
				t.Setenv("DESKHAND_PERSON", name)
				defer t.Setenv("DESKHAND_PERSON", "")
				if got := fed(t, ".", "key-of-"+cmp.Or(name, "owner"), "connect", "mail"); got.code != 0 {
					t.Fatalf("connect for %q: %d %s", name, got.code, got.stderr)
				}
			}
			s := socketOf(t, exec.Command("deskhand", "serve", "--tools", "ask", "--http", "127.0.0.1:0"))
			connect("")
			connect("ada")
			owner, ada, bob := newReader(t, s.url, tokenOf(t, state), version), newReader(t, s.url, token("ada"), version), newReader(t, s.url, token("bob"), version)
			shared := []string{"news_inbox", "news_press"}
			shows := func(who *reader, account string) {
				t.Helper()
				want := slices.Clone(shared)
				if account != "" {
					want = append(want, "mail_inbox", "mail_"+account, "mail://inbox", "mail://"+account, "mail://of-"+account+"/{id}", "note://{+any}",
						"deskhand:news/mail://inbox", "mail://press", "mail://of-press/{id}", "deskhand:news/note://{+any}")
				} else {
					want = append(want, "mail://inbox", "mail://press", "mail://of-press/{id}", "note://{+any}")
				}
				slices.Sort(want)
				waittest.Until(t, "what "+account+" is shown", func() (bool, any) {
					got := who.sees()
					slices.Sort(got)
					return slices.Equal(got, want), got
				})
			}
			shows(owner, "owner")
			shows(ada, "ada")
			shows(bob, "")

			is := func(what, got, want string) {
				t.Helper()
				if !strings.Contains(got, want) {
					t.Errorf("%s = %s, want %s", what, got, want)
				}
			}
			is("ada's prompt", ada.prompt("mail_ada"), "prompt of ada")
			is("the prompt of all, for ada", ada.prompt("mail_inbox"), "prompt of ada")
			is("the owner's prompt", owner.prompt("mail_inbox"), "prompt of owner")
			is("the owner's prompt, for ada", ada.prompt("mail_owner"), "unknown prompt")
			is("ada's prompt, for bob", bob.prompt("mail_ada"), "unknown prompt")
			is("the news' prompt, for bob", bob.prompt("news_press"), "prompt of press")
			is("ada's inbox", ada.read("mail://inbox"), "mail://inbox: mail://inbox of ada")
			is("ada's letter", ada.read("mail://of-ada/1"), "mail://of-ada/1: mail://of-ada/1 of ada")
			is("the news' inbox, for ada", ada.read("deskhand:news/mail://inbox"), "deskhand:news/mail://inbox: mail://inbox of press")
			is("the inbox of bob, who has only the news", bob.read("mail://inbox"), "mail://inbox: mail://inbox of press")
			is("ada's completions", ada.completes(mcp.CompleteReference{Type: "ref/prompt", Name: "mail_inbox"}), "friends of ada")
			is("ada's completions of a template", ada.completes(mcp.CompleteReference{Type: "ref/resource", URI: "mail://of-ada/{id}"}), "friends of ada")
			is("bob's completions", bob.completes(mcp.CompleteReference{Type: "ref/prompt", Name: "mail_inbox"}), "no such prompt")

			// A link in an answer can be followed, by whoever got it.
			link, err := ada.CallTool(t.Context(), &mcp.CallToolParams{Name: "mail_link"})
			if err != nil || link.Content[0].(*mcp.ResourceLink).URI != "mail://inbox" || link.Content[1].(*mcp.ResourceLink).URI != "cards://ada" {
				t.Fatalf("ada's links = %+v, %v", link, err)
			}
			is("what the link leads to", ada.read("cards://ada"), "cards://ada: cards://ada of ada")
			for _, who := range []*reader{ada, owner} {
				if err := who.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "mail://inbox"}); err != nil {
					t.Fatal(err)
				}
			}
			waittest.Until(t, "ada is told of a change", func() (bool, any) {
				mail.changed("ada")
				return len(ada.updated) > 0, nil
			})
			if len(owner.updated) > 0 {
				t.Error("the owner is told that ada's inbox changed")
			}

			connect("bob")
			shows(bob, "bob")
			shows(ada, "ada")
			is("ada's link, for bob", bob.read("cards://ada"), "Resource not found")
			is("bob's inbox", bob.read("mail://inbox"), "mail://inbox: mail://inbox of bob")
			if version == "2025-11-25" { // clients of 2026-07-28 ask for it
				waittest.Until(t, "bob is told that both lists changed", func() (bool, any) {
					var all []string
					for len(bob.listed) > 0 {
						all = append(all, <-bob.listed)
					}
					return slices.Contains(all, "prompts") && slices.Contains(all, "resources"), all
				})
			}

			// Who gets the name later has no list.
			done(t, ".", "people", "remove", "ada")
			done(t, ".", "people", "add", "ada")
			shows(newReader(t, s.url, token("ada"), version), "")
		})
	}
}
