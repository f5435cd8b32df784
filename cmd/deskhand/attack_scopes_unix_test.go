//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	installation "github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/waittest"
	"github.com/deskhand/deskhand/runtime/web"
)

// bobsToken creates a token for bob with the command.
func bobsToken(t *testing.T, state string, scope string, more ...string) string {
	t.Helper()
	got := deskhand(t, t.TempDir(), append([]string{"token", "create", "--for", "bob", "--scope", scope, "--state", state}, more...)...)
	token := strings.TrimSuffix(got.stdout, "\n")
	if got.code != 0 || !strings.HasPrefix(token, "dht_") || strings.ContainsAny(token, " \n") {
		t.Fatalf("token create --scope %s = %d %q %q", scope, got.code, got.stdout, got.stderr)
	}
	return token
}

// asks calls a method of MCP without a session, and returns the message that answers.
func (s *socket) asks(token, method, name, params string) (status int, answer string) {
	s.t.Helper()
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"scopes","version":"1"}}`
	if name != "" {
		params = fmt.Sprintf(`"name":%q,"arguments":%s,`, name, params)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url, strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s%s}}`, method, params, meta)))
	if err != nil {
		s.t.Fatal(err)
	}
	for header, value := range map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name} {
		r.Header.Set(header, value)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(body)) {
		if line = strings.TrimSpace(strings.TrimPrefix(line, "data: ")); strings.HasPrefix(line, "{") {
			return response.StatusCode, line
		}
	}
	return response.StatusCode, string(body)
}

// Every route is asked with a token of every scope: it opens what the tables say, and
// nothing without a token that is valid.
func TestAttackDoorsEveryRouteWithEveryScope(t *testing.T) {
	s, state := fullHouse(t)
	done(t, t.TempDir(), "people", "add", "bob", "--state", state)
	tokens := map[access.Scope]string{}
	for _, scope := range access.Scopes {
		tokens[scope] = bobsToken(t, state, string(scope))
	}
	revoked := bobsToken(t, state, "ask,answer,docs,work:read,work:start,work:land,admin")
	var all []struct{ ID string }
	if err := json.Unmarshal([]byte(deskhand(t, t.TempDir(), "token", "list", "--json", "--state", state).stdout), &all); err != nil || len(all) != len(tokens)+1 {
		t.Fatal(all, err)
	}
	done(t, t.TempDir(), "token", "revoke", all[len(all)-1].ID, "--state", state)
	asked := 0
	for _, table := range []map[string]access.Rule{installation.Routes, ownRoutes()} {
		for route, rule := range table {
			method, path, named := strings.Cut(route, " ")
			if !named {
				method, path = http.MethodPost, route
				if rule.Level == access.Anyone || route == "/metrics" || route == "/ahp" {
					method = http.MethodGet
				}
			}
			path = strings.NewReplacer("{id}", "elc_01KAK3VDJ1XG0S8WQ7RZB5M9TE", "{code}", "x", "{$}", "").Replace(path)
			for scope, token := range tokens {
				status, body := s.sends(method, path, "", "Authorization: Bearer "+token)
				out := status == http.StatusForbidden && strings.Contains(body, `"insufficient_scope"`)
				if want := rule.Level > access.Anyone && rule.Scope != "" && rule.Scope != scope; out != want || status == http.StatusUnauthorized {
					t.Errorf("%s %s with %s: %d %.200s; it requires %q", method, path, scope, status, body, rule.Scope)
				}
				asked++
			}
			status, body := s.sends(method, path, "", "Authorization: Bearer "+revoked)
			if out := status == http.StatusUnauthorized && strings.Contains(body, `"token_revoked"`); out != (rule.Level > access.Anyone) {
				t.Errorf("%s %s with a revoked token: %d %.200s", method, path, status, body)
			}
		}
	}
	if asked < 200 {
		t.Errorf("only %d requests", asked)
	}
	if _, ok := web.Own["/join"]; !ok {
		t.Error("the table of the front lacks /join")
	}
}

// Every tool is listed for and called with a token of every scope.
func TestAttackDoorsEveryToolWithEveryScope(t *testing.T) {
	s, state := fullHouse(t, "land")
	done(t, t.TempDir(), "people", "add", "bob", "--state", state)
	listed := func(token string) (names []string) {
		status, body := s.asks(token, "tools/list", "", "")
		var got struct {
			Result struct{ Tools []struct{ Name string } }
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil || status != http.StatusOK {
			t.Fatalf("%d %v %.300s", status, err, body)
		}
		for _, tool := range got.Result.Tools {
			names = append(names, tool.Name)
		}
		return names
	}
	every := listed(bearer)
	if len(every) < len(installation.Tools)-1 { // a form's tool needs a client that shows views
		t.Fatalf("the agents' token sees only %v", every)
	}
	scopeOf := func(name string) access.Scope {
		if scope, own := installation.Tools[name]; own {
			return scope
		}
		return access.Ask // of an upstream
	}
	advised := func(token string) string {
		_, body := s.asks(token, "server/discover", "", "")
		var got struct{ Result struct{ Instructions string } }
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatalf("%v %.300s", err, body)
		}
		return got.Result.Instructions
	}
	all := advised(bearer)
	for _, scope := range access.Scopes {
		token := bobsToken(t, state, string(scope))
		seen := listed(token)
		instructions := advised(token)
		for name := range installation.Tools {
			if !slices.Contains(seen, name) && strings.Contains(instructions, name) {
				t.Errorf("with %s, the instructions name %s, which is not listed: %s", scope, name, instructions)
			}
		}
		if lead := map[access.Scope]string{access.Docs: "search_docs", access.Ask: "ask_user", access.WorkStart: "start_task_attempt", access.WorkLand: "land_attempt"}[scope]; !strings.Contains(instructions, lead) || !strings.Contains(all, lead) {
			t.Errorf("with %s, the instructions do not name %s: %q", scope, lead, instructions)
		}
		for _, name := range every {
			may := scopeOf(name) == scope
			if slices.Contains(seen, name) != may {
				t.Errorf("with %s, tools/list has %v; %s requires %s", scope, seen, name, scopeOf(name))
			}
			if may {
				continue
			}
			if status, body := s.asks(token, "tools/call", name, `{}`); !strings.Contains(body, "needs the scope "+string(scopeOf(name))) || !strings.Contains(body, `"isError":true`) {
				t.Errorf("with %s, %s answers %d %.300s", scope, name, status, body)
			}
		}
	}
	if status, body := s.asks(bobsToken(t, state, "docs"), "tools/call", "search_docs", `{"query":"token"}`); status != http.StatusOK || strings.Contains(body, "isError") {
		t.Errorf("search_docs with docs: %d %.300s", status, body)
	}
}

// A session belongs to the person whose token opened it.
func TestAttackDoorsASessionOfAnotherPerson(t *testing.T) {
	s, state := fullHouse(t)
	done(t, t.TempDir(), "people", "add", "bob", "--state", state)
	done(t, t.TempDir(), "people", "add", "eve", "--state", state)
	bob := bobsToken(t, state, "ask,docs")
	eve := strings.TrimSpace(deskhand(t, t.TempDir(), "token", "create", "--for", "eve", "--scope", "ask,docs", "--state", state).stdout)
	id := s.opensSession(t, bob)
	for what, try := range map[string][]string{
		"a call with eve's token":          {"Authorization: Bearer " + eve},
		"a call with the agents' token":    {"Authorization: Bearer " + bearer},
		"a call with the person's own key": {"Authorization: Bearer " + personKey},
	} {
		header := append(try, "Content-Type: application/json", "Accept: application/json, text/event-stream", "Mcp-Session-Id: "+id)
		for method, body := range map[string]string{"POST": `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "DELETE": "", "GET": ""} {
			if status, answer := s.sends(method, "/mcp", body, header...); status != http.StatusNotFound {
				t.Errorf("%s, %s: %d %.200s", method, what, status, answer)
			}
		}
	}
	status, answer := s.sends("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "Authorization: Bearer "+bobsToken(t, state, "docs"), "Content-Type: application/json",
		"Accept: application/json, text/event-stream", "Mcp-Session-Id: "+id)
	if status != http.StatusOK {
		t.Errorf("bob's own session with another token of bob: %d %.200s", status, answer)
	}
}

// opensSession begins a session of the older era.
func (s *socket) opensSession(t *testing.T, token string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"scopes","version":"1"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"} {
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if id := response.Header.Get("Mcp-Session-Id"); response.StatusCode == http.StatusOK && id != "" {
		return id
	}
	t.Fatalf("initialize: %s", response.Status)
	return ""
}

// Without the scope answer, an agent answers nothing, and with it under its person's
// name alone.
func TestAttackDoorsATokenWithoutAnswer(t *testing.T) {
	s, state := fullHouse(t)
	done(t, t.TempDir(), "people", "add", "bob", "--state", state)
	hub := inboxOf(t, state)
	open := func(to string) elicit.Request {
		r, err := hub.Open(t.Context(), elicit.Request{Trigger: elicit.CLI, Audience: elicit.Audience{Principal: to},
			Questions: []elicit.Question{{ID: "q", Kind: elicit.Boolean, Message: "May I deploy?", Required: true}}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	answer := func(r elicit.Request, token string) (int, string) {
		return s.sends("POST", "/run/api/elicitation-responses", `{"conversationId":"","elicitationId":"`+r.ID+`","action":"accept","content":{"q":true}}`,
			"Authorization: Bearer "+token, "Content-Type: application/json")
	}
	all, bobs := open(""), open("bob")
	for _, scope := range []string{"ask", "docs", "work:read", "work:start", "work:land", "admin"} {
		if status, body := answer(all, bobsToken(t, state, scope)); status != http.StatusForbidden {
			t.Errorf("with %s: %d %.200s", scope, status, body)
		}
	}
	for name, r := range map[string]elicit.Request{"a question to anyone": all, "a question to bob": bobs} {
		token := bobsToken(t, state, "answer")
		status, body := s.sends("POST", "/inbox/"+r.ID, "do.act=send&a.q=yes", "Authorization: Bearer "+token, "Content-Type: application/x-www-form-urlencoded")
		got, err := hub.Get(t.Context(), r.ID)
		if err != nil || !got.Accepted() || got.Completion.By != "bob" || got.EndedFrom.SignedIn != access.ByNamed || !strings.HasPrefix(got.EndedFrom.Token, "tok_") {
			t.Errorf("%s: %d %.200s; %+v %+v, %v", name, status, body, got.Completion, got.EndedFrom, err)
		}
	}
	locals := open("local")
	token := bobsToken(t, state, "answer")
	s.sends("POST", "/inbox/"+locals.ID, "do.act=send&a.q=yes", "Authorization: Bearer "+token, "Content-Type: application/x-www-form-urlencoded")
	if got, err := hub.Get(t.Context(), locals.ID); err != nil || got.Status != elicit.Open {
		t.Errorf("bob answers a question to the owner: %+v, %v", got.Completion, err)
	}
	shown := deskhand(t, t.TempDir(), "ask", "show", bobs.ID, "--json", "--state", state)
	if !strings.Contains(shown.stdout, `"by": "bob"`) {
		t.Errorf("ask show = %s %s", shown.stdout, shown.stderr)
	}
	refused := deskhand(t, t.TempDir(), "ask", "Who?", "--to", "carol", "--detach", "--state", state)
	if refused.code == 0 || !strings.Contains(refused.stderr, "bob") || !strings.Contains(refused.stderr, "carol") {
		t.Errorf("ask --to carol = %d %q", refused.code, refused.stderr)
	}
}

// A held call ends when its token is revoked, and its agent gets nothing.
func TestAttackDoorsAHeldCallEndsWithItsToken(t *testing.T) {
	s, state := fullHouse(t)
	done(t, t.TempDir(), "people", "add", "bob", "--state", state)
	token := bobsToken(t, state, "ask")
	var all []struct{ ID string }
	if err := json.Unmarshal([]byte(done(t, t.TempDir(), "token", "list", "--json", "--state", state)), &all); err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	hub := inboxOf(t, state)
	list, err := hub.List(t.Context(), elicit.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	asked, err := hub.Watch(t.Context(), list.Seq, "")
	if err != nil {
		t.Fatal(err)
	}
	defer asked.Close()
	revoked := make(chan time.Time, 1)
	go func() {
		if err := asked.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if err := exec.Command("deskhand", "token", "revoke", all[0].ID, "--state", state).Run(); err != nil {
			t.Error(err)
		}
		revoked <- time.Now()
	}()
	_, answer := s.asks(token, "tools/call", "ask_user", `{"questions":[{"id":"q","question":"Shall I?"}],"timeout":600000}`)
	if took := time.Since(<-revoked); took > waittest.Soon || strings.Contains(answer, "result") {
		t.Errorf("the call ended %v after its token, with %.300q", took, answer)
	}
	if status, _ := s.asks(token, "tools/list", "", ""); status != http.StatusUnauthorized {
		t.Errorf("a call with the revoked token: %d", status)
	}
}
