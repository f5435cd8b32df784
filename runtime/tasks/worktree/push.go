package worktree

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// pushed lists the protocols that a push may use. Other git commands in this
// package may not use any protocol.
const pushed = "GIT_ALLOW_PROTOCOL=file:git:http:https:ssh"

// Remote returns a remote's configured address, and the address to which pushes
// go. Fault: remote_missing.
func (t Tree) Remote(ctx context.Context, r Repo, name string) (address, push string, err error) {
	if err := r.requirePresent(); err != nil {
		return "", "", err
	}
	out, err := git(ctx, r.Path, "remote", "get-url", "--push", "--", name)
	if err != nil {
		return "", "", absent(err, RemoteMissing, fmt.Sprintf("repository %s has no remote %q", r.Name, name), "add it: git -C "+textutil.ShellWord(r.Path)+" remote add "+textutil.ShellWord(name)+" URL")
	}
	push = strings.TrimSpace(string(out))
	if out, err = git(ctx, r.Path, "config", "--get", "remote."+name+".url"); err != nil {
		return push, push, nil
	}
	return strings.TrimSpace(string(out)), push, nil
}

// Push pushes a commit to the attempt's branch at an address. before is the
// commit that the last push left there; Push may replace it, and nothing else. If before
// is empty, Push replaces nothing. No hook runs. Fault: push_refused, with the case
// remote_moved if the branch there has other commits.
func (t Tree) Push(ctx context.Context, r Repo, address, commit, before string) error {
	err := t.push(ctx, r, address, commit)
	if f := fault.Of(err); before != "" && f != nil && f.Case == RemoteMoved {
		return t.push(ctx, r, address, commit, "--force-with-lease=refs/heads/"+t.Branch+":"+before)
	}
	return err
}

func (t Tree) push(ctx context.Context, r Repo, address, commit string, flags ...string) error {
	args := append([]string{"push", "--porcelain", "--no-verify", "--no-recurse-submodules"}, flags...)
	cmd := command(ctx, r.Path, append(args, "--", address, commit+":refs/heads/"+t.Branch)...)
	cmd.Env = append(cmd.Env, pushed)
	out, err := run(cmd)
	if err == nil {
		return nil
	}
	if f := fault.Of(err); f != nil {
		return f
	}
	said := strings.ReplaceAll(err.Error(), address, "the remote")
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "!\t") {
			said = strings.Join(strings.Fields(line)[1:], " ") + "; " + said
		}
	}
	if strings.Contains(said, "[rejected]") {
		return fault.New(PushRefused, fmt.Sprintf("branch %s of %s has other commits at the remote", t.Branch, r.Name),
			"merge them into the attempt's branch, or delete the branch at the remote").WithCase(RemoteMoved, "branch", t.Branch)
	}
	return fault.New(PushRefused, fmt.Sprintf("could not push branch %s of %s: %s", t.Branch, r.Name, said),
		fmt.Sprintf("check whether you can push there: git -C %s push --dry-run REMOTE %s", textutil.ShellWord(r.Path), t.Branch))
}

// Password returns the password that the user's own credential helpers have for
// a host, or "" if they have none.
func Password(ctx context.Context, host string) string {
	cmd := command(ctx, os.TempDir(), "credential", "fill")
	cmd.with = []string{"core.askPass=", "credential.interactive=false"}
	cmd.Env = append(cmd.Env, "SSH_ASKPASS=", "GIT_ASKPASS=")
	cmd.Stdin = strings.NewReader("protocol=https\nhost=" + host + "\n\n")
	out, err := run(cmd)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(out)) {
		if password, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "password="); ok {
			return password
		}
	}
	return ""
}
