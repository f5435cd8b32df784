package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// When work lands, the user's hooks run as git would run them. An agent without
// a sandbox can write hooks. A repository's hooks therefore run only if a
// person has trusted exactly these hooks. Hooks from the user's own
// configuration always run.

// landingHooks lists the hooks that run when work lands.
var landingHooks = []string{"pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-merge"}

// Hooks describes a repository's hooks that run when work lands.
type Hooks struct {
	// Dir is the hooks folder. Names lists the hooks in it; if it is empty,
	// there is nothing to run.
	Dir   string
	Names []string
	// Own reports whether the user's own configuration names the folder.
	Own bool
	// Digest identifies the hooks' content. It is empty if Names is empty.
	Digest string
}

// Hooks finds a repository's hooks.
func (r Repo) Hooks(ctx context.Context) (h Hooks, err error) {
	if err := r.requirePresent(); err != nil {
		return h, err
	}
	all, err := configuration(ctx, r.Path)
	if err != nil {
		return h, err
	}
	common, err := commonDir(ctx, r.Path)
	if err != nil {
		return h, err
	}
	h.Dir = filepath.Join(common, "hooks")
	for _, s := range all {
		if s.key != "core.hookspath" || s.scope == "command" || s.value == "" {
			continue
		}
		h.Dir, h.Own = s.value, s.scope != "local" && s.scope != "worktree"
		if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(h.Dir, "~/") {
			h.Dir = filepath.Join(home, h.Dir[2:])
		}
		if !filepath.IsAbs(h.Dir) {
			h.Dir = filepath.Join(r.Path, h.Dir)
		}
	}
	sum := sha256.New()
	entries, err := os.ReadDir(h.Dir)
	if err != nil {
		return Hooks{Dir: h.Dir, Own: h.Own}, nil // there are no hooks
	}
	for _, e := range entries { // includes the files that hooks call
		if strings.HasSuffix(e.Name(), ".sample") || e.IsDir() {
			continue
		}
		if err := digestFile(sum, filepath.Join(h.Dir, e.Name())); err != nil {
			return h, err
		}
		info, err := os.Stat(filepath.Join(h.Dir, e.Name()))
		if err == nil && info.Mode()&0o111 != 0 && slices.Contains(landingHooks, e.Name()) {
			h.Names = append(h.Names, e.Name())
		}
	}
	if len(h.Names) > 0 {
		h.Digest = hex.EncodeToString(sum.Sum([]byte{}))
	}
	return h, nil
}

// digestFile adds a file's name and content. For a file that cannot be read, for
// example a broken link, it adds only the name.
func digestFile(sum io.Writer, path string) error {
	fmt.Fprintf(sum, "%s\x00", filepath.Base(path))
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	n, err := io.Copy(sum, io.LimitReader(f, 64<<20))
	fmt.Fprintf(sum, "\x00%d\x00", n)
	if err != nil {
		return fmt.Errorf("read hook %s: %w", path, err)
	}
	return nil
}

func (h Hooks) has(name string) bool { return slices.Contains(h.Names, name) }

// run runs the named hook in a folder, if the hook exists. If the hook fails,
// run returns the fault hook_failed with the hook's output.
func (h Hooks) run(ctx context.Context, dir, name string, args ...string) error {
	if !h.has(name) {
		return nil
	}
	cmd := command(ctx, dir, append([]string{"hook", "run", name, "--"}, args...)...)
	cmd.bare, cmd.with = true, []string{"core.hooksPath=" + h.Dir}
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"GIT_LITERAL_PATHSPECS", "GIT_ALLOW_PROTOCOL", "GIT_NO_LAZY_FETCH", "GIT_SEQUENCE_EDITOR"}, name)
	})
	_, err := run(cmd)
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	if f := fault.Of(err); f != nil {
		return f
	}
	return fault.New(HookFailed, fmt.Sprintf("hook %s of %s refused: %v", name, dir, err), "fix what it reports, or land without the hooks")
}

// Message returns the commit message after prepare-commit-msg and commit-msg have
// processed it. source is merge or message.
func (h Hooks) Message(ctx context.Context, dir, message, source string) (_ string, err error) {
	if !h.has("prepare-commit-msg") && !h.has("commit-msg") {
		return message, nil
	}
	temp, err := os.MkdirTemp("", "deskhand-message-")
	if err != nil {
		return "", fmt.Errorf("create a folder for the message: %w", err)
	}
	defer os.RemoveAll(temp)
	path := filepath.Join(temp, "COMMIT_EDITMSG")
	if err := os.WriteFile(path, []byte(strings.TrimSpace(message)+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("write the message: %w", err)
	}
	if err := h.run(ctx, dir, "prepare-commit-msg", path, source); err != nil {
		return "", err
	}
	if err := h.run(ctx, dir, "commit-msg", path); err != nil {
		return "", err
	}
	after, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the message: %w", err)
	}
	if strings.TrimSpace(string(after)) == "" {
		return "", fault.New(HookFailed, "a hook left the commit message empty", "fix the hook, or land without the hooks")
	}
	return strings.TrimSpace(string(after)), nil
}

// before runs pre-merge-commit or pre-commit in the folder where the changes
// are staged. It fails if the hook changes them.
func (h Hooks) before(ctx context.Context, m Move, how How) error {
	name := map[How]string{Merge: "pre-merge-commit", Squash: "pre-commit"}[how]
	if name == "" || m.Dir == "" || !h.has(name) {
		return nil
	}
	if err := h.run(ctx, m.Dir, name); err != nil {
		return err
	}
	staged, err := run(inTree(ctx, m.Dir, "write-tree"))
	if err != nil {
		return fmt.Errorf("check what hook %s changed: %w", name, err)
	}
	want, err := git(ctx, m.Path, "rev-parse", m.After+"^{tree}")
	if err == nil && strings.TrimSpace(string(staged)) != strings.TrimSpace(string(want)) {
		err = fault.New(HookFailed, fmt.Sprintf("hook %s changed the files to commit in %s", name, m.Dir), "let the agent make the hook's changes, or land without the hooks")
	}
	return err
}

// After runs the hooks that are notified after a landing. A failing hook does
// not undo the landing.
func (h Hooks) After(ctx context.Context, m Move, how How) error {
	if m.Dir == "" {
		return nil
	}
	switch how {
	case Squash:
		return h.run(ctx, m.Dir, "post-commit")
	case Merge, FastForward:
		return h.run(ctx, m.Dir, "post-merge", "0")
	}
	return nil
}

// DoWith is like [Do], but runs each repository's hooks before the repository's
// branch moves. The keys of hooks are repository names.
func DoWith(ctx context.Context, moves []Move, why string, how How, hooks map[string]Hooks) error {
	return do(ctx, moves, why, func(m Move) error {
		if h, ok := hooks[m.Name]; ok {
			return h.before(ctx, m, how)
		}
		return nil
	})
}

// changesHooks reports whether a move changes the hooks folder, if that folder
// is among the repository's files.
func (h Hooks) changesHooks(ctx context.Context, m Move) (bool, error) {
	rel, err := filepath.Rel(m.Path, h.Dir)
	if err != nil || rel == "." || strings.HasPrefix(rel, "..") || strings.HasPrefix(filepath.ToSlash(rel), ".git/") {
		return false, nil
	}
	top, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
	_, err = git(ctx, m.Path, "diff", "--quiet", "--no-ext-diff", m.Before, m.After, "--", top)
	if err == nil {
		return false, nil
	}
	if f := fault.Of(err); f != nil {
		return false, errors.Join(err)
	}
	return true, nil
}

// Trusted returns the fault hooks_changed if the hooks' digest differs from the
// trusted one, or if m changes the hooks. A zero m changes nothing.
func (h Hooks) Trusted(ctx context.Context, digest string, m Move) error {
	if len(h.Names) == 0 || h.Own {
		return nil
	}
	changes := false
	if m.Path != "" {
		var err error
		if changes, err = h.changesHooks(ctx, m); err != nil {
			return err
		}
	}
	if h.Digest == digest && !changes {
		return nil
	}
	return fault.New(HooksChanged, fmt.Sprintf("these hooks are not the ones that you trusted, and an agent may have written them: %s", strings.Join(h.Names, ", ")),
		"review them in "+h.Dir+", then trust them, or land without them")
}
