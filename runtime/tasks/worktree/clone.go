package worktree

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Origin returns the address that the repository was cloned from, without a password. It is
// empty if there is none.
func (r Repo) Origin(ctx context.Context) string {
	out, err := git(ctx, r.Path, "config", "--get", "remote.origin.url")
	address := strings.TrimSpace(string(out))
	if err != nil || address == "" {
		return ""
	}
	if u, err := url.Parse(address); err == nil && u.User != nil {
		if _, secret := u.User.Password(); secret || u.Scheme == "https" || u.Scheme == "http" { // a token may be the user
			u.User = nil
			address = u.String()
		}
	}
	if !strings.Contains(address, ":") && !filepath.IsAbs(address) {
		address = filepath.Join(r.Path, address)
	}
	return address
}

// Clone brings the clone of address at path up to date, and creates it if necessary. No
// branch is checked out there, and attempts start from the branches of the remote. Git asks
// this machine's own credential helpers, and never a person. Fault: not_found.
func Clone(ctx context.Context, address, path string) error {
	if _, err := os.Stat(filepath.Join(path, ".git")); err == nil {
		return Repo{Name: filepath.Base(path), Path: path}.alone(ctx, func() error {
			return overNetwork(ctx, path, address, "fetch", "--quiet", "--prune", "--no-recurse-submodules", "--", address, "+refs/heads/*:refs/remotes/origin/*") // not what an agent may have set as the remote
		})
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the folder of clones: %w", err)
	}
	fresh := path + ".new-" + rand.Text()
	defer os.RemoveAll(fresh)
	if err := overNetwork(ctx, filepath.Dir(path), address, "clone", "--quiet", "--no-checkout", "--no-recurse-submodules", "--", address, fresh); err != nil {
		return err
	}
	if err := leaveBranch(ctx, fresh); err != nil {
		return fmt.Errorf("prepare the clone of %s: %w", address, err)
	}
	err := os.Rename(fresh, path)
	if _, made := os.Stat(filepath.Join(path, ".git")); err != nil && made == nil {
		return nil // another process was faster
	}
	return err
}

func overNetwork(ctx context.Context, dir, address string, args ...string) error {
	cmd := command(ctx, dir, args...)
	cmd.Env = append(cmd.Env, pushed)
	_, err := run(cmd)
	if err == nil || fault.Of(err) != nil {
		return err
	}
	return fault.New(NotFound, fmt.Sprintf("git cannot %s %s: %v", args[0], address, err),
		"check on this machine: git ls-remote "+address)
}

// leaveBranch detaches HEAD and deletes the branch that git clone made, which would hide the
// remote's branch.
func leaveBranch(ctx context.Context, path string) error {
	branch, err := git(ctx, path, "symbolic-ref", "HEAD")
	if err != nil {
		return nil // the remote's HEAD is detached
	}
	if _, err := git(ctx, path, "rev-parse", "--verify", "--quiet", "HEAD"); err != nil {
		return nil // the remote is empty
	}
	if _, err := git(ctx, path, "update-ref", "--no-deref", "HEAD", "HEAD"); err != nil {
		return err
	}
	_, err = git(ctx, path, "update-ref", "-d", strings.TrimSpace(string(branch)))
	return err
}
