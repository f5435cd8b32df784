package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// mostMemory is what a server may have while strangers and agents do their worst,
// in MiB. The kernel refuses more (RLIMIT_DATA, which counts what a Go program
// maps to write to), and its children have the same limit: git and agents too.
const mostMemory = 512

// limitedServer is overSocket within mostMemory.
func limitedServer(t *testing.T, flags ...string) *socket {
	t.Helper()
	cmd := bounded("serve", append([]string{"--http", "127.0.0.1:0"}, flags...)...)
	cmd.Env = append(cmd.Environ(), "DESKHAND_TOKEN="+bearer, "DESKHAND_PERSON_KEY="+personKey)
	s := socketOf(t, cmd)
	s.token = bearer
	return s
}

// bounded is a command of deskhand that has no more than mostMemory.
func bounded(command string, args ...string) *exec.Cmd {
	line := append([]string{"-c", fmt.Sprintf(`ulimit -d %d && exec deskhand "$@"`, mostMemory<<10), "sh", command}, args...)
	return exec.Command("sh", line...)
}

// peak is the most memory that a process had so far, in MiB.
func peak(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatalf("the process has ended: %v", err)
	}
	kib := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if kib == nil {
		t.Fatalf("no VmHWM in %s", status)
	}
	n, err := strconv.Atoi(string(kib[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n >> 10
}

// bomb is an attempt in whose folder an agent has put what is large.
type bomb struct{ id, page, state string }

// agentWrites starts an attempt that runs a command and then works on.
func agentWrites(t *testing.T, s *socket, state, title, command string) bomb {
	t.Helper()
	task := strings.TrimSpace(done(t, t.TempDir(), "tasks", "add", title, "--project", "shop", "--state", state))
	done(t, t.TempDir(), "tasks", "start", task, "--executor", "fake", "--state", state, "--prompt", "run "+command+"\nsay written\nhang")
	b := bomb{state: state}
	eventually(t, "what the agent writes", func() error {
		shown := deskhand(t, t.TempDir(), "tasks", "logs", task, "--state", state).stdout
		if !strings.Contains(shown, "written") {
			return fmt.Errorf("the log is %.300s", shown)
		}
		return nil
	})
	_, body, _ := looks(t, s, "/work/tasks/"+task, personKey)
	found := regexp.MustCompile(`/work/attempts/([0-9a-f-]{36})`).FindStringSubmatch(body)
	if found == nil {
		t.Fatalf("the page of the task names no attempt:\n%s", body)
	}
	b.id, b.page = found[1], found[0]
	t.Cleanup(func() {
		if out, err := exec.Command("deskhand", "tasks", "stop", b.id, "--force", "--state", state).CombinedOutput(); err != nil {
			t.Errorf("tasks stop: %v\n%s", err, out)
		}
	})
	return b
}

// TestAttackDoorsMemoryIsBounded drives one server through everything that is
// large. A case is one entry of tries: what is large, and each way to look at it.
func TestAttackDoorsMemoryIsBounded(t *testing.T) {
	t.Setenv("CI", "")
	state := lingering(t)
	repo := gitRepo(t, map[string]string{"README.md": "# Shop\n"})
	done(t, t.TempDir(), "tasks", "project", "add", repo, "--name", "shop", "--repo", "shop", "--state", state)
	s := limitedServer(t, "--tools", "docs,ask,work", "--state", state, "--index", indexed(t, acme(t, nil)))
	call := func(t *testing.T, tool, arguments string) {
		t.Helper()
		m, err := s.withoutSession().ask("tools/call", `{"name":"`+tool+`","arguments":`+arguments+`}`)
		if err != nil || m.Error == nil && !strings.Contains(string(m.Result), `"content"`) || strings.Contains(string(m.Result), "internal error") || strings.Contains(string(m.Result), "summary_failed") {
			t.Errorf("%s: %.500s, %+v, %v", tool, m.Result, m.Error, err)
		}
	}
	post := func(t *testing.T, path, kind, body string, want ...int) {
		t.Helper()
		status := posted(t, s, path, kind, body)
		for _, w := range want {
			if status == w {
				return
			}
		}
		t.Errorf("POST %s of %d bytes: status %d, want one of %v", path, len(body), status, want)
	}
	large := agentWrites(t, s, state, "One large file", `sh -c "head -c 300000000 /dev/zero | tr '\0' a > x"`)
	lines := agentWrites(t, s, state, "Many lines", `sh -c "yes | head -c 120000000 > x"`)
	chatty := agentWrites(t, s, state, "A long log", `sh -c "yes a line of the log | head -c 20000000"`)
	look := func(b bomb) map[string]func(*testing.T) {
		id := `"attempt_id":"` + b.id + `"`
		return map[string]func(*testing.T){
			"on its page": func(t *testing.T) {
				if status, _, _ := looks(t, s, b.page, personKey); status != http.StatusOK {
					t.Errorf("GET %s = %d", b.page, status)
				}
			},
			"on its page with force":       func(t *testing.T) { looks(t, s, b.page+"?all=1", personKey) },
			"get_attempt_changes":          func(t *testing.T) { call(t, "get_attempt_changes", "{"+id+"}") },
			"get_attempt_changes by force": func(t *testing.T) { call(t, "get_attempt_changes", "{"+id+`,"force":true}`) },
			"get_attempt_patch":            func(t *testing.T) { call(t, "get_attempt_patch", "{"+id+`,"paths":["shop/x"],"force":true}`) },
			"get_attempt_file":             func(t *testing.T) { call(t, "get_attempt_file", "{"+id+`,"path":"shop/x"}`) },
			"get_attempt_file by lines":    func(t *testing.T) { call(t, "get_attempt_file", "{"+id+`,"path":"shop/x","start_line":2}`) },
			"tail_attempt_logs":            func(t *testing.T) { call(t, "tail_attempt_logs", "{"+id+`,"channel":"raw","limit":200}`) },
			"tasks diff": func(t *testing.T) {
				out, err := bounded("tasks", "diff", b.id, "--force", "--state", b.state).CombinedOutput()
				if err != nil || len(out) > 4<<20 {
					t.Errorf("tasks diff: %v and %d bytes: %.300s", err, len(out), out)
				}
			},
		}
	}
	tries := map[string]map[string]func(*testing.T){
		"300 MB in one line": look(large),
		"120 MB of lines":    look(lines),
		"20 MB in a log":     look(chatty),
		"four looks at once": {"on its page": fourTimes(look(large)["on its page"]), "get_attempt_changes": fourTimes(look(large)["get_attempt_changes"]), "by force": fourTimes(look(lines)["get_attempt_changes by force"])},
		"requests that are large": {
			"a query of 3.9 MB": func(t *testing.T) { call(t, "search_docs", `{"query":"`+strings.Repeat("zebra quagga ", 300_000)+`"}`) },
			"a question of 3.9 MB": func(t *testing.T) {
				call(t, "ask_user", `{"questions":[{"question":"`+strings.Repeat("why? ", 780_000)+`"}]}`)
			},
			"a title of 3.9 MB": func(t *testing.T) {
				call(t, "create_task", `{"project_id":"x","title":"`+strings.Repeat("t", 3_900_000)+`"}`)
			},
			"JSON 2,000,000 deep": func(t *testing.T) { post(t, "/mcp", "application/json", strings.Repeat("[", 2_000_000), 400, 413, 200) },
			"objects 1,000,000 deep": func(t *testing.T) {
				post(t, "/mcp", "application/json", strings.Repeat(`{"a":`, 1_000_000), 400, 413, 200)
			},
			"17 MB to /mcp": func(t *testing.T) { post(t, "/mcp", "application/json", strings.Repeat(" ", 17<<20), 413) },
			"17 MB to /work": func(t *testing.T) {
				post(t, "/work", "application/x-www-form-urlencoded", "title="+strings.Repeat("t", 17<<20), 413)
			},
			"17 MB to /login": func(t *testing.T) {
				post(t, "/login", "application/x-www-form-urlencoded", "token="+strings.Repeat("t", 17<<20), 413, 400, 401)
			},
			"17 MB to the chat": func(t *testing.T) {
				post(t, "/run/api/chat", "application/json", `{"x":"`+strings.Repeat("t", 17<<20)+`"}`, 413, 400, 404)
			},
			"many posts of 3.9 MB at once": func(t *testing.T) {
				var all sync.WaitGroup
				for range some(60) {
					all.Go(func() {
						posted(t, s, "/mcp", "application/json", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_docs","arguments":{"query":"x","more":[`+strings.Repeat("{},", 1_300_000)+`1]}}}`)
					})
				}
				all.Wait()
			},
			"many forms of 15 MB at once": func(t *testing.T) {
				var all sync.WaitGroup
				for range some(30) {
					all.Go(func() {
						posted(t, s, "/work", "application/x-www-form-urlencoded", "title="+strings.Repeat("t", 15<<20))
					})
				}
				all.Wait()
			},
			"eight posts of 15 MB at once": func(t *testing.T) {
				var all sync.WaitGroup
				for range 8 {
					all.Go(func() { posted(t, s, "/mcp", "application/json", `{"x":"`+strings.Repeat("t", 15<<20)+`"}`) })
				}
				all.Wait()
			},
		},
	}
	for name, some := range tries {
		t.Run(name, func(t *testing.T) {
			for how, try := range some {
				t.Run(how, func(t *testing.T) {
					before := peak(t, s.cmd.Process.Pid)
					try(t)
					if status, _ := s.get("/healthz"); status != http.StatusOK {
						t.Errorf("GET /healthz = %d behind it", status)
					}
					now := peak(t, s.cmd.Process.Pid)
					if t.Logf("%d MiB at most, %d before", now, before); now > mostMemory {
						t.Errorf("the server had %d MiB, want at most %d", now, mostMemory)
					}
				})
			}
		})
	}
}

// largeCommand is a server for sh that speaks over stdin and stdout, and whose tool
// answers with 15 MB.
const largeCommand = `while IFS= read -r line; do
id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
case $line in
*'"method":"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"large","version":"1"}}}\n' "$id" ;;
*'"method":"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"all","description":"says much","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
*'"method":"tools/call"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"' "$id"; head -c 15000000 /dev/zero | tr '\0' x; printf '"}]}}\n' ;;
*'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id" ;;
esac
done`

// largeOverHTTP is such a server over streamable HTTP. It writes its answers by hand:
// the SDK would encode the 15 MB in this process, which the race detector slows down.
func largeOverHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		ID     json.RawMessage
		Method string
	}
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&asked) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch {
	case asked.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case asked.Method == "initialize":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"large","version":"1"}}}`, asked.ID)
	case asked.Method == "tools/list":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"all","description":"says much","inputSchema":{"type":"object"}}]}}`, asked.ID)
	case asked.Method == "tools/call":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}`, asked.ID, fifteenMB())
	default:
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, asked.ID)
	}
}

var fifteenMB = sync.OnceValue(func() string { return strings.Repeat("x", 15_000_000) })

// getsLarge calls the tool large_all and fails unless its answer comes whole.
func getsLarge(t *testing.T, s *socket) {
	t.Helper()
	response, err := s.withoutSession().post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"large_all","arguments":{},`+meta+`}}`,
		map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "large_all"})
	if err != nil {
		t.Error(err)
		return
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if all := bytes.Contains(body, []byte(fifteenMB())); err != nil || !all || response.StatusCode != http.StatusOK {
		t.Errorf("status %s, %d bytes, the whole answer %v, error %v: %.400s", response.Status, len(body), all, err, body)
	}
}

// answersAreLarge is a limited server with an upstream whose tool large_all answers
// with 15 MB: one over HTTP, or a command.
func answersAreLarge(t *testing.T, command bool) *socket {
	t.Helper()
	upstream := map[string]any{"name": "large"}
	if command {
		upstream["command"] = []string{"sh", "-c", largeCommand}
	} else {
		serving := httptest.NewServer(http.HandlerFunc(largeOverHTTP))
		t.Cleanup(func() { serving.CloseClientConnections(); serving.Close() })
		upstream["url"] = serving.URL
	}
	config, err := json.Marshal(map[string]any{"upstreams": []any{upstream}})
	if err != nil {
		t.Fatal(err)
	}
	file, state := configured(t, string(config))
	s := limitedServer(t, "--tools", "ask", "--config", file, "--state", state)
	eventually(t, "the tools of the upstream", func() error {
		if m, err := s.withoutSession().ask("tools/list", "{}"); err != nil || !strings.Contains(string(m.Result), `"large_all"`) {
			return fmt.Errorf("%.300s, %v", m.Result, err)
		}
		return nil
	})
	return s
}

// What upstreams answer is passed on within bounds too. One answer of 15 MB took
// 211 to 227 MiB, four at once ended the server once, and eight did until those
// that are large came to share a budget.
func TestAttackDoorsMemoryOfAnswersIsBounded(t *testing.T) {
	for _, from := range []string{"http", "a command"} {
		s := answersAreLarge(t, from == "a command")
		cases := []struct{ atOnce, most int }{{1, 190}, {4, 300}} // MiB more than before; on a busy machine one takes up to 159
		if wholeAttack() {
			cases = append(cases, struct{ atOnce, most int }{8, 300}, struct{ atOnce, most int }{16, 300})
		}
		for _, c := range cases {
			t.Run(fmt.Sprintf("%d at once from %s", c.atOnce, from), func(t *testing.T) {
				before := peak(t, s.cmd.Process.Pid)
				var all sync.WaitGroup
				for range c.atOnce {
					all.Go(func() { getsLarge(t, s) })
				}
				all.Wait()
				now := peak(t, s.cmd.Process.Pid)
				if t.Logf("%d MiB at most, %d before", now, before); now-before > c.most {
					t.Errorf("the server took %d MiB, want at most %d", now-before, c.most)
				}
			})
		}
	}
}

// Clients that stop reading hold what large answers share until they are gone: then
// those that wait get theirs.
func TestAttackDoorsMemoryOfAnswersThatNobodyReads(t *testing.T) {
	s := answersAreLarge(t, false)
	address := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/mcp")
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"large_all","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"idle","version":"1"}}}}`
	var idle []net.Conn
	for range 6 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		idle = append(idle, conn)
		_ = conn.(*net.TCPConn).SetReadBuffer(64 << 10)
		fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
			"Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: large_all\r\nContent-Length: %d\r\n\r\n%s", address, bearer, len(body), body)
	}
	begun := make(chan error, len(idle))
	for _, conn := range idle {
		go func() {
			_, err := conn.Read(make([]byte, 16))
			begun <- err
		}()
	}
	for range 2 { // that have a place at the same time
		if err := <-begun; err != nil {
			t.Fatal(err)
		}
	}
	if status, _ := s.get("/healthz"); status != http.StatusOK {
		t.Errorf("GET /healthz = %d while answers wait", status)
	}
	for _, conn := range idle {
		conn.Close()
	}
	getsLarge(t, s)
	if now := peak(t, s.cmd.Process.Pid); now > mostMemory {
		t.Errorf("the server had %d MiB, want at most %d", now, mostMemory)
	}
}

func fourTimes(try func(*testing.T)) func(*testing.T) {
	return func(t *testing.T) {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { try(t) })
		}
		all.Wait()
	}
}

// posted is the status of a post of somebody who is signed in.
func posted(t *testing.T, s *socket, path, kind, body string) int {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, strings.TrimSuffix(s.url, "/mcp")+path, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0
	}
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Accept", "application/json, text/event-stream")
	secret := personKey
	if strings.HasPrefix(path, "/mcp") || strings.HasPrefix(path, "/a2a") {
		secret = bearer
	}
	r.Header.Set("Authorization", "Bearer "+secret)
	client := http.Client{Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(r)
	if err != nil { // refused while it was sent
		return http.StatusRequestEntityTooLarge
	}
	response.Body.Close()
	return response.StatusCode
}

// What a folder of markdown has in it, and however it is nested, a build stays
// within its bounds.
func TestAttackDoorsHostileCorporaAreBounded(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"aliases that grow":       {"a.md": "---\n" + laughs(20) + "---\n# A\n"},
		"100,000 quotes deep":     {"a.md": "# A\n\n" + strings.Repeat("> ", 100_000) + "x\n"},
		"100,000 lists deep":      {"a.md": "# A\n\n" + strings.Repeat("- ", 100_000) + "x\n"},
		"100,000 brackets":        {"a.md": "# A\n\n" + strings.Repeat("[", 100_000) + "x\n"},
		"a word of 15 MB":         {"a.md": "# A\n\n" + strings.Repeat("w", 15<<20) + "\n"},
		"100,000 headings":        {"a.md": strings.Repeat("# A\n\ntext\n\n", 100_000)},
		"JSON 1,000,000 deep":     {"a.md": "# A\n", "metadata.json": strings.Repeat(`{"a":`, 1_000_000)},
		"a table of 200,000 rows": {"a.md": "# A\n\n|a|b|\n|-|-|\n" + strings.Repeat("|x|y|\n", 200_000)},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, files)
			cmd := bounded("index", dir, "--out", filepath.Join(t.TempDir(), "index"))
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() > 2 || strings.Contains(string(out), "goroutine ") || strings.Contains(string(out), "out of memory") {
				t.Errorf("index: %v\n%.2000s", err, out)
			}
		})
	}
}

// laughs is YAML in which each name stands for ten of the one before.
func laughs(n int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 [lol]\n")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	return b.String()
}
