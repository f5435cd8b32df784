//go:build unix

package main

import (
	"bufio"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	installation "github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/elicit"
)

// secret is a word in everything that a project of members contains.
const secret = "quagga"

// walk is a request with the IDs of a project, and whether its members' answer contains the
// secret.
type walk struct {
	body  string
	shows bool
}

// projectRoutes are the routes that may show a project, with a method.
var projectRoutes = map[string]walk{
	"GET /":                                     {"", true},
	"GET /inbox/{question}":                     {"", true},
	"POST /inbox/{question}":                    {"do.act=send", false},
	"GET /inbox/{question}/card":                {"", true},
	"POST /inbox/{question}/draft":              {"{}", false},
	"POST /inbox/{question}/presented":          {"", false},
	"GET /inbox/together":                       {"", true},
	"POST /inbox/together":                      {"id={question}&do.act=undo", false},
	"GET /inbox/list":                           {"", true},
	"GET /history":                              {"", false},
	"GET /history.jsonl":                        {"", false},
	"GET /rules":                                {"", false},
	"POST /rules":                               {"do.rule=rul_x", false},
	"GET /counts":                               {"", false},
	"GET /find?q=quagga":                        {"", true},
	"GET /find?q=feed":                          {"", true},
	"GET /work":                                 {"", true},
	"GET /work?project={project}":               {"", true},
	"GET /work?project={project}&q=feed":        {"", true},
	"GET /work/projects":                        {"", true},
	"GET /work/files?project={project}&q=":      {"", true},
	"POST /work":                                {"project={project}&title=", false},
	"GET /work/tasks/{task}":                    {"", true},
	"POST /work/tasks/{task}":                   {"act=start&agent=nobody", false},
	"GET /work/attempts/{attempt}":              {"", true},
	"POST /work/attempts/{attempt}":             {"act=send&prompt=", false},
	"GET /work/attempts/{attempt}/news?after=0": {"", true},
	"GET /work/attempts/{attempt}/file?path=quagga/quagga.txt": {"", true},
	"GET /work/attempts/{attempt}/blob?path=quagga/quagga.txt": {"", false},
	"GET /work/attempts/{attempt}/comments":                    {"", false},
	"POST /work/attempts/{attempt}/comments":                   {"", false},
	"POST /work/attempts/{attempt}/viewed":                     {"act=viewed&path=quagga/quagga.txt&mark=", false},
	"POST /run/api/chat":                                       {`{"conversationId":"{session}","resume":true,"stream":false}`, false},
	"POST /run/api/elicitation-responses":                      {`{"conversationId":"{session}","elicitationId":"{question}","action":"nothing"}`, false},
	"POST /a2a":                                                {`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`, false},
	"GET /connect/{question}":                                  {"", false},
	"POST /connect/{question}":                                 {"", false},
}

// projectTools are the tools that may show a project, with their arguments.
var projectTools = map[string]walk{
	"list_projects":         {`{}`, true},
	"list_repos":            {`{"project_id":"{project}"}`, true},
	"list_tasks":            {`{"project_id":"{project}"}`, true},
	"get_task":              {`{"task_id":"{task}"}`, true},
	"list_task_attempts":    {`{"task_id":"{task}"}`, true},
	"get_attempt_status":    {`{"attempt_id":"{attempt}"}`, false},
	"get_attempt_changes":   {`{"attempt_id":"{attempt}"}`, true},
	"get_attempt_file":      {`{"attempt_id":"{attempt}","path":"quagga/quagga.txt"}`, true},
	"get_attempt_patch":     {`{"attempt_id":"{attempt}","paths":["quagga/quagga.txt"]}`, true},
	"tail_attempt_logs":     {`{"attempt_id":"{attempt}"}`, true},
	"tail_session_messages": {`{"session_id":"{session}"}`, true},
	"wait_for_attempts":     {`{"attempt_ids":["{attempt}"],"timeout":0}`, false},
	"get_context":           {`{"attempt_id":"{attempt}"}`, false},
	"create_task":           {`{"project_id":"{project}","title":"x","request_id":"same"}`, false},
	"update_task":           {`{"task_id":"{task}","status":"todo"}`, false},
	"delete_task":           {`{"task_id":"{task}"}`, false},
	"start_task_attempt":    {`{"task_id":"{task}","executor":"fake","repos":[{"repo_id":"{repo}"}]}`, false},
	"follow_up":             {`{"action":"send","session_id":"{session}","prompt":"say x"}`, false},
	"stop_attempt":          {`{"attempt_id":"{attempt}"}`, false},
	"land_attempt":          {`{"attempt_id":"{attempt}"}`, false},
	"open_pull_request":     {`{"attempt_id":"{attempt}"}`, false},
	"update_attempt":        {`{"attempt_id":"{attempt}"}`, false},
	"discard_attempt":       {`{"attempt_id":"{attempt}"}`, false},
	"await_answer":          {`{"request_id":"{question}","timeout":0}`, false},
	"list_questions":        {`{"anywhere":true}`, false},
	"ask_view":              {`{"request_id":"{question}"}`, false},
}

// projectless are the routes and tools that have nothing of projects, or that a test of its
// own asks.
var projectless = map[string]bool{
	"/mcp": true, "/a2a/v03": true, "GET /search": true, "GET /manual": true, "GET /manual/{topic...}": true, "GET /push": true, "POST /push": true, "POST /push/off": true,
	"POST /work/projects": true, "GET /connect/callback": true, "GET /auth/connect": true, "/answer/{code}": true, "/mail/{code}": true, "GET /connect/client.json": true, "/.well-known/agent-card.json": true,
	"POST /work/images": true, "GET /work/images/{name}": true, // an image's name is the digest of its content
	"/ahp": true, "GET /inbox/events": true, // streams
	"search_docs": true, "get_doc": true, "list_docs": true, "list_executors": true, "ask_user": true,
}

// coveredRoute reports whether projectRoutes has a request to a route of the table.
func coveredRoute(route string) bool {
	if !strings.Contains(route, " ") {
		route = "POST " + route
	}
	for one := range projectRoutes {
		one, _, _ = strings.Cut(one, "?")
		for _, name := range []string{"question", "task", "attempt"} {
			one = strings.ReplaceAll(one, "{"+name+"}", "{id}")
		}
		if one == strings.ReplaceAll(route, "{$}", "") {
			return true
		}
	}
	return false
}

// byChance matches what differs between two answers by chance.
var byChance = regexp.MustCompile(`[A-Za-z0-9_-]{22,}|\d+(\.\d+)?m?s\b|\d\d:\d\d(:\d\d)?|"(seq|error_id|id)":[^,}]+`)

// zoo is a server with a project whose only member is ada, and one that is open. bob is no
// member of anything, and carl a guest of another project. All may do everything.
type zoo struct {
	*socket
	state  string
	hub    *elicit.Hub
	tokens map[string]string // by who has them
	ids    map[string]string // of the members' project
	absent *strings.Replacer // replaces them by IDs of nothing
	same   *strings.Replacer // replaces both by one word
}

func newZoo(t *testing.T) *zoo {
	s, state := fullHouse(t, "land")
	z := &zoo{socket: s, state: state, hub: inboxOf(t, state), ids: map[string]string{}}
	for _, name := range []string{"quagga", "open", "else"} {
		repo := gitRepo(t, map[string]string{name + ".txt": name + "\n"})
		done(t, repo, "tasks", "project", "add", ".", "--name", name, "--repo", name, "--state", state)
	}
	shop := gitRepo(t, map[string]string{"x": "x"})
	task := strings.TrimSpace(done(t, shop, "tasks", "add", "Feed the quagga", "--project", "quagga", "--state", state))
	done(t, shop, "tasks", "start", task, "--executor", "fake", "--follow", "--prompt", "say the quagga eats\nwrite quagga.txt quagga hay", "--state", state)
	project := s.tool(bearer, "get_task", fmt.Sprintf(`{"task_id":%q}`, task))
	attempts := s.tool(bearer, "list_task_attempts", fmt.Sprintf(`{"task_id":%q}`, task))
	z.ids["task"], z.ids["project"], z.ids["attempt"], z.ids["session"] = task, zooID(t, project, "project_id"), zooID(t, attempts, "latest_attempt_id"), zooID(t, attempts, "latest_session_id")
	z.ids["repo"] = zooID(t, s.tool(bearer, "list_repos", fmt.Sprintf(`{"project_id":%q}`, z.ids["project"])), "repo_id")
	z.ids["question"] = z.ask(t, elicit.Context{ProjectID: z.ids["project"], Project: "quagga", TaskID: z.ids["task"], AttemptID: z.ids["attempt"]}, "Does the quagga bite?").ID
	z.tokens = map[string]string{"the owner": personKey}
	for name, flags := range map[string][]string{"ada": {"--project", "quagga"}, "bob": nil, "carl": {"--guest", "--project", "else"}} {
		done(t, t.TempDir(), append([]string{"people", "add", name, "--scope", "ask,answer,docs,work:read,work:start,work:land,admin", "--state", state}, flags...)...)
		z.tokens[name] = z.token(t, name)
	}
	z.tokens["bob for the open project"] = z.token(t, "bob", "--project", "open")
	z.tokens["ada for the open project"] = z.token(t, "ada", "--project", "open")
	var away, one []string
	for name, id := range z.ids {
		none := "0199a1b2-0000-7000-8000-00000000beef"
		if name == "question" {
			none = "elc_01ka0000000000000000000000"
		}
		away, one = append(away, id, none), append(one, id, "ID", none, "ID", id[len(id)-6:], "ID", none[len(none)-6:], "ID")
	}
	z.absent, z.same = strings.NewReplacer(away...), strings.NewReplacer(one...)
	return z
}

func (z *zoo) token(t *testing.T, name string, more ...string) string {
	t.Helper()
	return strings.TrimSpace(done(t, t.TempDir(), append([]string{"token", "create", "--for", name, "--scope", "ask,answer,docs,work:read,work:start,work:land,admin", "--state", z.state}, more...)...))
}

func (z *zoo) ask(t *testing.T, about elicit.Context, text string) elicit.Request {
	t.Helper()
	r, err := z.hub.Open(t.Context(), elicit.Request{Trigger: elicit.CLI, Context: about, Questions: []elicit.Question{{ID: "q", Kind: elicit.Text, Message: text}}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// tool calls a tool and returns its answer.
func (s *socket) tool(token, name, args string) string {
	_, body := s.asks(token, "tools/call", name, args)
	return body
}

func zooID(t *testing.T, body, field string) string {
	t.Helper()
	_, rest, _ := strings.Cut(body, `"`+field+`":"`)
	id, _, ok := strings.Cut(rest, `"`)
	if !ok || len(id) != 36 {
		t.Fatalf("no %s in %.400s", field, body)
	}
	return id
}

// Every route and every tool, with the real IDs of a project of members: its member and the
// owner find it; everyone else gets what they get for IDs of nothing.
func TestAttackDoorsProjectsAreBoundaries(t *testing.T) {
	z := newZoo(t)
	type call struct {
		name  string
		shows bool // the member's answer contains the secret
		do    func(token string, id func(string) string) string
	}
	var calls []call
	route := func(method, path, body string, shows bool) {
		calls = append(calls, call{method + " " + path, shows, func(token string, id func(string) string) string {
			status, text := z.sends(method, id(path), id(body), "Authorization: Bearer "+token, "Content-Type: "+map[bool]string{true: "application/json", false: "application/x-www-form-urlencoded"}[strings.HasPrefix(body, "{")])
			return fmt.Sprint(status, " ", text)
		}})
	}
	for path, how := range projectRoutes {
		method, at, _ := strings.Cut(path, " ")
		route(method, at, how.body, how.shows)
	}
	for name, how := range projectTools {
		calls = append(calls, call{name, how.shows, func(token string, id func(string) string) string { return z.tool(token, name, id(how.body)) }})
	}
	for path := range installation.Routes {
		if !projectless[path] && !coveredRoute(path) {
			t.Errorf("no line in projectRoutes for %s", path)
		}
	}
	for name := range installation.Tools {
		if _, ok := projectTools[name]; !ok && !projectless[name] {
			t.Errorf("no line in projectTools for %s", name)
		}
	}
	fill := func(text string) string {
		for name, id := range z.ids {
			text = strings.ReplaceAll(text, "{"+name+"}", id)
		}
		return text
	}
	for _, c := range calls {
		real := func(text string) string { return fill(text) }
		none := func(text string) string { return z.absent.Replace(fill(text)) }
		for _, who := range []string{"bob", "carl", "bob for the open project", "ada for the open project"} {
			got := c.do(z.tokens[who], real)
			if strings.Contains(got, secret) {
				t.Errorf("%s, by %s: %.600s", c.name, who, got)
			}
			if want := c.do(z.tokens[who], none); alike(z, got) != alike(z, want) {
				t.Errorf("%s, by %s: real IDs and IDs of nothing differ:\n%.500s\n%.500s", c.name, who, alike(z, got), alike(z, want))
			}
		}
		for _, who := range []string{"the owner", "ada"} {
			if c.shows && (who == "ada" || !strings.Contains(c.name, "_")) {
				if got := c.do(z.tokens[who], real); !strings.Contains(got, secret) {
					t.Errorf("%s, by %s: %.600s", c.name, who, got)
				}
			}
		}
	}
}

// alike removes what differs between two answers by chance.
func alike(z *zoo, text string) string {
	return byChance.ReplaceAllString(z.same.Replace(text), "#")
}

// A stream from the beginning of the feed has what its caller may see, and what begins to be
// visible or ends to be so while it lasts.
func TestAttackDoorsStreamsEndAtTheBoundary(t *testing.T) {
	z := newZoo(t)
	stream := func(who string) *bufio.Reader {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(z.url, "/mcp")+"/inbox/events?after=0", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+z.tokens[who])
		response, err := http.DefaultClient.Do(r)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatal(response, err)
		}
		t.Cleanup(func() { response.Body.Close() })
		return bufio.NewReader(response.Body)
	}
	until := func(who string, r *bufio.Reader, word string) (read string) {
		late := time.AfterFunc(patience, func() { _ = z.cmd.Process.Kill() })
		defer late.Stop()
		for !strings.Contains(read, word) {
			line, err := r.ReadString('\n')
			if read += line; err != nil {
				if word == "the end" {
					return read
				}
				t.Fatalf("%s, waiting for %q: %v\n%s", who, word, err, read)
			}
		}
		return read
	}
	streams := map[string]*bufio.Reader{}
	for _, who := range []string{"ada", "bob", "carl", "bob for the open project"} {
		streams[who] = stream(who)
	}
	z.ask(t, elicit.Context{}, "Does the okapi bite?")
	z.ask(t, elicit.Context{ProjectID: idOf(t, z, "open"), Project: "open"}, "Does the zebra bite?")
	z.ask(t, elicit.Context{ProjectID: idOf(t, z, "else"), Project: "else"}, "Does the gnu bite?")
	for who, sees := range map[string]string{"ada": "quagga okapi zebra", "bob": "okapi zebra", "carl": "gnu", "bob for the open project": "zebra"} {
		words := strings.Fields(sees)
		read := until(who, streams[who], words[len(words)-1])
		for _, word := range []string{"quagga", "okapi", "zebra", "gnu"} {
			if strings.Contains(read, word) != strings.Contains(sees, word) {
				t.Errorf("%s sees %q:\n%s", who, sees, read)
			}
		}
	}
	done(t, t.TempDir(), "people", "remove", "ada", "--project", "quagga", "--state", z.state) // open to all, but for tokens and guests
	until("bob", streams["bob"], "the end")
	if read := until("bob", stream("bob"), "zebra"); !strings.Contains(read, secret) {
		t.Errorf("bob in a project that is open now:\n%s", read)
	}
	done(t, t.TempDir(), "people", "add", "ada", "--project", "quagga", "--state", z.state)
	done(t, t.TempDir(), "people", "remove", "ada", "--state", z.state)
	if read := until("bob", stream("bob"), "zebra"); strings.Contains(read, secret) {
		t.Errorf("bob in a project whose only member was removed:\n%s", read)
	}
}

func idOf(t *testing.T, z *zoo, project string) string {
	t.Helper()
	all := z.tool(bearer, "list_projects", "{}")
	for one := range strings.SplitSeq(all, "{") {
		if strings.Contains(one, `"`+project+`"`) && strings.Contains(one, `"project_id":"`) {
			return zooID(t, one, "project_id")
		}
	}
	t.Fatalf("no project %s in %s", project, all)
	return ""
}
