package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A team works on three hosts: what is queued at A runs at B, is reviewed by another person
// at C, whose comment reaches the agent at B, and is landed at C. When B is gone, what its
// agents committed is still at C, and A takes B's work. No host sees the files of another.
func TestATeamWorksOnThreeHosts(t *testing.T) {
	on := oneDatabase(t)
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	hosts := map[string]host{}
	for _, name := range []string{"a", "b", "c"} {
		h := on(name, filepath.Join(root, name, "state"))
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

	a.run("tasks", "project", "add", ofA, "--name", "shop")
	c.run("tasks", "project", "add", ofC, "--name", "shop", "--repo", "shop")
	if shown := a.run("tasks", "project", "show", "shop"); !strings.Contains(shown, ofA) || strings.Contains(shown, ofC) {
		t.Errorf("after C has added its checkout, A shows %s", shown)
	}
	tokens := map[string]string{}
	for _, person := range []string{"ada", "bob", "eve"} {
		project := map[bool]string{true: "other", false: "shop"}[person == "eve"]
		if project == "other" {
			a.run("tasks", "project", "add", ofA, "--name", "other")
		}
		a.run("people", "add", person, "--guest", "--project", project, "--scope", "answer,work:read,work:start,work:land")
		token, err := a.command("token", "create", "--for", person, "--scope", "work:read,work:start,work:land").Output()
		if err != nil {
			t.Fatal(err)
		}
		tokens[person] = strings.TrimSpace(string(token))
	}

	// Ada queues at A; B runs it.
	_, killB := b.runner("--labels", "gpu", "--places", "2")
	task := strings.TrimSpace(a.run("tasks", "add", "Build it", "--project", "shop"))
	attempt := zooID(t, strings.ReplaceAll(a.run("tasks", "start", task, "-e", "fake", "--on", "gpu", "--json", "--prompt", "write a.txt one\nsay Done."), `": "`, `":"`), "attempt_id")
	c.until("the attempt at B", task, "completed", "committed there by")
	if diff := c.run("tasks", "diff", task); !strings.Contains(diff, "+one") || !strings.Contains(diff, "on b; ") {
		t.Errorf("the diff at C: %s", diff)
	}

	// Bob reviews at C, where Eve of another project finds nothing.
	pages := c.serve()
	page := "/work/attempts/" + attempt
	if status, body := pages.get(tokens["bob"], page); status != http.StatusOK || !strings.Contains(body, "a.txt") || !strings.Contains(body, "on b; ") {
		t.Errorf("Bob's page at C: %d, %.2000s", status, body)
	}
	for _, path := range []string{page, page + "/file?path=shop/a.txt", page + "/blob?path=shop/a.txt"} {
		if status, body := pages.get(tokens["eve"], path); status != http.StatusNotFound || strings.Contains(body, "one") {
			t.Errorf("Eve's GET %s at C = %d, %.300s", path, status, body)
		}
	}
	pages.post(tokens["bob"], page+"/comments", url.Values{"path": {"shop/a.txt"}, "first": {"1"}, "last": {"1"}, "side": {"new"}, "quote": {"one"}, "body": {"write b.txt two"}})
	pages.post(tokens["bob"], page, url.Values{"act": {"send"}, "comments": {"yes"}, "prompt": {"Please:"}})
	eventually(t, "the comment at B", func() error {
		if diff := c.run("tasks", "diff", task); !strings.Contains(diff, "+two") {
			return fmt.Errorf("the diff at C is %s\n%s", diff, c.run("tasks", "show", task))
		}
		return nil
	})
	c.until("the follow-up", task, "completed")

	// Bob lands at C. A and B know of it, and only C can undo it.
	c.run("tasks", "land", task, "--squash", "--yes")
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

// hostPages are the pages of a server on a host, whose network has no other machine.
type hostPages struct {
	*socket
	network string // path of the network namespace
}

// serve starts a server on the host.
func (h host) serve() hostPages {
	h.t.Helper()
	cmd := h.command("serve", "--http", "127.0.0.1:0", "--tools", "work")
	cmd.Env = append(cmd.Env, "DESKHAND_TOKEN="+bearer, "DESKHAND_PERSON_KEY="+personKey)
	s := socketOf(h.t, cmd)
	h.t.Cleanup(s.kill) // with its namespaces
	return hostPages{s, fmt.Sprintf("/proc/%d/ns/net", s.cmd.Process.Pid)}
}

// dial connects inside the host's network, on a thread that ends with it.
func (p hostPages) dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked
		f, e := os.Open(p.network)
		if err = e; err != nil {
			return
		}
		defer f.Close()
		if err = unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
			return
		}
		to, e := net.ResolveTCPAddr(network, address) // a Dialer may use another thread
		if err = e; err == nil {
			conn, err = net.DialTCP(network, nil, to)
		}
	}()
	<-done
	return conn, err
}

func (p hostPages) do(r *http.Request, token string) (status int, body string) {
	p.t.Helper()
	r.Header.Set("Authorization", "Bearer "+token)
	client := http.Client{Transport: &http.Transport{DialContext: p.dial, DisableKeepAlives: true}, Timeout: 30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func (p hostPages) get(token, path string) (status int, body string) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, strings.TrimSuffix(p.url, "/mcp")+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.do(r, token)
}

func (p hostPages) post(token, path string, form url.Values) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, strings.TrimSuffix(p.url, "/mcp")+path, strings.NewReader(form.Encode()))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if status, body := p.do(r, token); status != http.StatusSeeOther {
		_, why, _ := strings.Cut(body, "<main")
		p.t.Fatalf("POST %s = %d, %.1500s", path, status, why)
	}
}
