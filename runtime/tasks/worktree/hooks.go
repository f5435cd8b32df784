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

// The hooks of the person run when work lands, as git would run them. They are
// files that an agent without a sandbox can write, so those of the repository run
// only as long as they are what a person has trusted; those of the user's own
// configuration always do.

// landingHooks are those that run when work lands.
var landingHooks = []string{"pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-merge"}

// Hooks are those of a repository that run when work lands.
type Hooks struct {
	// Dir is where they are, Names which of them there are. Without names there is
	// nothing to run.
	Dir   string
	Names []string
	// Own says that the user's own configuration names the folder.
	Own bool
	// Digest tells them from others. Empty without names.
	Digest string
}

// Hooks looks for the hooks of a repository.
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
		return Hooks{Dir: h.Dir, Own: h.Own}, nil // there are none
	}
	for _, e := range entries { // also what hooks call beside them
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

// digestFile adds the name and the content of a file. One that cannot be read, as
// a link that leads nowhere, adds its name.
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

// run runs one of them in a folder, if it is there. What it says is in the fault
// hook_failed.
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
	return fault.New(HookFailed, fmt.Sprintf("hook %s of %s refused: %v", name, dir, err), "correct what it names, or leave the hooks out")
}

// Message is a commit's message after prepare-commit-msg and commit-msg have seen
// it. source is merge or message.
func (h Hooks) Message(ctx context.Context, dir, message, source string) (_ string, err error) {
	if !h.has("prepare-commit-msg") && !h.has("commit-msg") {
		return message, nil
	}
	temp, err := os.MkdirTemp("", "deskhand-message-")
	if err != nil {
		return "", fmt.Errorf("make folder for a message: %w", err)
	}
	defer os.RemoveAll(temp)
	path := filepath.Join(temp, "COMMIT_EDITMSG")
	if err := os.WriteFile(path, []byte(strings.TrimSpace(message)+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("write a message: %w", err)
	}
	if err := h.run(ctx, dir, "prepare-commit-msg", path, source); err != nil {
		return "", err
	}
	if err := h.run(ctx, dir, "commit-msg", path); err != nil {
		return "", err
	}
	after, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read a message: %w", err)
	}
	if strings.TrimSpace(string(after)) == "" {
		return "", fault.New(HookFailed, "a hook left the message of the commit empty", "correct the hook, or leave the hooks out")
	}
	return strings.TrimSpace(string(after)), nil
}

// before runs the hook that sees what is to be committed, in the folder that has
// it, and refuses if it changes that.
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
		return fmt.Errorf("look at what hook %s left: %w", name, err)
	}
	want, err := git(ctx, m.Path, "rev-parse", m.After+"^{tree}")
	if err == nil && strings.TrimSpace(string(staged)) != strings.TrimSpace(string(want)) {
		err = fault.New(HookFailed, fmt.Sprintf("hook %s changed what is committed in %s", name, m.Dir), "have the agent do what the hook does, or leave the hooks out")
	}
	return err
}

// After runs the hooks that are told of a landing. What they say changes nothing.
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

// DoWith is Do with the hooks of each repository, by name, before its branch moves.
func DoWith(ctx context.Context, moves []Move, why string, how How, hooks map[string]Hooks) error {
	return do(ctx, moves, why, func(m Move) error {
		if h, ok := hooks[m.Name]; ok {
			return h.before(ctx, m, how)
		}
		return nil
	})
}

// changesHooks reports whether a move changes a folder of hooks that is among the
// files of the repository.
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

// Trusted refuses hooks that are not those which a person has trusted, with the
// fault hooks_changed: of another digest, or changed by what m lands; a zero m lands nothing.
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
	return fault.New(HooksChanged, fmt.Sprintf("these hooks are not those that you have trusted, and an agent could have written them: %s", strings.Join(h.Names, ", ")),
		"look at them in "+h.Dir+", then trust them, or leave them out")
}
