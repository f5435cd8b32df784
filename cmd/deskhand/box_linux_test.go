package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/tasks/box"
)

// boxSecret is what no agent in a sandbox may see.
const boxSecret = "the-secret-of-the-person"

// boxWorld is a machine with a person on it: a home with keys, a checkout, the
// state folder, and services.
type boxWorld struct {
	home, repo, state, task string
	service                 string // a server on loopback
	allowed                 string // another one, which sandbox_network names
	socket                  string // a service at a file
	attack                  string // the program that tries to leave
	works                   []boxTry
	slow                    time.Duration // to wait longer than other tests
	before                  map[string]string
}

func newBoxWorld(t *testing.T, home string, works []boxTry) *boxWorld {
	t.Helper()
	w := &boxWorld{home: home, works: works, state: lingering(t)}
	write(t, w.home, map[string]string{
		".ssh/id_ed25519": boxSecret + "\n", ".gitconfig": "[user]\n\tname = Ann\n\temail = ann@example.com\n", ".bashrc": "# mine\n",
		".config/gh/hosts.yml": boxSecret + "\n", ".aws/credentials": boxSecret + "\n", ".cache/go-build/trim.txt": "1\n",
	})
	t.Setenv("CI", "")
	t.Setenv("HOME", w.home)
	t.Setenv("SSH_AUTH_SOCK", filepath.Join(w.home, "agent.sock"))
	t.Setenv("DESKHAND_STATE", w.state)
	for _, at := range []*string{&w.service, &w.allowed} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, boxSecret) }))
		t.Cleanup(s.Close)
		*at = s.Listener.Addr().String()
	}
	var err error
	if w.attack, err = exec.LookPath("attack"); err != nil {
		t.Fatal(err)
	}
	w.socket = filepath.Join(w.home, "service.sock")
	for _, name := range []string{w.socket, "@deskhand-box-" + filepath.Base(w.home)} {
		l, err := net.Listen("unix", name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
	}
	w.repo = gitRepo(t, map[string]string{"README.md": "# Shop\n"})
	// Programs are shown, whatever is in or around their folder.
	t.Setenv("PATH", strings.Join([]string{os.Getenv("PATH"), filepath.Dir(w.home), w.home, w.repo, filepath.Dir(w.state)}, ":"))
	git(t, w.repo, "config", "remote.origin.url", "https://ann:"+boxSecret+"@example.invalid/shop.git")
	write(t, w.state, map[string]string{"token": boxSecret + "\n", "tasks/attempts/other/shop/plan.md": boxSecret + "\n"})
	return w
}

func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// needsBox ends a test loudly where a sandbox does not work. Its absence is a failure
// where DESKHAND_TEST_SANDBOX names it, or is "require", which names all.
func needsBox(t *testing.T, mode box.Mode) {
	t.Helper()
	if _, why, err := box.Choose(t.Context(), mode); err != nil {
		if required := strings.Fields(os.Getenv("DESKHAND_TEST_SANDBOX")); slices.Contains(required, "require") || slices.Contains(required, string(mode)) {
			t.Fatalf("sandbox %s: %v", mode, err)
		}
		t.Skipf("NOT TESTED: sandbox %s: %v", mode, err)
	} else if why != "" {
		t.Logf("sandbox %s: %s", mode, why)
	}
}

// attempt is one thing that an agent tries with its own shell.
type boxTry struct {
	name, command string
	// only are the modes that prevent it; nil: all.
	only []box.Mode
}

// tries are commands that must fail, and must not print the secret. In them $PID
// is the runner's process.
func (w *boxWorld) tries() []boxTry {
	bwrap := []box.Mode{box.Bwrap}
	git := filepath.Join(w.repo, ".git")
	return []boxTry{
		{name: "read the keys of ssh", command: "cat " + w.home + "/.ssh/id_ed25519"},
		{name: "list the keys of ssh", command: "ls " + w.home + "/.ssh/id_ed25519", only: bwrap},
		{name: "read a token of another program", command: "cat " + w.home + "/.config/gh/hosts.yml"},
		{name: "read keys through a link", command: "ln -s " + w.home + "/.ssh keys && cat keys/id_ed25519"},
		{name: "read keys through /proc", command: "cat /proc/1/root" + w.home + "/.ssh/id_ed25519"},
		{name: "read keys through the runner's root", command: "cat /proc/$PID/root" + w.home + "/.ssh/id_ed25519"},
		{name: "read the token of deskhand", command: "cat " + w.state + "/token"},
		{name: "read the store", command: "grep -c . " + w.state + "/deskhand.db"},
		{name: "read another attempt", command: "cat " + w.state + "/tasks/attempts/other/shop/plan.md"},
		{name: "read the repository's configuration", command: "cat " + git + "/config"},
		{name: "write a file of the shell", command: "echo pwned >> " + w.home + "/.bashrc && [ -s " + w.home + "/.ssh/id_ed25519 ]"},
		{name: "write the store", command: "echo pwned >> " + w.state + "/deskhand.db"},
		{name: "write the person's checkout", command: "echo pwned > " + w.repo + "/README.md"},
		{name: "make a file in the checkout", command: "touch " + w.repo + "/pwned"},
		{name: "write the repository's configuration", command: "echo pwned >> " + git + "/config"},
		{name: "write a hook", command: "mkdir -p " + git + "/hooks && echo pwned > " + git + "/hooks/pre-commit"},
		{name: "move main", command: "git --git-dir=" + git + " update-ref refs/heads/main $(git commit-tree -m pwned HEAD^{tree})"},
		{name: "delete objects", command: "rm -rf " + git + "/objects/*"},
		{name: "make an object", command: "touch " + git + "/objects/pwned"},
		{name: "change the list of worktrees", command: "echo pwned > " + git + "/worktrees/shop/gitdir"},
		{name: "change where the sandbox brings home from", command: "echo {} > $(dirname $(git rev-parse --absolute-git-dir))/state"},
		{name: "change the file .git", command: "echo gitdir: /nowhere > .git", only: bwrap},
		{name: "write to the system", command: "touch /etc/deskhand-pwned || touch /usr/local/bin/deskhand-pwned || touch /var/lib/deskhand-pwned"},
		{name: "mount it writable", command: "mount -o remount,rw,bind /"},
		{name: "mount it writable as another user", command: "unshare --user --map-root-user --mount sh -c 'mount -o remount,rw,bind / && touch /etc/deskhand-pwned'"},
		{name: "kill the runner", command: "kill -9 $PID"},
		{name: "interrupt the runner", command: "kill -INT $PID"},
		{name: "trace the runner", command: w.attack + " ptrace $PID"},
		{name: "read the runner's memory", command: "dd if=/proc/$PID/mem bs=1 count=1 skip=4194304"},
		{name: "read the runner's environment", command: "cat /proc/$PID/environ | tr '\\0' '\\n' | grep -q DESKHAND_"},
		{name: "sign with the person's agent", command: "[ -n \"$SSH_AUTH_SOCK\" ]"},
		{name: "reach a service on loopback", command: w.attack + " dial tcp " + w.service},
		{name: "reach a service on loopback by the proxy", command: w.attack + " get http://" + w.service + "/"},
		{name: "reach loopback by another name", command: w.attack + " get http://0.0.0.0:" + portOf(w.service) + "/"},
		{name: "reach loopback by a mapped address", command: w.attack + " get 'http://[::ffff:127.0.0.1]:" + portOf(w.service) + "/'"},
		{name: "reach the network", command: w.attack + " dial tcp 192.0.2.1:80"},
		{name: "reach the network by the proxy", command: w.attack + " get http://example.com/"},
		{name: "send a datagram", command: "echo pwned > /dev/udp/192.0.2.1/53", only: bwrap},
		{name: "reach a socket of a service", command: w.attack + " dial unix " + w.socket, only: bwrap},
		{name: "reach an abstract socket", command: w.attack + " dial unix @deskhand-box-" + filepath.Base(w.home)},
	}
}

func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

// boxWorks are commands that must work.
var boxWorks = []boxTry{
	{name: "edit a file", command: "echo changed >> README.md"},
	{name: "commit", command: "git add README.md && git commit -q -m 'by the agent'"},
	{name: "make a branch", command: "git checkout -q -b side && git commit -q --allow-empty -m side && git checkout -q -"},
	{name: "stash", command: "echo s >> README.md && git stash -q && git stash pop -q && git checkout -q README.md"},
	{name: "read the history", command: "git log --oneline main | grep -q first"},
	{name: "write a temporary file", command: "echo x > $(mktemp)"},
	{name: "use a cache", command: "mkdir -p ~/.cache/go-build && echo x > ~/.cache/go-build/by-the-agent"},
	{name: "write in its own home", command: "mkdir -p ~/.some/tool && echo x > ~/.some/tool/state"},
	{name: "listen on loopback", command: "true"},
	{name: "reach a host that is allowed", command: "$ATTACK dial tcp $ALLOWED"},
	{name: "ask a person and be answered", command: `mcpcall ask_user '{"questions":[{"id":"colour","question":"Which colour?"}]}' | grep -q blue`},
}

// script is what the agent runs: each try in a shell of its own, its output and
// exit status in files of the worktree.
func (w *boxWorld) script() string {
	var b strings.Builder
	b.WriteString("mkdir -p tried\nuntil [ -s tried/pid ]; do sleep 0.05; done\nexport PID=$(cat tried/pid) ALLOWED=" + w.allowed + " ATTACK=" + w.attack + "\n")
	for i, one := range append(slices.Clone(w.works), w.tries()...) {
		fmt.Fprintf(&b, "bash -c %s > tried/%d.out 2>&1; echo $? > tried/%d.code\n", boxQuoted(one.command), i, i)
	}
	b.WriteString("echo all > tried/done\necho tried all\n")
	return b.String()
}

func boxQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// outside is what must be the same after an agent ran.
func (w *boxWorld) outside(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{"refs": git(t, w.repo, "for-each-ref", "refs/heads/main", "refs/tags"), "status": git(t, w.repo, "status", "--porcelain")}
	for _, path := range []string{w.home + "/.bashrc", w.home + "/.ssh/id_ed25519", w.repo + "/README.md", w.repo + "/.git/config", w.repo + "/.git/HEAD", w.state + "/token"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Errorf("%s is gone: %v", path, err)
		}
		found[path] = string(text)
	}
	for _, path := range []string{"/etc/deskhand-pwned", "/usr/local/bin/deskhand-pwned", "/var/lib/deskhand-pwned", w.repo + "/.git/hooks/pre-commit", w.repo + "/pwned"} {
		_, err := os.Lstat(path)
		found[path] = fmt.Sprint(err == nil)
	}
	return found
}

// begin starts an attempt whose agent runs the script, and lets it go on as soon
// as its runner is known. It returns the folder of the worktree.
func (w *boxWorld) begin(t *testing.T, executor, prompt string) (dir string) {
	t.Helper()
	done(t, w.repo, "tasks", "project", "add", ".", "--name", "shop", "--repo", "shop")
	w.task = strings.TrimSpace(done(t, w.repo, "tasks", "add", "Try to leave"))
	w.before = w.outside(t)
	done(t, w.repo, "tasks", "start", w.task, "--executor", executor, "--prompt", prompt)
	w.eventually(t, "the worktree", func() error {
		for _, line := range strings.Split(done(t, w.repo, "tasks", "show", w.task), "\n") {
			if folder, ok := strings.CutPrefix(line, "folder "); ok {
				dir = filepath.Join(strings.TrimSpace(folder), "shop")
			}
		}
		_, err := os.Stat(filepath.Join(dir, "tried"))
		return err
	})
	write(t, filepath.Join(dir, "tried"), map[string]string{"pid": strconv.Itoa(runnerOf(t, w.state))})
	return dir
}

// runnerOf is the process of the runner over a state folder.
func runnerOf(t *testing.T, state string) int {
	t.Helper()
	found := ofProgram(filepath.Join(state, "tasks"), "tasks", "runner")
	if len(found) != 1 {
		t.Fatalf("the runners are %v, want one", found)
	}
	return found[0]
}

// eventually is the same with more patience for agents that take half a minute to
// start.
func (w *boxWorld) eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	for end := time.Now().Add(w.slow); time.Now().Before(end) && check() != nil; {
		time.Sleep(100 * time.Millisecond)
	}
	eventually(t, what, check)
}

// answer answers the question of the agent.
func (w *boxWorld) answer(t *testing.T) {
	t.Helper()
	var asked []struct{ ID string }
	w.eventually(t, "the question", func() error {
		if err := json.Unmarshal([]byte(done(t, w.repo, "ask", "list", "--json")), &asked); err != nil || len(asked) == 0 {
			return fmt.Errorf("questions %+v, %v", asked, err)
		}
		return nil
	})
	done(t, w.repo, "ask", "answer", asked[0].ID, "colour=blue")
}

// judge is a subtest for each thing that was tried.
func (w *boxWorld) judge(t *testing.T, mode box.Mode, dir string) {
	result := func(i int) (code, out string) {
		c, err := os.ReadFile(filepath.Join(dir, "tried", strconv.Itoa(i)+".code"))
		o, _ := os.ReadFile(filepath.Join(dir, "tried", strconv.Itoa(i)+".out"))
		if err != nil {
			return "", string(o)
		}
		return strings.TrimSpace(string(c)), string(o)
	}
	for i, one := range w.works {
		t.Run(one.name, func(t *testing.T) {
			if code, out := result(i); code != "0" {
				t.Errorf("%s: exit %q\n%s", one.command, code, out)
			}
		})
	}
	for i, one := range w.tries() {
		if one.only != nil && !slices.Contains(one.only, mode) {
			continue
		}
		t.Run(one.name, func(t *testing.T) {
			if code, out := result(len(w.works) + i); code == "0" || code == "" || code == "127" || strings.Contains(out, boxSecret) {
				t.Errorf("%s: exit %q\n%s", one.command, code, out)
			}
		})
	}
	t.Run("nothing outside has changed", func(t *testing.T) {
		for what, is := range w.outside(t) {
			if is != w.before[what] {
				t.Errorf("%s was %q and is %q", what, w.before[what], is)
			}
		}
		git(t, w.repo, "fsck")
	})
	t.Run("the commit is on the attempt's branch", func(t *testing.T) {
		if log := git(t, w.repo, "log", "--format=%s", "--branches=deskhand/*"); !strings.Contains(log, "by the agent") {
			t.Errorf("the branches have %q", log)
		}
	})
	t.Run("a branch of the agent's own is kept and said", func(t *testing.T) {
		if refs := git(t, w.repo, "for-each-ref", "refs/deskhand/kept"); !strings.Contains(refs, "heads/side") {
			t.Errorf("kept refs:\n%s", refs)
		}
		if shown := done(t, w.repo, "tasks", "show", w.task); !strings.Contains(shown, "the agent created refs/heads/side") || !strings.Contains(shown, "sandbox   "+string(mode)) {
			t.Errorf("tasks show says\n%s", shown)
		}
	})
}

func boxScripted(t *testing.T, mode box.Mode) {
	needsBox(t, mode)
	w := newBoxWorld(t, realDir(t), boxWorks)
	t.Setenv("DESKHAND_TASKS_SANDBOX", string(mode))
	t.Setenv("DESKHAND_TASKS_SANDBOX_NETWORK", w.allowed)
	t.Setenv("DESKHAND_TASKS_EXECUTORS", `{"scripted": {"kind": "shell", "command": ["sh", "-c", "{{prompt}}"]}}`)
	dir := w.begin(t, "scripted", w.script())
	w.answer(t)
	eventually(t, "the end", func() error { return holds(done(t, w.repo, "tasks", "show", w.task), "completed") })
	w.judge(t, mode, dir)
	t.Run("the cache of a tool is the person's", func(t *testing.T) {
		if _, err := os.Stat(filepath.Join(w.home, ".cache", "go-build", "by-the-agent")); err != nil {
			t.Error(err)
		}
	})
}

func TestAttackBoxBubblewrap(t *testing.T) { boxScripted(t, box.Bwrap) }

func TestAttackBoxLandlock(t *testing.T) { boxScripted(t, box.Landlock) }

// A runner that is killed leaves the commits of its agent in the sandbox's Git
// folder. The next command brings them home, and the agent is gone.
func TestAttackBoxKilledRunner(t *testing.T) {
	for _, mode := range []box.Mode{box.Bwrap, box.Landlock} {
		t.Run(string(mode), func(t *testing.T) {
			needsBox(t, mode)
			w := newBoxWorld(t, realDir(t), nil)
			t.Setenv("DESKHAND_TASKS_SANDBOX", string(mode))
			t.Setenv("DESKHAND_TASKS_EXECUTORS", `{"scripted": {"kind": "shell", "command": ["sh", "-c", "{{prompt}}"]}}`)
			dir := w.begin(t, "scripted", "echo a > a; git add a; git commit -q -m 'by the agent'; echo b > b; mkdir tried; sleep 1000")
			if log := git(t, w.repo, "log", "--format=%s", "--branches=deskhand/*"); strings.Contains(log, "by the agent") {
				t.Errorf("the commit is in the repository while the agent runs: %q", log)
			}
			runner, err := os.FindProcess(runnerOf(t, w.state))
			if err != nil {
				t.Fatal(err)
			}
			if err := runner.Kill(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the end", func() error { return holds(done(t, w.repo, "tasks", "show", w.task), "failed") })
			if log := git(t, w.repo, "log", "--format=%s", "--branches=deskhand/*"); !strings.Contains(log, "by the agent") {
				t.Errorf("the branches have %q", log)
			}
			if text, err := os.ReadFile(filepath.Join(dir, "b")); string(text) != "b\n" {
				t.Errorf("the file that was not committed is %q, %v", text, err)
			}
			if got := git(t, dir, "rev-parse", "--absolute-git-dir"); !strings.HasPrefix(got, filepath.Join(w.repo, ".git")) {
				t.Errorf("the worktree's folder of git is %s", got)
			}
		})
	}
}

// A project's file names the index without trust, and a link at its default place
// needs no file: that shows the agent no folder of the person.
func TestAttackBoxAnIndexThatIsNone(t *testing.T) {
	for _, mode := range []box.Mode{box.Bwrap, box.Landlock} {
		for name, plant := range map[string]func(w *boxWorld){
			"home": func(w *boxWorld) { write(t, w.repo, map[string]string{"deskhand.yaml": "index: " + w.home + "\n"}) },
			"keys": func(w *boxWorld) {
				write(t, w.repo, map[string]string{"deskhand.yaml": "index: " + w.home + "/.ssh\n"})
			},
			"state": func(w *boxWorld) { write(t, w.repo, map[string]string{"deskhand.yaml": "index: " + w.state + "\n"}) },
			"a link": func(w *boxWorld) {
				write(t, w.repo, map[string]string{".deskhand/.keep": ""})
				if err := os.Symlink(filepath.Join(w.home, ".ssh"), filepath.Join(w.repo, ".deskhand", "index")); err != nil {
					t.Fatal(err)
				}
			},
			"an index with links": func(w *boxWorld) {
				write(t, w.repo, map[string]string{"docs/a.md": "# A\n\nText.\n"})
				done(t, w.repo, "index", "docs")
				if err := os.Symlink(filepath.Join(w.home, ".ssh"), filepath.Join(w.repo, ".deskhand", "index", "keys")); err != nil {
					t.Fatal(err)
				}
			},
		} {
			t.Run(string(mode)+" "+name, func(t *testing.T) {
				needsBox(t, mode)
				w := newBoxWorld(t, realDir(t), nil)
				plant(w)
				t.Setenv("DESKHAND_TASKS_SANDBOX", string(mode))
				t.Setenv("DESKHAND_TASKS_EXECUTORS", `{"scripted": {"kind": "shell", "command": ["sh", "-c", "{{prompt}}"]}}`)
				w.begin(t, "scripted", "mkdir tried; until [ -s tried/pid ]; do sleep 0.05; done; cat "+w.home+"/.ssh/id_ed25519 "+w.state+"/token "+w.repo+"/.deskhand/index/keys/id_ed25519; echo tr''ied all")
				eventually(t, "the end", func() error { return holds(done(t, w.repo, "tasks", "show", w.task), "completed") })
				if log := done(t, w.repo, "tasks", "logs", w.task, "-n", "1000"); strings.Contains(log, boxSecret) || !strings.Contains(log, "tried all") {
					t.Errorf("the agent could read what the index is said to be:\n%s", log)
				}
			})
		}
	}
}

// The test bites: without a sandbox most of it succeeds.
func TestAttackBoxNoneIsSaid(t *testing.T) {
	w := newBoxWorld(t, realDir(t), nil)
	t.Setenv("DESKHAND_TASKS_SANDBOX", "none")
	t.Setenv("DESKHAND_TASKS_EXECUTORS", `{"scripted": {"kind": "shell", "command": ["sh", "-c", "{{prompt}}"]}}`)
	w.begin(t, "scripted", "mkdir tried; until [ -s tried/pid ]; do sleep 0.05; done; cat ~/.ssh/id_ed25519; git update-ref refs/heads/planted HEAD; git update-ref refs/heads/main $(git commit-tree -m moved HEAD^{tree})")
	eventually(t, "the end", func() error { return holds(done(t, w.repo, "tasks", "show", w.task), "completed") })
	shown, log := done(t, w.repo, "tasks", "show", w.task), done(t, w.repo, "tasks", "logs", w.task, "-n", "1000")
	for _, c := range []struct{ name, in, want string }{
		{"the agent could read", log, boxSecret},
		{"the log says that there is no sandbox", log, "no sandbox: it is disabled"},
		{"tasks show says that there is no sandbox", shown, "sandbox   none: it is disabled"},
		{"the log says that main moved", log, "refs/heads/main moved while the agent ran"},
		{"tasks show says that main moved", shown, "refs/heads/main moved while the agent ran"},
		{"tasks show says that a branch was made", shown, "refs/heads/planted was created while the agent ran"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(c.in, c.want) {
				t.Errorf("no %q in\n%s", c.want, c.in)
			}
		})
	}
}
