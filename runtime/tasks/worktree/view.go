package worktree

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// view is a worktree prepared for comparison. It has a copy of the index, in
// which untracked files are recorded as added. It does not change the index
// itself, and therefore does not disturb a git command that the agent runs.
type view struct {
	repo Repo
	dir  string // the worktree
	base string
	temp string
	// stored is the commit to compare if there is no worktree. If stored is
	// empty, the files on the disk are compared.
	stored string
	// nested lists the repositories inside the worktree that are not
	// submodules.
	nested []string
}

// view creates a view of a worktree. Its error may be a fault.
func (t Tree) view(ctx context.Context, r Repo) (*view, error) {
	dir := t.path(r)
	if !t.present(ctx, r) {
		if t.Stored {
			return t.storedView(ctx, r)
		}
		return nil, missing(r)
	}
	v := &view{repo: r, dir: dir}
	var err error
	if v.base, err = t.base(ctx, r); err != nil {
		return nil, err
	}
	if v.temp, err = os.MkdirTemp("", "deskhand-index-"); err != nil {
		return nil, fmt.Errorf("create a folder for an index: %w", err)
	}
	if err := v.fill(ctx); err != nil {
		v.close()
		return nil, err
	}
	return v, nil
}

func (v *view) close() { os.RemoveAll(v.temp) }

// base returns the merge base of the attempt's branch and its target. If the
// target contains all of the work, or was deleted or rewritten, base returns
// the stored commit instead: the one that the last landing or update stored, or
// else the one that the attempt started from.
func (t Tree) base(ctx context.Context, r Repo) (string, error) {
	if commit := t.against[r.Name]; commit != "" {
		return revision(ctx, t.path(r), commit)
	}
	head, err := revision(ctx, t.path(r), "HEAD")
	if err != nil {
		return "", err
	}
	return t.baseOf(ctx, r, t.path(r), head, "HEAD")
}

// baseOf is like base, for the commit head. name is a ref in dir that points to
// head.
func (t Tree) baseOf(ctx context.Context, r Repo, dir, head, name string) (string, error) {
	if target, err := r.Resolve(ctx, r.Target); err == nil && head != r.Landed {
		out, err := git(ctx, dir, "merge-base", head, target)
		base := strings.TrimSpace(string(out))
		if err == nil && r.Ref != "" && contains(ctx, dir, r.Base, base) && contains(ctx, dir, head, r.Base) {
			return r.Base, nil // the target here may be older than where the attempt started
		}
		if err == nil && (base != head || r.Base == "" || head == target && forwarded(ctx, dir, name)) {
			return base, nil
		}
	}
	if r.Base == "" {
		return "", errors.New("no commit to compare with")
	}
	base, err := revision(ctx, dir, r.Base)
	if err != nil {
		return "", fmt.Errorf("no commit to compare with: %w", err)
	}
	return base, nil
}

// contains reports whether the history of a commit contains another.
func contains(ctx context.Context, dir, commit, other string) bool {
	_, err := git(ctx, dir, "merge-base", "--is-ancestor", other, commit)
	return commit != "" && other != "" && err == nil
}

// forwarded reports whether the branch equals the target because the branch was
// fast-forwarded to the target, and not because the target contains the work.
func forwarded(ctx context.Context, dir, name string) bool {
	out, err := git(ctx, dir, "rev-parse", "--symbolic-full-name", name)
	if err != nil {
		return false
	}
	out, err = git(ctx, dir, "log", "--walk-reflogs", "-1", "--format=%gs", strings.TrimSpace(string(out)), "--")
	why := strings.TrimSpace(string(out))
	return err == nil && (strings.HasSuffix(why, "Fast-forward") || strings.HasPrefix(why, "reset") || strings.HasPrefix(why, "rebase"))
}

func (v *view) index() string { return filepath.Join(v.temp, "index") }

func (v *view) fill(ctx context.Context) error {
	if err := copyIndex(ctx, v.dir, v.index()); err != nil {
		return err
	}
	// The index has three entries for a file with conflicts. Without them, the
	// file on the disk is treated like any other file.
	out, err := run(v.git(ctx, "ls-files", "--unmerged", "-z"))
	if err != nil {
		return fmt.Errorf("read index: %w", err)
	}
	var unmerged []string
	for _, line := range fields(out) {
		if _, name, ok := strings.Cut(line, "\t"); ok {
			unmerged = append(unmerged, name)
		}
	}
	if len(unmerged) > 0 {
		if _, err := feed(v.git(ctx, "update-index", "--force-remove", "-z", "--stdin"), unmerged); err != nil {
			return fmt.Errorf("resolve index: %w", err)
		}
	}
	if err := v.noteNew(ctx); err != nil {
		return fmt.Errorf("record new files: %w", err)
	}
	return nil
}

// noteNew adds the untracked files to the copied index. Their entries contain
// no data about the file on the disk, so git reads the file. "git add
// --intent-to-add" would do the same, but compares each name with every other.
// There may be millions of names, so noteNew pipes them from one git command to
// another. The first command reads a second copy of the index, because the
// other command replaces the first copy.
func (v *view) noteNew(ctx context.Context) error {
	listed := filepath.Join(v.temp, "listed")
	if err := copyFile(v.index(), listed); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	empty := emptyBlob[len(v.base)]
	return through(v.git(ctx, "update-index", "-z", "--index-info"), func(to io.Writer) error {
		out := bufio.NewWriter(to)
		err := eachUntracked(indexed(func(args ...string) gitCommand { return inTree(ctx, v.dir, args...) }, listed), func(name string) error {
			if folder, nested := strings.CutSuffix(name, "/"); nested {
				v.nested = append(v.nested, quote(v.repo.Name+"/"+folder))
				return nil
			}
			if slices.Contains(v.repo.Copied, name) || gitsOwnPath(strings.ReplaceAll(name, `\`, "/")) { // git never adds such names
				return nil
			}
			_, err := out.WriteString("100644 " + empty + "\t" + name + "\x00")
			return err
		})
		return errors.Join(err, out.Flush())
	})
}

// emptyBlob maps the length of object IDs to the ID of an empty file. Git knows
// this object even if it is not stored.
var emptyBlob = map[int]string{
	40: "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
	64: "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
}

// git returns a git command that uses the copied index.
func (v *view) git(ctx context.Context, args ...string) gitCommand {
	cmd := inTree(ctx, v.dir, args...)
	cmd.with = []string{largeFiles}
	cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+v.index())
	return cmd
}

// diff returns arguments that compare the files with the base. The user's
// configuration and attributes do not affect how differences are shown. The
// arguments in asPatch are separate, because each of them makes git print the
// patch as well.
func (v *view) diff(more ...string) []string {
	args := []string{"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "--find-renames", "--no-indent-heuristic",
		"--diff-algorithm=myers", "--submodule=short", "--ignore-submodules=none", "--src-prefix=a/", "--dst-prefix=b/"}
	if v.stored != "" {
		args = append(args, "--cached")
	}
	return append(append(args, more...), v.base, "--")
}

// largeFiles sets the size above which git treats a file as binary. To compare
// two text files, git holds all their lines in memory, which takes many times
// their size (git 2.39: 360 MB for 8 MiB of empty lines).
const largeFiles = "core.bigFileThreshold=8m"

// asPatch holds the diff arguments that make git print the changed lines.
var asPatch = []string{"--patch", "--unified=3", "--inter-hunk-context=0"}

// untracked returns the files that git neither tracks nor ignores, without
// nested repositories.
func untracked(in gitIn) (names []string, err error) {
	err = eachUntracked(in, func(name string) error {
		if !strings.HasSuffix(name, "/") {
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

// eachUntracked calls f with each file that git neither tracks nor ignores. A nested
// repository is a name that ends with /.
func eachUntracked(in gitIn, f func(name string) error) error {
	if err := each(in("ls-files", "--others", "--exclude-standard", "-z"), f); err != nil {
		return fmt.Errorf("list new files: %w", err)
	}
	return nil
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if e := out.Close(); err == nil {
			err = e
		}
	}()
	_, err = io.Copy(out, in)
	return err
}
