package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Found is the result of [Inspect].
type Found struct {
	// Path is the absolute path of the repository's top folder, with symbolic links
	// resolved.
	Path string
	// Branch is the default target: the checked-out branch or, if HEAD is
	// detached, the remote's default branch, main or master. It is empty if
	// none of these exists.
	Branch string
}

// Inspect finds the git repository that contains path and checks that it has a commit.
// Faults: not_found, no_commits, repo_not_trusted, and invalid_argument for an empty
// path.
func Inspect(ctx context.Context, path string) (Found, error) {
	top, bare, err := topFolder(ctx, path)
	if err != nil {
		return Found{}, err
	}
	found := Found{Path: top}
	out, err := git(ctx, found.Path, "rev-list", "--all", "--max-count=1")
	if err != nil {
		return Found{}, fault.New(NoCommits, fmt.Sprintf("git cannot read the commits of repository %s: %v", found.Path, err), "run git fsck there")
	}
	if len(out) == 0 {
		if err := uncommitted(ctx, top, bare); err != nil {
			return Found{}, err
		}
		return Found{}, fault.New(NoCommits, fmt.Sprintf("repository %s has no commit yet", found.Path), "commit something first: git commit --allow-empty -m 'First commit'")
	}
	found.Branch = defaultBranch(ctx, found.Path)
	return found, nil
}

// topFolder returns the top folder of the repository that contains path, and whether the
// repository is bare.
func topFolder(ctx context.Context, path string) (top string, bare bool, err error) {
	if path == "" {
		return "", false, fault.New(InvalidArgument, "the path of the repository is empty", "name the folder of a git repository")
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", false, fmt.Errorf("find %s: %w", path, err)
	}
	if info, err := os.Stat(absolute); err != nil || !info.IsDir() {
		return "", false, fault.New(NotFound, fmt.Sprintf("%s is not a folder", path), "name the folder of a git repository")
	}
	out, err := settled(ctx, absolute, "rev-parse", "--show-toplevel")
	if err != nil && strings.Contains(err.Error(), "work tree") {
		bare = true
		out, err = git(ctx, absolute, "rev-parse", "--absolute-git-dir")
	}
	if f := fault.Of(err); f != nil {
		return "", false, f
	}
	if err != nil {
		return "", false, fault.New(NotFound, fmt.Sprintf("%s is not in a git repository: %v", path, err), "run git init there, or name another folder")
	}
	if top, err = resolved(absolute, strings.TrimSuffix(string(out), "\n")); err != nil {
		return "", false, fmt.Errorf("find the top folder of %s: %w", path, err)
	}
	return top, bare, nil
}

func defaultBranch(ctx context.Context, path string) string {
	exists := func(ref string) bool { _, err := revision(ctx, path, ref); return err == nil }
	if out, err := git(ctx, path, "symbolic-ref", "--quiet", "--short", "HEAD"); err == nil {
		if name := strings.TrimSpace(string(out)); exists("refs/heads/" + name) {
			return name
		}
	}
	if out, err := git(ctx, path, "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"); err == nil {
		if name := strings.TrimSpace(string(out)); exists("refs/remotes/" + name) {
			return strings.TrimPrefix(name, "origin/")
		}
	}
	for _, name := range []string{"main", "master"} {
		if exists("refs/heads/" + name) {
			return name
		}
	}
	return ""
}

// requirePresent returns a fault if the repository is no longer at its path.
func (r Repo) requirePresent() error {
	if info, err := os.Stat(r.Path); err != nil || !info.IsDir() {
		return fault.New(NotFound, fmt.Sprintf("repository %s is no longer at %s", r.Name, r.Path), "move it back, or set its new path").WithCase(RepoMoved)
	}
	return nil
}

// First returns the first commit in a branch's history, which identifies a repository
// after it has moved.
func (r Repo) First(ctx context.Context, branch string) (string, error) {
	commit, err := r.Resolve(ctx, branch)
	if err != nil {
		return "", err
	}
	out, err := git(ctx, r.Path, "rev-list", "--max-parents=0", commit)
	if err != nil {
		return "", fmt.Errorf("look for the first commit of %s: %w", r.Name, err)
	}
	roots := strings.Fields(string(out))
	return roots[len(roots)-1], nil // the last root is the oldest
}

// Has reports whether the repository at path contains a commit.
func Has(ctx context.Context, path, commit string) bool {
	_, err := revision(ctx, path, commit)
	return commit != "" && err == nil
}

// Gone reports whether path no longer exists or is no longer a git repository.
func Gone(ctx context.Context, path string) bool {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return true
	}
	f := fault.Of(func() error { _, err := Inspect(ctx, path); return err }())
	return f != nil && f.Code == "not_found"
}

// Repair updates the repository's worktrees after the repository has moved.
func (r Repo) Repair(ctx context.Context) error {
	return r.alone(ctx, func() error {
		_, err := git(ctx, r.Path, "worktree", "repair")
		return err
	})
}

// Resolve returns the commit of a local or remote branch. Faults: not_found,
// repo_not_trusted.
func (r Repo) Resolve(ctx context.Context, branch string) (string, error) {
	if err := r.requirePresent(); err != nil {
		return "", err
	}
	if branch != "" && !strings.ContainsAny(branch, notInNames) && !strings.Contains(branch, "@{") {
		for _, ref := range []string{"refs/heads/", "refs/remotes/origin/", "refs/remotes/"} {
			commit, err := revision(ctx, r.Path, ref+branch)
			if err == nil {
				return commit, nil
			}
			if f := fault.Of(err); f != nil {
				return "", f
			}
			if !errors.As(err, new(*exec.ExitError)) { // git prints nothing if the branch does not exist
				return "", fault.New(NotFound, fmt.Sprintf("git cannot look up a branch in repository %s: %v", r.Name, err), "fix the problem that git reports in "+r.Path)
			}
		}
	}
	return "", fault.New(NotFound, fmt.Sprintf("repository %s has no branch %q", r.Name, branch), "name a branch that exists").WithCase(NoSuchBranch)
}

// notInNames lists characters that no branch name contains. Git would interpret
// some of them after a name, for example to look up the previous commit.
const notInNames = "~^:?*[\\ "

func (t Tree) branchIsFree(ctx context.Context, r Repo) error {
	if _, err := git(ctx, r.Path, "check-ref-format", "--branch", t.Branch); err != nil {
		return fault.New(InvalidArgument, fmt.Sprintf("%q is not a valid branch name", t.Branch), "")
	}
	if !branchFree(ctx, r.Path, t.Branch) {
		return fault.New(BranchExists, fmt.Sprintf("repository %s already has branch %s or one that conflicts with it", r.Name, t.Branch), "")
	}
	return nil
}

// branchFree reports whether a branch can be created. It cannot if the branch
// exists, if a branch below it exists, or if a parent folder of its name is a
// branch.
func branchFree(ctx context.Context, path, branch string) bool {
	out, err := git(ctx, path, "for-each-ref", "--format=%(refname)", "--count=1", "refs/heads/"+branch, "refs/heads/"+branch+"/")
	if err != nil || len(out) > 0 {
		return false
	}
	for i, c := range branch {
		if c != '/' {
			continue
		}
		if _, err := revision(ctx, path, "refs/heads/"+branch[:i]); err == nil {
			return false
		}
	}
	return true
}

// FreeBranch returns want if no repository has such a branch. Otherwise it
// returns want with a number appended. If a branch has the name of the first
// part of want, FreeBranch replaces / with -.
func FreeBranch(ctx context.Context, repos []Repo, want string) (string, error) {
	free := func(branch string) bool {
		for _, r := range repos {
			if !branchFree(ctx, r.Path, branch) {
				return false
			}
		}
		return true
	}
	for _, base := range []string{want, strings.ReplaceAll(want, "/", "-")} {
		for n := 1; n < 20; n++ {
			branch := base
			if n > 1 {
				branch = fmt.Sprintf("%s-%d", base, n)
			}
			if free(branch) {
				return branch, ctx.Err()
			}
		}
	}
	return "", fault.New(BranchExists, fmt.Sprintf("all branch names like %s are taken", want), "delete old branches, or set another branch prefix")
}

// Slug converts text to part of a branch name: lower case letters, digits and
// dashes, 1 to 40 characters.
func Slug(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= 40 {
			break
		}
	}
	if s := strings.Trim(b.String(), "-"); s != "" {
		return s
	}
	return "task"
}

// ValidName returns a fault for a repository name that cannot be a folder on
// every system, or that is ambiguous. A valid name has 1 to 100 bytes of UTF-8,
// with no control characters and none of / \ : * ? " < > |. It does not begin
// with a dot, dash or space, does not end with a dot or space, and is not the
// name of a Windows device. Fault: invalid_argument.
func ValidName(name string) error {
	bad := ""
	switch base, _, _ := strings.Cut(strings.ToUpper(name), "."); {
	case name == "" || len(name) > 100:
		bad = "is 1 to 100 bytes long"
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		bad = "is UTF-8 without control characters"
	case strings.ContainsAny(name, `/\:*?"<>|`):
		bad = `contains none of / \ : * ? " < > |`
	case strings.ContainsAny(name[:1], ".- "):
		bad = "does not start with a dot, a dash or a space"
	case strings.ContainsAny(name[len(name)-1:], ". "):
		bad = "does not end with a dot or a space"
	case base == "CON" || base == "PRN" || base == "AUX" || base == "NUL" ||
		len(base) == 4 && (strings.HasPrefix(base, "COM") || strings.HasPrefix(base, "LPT")) && base[3] >= '0' && base[3] <= '9':
		bad = "is not a Windows device"
	default:
		return nil
	}
	return fault.New(InvalidArgument, fmt.Sprintf("repository name %q cannot be a folder name", name), "choose a name that "+bad)
}
