package worktree

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
)

// has returns a check for one string.
func has(secret string) Check {
	return func(text []byte) string {
		if bytes.Contains(text, []byte(secret)) {
			return "the secret"
		}
		return ""
	}
}

// A check gets only the line of the file, without the diff around it.
func TestAttackWorkAKeyAtTheStartOfALineIsFound(t *testing.T) {
	private(t)
	tree := attempt(t, repository(t, "app"))
	put(t, filepath.Join(tree.Dir, "app", "key"), "s3cret-value\n")
	_, err := tree.Commit(t.Context(), "x", func(text []byte) string {
		if bytes.HasPrefix(text, []byte("s3cret-value")) {
			return "the secret"
		}
		return ""
	})
	wantFault(t, "Commit", err, "commit_held")
}

func TestAttackWorkACommitWithASecretIsHeldBack(t *testing.T) {
	private(t)
	repo := repository(t, "app")
	put(t, filepath.Join(repo, "old.key"), "was here: s3cret-value\n")
	shell(t, repo, "add", "-A")
	shell(t, repo, "commit", "-q", "-m", "the person's own")
	for name, c := range map[string]struct{ file, text, found string }{
		"a line":              {"src/a.go", "package a\n\nvar key = \"s3cret-value\"\n", "app/src/a.go:3 has the secret"},
		"a line after others": {"readme.md", "zero\none\ntwo\nthree\nand s3cret-value", "app/readme.md:5 has the secret"},
		"a binary file":       {"new.bin", "\x00\x01s3cret-value\x00", "app/new.bin:1 has the secret"},
		"a long line":         {"long.txt", strings.Repeat("x", window-6) + "s3cret-value" + strings.Repeat("y", window), "app/long.txt:1 has the secret"},
		"a line of a patch":   {"new.patch", "+++ b/other\n++ s3cret-value\n", "app/new.patch:2 has the secret"},
		"nothing":             {"src/b.go", "package a\n", ""},
		"one that goes":       {"old.key", "nothing\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			tree := Tree{Dir: filepath.Join(t.TempDir(), "a"), Branch: "deskhand/" + Slug(name), Repos: []Repo{{Name: "app", Path: repo, Target: "main"}}}
			var err error
			if tree.Repos, err = tree.Add(t.Context()); err != nil {
				t.Fatal(err)
			}
			put(t, filepath.Join(tree.Dir, "app", c.file), c.text)
			n, err := tree.Commit(t.Context(), "x", has("s3cret-value"))
			if c.found == "" {
				if n != 1 || err != nil {
					t.Errorf("Commit = %d, %v; want 1", n, err)
				}
				return
			}
			wantFault(t, "Commit", err, "commit_held")
			if f := fault.Of(err); f != nil && f.Message != c.found {
				t.Errorf("the fault says %q, want %q", f.Message, c.found)
			}
			if got := shell(t, repo, "rev-parse", tree.Branch); got != tree.Repos[0].Base {
				t.Error("it was committed")
			}
			if n, err := tree.Commit(t.Context(), "x"); n != 1 || err != nil {
				t.Errorf("Commit that is allowed = %d, %v", n, err)
			}
		})
	}
}

// An allowed finding is recognized by its line and file. Nothing else is allowed.
func TestAttackWorkWhatWasAllowedIsThatLineOfThatFile(t *testing.T) {
	private(t)
	tree := attempt(t, repository(t, "app"))
	dir := filepath.Join(tree.Dir, "app")
	held := func(want string) *Held {
		t.Helper()
		_, err := tree.Commit(t.Context(), "x", has("sk-live"))
		h := new(Held)
		if !errors.As(err, &h) || h.Message != want || fault.Of(err) == nil || h.More {
			t.Fatalf("Commit = %v, want it held for %q", err, want)
		}
		return h
	}
	put(t, filepath.Join(dir, "k.txt"), "sk-live-123\n")
	first := held("app/k.txt:1 has the secret")
	if len(first.Prints) != 1 || strings.Contains(first.Prints[0], "live") {
		t.Fatalf("the prints are %q", first.Prints)
	}
	tree.Allowed = map[string]bool{first.Prints[0]: true}
	put(t, filepath.Join(dir, "k.txt"), "above\nsk-live-123\n")
	if n, err := tree.Commit(t.Context(), "x", has("sk-live")); n != 1 || err != nil {
		t.Fatalf("Commit of what is allowed = %d, %v", n, err)
	}
	for _, how := range []How{Merge, Rebase, Squash, FastForward} {
		planned, err := tree.Land(t.Context(), how, "", Author{Message: "x"})
		if err != nil {
			t.Fatal(err)
		}
		found, allowed, err := tree.Brought(t.Context(), planned.Moves, has("sk-live"))
		if err != nil || len(found) > 0 || strings.Join(allowed, ";") != "app/k.txt:2 has the secret" {
			t.Errorf("Brought of %s = %q, allowed %q, %v", how, found, allowed, err)
		}
	}
	put(t, filepath.Join(dir, "k.txt"), "above\nsk-live-124\n")
	second := held("app/k.txt:2 has the secret")
	put(t, filepath.Join(dir, "k.txt"), "above\nsk-live-123\n")
	put(t, filepath.Join(dir, "k2.txt"), "sk-live-123\n")
	if third := held("app/k2.txt:1 has the secret"); third.Prints[0] == first.Prints[0] || third.Prints[0] == second.Prints[0] {
		t.Error("two lines have one print")
	}
	put(t, filepath.Join(dir, "k2.txt"), strings.Repeat("sk-live-123\n", 3))
	if h := held("app/k2.txt:1 has the secret; app/k2.txt:2 has the secret; app/k2.txt:3 has the secret"); len(h.Prints) != 1 {
		t.Errorf("one line thrice has %d prints", len(h.Prints))
	}
	var many strings.Builder
	for i := range maxPrints + 1 {
		fmt.Fprintf(&many, "sk-live-%d\n", i)
	}
	put(t, filepath.Join(dir, "k2.txt"), many.String())
	_, err := tree.Commit(t.Context(), "x", has("sk-live"))
	if h := new(Held); !errors.As(err, &h) || len(h.Prints) != maxPrints || !h.More {
		t.Errorf("Commit of more lines than have prints = %v", err)
	}
}

// Files that --copy has copied are never committed.
func TestAttackWorkWhatWasCopiedIsNotCommitted(t *testing.T) {
	private(t)
	repo := repository(t, "app")
	put(t, filepath.Join(repo, ".env.local"), "API_KEY=sk-live-123")
	put(t, filepath.Join(repo, "my keys", ".env [*] "), "API_KEY=sk-live-123")
	tree := attempt(t, repo)
	dir := filepath.Join(tree.Dir, "app")
	var err error
	if tree.Repos[0].Copied, err = tree.CopyIn(t.Context(), tree.Repos[0], []string{"**/.env*"}); err != nil || len(tree.Repos[0].Copied) != 2 {
		t.Fatal(tree.Repos[0].Copied, err)
	}
	heads := tree.Heads(t.Context())
	commit := func(what, want string) {
		t.Helper()
		put(t, filepath.Join(dir, what), "x")
		if n, err := tree.Commit(t.Context(), what); n != 1 || err != nil {
			t.Errorf("%s: Commit = %d, %v", what, n, err)
		}
		if got := shell(t, dir, "show", "--name-only", "--format=", "HEAD"); got != want {
			t.Errorf("%s: the commit has %q, want %q", what, got, want)
		}
	}
	if c, err := tree.Changes(t.Context(), Balanced, false); err != nil || len(c.Files) > 0 {
		t.Errorf("Changes = %+v, %v; want none", c, err)
	}
	commit("new.txt", "new.txt")
	shell(t, dir, "add", ".env.local")
	commit("staged.txt", "staged.txt")
	s, err := tree.Survey(t.Context())
	if err != nil || len(s.Holds) > 0 || len(s.Ignored) > 0 {
		t.Errorf("Survey = %+v, %v; want nothing to say", s, err)
	}
	if found, err := tree.Exposed(t.Context(), heads, has("nowhere")); err != nil || len(found) > 0 {
		t.Errorf("Exposed = %q, %v; want nothing", found, err)
	}
	// An agent in a sandbox adds all files.
	if _, err := tree.EnterBox(t.Context()); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "boxed.txt"), "x")
	shell(t, dir, "add", "-A")
	shell(t, dir, "commit", "-q", "-m", "all")
	if got := shell(t, dir, "show", "--name-only", "--format=", "HEAD"); got != "boxed.txt" {
		t.Errorf("a commit in the sandbox has %q", got)
	}
	if _, err := tree.LeaveBox(t.Context()); err != nil {
		t.Fatal(err)
	}
	shell(t, dir, "add", "-f", ".env.local")
	shell(t, dir, "commit", "-q", "-m", "the agent's own")
	found, err := tree.Exposed(t.Context(), heads, has("sk-live"))
	if got := strings.Join(found, "; "); err != nil || got != "app/.env.local was copied from the repository and must not be committed; app/.env.local:1 has the secret" {
		t.Errorf("Exposed = %q, %v", got, err)
	}
}

// Each commit of the agent lands on a person's branch, so each one is checked, and not
// only the total change.
func TestAttackWorkASecretInACommitThatLandsIsFound(t *testing.T) {
	const commit = "commit -q -m x"
	for name, c := range map[string]struct {
		do            func(t *testing.T, dir, repo string)
		whole, squash string // findings of Merge, Rebase and FastForward, and of Squash and Apply
	}{
		"a commit": {func(t *testing.T, dir, _ string) {
			put(t, filepath.Join(dir, "k.txt"), "one\nsk-live-123\n")
			shell(t, dir, "add", "-A")
			shell(t, dir, strings.Fields(commit)...)
		}, "app/k.txt:2 has the secret", "app/k.txt:2 has the secret"},
		"a commit that a later one takes back": {func(t *testing.T, dir, _ string) {
			put(t, filepath.Join(dir, "k.txt"), "sk-live-123\n")
			shell(t, dir, "add", "-A")
			shell(t, dir, strings.Fields(commit)...)
			put(t, filepath.Join(dir, "k.txt"), "nothing\n")
			shell(t, dir, append(strings.Fields(commit), "-a")...)
		}, "app/k.txt:1 has the secret", ""},
		"a merge with the target, which has a secret of the person": {func(t *testing.T, dir, repo string) {
			put(t, filepath.Join(dir, "mine.txt"), "mine\n")
			shell(t, dir, "add", "-A")
			shell(t, dir, strings.Fields(commit)...)
			put(t, filepath.Join(repo, "theirs.txt"), "sk-live-123\n")
			shell(t, repo, "add", "-A")
			shell(t, repo, strings.Fields(commit)...)
			shell(t, dir, "merge", "-q", "-m", "merge", "main")
		}, "", ""},
		"a merge that adds one itself": {func(t *testing.T, dir, repo string) {
			put(t, filepath.Join(dir, "mine.txt"), "mine\n")
			shell(t, dir, "add", "-A")
			shell(t, dir, strings.Fields(commit)...)
			put(t, filepath.Join(repo, "theirs.txt"), "theirs\n")
			shell(t, repo, "add", "-A")
			shell(t, repo, strings.Fields(commit)...)
			shell(t, dir, "merge", "-q", "--no-commit", "main")
			put(t, filepath.Join(dir, "theirs.txt"), "theirs\nsk-live-123\n")
			put(t, filepath.Join(dir, "bin"), "\x00sk-live-123\n")
			shell(t, dir, "add", "-A")
			shell(t, dir, strings.Fields(commit)...)
		}, "app/theirs.txt:2 has the secret", "app/bin:1 has the secret; app/theirs.txt:2 has the secret"},
		"a merge that adds one to a binary file": {func(t *testing.T, dir, repo string) {
			put(t, filepath.Join(repo, "theirs.txt"), "theirs\n")
			shell(t, repo, "add", "-A")
			shell(t, repo, strings.Fields(commit)...)
			shell(t, dir, "commit", "-q", "--allow-empty", "-m", "mine")
			shell(t, dir, "merge", "-q", "--no-commit", "main")
			put(t, filepath.Join(dir, "bin"), "\x00sk-live-123\n")
			shell(t, dir, "add", "-A")
			shell(t, dir, strings.Fields(commit)...)
		}, "app/bin:1 has the secret", "app/bin:1 has the secret"},
	} {
		t.Run(name, func(t *testing.T) {
			private(t)
			repo := repository(t, "app")
			tree := attempt(t, repo)
			c.do(t, filepath.Join(tree.Dir, "app"), repo)
			for _, how := range []How{Merge, FastForward, Squash} {
				planned, err := tree.Land(t.Context(), how, "", Author{Message: "x"})
				if f := fault.Of(err); f != nil && f.Code == "not_fast_forward" {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				want := c.whole
				if how == Squash {
					want = c.squash
				}
				if found, _, err := tree.Brought(t.Context(), planned.Moves, has("sk-live")); err != nil || strings.Join(found, "; ") != want {
					t.Errorf("Brought of %s = %q, %v; want %q", how, found, err, want)
				}
			}
			steps, err := tree.Applying(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if found, _, err := tree.Brought(t.Context(), steps, has("sk-live")); err != nil || strings.Join(found, "; ") != c.squash {
				t.Errorf("Brought of Applying = %q, %v; want %q", found, err, c.squash)
			}
		})
	}
}

// A commit's message lands with the commit.
func TestAttackWorkASecretInAMessageIsFound(t *testing.T) {
	const commit = "commit -q --allow-empty -m"
	for name, c := range map[string]struct{ message, want string }{
		"the subject":            {"use sk-live-123", "app: the subject of a commit has the secret"},
		"a line below":           {"Use the key\n\nit is\nsk-live-123 of ours", `app: the message of commit "Use the key", line 4, has the secret`},
		"the subject and below":  {"use sk-live-123\n\nsk-live-123", "app: the subject of a commit has the secret"},
		"a trailer":              {"Use\n\nKey: sk-live-123", `app: the message of commit "Use", line 3, has the secret`},
		"a long line":            {"Use\n\n" + strings.Repeat("x", window-6) + "sk-live-123" + strings.Repeat("y", window), `app: the message of commit "Use", line 3, has the secret`},
		"a subject of odd signs": {"Us\x1be\n\nsk-live-123", `app: the message of commit "Us\x1be", line 3, has the secret`},
		"nothing":                {"Use the key", ""},
	} {
		t.Run(name, func(t *testing.T) {
			private(t)
			tree := attempt(t, repository(t, "app"))
			dir, heads := filepath.Join(tree.Dir, "app"), tree.Heads(t.Context())
			shell(t, dir, append(strings.Fields(commit), "before")...)
			put(t, filepath.Join(dir, "a.txt"), "a\n")
			shell(t, dir, "add", "-A")
			file := filepath.Join(t.TempDir(), "message")
			put(t, file, c.message)
			shell(t, dir, "commit", "-q", "-F", file)
			shell(t, dir, append(strings.Fields(commit), "behind")...)
			if found, err := tree.Exposed(t.Context(), heads, has("sk-live")); err != nil || strings.Join(found, "; ") != c.want {
				t.Errorf("Exposed = %q, %v; want %q", found, err, c.want)
			}
			for _, how := range []How{Merge, FastForward, Rebase, Squash} {
				planned, err := tree.Land(t.Context(), how, "", Author{Message: "x"})
				if err != nil {
					t.Fatal(err)
				}
				want := c.want
				if how == Squash {
					want = ""
				}
				if found, _, err := tree.Brought(t.Context(), planned.Moves, has("sk-live")); err != nil || strings.Join(found, "; ") != want {
					t.Errorf("Brought of %s = %q, %v; want %q", how, found, err, want)
				}
			}
			planned, err := tree.Land(t.Context(), Squash, "", Author{Message: c.message})
			if err != nil {
				t.Fatal(err)
			}
			if found, _, err := tree.Brought(t.Context(), planned.Moves, has("sk-live")); err != nil || strings.Join(found, "; ") != c.want {
				t.Errorf("Brought of a squash with that message = %q, %v; want %q", found, err, c.want)
			}
			if steps, err := tree.Applying(t.Context()); err != nil {
				t.Error(err)
			} else if found, _, err := tree.Brought(t.Context(), steps, has("sk-live")); err != nil || len(found) > 0 {
				t.Errorf("Brought of Applying = %q, %v; want nothing, as no message comes along", found, err)
			}
		})
	}
}

// A commit may declare another encoding than its message has.
func TestAttackWorkASecretInAMessageOfAnotherEncodingIsFound(t *testing.T) {
	private(t)
	tree := attempt(t, repository(t, "app"))
	dir, heads := filepath.Join(tree.Dir, "app"), tree.Heads(t.Context())
	shell(t, dir, "-c", "i18n.commitEncoding=UTF-16", "commit", "-q", "--allow-empty", "-m", "Use\n\nsk-live-123")
	if found, err := tree.Exposed(t.Context(), heads, has("sk-live")); err != nil || len(found) != 1 {
		t.Errorf("Exposed = %q, %v; want the message", found, err)
	}
}

// An agent can make git show another file in place of one that it committed, but a push
// sends the committed one.
func TestAttackWorkASecretBehindAReplacementIsFound(t *testing.T) {
	private(t)
	tree := attempt(t, repository(t, "app"))
	dir := filepath.Join(tree.Dir, "app")
	put(t, filepath.Join(dir, "k.txt"), "sk-live-123\n")
	put(t, filepath.Join(dir, "fine.txt"), "fine\n")
	shell(t, dir, "add", "-A")
	shell(t, dir, "commit", "-q", "-m", "x")
	shell(t, dir, "replace", shell(t, dir, "rev-parse", "HEAD:k.txt"), shell(t, dir, "rev-parse", "HEAD:fine.txt"))
	for _, how := range []How{Merge, Squash, FastForward} {
		planned, err := tree.Land(t.Context(), how, "", Author{Message: "x"})
		if err != nil {
			t.Fatal(err)
		}
		if found, _, err := tree.Brought(t.Context(), planned.Moves, has("sk-live")); err != nil || strings.Join(found, "; ") != "app/k.txt:1 has the secret" {
			t.Errorf("Brought of %s = %q, %v", how, found, err)
		}
	}
}
