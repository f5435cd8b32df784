package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
)

// At a terminal a person is asked, sees all of it, and is asked again when the
// file was changed.
func TestAttackDoorsTrustAtATerminal(t *testing.T) {
	t.Run("agrees", func(t *testing.T) {
		dir, bait := baited(t)
		p := sitsIn(t, dir, "ask", "list")
		p.sees("store: " + bait)
		p.sees("with store? [y/N]")
		p.types("y\n")
		if got := p.ends(); got.code != 0 || !there(bait) {
			t.Errorf("exit %d, the store moved: %v; screen %q", got.code, there(bait), got.stderr)
		}
		letIn(t, dir, bait)
	})
	for name, keys := range map[string]string{"declines": "n\n", "presses Enter": "\n", "types something else": "yess\n", "ends the input": "\x04"} {
		t.Run(name, func(t *testing.T) {
			dir, bait := baited(t)
			p := sitsIn(t, dir, "ask", "list")
			p.sees("? [y/N]")
			p.types(keys)
			if got := p.ends(); got.code != 0 || there(bait) {
				t.Errorf("exit %d, the store moved: %v; screen %q", got.code, there(bait), got.stderr)
			}
			again := sitsIn(t, dir, "ask", "list").ends()
			if strings.Contains(again.stderr, "[y/N]") || !strings.Contains(again.stderr, "you declined them") || there(bait) {
				t.Errorf("the next time: exit %d, screen %q", again.code, again.stderr)
			}
			rewrite(t, dir, "store: "+bait+"\n# changed\n")
			asked := sitsIn(t, dir, "ask", "list")
			asked.sees("? [y/N]")
			asked.types("y\n")
			if got := asked.ends(); got.code != 0 || !there(bait) {
				t.Errorf("after a change: exit %d, screen %q", got.code, got.stderr)
			}
		})
	}
	t.Run("interrupts", func(t *testing.T) {
		dir, bait := baited(t)
		p := sitsIn(t, dir, "ask", "list")
		p.sees("? [y/N]")
		p.types("\x03")
		if got := p.ends(); got.code == 0 || there(bait) {
			t.Errorf("exit %d, the store moved: %v; screen %q", got.code, there(bait), got.stderr)
		}
		heldOut(t, dir, bait, "is not trusted")
	})
	t.Run("the file changes while it is shown", func(t *testing.T) {
		dir, bait := baited(t)
		rewrite(t, dir, "inbox: 'off'\n")
		p := sitsIn(t, dir, "ask", "list")
		p.sees("? [y/N]")
		rewrite(t, dir, "store: "+bait+"\n")
		p.types("y\n")
		if got := p.ends(); there(bait) || !strings.Contains(got.stderr, "has changed since you trusted it: ignoring store") {
			t.Errorf("exit %d, the store moved: %v; screen %q", got.code, there(bait), got.stderr)
		}
	})
	for name, env := range map[string][]string{"an attempt": {"DESKHAND_ATTEMPT_ID=attempt-1"}, "a build": {"CI=true"}} {
		t.Run("nobody is asked in "+name, func(t *testing.T) {
			dir, bait := baited(t)
			if got := sitsIn(t, dir, append(env, "ask", "list")...).ends(); strings.Contains(got.stderr, "[y/N]") || there(bait) {
				t.Errorf("exit %d, screen %q", got.code, got.stderr)
			}
		})
	}
	t.Run("what is unseen is written out", func(t *testing.T) {
		dir := cloned(t, "notify: [\"command:/bin/ok\\e[2K\\u202exyz\\u200b\"]\nupstreams: [{name: h, command: ['a\u202eb']}]\n")
		p := sitsIn(t, dir, "trust")
		p.sees(`\e[2K`)
		p.sees(`\u{202e}xyz\u{200b}`)
		p.sees(`a\u{202e}b`)
		p.sees("with notify, upstreams? [y/N]")
		p.types("n\n")
		if got := p.ends(); got.code != 1 || got.stdout != "" || strings.ContainsAny(got.stderr, "\u202e\u200b") {
			t.Errorf("exit %d, stdout %q, screen %q", got.code, got.stdout, got.stderr)
		}
	})
	t.Run("all of it is shown", func(t *testing.T) {
		long := strings.Repeat("x", 5000) + "END"
		dir := cloned(t, "notify: ['command:/"+long+"']\n")
		p := sitsIn(t, dir, "trust")
		p.sees("END")
		p.types("yes\n")
		if got := p.ends(); got.code != 0 || got.stdout != filepath.Join(dir, settings.ConfigName)+" is trusted: notify\n" {
			t.Errorf("exit %d, stdout %q", got.code, got.stdout)
		}
	})
}

// sitsIn is sits in a folder; variables stand before the command line.
func sitsIn(t *testing.T, dir string, args ...string) *person {
	t.Helper()
	var env []string
	for strings.Contains(args[0], "=") {
		env, args = append(env, args[0]), args[1:]
	}
	t.Chdir(dir)
	return sits(t, nil, env, args...)
}
