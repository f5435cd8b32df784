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
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/deskhand/deskhand/runtime/signin/signintest"
	"github.com/deskhand/deskhand/runtime/store/storetest"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// A team works on three hosts over one database with a replica. No host sees the files of
// another.
//
// Ada and Bob sign in at C with their identity provider, and see two of four projects each.
// What Ada queues at A runs at B: there, it waits for her credential, and Bob's rule allows
// a command. Bob reviews at C, his comment reaches the agent at B, which calls the upstream
// with his credential, and he lands at C. A question for Ada is escalated to Bob. When B is
// gone, what its agents committed is still at C, and A takes B's work. B and C swap names,
// and the database fails over while a question waits.
func TestATeamWorksOnThreeHosts(t *testing.T) {
	needsHosts(t)
	pair := storetest.NewPair(t)
	t.Setenv("CI", "")
	t.Setenv("DESKHAND_STORE", pair.Database())
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	provider, upstream := signintest.New(t), newKeyed(t, "key-of-ada", "key-of-bob")
	write(t, root, map[string]string{"team.yaml": `
public_url: http://desk.example
upstreams:
  - {name: linear, url: '` + upstream.URL + `', credential_scope: user, auth: {kind: header}}
people:
  oidc:
    issuer: ` + provider.URL + `
    client_id: ` + signintest.ClientID + `
    client_secret_env: THE_SECRET
    groups:
      makers: {scopes: "answer,work:read,work:start", projects: [shop, billing]}
      leads: {scopes: "answer,work:read,work:start,work:land", projects: [shop, website], roles: [lead]}
routing: [1s role:lead]
`})
	t.Setenv("DESKHAND_CONFIG", filepath.Join(root, "team.yaml"))
	t.Setenv("THE_SECRET", signintest.Secret)
	hosts := map[string]host{}
	for _, name := range []string{"a", "b", "c"} {
		h := host{t: t, name: name, state: filepath.Join(root, name, "state"), reaches: []string{hostOf(t, provider.URL), hostOf(t, upstream.URL)}}
		if err := os.MkdirAll(h.state, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, other := range []string{"a", "b", "c"} {
			if other != name {
				h.hidden = append(h.hidden, filepath.Join(root, other))
			}
		}
		hosts[name] = h
	}
	a, b, c := hosts["a"], hosts["b"], hosts["c"]
	remote, ofA, ofC := filepath.Join(root, "shop.git"), filepath.Join(root, "a", "shop"), filepath.Join(root, "c", "store")
	if err := os.CopyFS(ofA, os.DirFS(gitRepo(t, map[string]string{"README.md": "# Shop\n"}))); err != nil {
		t.Fatal(err)
	}
	git(t, root, "clone", "--quiet", "--bare", ofA, remote)
	git(t, ofA, "remote", "add", "origin", remote)
	git(t, root, "clone", "--quiet", remote, ofC)
	git(t, ofC, "config", "user.name", "Bob")
	git(t, ofC, "config", "user.email", "bob@example.com")

	for _, project := range []string{"shop", "billing", "website", "secret"} {
		a.run("tasks", "project", "add", ofA, "--name", project)
	}
	a.run("people", "add", "eve", "--guest", "--project", "secret", "--scope", "answer,work:read,work:start,work:land")
	c.run("tasks", "project", "add", ofC, "--name", "shop", "--repo", "shop")
	if shown := a.run("tasks", "project", "show", "shop"); !strings.Contains(shown, ofA) || strings.Contains(shown, ofC) {
		t.Errorf("after C has added its checkout, A shows %s", shown)
	}

	// Both sign in at C, and see their projects.
	pages := c.serve()
	ada, bob := pages.signIn(provider, "ada", "makers"), pages.signIn(provider, "bob", "leads")
	for who, one := range map[string]struct {
		browser    teamBrowser
		has, lacks []string
	}{"ada": {ada, []string{"shop", "billing"}, []string{"website", "secret"}}, "bob": {bob, []string{"shop", "website"}, []string{"billing", "secret"}}} {
		status, body := one.browser.get("/work/projects")
		for _, name := range one.has {
			if status != http.StatusOK || !strings.Contains(body, ">"+name+"<") {
				t.Errorf("%s does not see %s: %d, %.2000s", who, name, status, body)
			}
		}
		for _, name := range one.lacks {
			if strings.Contains(body, name) {
				t.Errorf("%s sees %s", who, name)
			}
		}
	}
	for _, h := range []host{a, b} { // they share sign-ins at upstreams
		key, err := os.ReadFile(filepath.Join(c.state, "credentials.key"))
		if err == nil {
			err = os.WriteFile(filepath.Join(h.state, "credentials.key"), key, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	// Ada queues at A; B runs it with her credential, and with Bob's rule.
	rule := c.as("bob").prints("rules", "add", "launch *", "--project", "shop", "--expires", "1h")
	_, killB := b.runner("--labels", "gpu", "--places", "2")
	task := strings.TrimSpace(a.as("ada").run("tasks", "add", "Build it", "--project", "shop"))
	attempt := zooID(t, strings.ReplaceAll(a.as("ada").run("tasks", "start", task, "-e", "fake", "--on", "gpu", "--json", "--prompt",
		"run mcpcall linear_issues\npermit launch it\nwrite a.txt one\nsay Done."), `": "`, `":"`), "attempt_id")
	ada.connects("key-of-ada", bob)
	c.until("the attempt at B", task, "completed", "committed there by")
	if diff := c.run("tasks", "diff", task); !strings.Contains(diff, "+one") || !strings.Contains(diff, "on b; ") {
		t.Errorf("the diff at C: %s", diff)
	}
	if log := c.run("tasks", "logs", attempt); !strings.Contains(log, "allowed by rule "+rule+" of bob") {
		t.Errorf("the log at C has no trace of the rule %s:\n%s", rule, log)
	}

	// Bob reviews at C, where Eve of another project finds nothing.
	page := "/work/attempts/" + attempt
	if status, body := bob.get(page); status != http.StatusOK || !strings.Contains(body, "a.txt") || !strings.Contains(body, "on b; ") {
		t.Errorf("Bob's page at C: %d, %.2000s", status, body)
	}
	eves := a.prints("token", "create", "--for", "eve", "--scope", "work:read")
	for _, path := range []string{page, page + "/file?path=shop/a.txt", page + "/blob?path=shop/a.txt"} {
		if status, body := pages.get(eves, path); status != http.StatusNotFound || strings.Contains(body, "one") {
			t.Errorf("Eve's GET %s at C = %d, %.300s", path, status, body)
		}
	}
	bob.post(page, page+"/comments", url.Values{"path": {"shop/a.txt"}, "first": {"1"}, "last": {"1"}, "side": {"new"}, "quote": {"one"}, "body": {"write b.txt two"}})
	bob.post(page, page, url.Values{"act": {"send"}, "comments": {"yes"}, "prompt": {"run mcpcall linear_issues"}})
	bob.connects("key-of-bob", ada)
	eventually(t, "the comment at B", func() error {
		if diff := c.run("tasks", "diff", task); !strings.Contains(diff, "+two") {
			return fmt.Errorf("the diff at C is %s\n%s", diff, c.run("tasks", "show", task))
		}
		return nil
	})
	c.until("the follow-up", task, "completed")
	if got := fmt.Sprint(upstream.by); got != "[key-of-ada key-of-bob]" {
		t.Errorf("the upstream was called with %s", got)
	}

	// A question for Ada is escalated to the role that Bob has.
	asked := a.prints("ask", "Ship it?", "--confirm", "--to", "ada", "--detach")
	c.says("the escalation", "with role:lead since", "ask", "show", asked)
	bob.answers(asked, "yes")
	if shown := strings.ReplaceAll(a.run("ask", "show", asked, "--json"), `": "`, `":"`); !strings.Contains(shown, `"principal":"ada"`) || !strings.Contains(shown, `"by":"bob"`) {
		t.Errorf("A shows the answer as %s", shown)
	}

	// Bob lands at C. A and B know of it, and only C can undo it.
	c.as("bob").run("tasks", "land", task, "--squash", "--yes")
	if got := git(t, ofC, "show", "main:b.txt"); strings.TrimSpace(got) != "two" {
		t.Errorf("main at C has %q", got)
	}
	if shown := a.run("tasks", "show", task); !strings.Contains(shown, "landed on c") {
		t.Errorf("A shows\n%s", shown)
	}
	if refused, err := a.command("tasks", "undo", task).CombinedOutput(); err == nil || !strings.Contains(string(refused), "was landed on c") {
		t.Errorf("undo at A: %v, %s", err, refused)
	}

	// A backup of the store has the commits.
	backup := a.run("store", "backup", filepath.Join(root, "a", "backup.db"), "--json")
	if !regexp.MustCompile(`"name": ?"shared_chunks",\s*"rows": ?[1-9]`).MatchString(backup) {
		t.Errorf("the backup has no shared commits: %s", backup)
	}

	// B dies while an agent works. What it committed is at C; A takes what is queued.
	second := strings.TrimSpace(a.run("tasks", "add", "Build more", "--project", "shop"))
	a.run("tasks", "start", second, "-e", "fake", "--on", "gpu", "--prompt", "write c.txt three\nrun git add -A && git -c user.name=A -c user.email=a@b.c commit -qm own\nhang")
	eventually(t, "the agent's commit", func() error {
		if out, err := c.command("tasks", "diff", second).CombinedOutput(); err != nil || !strings.Contains(string(out), "+three") {
			return fmt.Errorf("the diff at C: %v, %s", err, out)
		}
		return nil
	})
	killB()
	third := strings.TrimSpace(a.run("tasks", "add", "Build on", "--project", "shop"))
	a.run("tasks", "start", third, "-e", "fake", "--on", "gpu", "--prompt", "write d.txt four")
	if err := os.Rename(filepath.Join(root, "b"), filepath.Join(root, "b-gone")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	a.runner("--labels", "gpu")
	c.until("what was queued", third, "completed")
	if diff := c.run("tasks", "diff", second); !strings.Contains(diff, "+three") {
		t.Errorf("without B, the diff at C is %s", diff)
	}

	// B comes back as c, and C is now called b. Each has its own work.
	if err := os.Remove(filepath.Join(root, "b")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(root, "b-gone"), filepath.Join(root, "b")); err != nil {
		t.Fatal(err)
	}
	b.name, c.name = "c", "b"
	if diff := b.run("tasks", "diff", second); !strings.Contains(diff, "+three") || strings.Contains(diff, "committed there") {
		t.Errorf("B does not know its own work under another name: %s", diff)
	}
	c.run("tasks", "undo", task)
	if got := git(t, ofC, "log", "--oneline", "main"); strings.Contains(got, "Build it") {
		t.Errorf("after undo under another name, main at C has %s", got)
	}

	// The database fails over while A asks. Bob answers at C, and A works on.
	waiting := a.command("ask", "Still there?", "--confirm", "--to", "bob")
	out := &waittest.Log{}
	waiting.Stdout, waiting.Stderr = out, out
	if err := waiting.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { waiting.Process.Kill() })
	asked = bob.finds("Still there?")
	pair.Failover()
	eventually(t, "C after the failover", func() error {
		if status, body := pages.get(bearer, "/readyz"); status != http.StatusOK {
			return fmt.Errorf("/readyz is %d: %s", status, body)
		}
		return nil
	})
	bob.answers(asked, "yes")
	if err := waiting.Wait(); err != nil || !strings.Contains(out.String(), "yes") {
		t.Errorf("ask at A: %v, %s", err, out)
	}
	fourth := strings.TrimSpace(a.run("tasks", "add", "Build again", "--project", "shop"))
	a.run("tasks", "start", fourth, "-e", "fake", "--on", "gpu", "--prompt", "write e.txt five")
	c.until("what was queued after the failover", fourth, "completed")
	if shown := c.run("ask", "show", asked, "--json"); !strings.Contains(shown, `"by": "bob"`) {
		t.Errorf("after the failover, the answer is %s", shown)
	}
}

// prints runs a command and returns what it prints to stdout.
func (h host) prints(args ...string) string {
	h.t.Helper()
	cmd, said := h.command(args...), &waittest.Log{}
	cmd.Stderr = said
	out, err := cmd.Output()
	if err != nil {
		h.t.Fatalf("on %s, deskhand %s: %v\n%s", h.name, strings.Join(args, " "), err, said)
	}
	return strings.TrimSpace(string(out))
}

// says waits until a command on the host prints a text.
func (h host) says(what, text string, args ...string) {
	h.t.Helper()
	eventually(h.t, what, func() error {
		if said := h.run(args...); !strings.Contains(said, text) {
			return fmt.Errorf("no %q in %s", text, said)
		}
		return nil
	})
}

// until waits until a host shows all of the words for a task.
func (h host) until(what, task string, words ...string) {
	h.t.Helper()
	eventually(h.t, what, func() error {
		shown := h.run("tasks", "show", task)
		for _, word := range words {
			if !strings.Contains(shown, word) {
				return fmt.Errorf("%s shows no %q in\n%s", h.name, word, shown)
			}
		}
		return nil
	})
}

// hostPages are the pages of a server on a host.
type hostPages struct {
	*socket
	network string // path of the network namespace
}

// serve starts a server on the host.
func (h host) serve() hostPages {
	h.t.Helper()
	cmd := h.command("serve", "--http", "127.0.0.1:0", "--tools", "ask,work")
	cmd.Env = append(cmd.Env, "DESKHAND_TOKEN="+bearer, "DESKHAND_PERSON_KEY="+personKey)
	s := socketOf(h.t, cmd)
	h.t.Cleanup(s.kill) // with its namespaces
	connectNetwork(h.t, cmd.Process.Pid, h.reaches)
	return hostPages{s, networkOf(cmd.Process.Pid)}
}

// networkOf returns the path of a process's network namespace.
func networkOf(pid int) string { return fmt.Sprintf("/proc/%d/ns/net", pid) }

// inNetwork calls do in a network namespace, on a thread that ends with it.
func inNetwork(path string, do func() error) error {
	done := make(chan error)
	go func() {
		done <- func() error {
			runtime.LockOSThread() // never unlocked
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
				return err
			}
			return do()
		}()
	}()
	return <-done
}

// connectNetwork lets the programs in a process's network reach addresses of the test's own.
func connectNetwork(t testing.TB, pid int, addresses []string) {
	t.Helper()
	for _, address := range addresses {
		var l net.Listener
		if err := inNetwork(networkOf(pid), func() (err error) { l, err = net.Listen("tcp", address); return err }); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				near, err := l.Accept()
				if err != nil {
					return
				}
				far, err := net.Dial("tcp", address)
				if err != nil {
					near.Close()
					continue
				}
				go func() { io.Copy(far, near); far.Close() }()
				go func() { io.Copy(near, far); near.Close() }()
			}
		}()
	}
}

// hostOf returns the host and port of a URL.
func hostOf(t testing.TB, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

// dial connects inside the host's network.
func (p hostPages) dial(_ context.Context, network, address string) (conn net.Conn, err error) {
	err = inNetwork(p.network, func() error {
		to, err := net.ResolveTCPAddr(network, address) // a Dialer may use another thread
		if err == nil {
			conn, err = net.DialTCP(network, nil, to)
		}
		return err
	})
	return conn, err
}

// get reads a page as a program does.
func (p hostPages) get(token, path string) (status int, body string) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, strings.TrimSuffix(p.url, "/mcp")+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return finish(p.t, &http.Client{Transport: &http.Transport{DialContext: p.dial, DisableKeepAlives: true}, Timeout: patience}, r)
}

// teamBrowser is a person's browser, which reaches the pages at their public address.
type teamBrowser struct {
	t    testing.TB
	name string
	*http.Client
}

const teamPages = "http://desk.example"

// signIn signs a browser in with the identity provider.
func (p hostPages) signIn(provider *signintest.Provider, name, group string) teamBrowser {
	p.t.Helper()
	provider.Claims = map[string]any{"sub": name, "preferred_username": name, "groups": []string{group}}
	jar, err := cookiejar.New(nil)
	if err != nil {
		p.t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == "desk.example:80" {
			return p.dial(ctx, network, hostOf(p.t, p.url))
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
	b := teamBrowser{p.t, name, &http.Client{Jar: jar, Transport: transport, Timeout: patience}}
	if status, body := b.get("/login/oidc?to=/work/projects"); status != http.StatusOK {
		p.t.Fatalf("%s cannot sign in: %d, %.2000s", name, status, body)
	}
	return b
}

func (b teamBrowser) get(path string) (status int, body string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, teamPages+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	return finish(b.t, b.Client, r)
}

// post sends a form of a page.
func (b teamBrowser) post(page, path string, form url.Values) (body string) {
	b.t.Helper()
	_, text := b.get(page)
	token := formToken.FindStringSubmatch(text)
	if token == nil {
		b.t.Fatalf("%s's page %s has no form: %.3000s", b.name, page, text)
	}
	form.Set("token", token[1])
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, teamPages+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "text/html")
	r.Header.Set("Origin", teamPages)
	status, body := finish(b.t, b.Client, r)
	if status != http.StatusOK {
		_, why, _ := strings.Cut(body, "<main")
		b.t.Fatalf("%s's POST %s = %d, %.1500s", b.name, path, status, why)
	}
	return body
}

// finds waits for a question in the inbox and returns its ID.
func (b teamBrowser) finds(text string) (id string) {
	b.t.Helper()
	eventually(b.t, b.name+"'s question", func() error {
		_, body := b.get("/")
		for _, link := range cardLink.FindAllStringSubmatch(body, -1) {
			id = link[1]
		}
		if id == "" || !strings.Contains(body, text) {
			return fmt.Errorf("no %q in the inbox: %.3000s", text, body)
		}
		return nil
	})
	return id
}

// answers sends the answer to a question, not with a button that could be taken back.
func (b teamBrowser) answers(id, answer string) {
	b.t.Helper()
	page := "/inbox/" + id
	_, body := b.get(page)
	field := regexp.MustCompile(`data-question="([^"]+)"`).FindStringSubmatch(body)
	if field == nil {
		b.t.Fatalf("%s's page %s has no question: %.3000s", b.name, page, body)
	}
	b.post(page, page, url.Values{"do.act": {"send"}, "a." + field[1]: {answer}})
}

// connects gives the person's key for the upstream, for which nobody else is asked.
func (b teamBrowser) connects(key string, other teamBrowser) {
	b.t.Helper()
	page := "/connect/" + b.finds("inear")
	if status, body := other.get(page); status == http.StatusOK && strings.Contains(body, `name="key"`) {
		b.t.Errorf("%s can connect for %s", other.name, b.name)
	}
	if body := b.post(page, page, url.Values{"act": {"connect"}, "key": {key}}); !strings.Contains(body, "is connected") {
		b.t.Errorf("%s's key: %.2000s", b.name, body)
	}
}

// finish does a request.
func finish(t testing.TB, client *http.Client, r *http.Request) (status int, body string) {
	t.Helper()
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}
