package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/deskhand/deskhand/runtime/fault"
)

// maxCopied is the maximum number of files that the patterns may copy. Patterns
// are meant for files such as .env, not for a folder of dependencies.
const maxCopied = 1000

// CopyIn copies files that git does not track, such as .env, from the user's
// repository into the worktree. It returns the names of the copied files.
// Patterns are globs relative to the repository's top folder, in which **
// matches any number of folders. A pattern may match nothing. Files that
// already exist in the worktree stay. CopyIn copies only regular files, with
// their permissions.
func (t Tree) CopyIn(ctx context.Context, r Repo, patterns []string) (copied []string, err error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	from, err := os.OpenRoot(r.Path)
	if err != nil {
		return nil, fmt.Errorf("open repository %s: %w", r.Name, err)
	}
	defer from.Close()
	to, err := os.OpenRoot(t.path(r))
	if err != nil {
		return nil, missing(r)
	}
	defer to.Close()
	for _, pattern := range patterns {
		names, err := doublestar.Glob(from.FS(), path.Clean(pattern), doublestar.WithFilesOnly(), doublestar.WithNoFollow())
		if err != nil {
			return copied, fault.New(InvalidArgument, fmt.Sprintf("invalid pattern %q for files to copy: %v", pattern, err), "")
		}
		for _, name := range names {
			if ctx.Err() != nil {
				return copied, ctx.Err()
			}
			if gitsOwnPath(name) {
				continue
			}
			if len(copied) >= maxCopied {
				return copied, fault.New(LimitReached, fmt.Sprintf("patterns match more than %d files to copy", maxCopied), "name fewer files, or fetch them in a setup script")
			}
			done, err := copyBetween(from, to, name)
			if err != nil {
				return copied, fmt.Errorf("copy %s into worktree of %s: %w", name, r.Name, err)
			}
			if done {
				copied = append(copied, name)
			}
		}
	}
	return copied, nil
}

func gitsOwnPath(name string) bool {
	for dir := name; dir != "." && dir != "/"; dir = path.Dir(dir) {
		if gitsOwn(path.Base(dir)) {
			return true
		}
	}
	return false
}

func copyBetween(from, to *os.Root, name string) (done bool, err error) {
	info, err := from.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false, nil
	}
	in, err := from.Open(name)
	if err != nil {
		return false, err
	}
	defer in.Close()
	if err := to.MkdirAll(path.Dir(name), 0o755); err != nil {
		return false, err
	}
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = io.Copy(out, in)
	if e := out.Close(); err == nil {
		err = e
	}
	return err == nil, err
}
