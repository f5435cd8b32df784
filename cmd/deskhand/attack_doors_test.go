//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/deskhand/deskhand/runtime/access"
	installation "github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/mcpserver"
	"github.com/deskhand/deskhand/runtime/web"
)

// fullHouse is a server that has every route. more are further groups of tools.
func fullHouse(t *testing.T, more ...string) (s *socket, state string) {
	t.Helper()
	t.Setenv("CI", "")
	k := newKeyed(t, "key")
	file, _ := configured(t, "upstreams:\n  - {name: linear, url: '"+k.URL+"', credential_scope: user, auth: {kind: header}}\n")
	state = lingering(t)
	index := indexed(t, acme(t, nil))
	cmd := exec.Command("deskhand", "serve", "--tools", strings.Join(append([]string{"docs,ask,work"}, more...), ","), "--index", index, "--http", "127.0.0.1:0", "--config", file, "--state", state)
	cmd.Env = append(cmd.Environ(), "DESKHAND_TOKEN="+bearer, "DESKHAND_PERSON_KEY="+personKey, "DESKHAND_A2A_ENABLED=true", "CI=")
	s = socketOf(t, cmd)
	s.token = bearer
	return s, state
}

// sends sends a request with header lines such as "Cookie: x=y".
func (s *socket) sends(method, path, body string, header ...string) (status int, text string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, strings.TrimSuffix(s.url, "/mcp")+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		if r.Header.Set(name, value); name == "Host" {
			r.Host = value
		}
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Timeout: patience}
	response, err := client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	if response.Header.Get("Content-Type") == "text/event-stream" {
		return response.StatusCode, ""
	}
	all, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, string(all)
}

// kept reports whether an answer is that of the guard, to who may not come in, or
// has tried too often.
func keptOut(status int, body string) bool {
	return status == http.StatusTooManyRequests && strings.Contains(body, `"too_many_tries"`) || status == http.StatusUnauthorized && strings.Contains(body, `"unauthorized"`) || status == http.StatusForbidden && strings.Contains(body, `"for_people"`)
}

// session is the cookie of a browser that came by a link, and the name it is for.
func (s *socket) signedIn() (cookie, host string) {
	s.t.Helper()
	in := web.People{Key: personKey}
	link, err := url.Parse(in.LoginLink(strings.TrimSuffix(s.url, "/mcp"), "/"))
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, link.String(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	response.Body.Close()
	for _, c := range response.Cookies() {
		if c.Name == "deskhand_session" {
			return c.Name + "=" + c.Value, link.Host
		}
	}
	s.t.Fatalf("the link signs nobody in: %s", response.Status)
	return "", ""
}

// ownRoutes are those of the front, at paths that exist.
func ownRoutes() map[string]access.Rule {
	routes := maps.Clone(web.Own)
	for pattern, path := range map[string]string{"/": "/nope", "/static/": "/static/deskhand.css"} {
		routes[path] = routes[pattern]
		delete(routes, pattern)
	}
	return routes
}

// Every route is asked with every credential: who may come in is what the table
// says.
func TestAttackDoorsEveryRouteWithEveryCredential(t *testing.T) {
	s, _ := fullHouse(t)
	cookie, host := s.signedIn()
	credentials := map[string]struct {
		header []string
		level  access.Level
	}{
		"nothing":                          {nil, access.Anyone},
		"a wrong token":                    {[]string{"Authorization: Bearer wrong-wrong-wrong-wrong"}, access.Anyone},
		"an attempt's token":               {[]string{"Authorization: Bearer ABCDEFGHIJKLMNOPQRSTUVWXYZ"}, access.Anyone},
		"the agents' token as Basic":       {[]string{"Authorization: Basic " + bearer}, access.Anyone},
		"the agents' token in a cookie":    {[]string{"Cookie: deskhand_session=" + bearer}, access.Anyone},
		"the person's key in a cookie":     {[]string{"Cookie: deskhand_session=" + personKey}, access.Anyone},
		"the session at 127.0.0.1":         {[]string{"Cookie: " + cookie}, access.Anyone},
		"the session at localhost":         {[]string{"Cookie: " + cookie, "Host: localhost"}, access.Anyone},
		"the session with a wrong token":   {[]string{"Cookie: " + cookie, "Host: " + host, "Authorization: Bearer x"}, access.Anyone},
		"the agents' token":                {[]string{"Authorization: Bearer " + bearer}, access.Agents},
		"the agents' token and no session": {[]string{"Authorization: Bearer " + bearer, "Cookie: deskhand_session=1.2.3", "Host: " + host}, access.Agents},
		"the agents' token at home":        {[]string{"Authorization: Bearer " + bearer, "Host: " + host}, access.Agents},
		"the session at home":              {[]string{"Cookie: " + cookie, "Host: " + host}, access.People},
		"the person's key":                 {[]string{"Authorization: Bearer " + personKey}, access.People},
	}
	asked := map[string]bool{}
	for _, table := range []map[string]access.Rule{installation.Routes, ownRoutes()} {
		for route, rule := range table {
			level := rule.Level
			method, path, named := strings.Cut(route, " ")
			if !named {
				method, path = http.MethodPost, route
				if level == access.Anyone || route == "/metrics" || route == "/ahp" {
					method = http.MethodGet
				}
			}
			path = strings.NewReplacer("{id}", "elc_01KAK3VDJ1XG0S8WQ7RZB5M9TE", "{code}", "x", "{$}", "").Replace(path)
			for name, c := range credentials {
				if route == "POST /logout" && c.level == access.People {
					continue // it would end the session of the others
				}
				t.Run(method+" "+path+" with "+name, func(t *testing.T) {
					status, body := s.sends(method, path, "", c.header...)
					if out := keptOut(status, body); out != (c.level < level) {
						t.Errorf("%d %.200s; for %s, by %s", status, body, level, c.level)
					}
				})
			}
			asked[route] = true
		}
	}
	if len(asked) < 30 {
		t.Errorf("only %d routes were asked", len(asked))
	}
}

// The token of agents cannot do what is a person's, by any door.
func TestAttackDoorsTheTokenOfAgentsIsNoPerson(t *testing.T) {
	s, state := fullHouse(t)
	hub := inboxOf(t, state)
	open := func(t *testing.T) elicit.Request {
		t.Helper()
		r, err := hub.Open(t.Context(), elicit.Request{Trigger: elicit.CLI, Questions: []elicit.Question{{ID: "q", Kind: elicit.Boolean, Message: "May I deploy?", Required: true}}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	const auth = "Authorization: Bearer " + bearer
	const form = "Content-Type: application/x-www-form-urlencoded"
	for name, try := range map[string]func(t *testing.T, r elicit.Request) (int, string){
		"POST /inbox/ID": func(_ *testing.T, r elicit.Request) (int, string) {
			return s.sends("POST", "/inbox/"+r.ID, "do.act=send&a.q=yes", auth, form)
		},
		"POST /inbox/ID, declined": func(_ *testing.T, r elicit.Request) (int, string) {
			return s.sends("POST", "/inbox/"+r.ID, "do.act=decline", auth, form)
		},
		"a draft": func(_ *testing.T, r elicit.Request) (int, string) {
			return s.sends("POST", "/inbox/"+r.ID+"/draft", `{"question":"q","fields":{"q":["yes"]}}`, auth, "Content-Type: application/json")
		},
		"the channel": func(*testing.T, elicit.Request) (int, string) {
			return s.sends("GET", "/ahp", "", auth, "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==")
		},
		"the answers of chats": func(_ *testing.T, r elicit.Request) (int, string) {
			return s.sends("POST", "/run/api/elicitation-responses", `{"conversationId":"","elicitationId":"`+r.ID+`","action":"accept","content":{"q":true}}`, auth, "Content-Type: application/json")
		},
		"a chat": func(*testing.T, elicit.Request) (int, string) {
			return s.sends("POST", "/run/api/chat", `{"conversationId":"x","messages":[{"role":"user","content":"go on"}]}`, auth, "Content-Type: application/json")
		},
		"starting on the board": func(*testing.T, elicit.Request) (int, string) {
			return s.sends("POST", "/work", "project=x&title=t", auth, form)
		},
		"reading the history": func(*testing.T, elicit.Request) (int, string) { return s.sends("GET", "/history.jsonl", "", auth) },
		"connecting an upstream": func(_ *testing.T, r elicit.Request) (int, string) {
			return s.sends("POST", "/connect/"+r.ID, "act=connect&key=k", auth, form)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t)
			if status, body := try(t, r); status != http.StatusForbidden || !strings.Contains(body, `"for_people"`) {
				t.Errorf("%d %s, want 403 for_people", status, body)
			}
			if now, err := hub.Get(t.Context(), r.ID); err != nil || now.Status != elicit.Open || len(now.Answers) > 0 {
				t.Errorf("the question is %s with %v, %v; want it open", now.Status, now.Answers, err)
			}
		})
	}
	t.Run("signing in", func(t *testing.T) {
		jar, _ := cookiejar.New(nil)
		browser := &http.Client{Jar: jar, Timeout: patience}
		base := web.People{Key: personKey}.Home(strings.TrimSuffix(s.url, "/mcp"))
		login := opened(t, browser, base+"/login")
		page := submit(t, browser, base+"/login", url.Values{"token": {hidden.FindStringSubmatch(login)[1]}, "key": {bearer}})
		if !strings.Contains(page, "That is the agents&#39; token") {
			t.Errorf("the token of agents on the page to sign in: %s", page)
		}
	})
	t.Run("a link signed with it", func(t *testing.T) {
		link, err := url.Parse(web.People{Key: bearer}.LoginLink("", "/"))
		if err != nil {
			t.Fatal(err)
		}
		if status, _ := s.sends("GET", link.RequestURI(), ""); status != http.StatusUnauthorized {
			t.Errorf("%d, want 401", status)
		}
	})
	t.Run("answering a task of its own over A2A", func(t *testing.T) {
		_, body := s.agentCall("SendMessage", `{"message":{"messageId":"own1","role":"ROLE_USER","parts":[{"text":"May I deploy?"}]}}`)
		task := agentTask(t, body)
		_, body = s.agentCall("SendMessage", `{"message":{"messageId":"own2","role":"ROLE_USER","taskId":"`+task+`","parts":[{"text":"yes"}]}}`)
		if !strings.Contains(body, "only a person may answer this task") {
			t.Errorf("the answer of the asker: %s, want it refused", body)
		}
		s.token = personKey
		_, body = s.agentCall("SendMessage", `{"message":{"messageId":"own3","role":"ROLE_USER","taskId":"`+task+`","parts":[{"text":"yes"}]}}`)
		s.token = bearer
		if !strings.Contains(body, "TASK_STATE_COMPLETED") {
			t.Errorf("the answer with the person's key: %s, want it taken", body)
		}
	})
	t.Run("what it is for goes on", func(t *testing.T) {
		c, err := mcpserver.Dial(t.Context(), mcpserver.Target{URL: s.url, Token: bearer})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if text, _, refused, err := c.Call(t.Context(), "list_projects", map[string]any{}); err != nil || refused {
			t.Errorf("list_projects = %s, %v", text, err)
		}
		if status, _ := s.sends("GET", "/metrics", "", auth); status != http.StatusOK {
			t.Errorf("/metrics = %d", status)
		}
	})
}

// A server that asks agents for no token still asks people for their key.
func TestAttackDoorsNoTokenIsNoPerson(t *testing.T) {
	t.Setenv("CI", "")
	state := filepath.Join(t.TempDir(), "state")
	s := socketOf(t, exec.Command("deskhand", "serve", "--tools", "ask", "--http", "127.0.0.1:0", "--no-token", "--state", state))
	hub := inboxOf(t, state)
	r, err := hub.Open(t.Context(), elicit.Request{Trigger: elicit.CLI, Questions: []elicit.Question{{ID: "q", Kind: elicit.Boolean, Message: "May I deploy?", Required: true}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, header := range map[string]string{"nothing": "Accept: */*", "something": "Authorization: Bearer whatever", "an empty token": "Authorization: Bearer "} {
		t.Run(name, func(t *testing.T) {
			if status, body := s.sends("POST", "/inbox/"+r.ID, "do.act=send&a.q=yes", header, "Content-Type: application/x-www-form-urlencoded"); !keptOut(status, body) {
				t.Errorf("%d %s, want to be kept out", status, body)
			}
		})
	}
	if now, err := hub.Get(t.Context(), r.ID); err != nil || now.Status != elicit.Open {
		t.Errorf("the question is %s, %v; want it open", now.Status, err)
	}
}

// Sessions end everywhere when the person says so, at servers that run and at
// those started later.
func TestAttackDoorsSignOutEndsEverySession(t *testing.T) {
	s, state := fullHouse(t)
	cookie, host := s.signedIn()
	in := func() bool {
		status, _ := s.sends("GET", "/history", "", "Cookie: "+cookie, "Host: "+host)
		return status == http.StatusOK
	}
	if !in() {
		t.Fatal("the browser is not signed in")
	}
	followed := map[string]<-chan struct{}{"the events of the page": s.followsEvents(cookie, host), "the channel": s.followsChannel(cookie, host)}
	unused, err := url.Parse(web.People{Key: personKey}.LoginLink(strings.TrimSuffix(s.url, "/mcp"), "/"))
	if err != nil {
		t.Fatal(err)
	}
	lacking := func() bool {
		out := deskhand(t, t.TempDir(), "people", "list", "--json", "--state", state)
		return strings.Contains(out.stdout, "no invitation")
	}
	for _, verb := range []string{"add", "invite"} {
		if out := deskhand(t, t.TempDir(), "people", verb, "ada", "--state", state); out.code != 0 || lacking() != (verb == "add") {
			t.Fatalf("deskhand people %s ada: %d %s", verb, out.code, out.stderr)
		}
	}
	if out := deskhand(t, t.TempDir(), "inbox", "--sign-out", "--state", state); out.code != 0 || !strings.Contains(out.stderr, "signed out") {
		t.Fatalf("deskhand inbox --sign-out: %d %s", out.code, out.stderr)
	}
	t.Run("at the server that runs", func(t *testing.T) {
		if in() {
			t.Error("the session goes on")
		}
	})
	for what, ended := range followed {
		t.Run(what+" ends with it", func(t *testing.T) {
			select {
			case <-ended:
			case <-time.After(10 * time.Second):
				t.Errorf("the browser is still told")
			}
		})
	}
	t.Run("a link that was not used begins none", func(t *testing.T) {
		if status, text := s.sends("GET", unused.RequestURI(), "", "Host: "+unused.Host); status != http.StatusUnauthorized {
			t.Errorf("a link from before signing out: %d %s", status, text)
		}
	})
	t.Run("and so does an invitation", func(t *testing.T) {
		if !lacking() {
			t.Error("an invitation from before signing out is still valid")
		}
	})
	t.Run("and a new link begins a new one", func(t *testing.T) {
		if cookie, host = s.signedIn(); !in() {
			t.Error("a link after signing out lets nobody in")
		}
	})
	t.Run("inside an attempt it is refused", func(t *testing.T) {
		t.Setenv("DESKHAND_ATTEMPT_ID", "x")
		if out := deskhand(t, t.TempDir(), "inbox", "--sign-out", "--state", state); out.code == 0 {
			t.Error("an agent signs people out")
		}
	})
}

// followsEvents opens the stream of the page as a browser that is signed in.
func (s *socket) followsEvents(cookie, host string) (ended <-chan struct{}) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, strings.TrimSuffix(s.url, "/mcp")+"/inbox/events?after=0", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Host = host
	r.Header.Set("Cookie", cookie)
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || response.StatusCode != http.StatusOK {
		s.t.Fatalf("GET /inbox/events = %+v, %v", response, err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(io.Discard, response.Body) // whichever way it ends
		response.Body.Close()
	}()
	return done
}

// followsChannel connects to the channel as a page that is signed in.
func (s *socket) followsChannel(cookie, host string) (ended <-chan struct{}) {
	s.t.Helper()
	c, _, err := websocket.Dial(s.t.Context(), "ws"+strings.TrimPrefix(strings.TrimSuffix(s.url, "/mcp"), "http")+"/ahp",
		&websocket.DialOptions{Host: host, HTTPHeader: http.Header{"Cookie": {cookie}}})
	if err != nil {
		s.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, _, err := c.Read(s.t.Context()); err != nil {
				return
			}
		}
	}()
	return done
}

func TestAttackDoorsShortSecretsAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ variable, value, says string }{
		"a token of a letter":  {"DESKHAND_TOKEN", "a", "token has only 1 characters"},
		"a token of 15":        {"DESKHAND_TOKEN", strings.Repeat("a", 15), "15 characters"},
		"a key of a letter":    {"DESKHAND_PERSON_KEY", "a", "person-key has only 1 characters"},
		"a key of 15":          {"DESKHAND_PERSON_KEY", strings.Repeat("a", 15), "15 characters"},
		"a key with a space":   {"DESKHAND_PERSON_KEY", "twenty characters and", "white space"},
		"a host of the world":  {"DESKHAND_SESSION_HOST", "example.org", "session.host"},
		"a session for ever":   {"DESKHAND_SESSION_TIME", "9999d", "session.time"},
		"a session of seconds": {"DESKHAND_SESSION_TIME", "5s", "session.time"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(c.variable, c.value)
			out := deskhand(t, t.TempDir(), "serve", "--tools", "ask", "--http", "127.0.0.1:0", "--state", t.TempDir())
			if out.code != 2 || !strings.Contains(out.stderr, c.says) || !strings.Contains(out.stderr, "hint: ") {
				t.Errorf("serve: %d %s, want a misuse that says %q", out.code, out.stderr, c.says)
			}
		})
	}
	t.Run("a key that is the token", func(t *testing.T) {
		t.Setenv("DESKHAND_TOKEN", bearer)
		t.Setenv("DESKHAND_PERSON_KEY", bearer)
		if out := deskhand(t, t.TempDir(), "serve", "--tools", "ask", "--http", "127.0.0.1:0", "--state", t.TempDir()); out.code != 2 || !strings.Contains(out.stderr, "answer as a person") {
			t.Errorf("serve: %d %s, want a misuse", out.code, out.stderr)
		}
	})
}

// What is too big is said to be, whichever route it comes to.
func TestAttackDoorsBodiesThatAreTooBigAtEveryRoute(t *testing.T) {
	s, _ := fullHouse(t)
	form, object := "token="+strings.Repeat("x", 17<<20), `{"client":"`+strings.Repeat("x", 17<<20)+`"}`
	for route, level := range installation.Routes {
		method, path, named := strings.Cut(route, " ")
		if !named {
			method, path = http.MethodPost, route
		}
		if method != http.MethodPost || route == "/ahp" || strings.HasPrefix(route, "/.well-known") {
			continue
		}
		path = strings.NewReplacer("{id}", "elc_01KAK3VDJ1XG0S8WQ7RZB5M9TE", "{code}", "x").Replace(path)
		json := level.Level == access.Agents || strings.HasPrefix(path, "/run/") || strings.HasSuffix(path, "/draft") || strings.HasSuffix(path, "/presented") || strings.HasPrefix(path, "/push")
		big := form
		if json {
			big = object
		}
		for name, body := range map[string]func() io.Reader{
			"with its length": func() io.Reader { return strings.NewReader(big) },
			"in chunks":       func() io.Reader { return io.MultiReader(strings.NewReader(big)) },
		} {
			t.Run(path+" "+name, func(t *testing.T) {
				r, err := http.NewRequestWithContext(t.Context(), method, strings.TrimSuffix(s.url, "/mcp")+path, body())
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Authorization", "Bearer "+personKey)
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				if json {
					r.Header.Set("Content-Type", "application/json")
					r.Header.Set("Accept", "application/json, text/event-stream")
				}
				response, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				response.Body.Close()
				if response.StatusCode != http.StatusRequestEntityTooLarge {
					t.Errorf("%s, want 413", response.Status)
				}
			})
		}
	}
}

// A question for somebody whom no surface reaches is refused when it is asked.
func TestAttackDoorsNobodyIsAskedWhoIsNotThere(t *testing.T) {
	s, state := fullHouse(t)
	ask := func(to string) (code int, said string) {
		out := deskhand(t, t.TempDir(), "ask", "Deploy?", "--confirm", "--detach", "--to", to, "--state", state)
		return out.code, out.stderr + out.stdout
	}
	for _, to := range []string{"bob", "role:ops", "Local", "local "} {
		t.Run("ask --to "+to, func(t *testing.T) {
			if code, said := ask(to); code == 0 || !strings.Contains(said, "who can answer") || !strings.Contains(said, "ask one of local") {
				t.Errorf("%d %s, want a refusal that says who could be asked", code, said)
			}
		})
	}
	t.Run("over A2A", func(t *testing.T) {
		_, body := s.agentCall("SendMessage", `{"message":{"messageId":"to1","role":"ROLE_USER","parts":[{"data":{"message":"Deploy?","questions":[{"id":"q","kind":"text","message":"Deploy?"}],"audience":{"principal":"bob"}}}]}}`)
		if !strings.Contains(body, "who can answer") {
			t.Errorf("SendMessage = %s, want a refusal", body)
		}
	})
	t.Run("nothing is left open", func(t *testing.T) {
		list, err := inboxOf(t, state).List(t.Context(), elicit.Filter{})
		if err != nil || len(list.Requests) > 0 {
			t.Errorf("%d questions are open, %v", len(list.Requests), err)
		}
	})
	t.Run("local is there", func(t *testing.T) {
		if code, said := ask("local"); code != 0 {
			t.Errorf("%d %s", code, said)
		}
	})
	t.Run("whom Slack maps is there", func(t *testing.T) {
		t.Setenv("DESKHAND_SLACK_CHANNEL", "C012ABCDEF")
		t.Setenv("DESKHAND_SLACK_PEOPLE", "U012ABCDEF=bob:ops")
		for _, to := range []string{"bob", "role:ops"} {
			if code, said := ask(to); code != 0 {
				t.Errorf("--to %s: %d %s", to, code, said)
			}
		}
		if code, said := ask("ann"); code == 0 || !strings.Contains(said, "bob (Slack)") || !strings.Contains(said, "role:ops (Slack)") {
			t.Errorf("--to ann: %d %s, want to be told of bob", code, said)
		}
	})
	t.Run("whom a surface of another process announces is there", func(t *testing.T) {
		_, _, detach, err := inboxOf(t, state).Attach(t.Context(), elicit.Station{Kind: "slack", Members: []elicit.Member{{Principal: "carol", Surface: "Slack"}}})
		if err != nil {
			t.Fatal(err)
		}
		defer detach()
		if code, said := ask("carol"); code != 0 {
			t.Errorf("%d %s", code, said)
		}
	})
}

// The history says from which process an answer came, and what was shown there.
func TestAttackDoorsTheHistorySaysWhereAnAnswerCameFrom(t *testing.T) {
	s, state := fullHouse(t)
	cookie, host := s.signedIn()
	hub := inboxOf(t, state)
	const form = "Content-Type: application/x-www-form-urlencoded"
	for name, c := range map[string]struct {
		answer func(t *testing.T, id string)
		says   string
		want   func(o *elicit.Origin) bool
	}{
		"on the command line": {
			func(t *testing.T, id string) { done(t, t.TempDir(), "ask", "answer", id, "yes", "--state", state) },
			`from deskhand ask answer, pid \d+, child of pid \d+, uid \d+ on \S+`,
			func(o *elicit.Origin) bool {
				return o.SignedIn == "local" && o.Process.Command == "deskhand ask answer" && o.Process.PID > 0 && o.Process.PID != s.cmd.Process.Pid && o.Process.UID != ""
			},
		},
		"in a browser that came by a link": {
			func(t *testing.T, id string) {
				_, page := s.sends("GET", "/inbox/"+id, "", "Cookie: "+cookie+"; deskhand_form=f", "Host: "+host)
				token := hidden.FindStringSubmatch(page)
				if token == nil {
					t.Fatal(page)
				}
				s.sends("POST", "/inbox/"+id, "do.act=send&a.q=yes&token="+token[1], "Cookie: "+cookie+"; deskhand_form=f", "Host: "+host, form)
			},
			`from a browser signed in with a link at 127\.0\.0\.1:\d+; deskhand serve, pid \d+`,
			func(o *elicit.Origin) bool {
				return o.SignedIn == access.ByLink && o.Session != "" && o.Process.PID == s.cmd.Process.Pid
			},
		},
		"by a program with the person's key": {
			func(_ *testing.T, id string) {
				s.sends("POST", "/inbox/"+id, "do.act=send&a.q=yes", "Authorization: Bearer "+personKey, form)
			},
			`from a program with the person's key at 127\.0\.0\.1:\d+; deskhand serve, pid \d+`,
			func(o *elicit.Origin) bool {
				return o.SignedIn == access.ByBearer && o.Process.PID == s.cmd.Process.Pid
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := hub.Open(t.Context(), elicit.Request{Trigger: elicit.CLI, Questions: []elicit.Question{{ID: "q", Kind: elicit.Boolean, Message: "Deploy?", Required: true}}})
			if err != nil {
				t.Fatal(err)
			}
			c.answer(t, r.ID)
			shown := done(t, t.TempDir(), "ask", "show", r.ID, "--state", state)
			if !regexp.MustCompile(c.says).MatchString(shown) {
				t.Errorf("ask show = %s, want %s", shown, c.says)
			}
			var now elicit.Request
			if err := json.Unmarshal([]byte(done(t, t.TempDir(), "ask", "show", r.ID, "--json", "--state", state)), &now); err != nil {
				t.Fatal(err)
			}
			if now.EndedFrom == nil || !c.want(now.EndedFrom) {
				t.Errorf("endedFrom = %+v", now.EndedFrom)
			}
			if _, history := s.sends("GET", "/history.jsonl", "", "Authorization: Bearer "+personKey); !strings.Contains(history, `"endedFrom"`) {
				t.Errorf("the history has no origin: %s", history)
			}
		})
	}
}

// attemptsDoor is an attempt whose agent waits, and the way in that it was given.
func attemptsDoor(t *testing.T, state, repo, project string) (at, token, attempt string) {
	t.Helper()
	task := strings.TrimSpace(done(t, repo, "tasks", "add", "Wait", "--project", project, "--state", state))
	done(t, repo, "tasks", "start", task, "--executor", "fake", "--prompt", "run echo $DESKHAND_URL $DESKHAND_TOKEN $DESKHAND_ATTEMPT_ID > way-in.tmp && mv way-in.tmp way-in\nask Go on?", "--state", state)
	eventually(t, "the agent's way in", func() error {
		found, err := filepath.Glob(filepath.Join(state, "tasks", "*", "*", "way-in"))
		more, _ := filepath.Glob(filepath.Join(state, "tasks", "*", "*", "*", "way-in"))
		for _, file := range append(found, more...) {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			words := strings.Fields(string(text))
			if len(words) == 3 && !slices.Contains(taken, words[2]) {
				at, token, attempt = strings.TrimSuffix(words[0], "/mcp"), words[1], words[2]
				taken = append(taken, attempt)
				return nil
			}
		}
		return fmt.Errorf("%v %v", append(found, more...), err)
	})
	return at, token, attempt
}

// taken are the attempts that attemptsDoor has handed out.
var taken []string

// What an attempt's token may do is one table; here each line of it, and what is
// not in it.
func TestAttackDoorsWhatAnAttemptsTokenMay(t *testing.T) {
	s, state := fullHouse(t)
	repo, other := gitRepo(t, map[string]string{"README.md": "# Shop\n"}), gitRepo(t, map[string]string{"README.md": "# Other\n"})
	done(t, repo, "tasks", "project", "add", ".", "--name", "shop", "--state", state)
	done(t, other, "tasks", "project", "add", ".", "--name", "other", "--state", state)
	at, token, attempt := attemptsDoor(t, state, repo, "shop")
	at2, token2, attempt2 := attemptsDoor(t, state, repo, "shop")
	defer deskhand(t, repo, "tasks", "stop", attempt2, "--state", state)
	defer deskhand(t, repo, "tasks", "stop", attempt, "--state", state)
	door := &socket{t: t, url: at + "/mcp"}
	for route := range installation.Routes {
		method, path, named := strings.Cut(route, " ")
		if !named {
			method, path = http.MethodPost, route
		}
		path = strings.NewReplacer("{id}", "x", "{code}", "x", "{$}", "").Replace(path)
		t.Run("at its own door: "+route, func(t *testing.T) {
			status, body := door.sends(method, path, "{}", "Authorization: Bearer "+token)
			_, may := installation.AttemptRoutes[route]
			if may == (status == http.StatusNotFound) || keptOut(status, body) {
				t.Errorf("%d %.200s; in its table: %v", status, body, may)
			}
		})
		if installation.Routes[route].Level > access.Anyone {
			t.Run("at the server: "+route, func(t *testing.T) {
				if status, body := s.sends(method, path, "{}", "Authorization: Bearer "+token); !keptOut(status, body) {
					t.Errorf("%d %.200s, want to be kept out", status, body)
				}
			})
		}
	}
	for route, level := range installation.AttemptRoutes {
		for name, secret := range map[string]string{"another attempt's token": token2, "the agents' token": bearer, "the person's key": personKey, "nothing": ""} {
			t.Run("its door "+route+" with "+name, func(t *testing.T) {
				if status, body := door.sends("POST", route, "{}", "Authorization: Bearer "+secret); !keptOut(status, body) {
					t.Errorf("%d %.200s, want to be kept out", status, body)
				}
			})
		}
		t.Run("its door "+route+" with its token", func(t *testing.T) {
			if status, body := door.sends("POST", route, "{}", "Authorization: Bearer "+token); level.Level != access.Agents || keptOut(status, body) {
				t.Errorf("%d %.200s, want to be let in", status, body)
			}
		})
	}
	dial := func(at, token string) *mcpserver.Client {
		c, err := mcpserver.Dial(t.Context(), mcpserver.Target{URL: at + "/mcp", Token: token})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	mine, theirs := dial(at, token), dial(at2, token2)
	t.Run("its tools are those of the table", func(t *testing.T) {
		tools, err := mine.ListTools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range tools {
			if _, ok := installation.AttemptMay[one.Name]; !ok && !strings.HasPrefix(one.Name, "linear_") {
				t.Errorf("it has %s, which the table has not", one.Name)
			}
		}
	})
	for _, name := range []string{"start_task_attempt", "stop_attempt", "follow_up", "list_projects", "get_attempt_patch", "delete_task", "update_task"} {
		t.Run("it may not call "+name, func(t *testing.T) {
			if text, _, refused, err := mine.Call(t.Context(), name, map[string]any{}); err == nil && !refused {
				t.Errorf("%s = %s", name, text)
			}
		})
	}
	hub := inboxOf(t, state)
	go theirs.Call(t.Context(), "ask_user", question("The other attempt's secret?")) //nolint:errcheck // it ends with the test
	var foreign elicit.Request
	eventually(t, "the other attempt asks", func() error {
		list, err := hub.List(t.Context(), elicit.Filter{})
		for _, r := range list.Requests {
			if strings.Contains(r.Message, "secret") || len(r.Questions) > 0 && strings.Contains(r.Questions[0].Message, "secret") {
				foreign = r
				return nil
			}
		}
		return fmt.Errorf("not there, %v", err)
	})
	t.Run("await_answer of another attempt's question", func(t *testing.T) {
		text, _, refused, err := mine.Call(t.Context(), "await_answer", map[string]any{"request_id": foreign.ID, "timeout": 0})
		if err == nil && !refused || strings.Contains(text, "secret") {
			t.Errorf("await_answer = %s, %v; want it unknown", text, err)
		}
	})
	t.Run("the same, answered", func(t *testing.T) {
		answerWith(t, hub, foreign, "hunter")
		text, _, refused, err := mine.Call(t.Context(), "await_answer", map[string]any{"request_id": foreign.ID, "timeout": 0})
		if err == nil && !refused || strings.Contains(text, "hunter") {
			t.Errorf("await_answer = %s, %v; want it unknown", text, err)
		}
	})
	t.Run("a task of MCP that is another attempt's question", func(t *testing.T) {
		for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
			body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"taskId":"` + foreign.ID + `","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"deskhand","version":"1"}}}}`
			status, answer := door.sends("POST", "/mcp", body, "Authorization: Bearer "+token, "Content-Type: application/json", "Accept: application/json, text/event-stream",
				"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: "+method)
			if strings.Contains(answer, "hunter") || strings.Contains(answer, `"result"`) {
				t.Errorf("%s = %d %s", method, status, answer)
			}
		}
	})
	t.Run("list_questions lists its own only", func(t *testing.T) {
		if text, _, _, err := mine.Call(t.Context(), "list_questions", map[string]any{}); err != nil || strings.Contains(text, foreign.ID) {
			t.Errorf("list_questions = %s, %v", text, err)
		}
	})
	t.Run("create_task in another project", func(t *testing.T) {
		var list []struct {
			ID   string `json:"project_id"`
			Name string
		}
		c := dial(strings.TrimSuffix(s.url, "/mcp"), bearer)
		text, _, _, err := c.Call(t.Context(), "list_projects", map[string]any{})
		var all struct{ Projects json.RawMessage }
		if err != nil || json.Unmarshal([]byte(text), &all) != nil || json.Unmarshal(all.Projects, &list) != nil {
			t.Fatalf("list_projects = %s, %v", text, err)
		}
		for _, p := range list {
			text, _, refused, err := mine.Call(t.Context(), "create_task", map[string]any{"project_id": p.ID, "title": "Planted"})
			if taken := err == nil && !refused; taken != (p.Name == "shop") {
				t.Errorf("create_task in %s = %s, %v", p.Name, text, err)
			}
		}
	})
}
