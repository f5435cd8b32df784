//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
)

// trap is a folder that somebody else made, full of bait, beside settings of the
// user's own that show when a command has come so far.
type trap struct {
	t   *testing.T
	dir string
	out string // where programs leave a file with their name

	mu   sync.Mutex
	hits map[string]bool // paths that were asked for over the network
}

// baits are what the file of a trap has; %[1]s is where programs leave a file,
// %[2]s a server on this machine.
const baits = `
upstreams:
  - {name: runs, command: [sh, -c, 'touch %[1]s/upstream-command; cat >/dev/null']}
  - {name: asks, url: '%[2]s/upstream-url'}
notify:
  - 'command:%[1]s/notify.sh'
  - 'webhook:%[2]s/webhook'
  - 'ntfy:%[2]s/ntfy'
embed: '%[2]s/embed#model'
otlp: {endpoint: '%[2]s/otlp'}
cache: %[1]s/cache
tasks:
  wrap: [sh, -c, 'touch %[1]s/wrap; exec "$@"', wrap]
  env: [TRAP_SECRET]
  executors:
    mine: {kind: shell, command: [sh, -c, 'touch %[1]s/executor; env >%[1]s/env']}
`

// caught is how each bait shows that it was taken.
var caught = map[string]func(c *trap) bool{
	"upstream by command": func(c *trap) bool { return there(c.out + "/upstream-command") },
	"upstream by url":     func(c *trap) bool { return c.hit("/upstream-url") },
	"notify command":      func(c *trap) bool { return there(c.out + "/notify") },
	"notify webhook":      func(c *trap) bool { return c.hit("/webhook") },
	"notify ntfy":         func(c *trap) bool { return c.hit("/") }, // the topic is in the body
	"embed":               func(c *trap) bool { return c.hit("/embed/embeddings") },
	"otlp":                func(c *trap) bool { return c.hit("/otlp") || c.hit("/otlp/v1/traces") },
	"cache":               func(c *trap) bool { return there(c.out + "/cache") },
	"tasks.wrap":          func(c *trap) bool { return there(c.out + "/wrap") },
	"tasks.executors":     func(c *trap) bool { return there(c.out + "/executor") },
	"tasks.env": func(c *trap) bool {
		env, _ := os.ReadFile(c.out + "/env")
		return bytes.Contains(env, []byte("TRAP_SECRET="))
	},
}

// own are the user's own settings: what they start shows how far a command came.
const own = `
notify: 'command:%[1]s/own.sh'
upstreams: [{name: own, command: [sh, -c, 'touch %[1]s/own; cat >/dev/null']}]
tasks:
  wrap: [sh, -c, 'touch %[1]s/own; exec "$@"', wrap]
  executors:
    mine: {kind: shell, command: [sh, -c, 'env >%[1]s/env; deskhand trust --yes 2>%[1]s/refused; echo done']}
`

func setTrap(t *testing.T) *trap {
	t.Helper()
	c := &trap{t: t, out: t.TempDir(), hits: map[string]bool{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.hits[r.URL.Path] = true
		var asked struct{ Input []string }
		if json.NewDecoder(r.Body).Decode(&asked) != nil || asked.Input == nil {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		var vectors []string // as of a model, so that the cache gets them
		for i := range asked.Input {
			vectors = append(vectors, fmt.Sprintf(`{"index":%d,"embedding":[0.5,0.5]}`, i))
		}
		fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(vectors, ","))
	}))
	t.Cleanup(server.Close)
	c.dir = cloned(t, fmt.Sprintf(baits, c.out, server.URL))
	ownSettings(t, fmt.Sprintf(own, c.out))
	t.Setenv("XDG_STATE_HOME", lingering(t))
	t.Setenv("TRAP_SECRET", "s3cret")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	write(t, c.dir, map[string]string{"docs/a.md": "# A\n\nText.\n"})
	for _, name := range []string{"notify", "own"} {
		if err := os.WriteFile(filepath.Join(c.out, name+".sh"), []byte("#!/bin/sh\ntouch "+filepath.Join(c.out, name)+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (c *trap) hit(path string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hits[path]
}

// own waits until what the user configured was started.
func (c *trap) ownCame() {
	c.t.Helper()
	eventually(c.t, "the user's own setting counts", func() error {
		if !there(c.out + "/own") {
			return fmt.Errorf("nothing of it ran")
		}
		return nil
	})
}

// until runs a command in the folder until a condition holds, and ends it.
func (c *trap) until(done func(), args ...string) {
	c.t.Helper()
	cmd := exec.Command("deskhand", args...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr, cmd.WaitDelay = c.dir, &stderr, 5*time.Second
	stdin, err := cmd.StdinPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	defer func() {
		stdin.Close()
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
		c.t.Logf("deskhand %s said %.600s", args[0], stderr.String())
	}()
	fmt.Fprintln(stdin, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	fmt.Fprintln(stdin, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	done()
}

// entries are the commands that a person runs in a folder, or a client for them,
// and the baits that each of them takes once the folder is trusted.
var entries = map[string]struct {
	takes []string
	run   func(c *trap, done func())
}{
	"serve over stdio": {[]string{"upstream by command", "upstream by url"}, func(c *trap, done func()) {
		c.until(done, "serve", "--tools", "ask")
	}},
	"ask": {[]string{"notify command", "notify webhook", "notify ntfy", "otlp"}, func(c *trap, done func()) {
		c.until(done, "ask", "Which port?")
	}},
	"inbox": {[]string{"notify command", "notify webhook", "notify ntfy"}, func(c *trap, finished func()) {
		done(c.t, c.t.TempDir(), "ask", "Which port?", "--detach", "--unreachable", "wait")
		c.until(finished, "inbox", "--web")
	}},
	"tasks start": {[]string{"tasks.wrap", "tasks.executors", "tasks.env"}, func(c *trap, finished func()) {
		for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "first"}} {
			git(c.t, c.dir, args...)
		}
		done(c.t, c.dir, "tasks", "project", "add", ".", "--name", "shop")
		task := strings.TrimSpace(done(c.t, c.dir, "tasks", "add", "Round prices"))
		done(c.t, c.dir, "tasks", "start", task, "--executor", "mine", "--prompt", "x", "--follow")
		finished()
	}},
	"index": {[]string{"embed", "cache"}, func(c *trap, finished func()) {
		deskhand(c.t, c.dir, "index", "docs", "-o", c.out+"/index")
		if there(c.out + "/index/metadata.json") {
			write(c.t, c.out, map[string]string{"own": ""}) // the model in the program was used
		}
		finished()
	}},
}

// Whatever a person, or a client for them, runs in a folder that somebody else
// made: nothing of the folder runs, and nothing is sent. The same folder takes
// all of it once it is trusted, so the baits are good.
func TestAttackDoorsTrustOfEveryEntry(t *testing.T) {
	for name, entry := range entries {
		t.Run(name, func(t *testing.T) {
			c := setTrap(t)
			entry.run(c, c.ownCame)
			for bait, took := range caught {
				t.Run(bait, func(t *testing.T) {
					if took(c) {
						t.Errorf("deskhand %s in a folder that nobody trusts took the bait", name)
					}
				})
			}
		})
		t.Run("trusted "+name, func(t *testing.T) {
			c := setTrap(t)
			done(t, c.dir, "trust", "--yes")
			taken := func(but ...string) {
				eventually(t, "the baits are taken", func() error {
					for bait, took := range caught {
						if slices.Contains(entry.takes, bait) && !slices.Contains(but, bait) && !took(c) {
							return fmt.Errorf("not %s", bait)
						}
					}
					return nil
				})
			}
			entry.run(c, func() { taken("otlp") }) // spans are sent at the end
			taken()
		})
	}
}

// An agent that runs in an attempt cannot agree for the person: not to the file
// of the project, and not to one that it wrote.
func TestAttackDoorsTrustByAnAgent(t *testing.T) {
	c := setTrap(t)
	entries["tasks start"].run(c, c.ownCame)
	t.Run("trust --yes", func(t *testing.T) {
		said, err := os.ReadFile(c.out + "/refused")
		if err != nil || !strings.Contains(string(said), "refused inside an attempt") {
			t.Errorf("the agent was told %q, %v", said, err)
		}
	})
	t.Run("no record", func(t *testing.T) {
		if left, _ := filepath.Glob(filepath.Join(os.Getenv("XDG_STATE_HOME"), "deskhand", "trust", "*")); len(left) > 0 {
			t.Errorf("there are records: %q", left)
		}
	})
	env, err := os.ReadFile(c.out + "/env")
	if err != nil {
		t.Fatal(err)
	}
	worktree := ""
	for line := range strings.Lines(string(env)) {
		if dir, ok := strings.CutPrefix(line, "PWD="); ok {
			worktree = strings.TrimSpace(dir)
		}
	}
	t.Run("told that nobody agreed", func(t *testing.T) {
		if !strings.Contains(string(env), settings.DigestVariable+"="+settings.UntrustedDigest+"\n") {
			t.Errorf("the agent has %s", env)
		}
	})
	t.Run("a person in the worktree", func(t *testing.T) {
		if !there(filepath.Join(worktree, settings.ConfigName)) {
			t.Fatalf("no %s in the worktree %q", settings.ConfigName, worktree)
		}
		bait := filepath.Join(t.TempDir(), "moved")
		write(t, worktree, map[string]string{settings.ConfigName: "store: " + bait + "\n"})
		heldOut(t, worktree, bait, "is not trusted")
	})
}

// A file that was trusted at the start of an attempt and is changed by then does
// not count for what the attempt starts.
func TestAttackDoorsTrustOfAFileChangedUnderAnAttempt(t *testing.T) {
	bait := filepath.Join(t.TempDir(), "moved")
	out := t.TempDir()
	config := "tasks: {executors: {mine: {kind: shell, command: [sh, -c, 'cd " + out + " && echo \"store: " + bait + "\" >\"$DESKHAND_CONFIG\" && deskhand ask list 2>said; echo done']}}}\n"
	dir := cloned(t, config)
	t.Setenv("DESKHAND_TASKS_SANDBOX", "none") // in one the agent could not write the file at all
	t.Setenv("XDG_STATE_HOME", lingering(t))
	done(t, dir, "trust", "--yes")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "first"}} {
		git(t, dir, args...)
	}
	done(t, dir, "tasks", "project", "add", ".", "--name", "shop")
	task := strings.TrimSpace(done(t, dir, "tasks", "add", "Round prices"))
	done(t, dir, "tasks", "start", task, "--executor", "mine", "--prompt", "x", "--follow")
	said, err := os.ReadFile(filepath.Join(out, "said"))
	if err != nil || !strings.Contains(string(said), "ignoring store") || there(bait) {
		t.Errorf("what the agent started said %q, %v; the store is moved: %v", said, err, there(bait))
	}
}
