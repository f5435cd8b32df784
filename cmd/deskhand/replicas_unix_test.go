//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/deskhand/deskhand/runtime/store/storetest"
	"github.com/deskhand/deskhand/runtime/waittest"
	"github.com/deskhand/deskhand/runtime/web"
)

// sharedHost is the address of the proxies on the page.
const sharedHost = "desk.example.org"

// onPage returns the example on the page about several machines that begins with a line, for
// a proxy at an address and two servers.
func onPage(t *testing.T, begins, proxy string, servers [2]string) string {
	t.Helper()
	page, err := os.ReadFile("../../corpus/guides/several-machines.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "\n"+begins)
	text, _, ends := strings.Cut(begins+text, "```")
	if !found || !ends {
		t.Fatalf("the page has no example that begins with %q", begins)
	}
	return strings.NewReplacer("10.0.0.1:20310", servers[0], "10.0.0.2:20310", servers[1], "listen 80;", "listen "+proxy+";").Replace(text)
}

// proxied starts a program as a proxy, if it is installed.
func proxied(t *testing.T, listen, settings string, words ...string) {
	t.Helper()
	if _, err := exec.LookPath(words[0]); err != nil {
		if os.Getenv("DESKHAND_TEST_PROXY") == "require" {
			t.Fatalf("%s is not installed, and DESKHAND_TEST_PROXY requires it", words[0])
		}
		t.Skipf("NOT TESTED: two servers behind %s: it is not installed", words[0])
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "settings")
	if err := os.WriteFile(path, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, word := range words {
		words[i] = strings.NewReplacer("SETTINGS", path, "DIR", dir).Replace(word)
	}
	cmd := exec.Command(words[0], words[1:]...)
	log := &waittest.Log{}
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	eventually(t, words[0], func() error {
		conn, err := net.Dial("tcp", listen)
		if err != nil {
			return fmt.Errorf("%v: %s", err, log)
		}
		return conn.Close()
	})
}

// Two servers over one database are one behind nginx and Caddy, as the page shows: what is
// asked at one is answered at the other. If one dies, a repeated call gets the answer, and one
// that stops answers what it holds.
func TestTwoServersBehindAProxyAreOne(t *testing.T) {
	for name, start := range map[string]func(t *testing.T, listen string, servers [2]string){
		"nginx": func(t *testing.T, listen string, servers [2]string) {
			proxied(t, listen, "daemon off; master_process off; pid nginx.pid; error_log stderr; events {}\nhttp {\naccess_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;\n"+
				onPage(t, "upstream any {", listen, servers)+"}\n", "nginx", "-p", "DIR", "-c", "SETTINGS", "-e", "stderr")
		},
		"Caddy": func(t *testing.T, listen string, servers [2]string) {
			example := strings.Replace(onPage(t, sharedHost+" {", listen, servers), sharedHost+" {", ":"+port(listen)+" {\n\tbind 127.0.0.1", 1)
			proxied(t, listen, "{\n\tadmin off\n\tauto_https off\n}\n"+example, "caddy", "run", "--config", "SETTINGS", "--adapter", "caddyfile")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("CI", "")
			t.Setenv("DESKHAND_STORE", storetest.Postgres(t))
			listen := freeAddr(t)
			r := &replicas{t: t, base: "http://" + net.JoinHostPort(sharedHost, port(listen)), proxy: listen}
			for i := range r.servers {
				r.addresses[i] = freeAddr(t)
				cmd := exec.Command("deskhand", "serve", "--http", r.addresses[i], "--tools", "ask", "--base-url", r.base, "--state", filepath.Join(t.TempDir(), "state"))
				cmd.Env = append(cmd.Environ(), "DESKHAND_TOKEN="+bearer, "DESKHAND_PERSON_KEY="+personKey)
				r.servers[i] = socketOf(t, cmd)
			}
			start(t, listen, r.addresses)
			r.story()
		})
	}
}

func port(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

// replicas are two servers behind a proxy.
type replicas struct {
	t           *testing.T
	base, proxy string
	servers     [2]*socket
	addresses   [2]string
	browser     *http.Client
}

func (r *replicas) story() {
	r.signIn()
	agent := (&socket{t: r.t, url: "http://" + r.proxy + "/mcp", token: bearer})
	crossed := map[string]bool{}
	for i := 0; len(crossed) < 2; i++ {
		if i == 20 {
			r.t.Fatalf("of 20 questions, these were answered at another server than they were asked at: %v", crossed)
		}
		held := r.ask(agent.withoutSession(), fmt.Sprintf("Question %d?", i))
		asked, id := r.holder(), r.find(fmt.Sprintf("Question %d?", i))
		if answered := r.answer(id); answered != asked {
			crossed[fmt.Sprintf("asked at %d, answered at %d", asked, answered)] = true
		}
		if got := <-held; !strings.Contains(got, "Endurance") {
			r.t.Fatalf("the call held by server %d returned %s", asked, got)
		}
		for range i % 2 {
			r.get("/healthz") // or each kind of request always goes to the same server
		}
	}
	// A client of an earlier version has a session on one server.
	session := agent.withSession()
	for range 6 {
		if m, err := session.ask("tools/list", "{}"); err != nil || !strings.Contains(string(m.Result), "ask_user") {
			r.t.Fatalf("tools/list in a session: %s %v", m.Result, err)
		}
	}

	// One server dies with a held call. The client learns that, and repeats the call at once,
	// which finds the same question.
	held := r.ask(agent.withoutSession(), "Which ship?")
	dead, id := r.holder(), r.find("Which ship?")
	r.servers[dead].kill()
	if got := <-held; strings.Contains(got, "Endurance") || strings.Contains(got, `"result"`) {
		r.t.Errorf("the call held by a server that died returned %s", got)
	}
	again := r.ask(agent.withoutSession(), "Which ship?")
	if r.holder() == dead {
		r.t.Errorf("the dead server %d holds a call", dead)
	}
	if found := r.find("Which ship?"); found != id {
		r.t.Errorf("the repeated call asks %s, want %s", found, id)
	}
	if left := r.answer(id); left == dead {
		r.t.Errorf("the dead server %d took an answer", left)
	}
	if got := <-again; !strings.Contains(got, "Endurance") {
		r.t.Errorf("the repeated call returned %s, want the answer", got)
	}

	// The other one stops, and first answers what it holds.
	held = r.ask(agent.withoutSession(), "Which crew?")
	last := r.servers[r.holder()]
	id = r.find("Which crew?")
	last.killed = true // it is ended here
	last.cmd.Process.Signal(syscall.SIGTERM)
	if got := <-held; !strings.Contains(got, id) || !strings.Contains(got, "stays open") {
		r.t.Errorf("the call held by a server that stopped returned %s, want the ID %s", got, id)
	}
	<-last.quiet
	if err := last.cmd.Wait(); err != nil {
		r.t.Errorf("the server that stopped ended with %v", err)
	}
}

// signIn signs a browser in through the proxy.
func (r *replicas) signIn() {
	jar, err := cookiejar.New(nil)
	if err != nil {
		r.t.Fatal(err)
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, r.proxy)
	}}
	r.t.Cleanup(transport.CloseIdleConnections)
	r.browser = &http.Client{Jar: jar, Transport: transport, Timeout: patience}
	if status, body := r.open(web.People{Key: personKey}.LoginLink(r.base, "/")); status != http.StatusOK || !strings.Contains(body, "Inbox") {
		r.t.Fatalf("signing in: %d %.500s", status, body)
	}
}

func (r *replicas) open(address string) (int, string) {
	r.t.Helper()
	request, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	request.Header.Set("Accept", "text/html")
	return r.do(request)
}

func (r *replicas) get(path string) (int, string) { r.t.Helper(); return r.open(r.base + path) }

func (r *replicas) do(request *http.Request) (int, string) {
	r.t.Helper()
	response, err := r.browser.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// ask asks a question in a call that is held. Its result is what the client gets.
func (r *replicas) ask(agent *era, question string) <-chan string {
	got := make(chan string, 1)
	go func() {
		response, err := agent.postIn(context.Background(), 1, "ask_user", fmt.Sprintf(`{"questions":[{"id":"q","question":%q}]}`, question))
		if err != nil {
			got <- err.Error()
			return
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		got <- fmt.Sprintf("%s %s %v", response.Status, body, err)
	}()
	return got
}

// metric reads one value of a server's metrics.
func (r *replicas) metric(server int, name string) string {
	request, err := http.NewRequest(http.MethodGet, "http://"+r.addresses[server]+"/metrics", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+bearer)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "" // it is gone
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(string(body))
	if found == nil {
		return "0"
	}
	return found[1]
}

// holder waits until a server holds a call, and returns which.
func (r *replicas) holder() (at int) {
	r.t.Helper()
	eventually(r.t, "a held call", func() error {
		var seen []string
		for i := range r.servers {
			held := r.metric(i, `deskhand_http_requests_in_flight{route="/mcp"}`)
			if held == "1" {
				at = i
				return nil
			}
			seen = append(seen, held)
		}
		return fmt.Errorf("the servers hold %q calls", seen)
	})
	return at
}

var cardLink = regexp.MustCompile(`/inbox/(elc_[0-9A-Z]+)`)

// find returns the ID of the only open question, as the inbox shows it.
func (r *replicas) find(question string) (id string) {
	r.t.Helper()
	eventually(r.t, "the question in the inbox", func() error {
		status, body := r.get("/")
		found := map[string]bool{}
		for _, link := range cardLink.FindAllStringSubmatch(body, -1) {
			id = link[1]
			found[id] = true
		}
		if status != http.StatusOK || len(found) != 1 || !strings.Contains(body, question) {
			return fmt.Errorf("the inbox is %d with the questions %v", status, found)
		}
		return nil
	})
	return id
}

var formToken = regexp.MustCompile(`name="token" (?:content|value)="([^"]+)"`)

// answer sends the form of a question, and returns which server took it.
func (r *replicas) answer(id string) (at int) {
	r.t.Helper()
	const posts = `deskhand_http_request_duration_seconds_count{route="POST /inbox/{id}"}`
	var before [2]string
	for i := range r.servers {
		before[i] = r.metric(i, posts)
	}
	_, page := r.get("/inbox/" + id)
	token := formToken.FindStringSubmatch(page)
	if token == nil {
		r.t.Fatalf("the page has no token: %.1000s", page)
	}
	request, err := http.NewRequest(http.MethodPost, r.base+"/inbox/"+id, strings.NewReader(url.Values{"token": {token[1]}, "do.act": {"send"}, "a.q": {"Endurance"}}.Encode()))
	if err != nil {
		r.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", r.base)
	if status, body := r.do(request); status >= 400 {
		r.t.Fatalf("the answer: %d %.1000s", status, body)
	}
	for i := range r.servers {
		if now := r.metric(i, posts); now != "" && now != before[i] {
			return i
		}
	}
	r.t.Fatal("no server took the answer")
	return -1
}
