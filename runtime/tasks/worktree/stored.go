package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// If an attempt's folder was removed, its work is still in the repository: on
// its branch, or at the ref that a landing created.

// storedHead returns the last commit of an attempt's work, whether or not its folder
// exists.
func (t Tree) storedHead(ctx context.Context, r Repo) (string, error) {
	if err := r.requirePresent(); err != nil {
		return "", err
	}
	for _, name := range []string{t.ref(r), landedRefs + filepath.Base(t.Dir), r.Landed} {
		if name == "" {
			continue
		}
		if head, err := revision(ctx, r.Path, name); err == nil {
			return head, nil
		}
	}
	return "", missing(r)
}

// storedView returns a view of the committed work.
func (t Tree) storedView(ctx context.Context, r Repo) (*view, error) {
	v := &view{repo: r, dir: r.Path}
	var err error
	if v.stored, err = t.storedHead(ctx, r); err != nil {
		return nil, err
	}
	if v.base, err = t.baseOf(ctx, r, r.Path, v.stored, t.ref(r)); err != nil {
		return nil, err
	}
	if v.temp, err = os.MkdirTemp("", "deskhand-index-"); err != nil {
		return nil, fmt.Errorf("create a folder for an index: %w", err)
	}
	if _, err := run(v.git(ctx, "read-tree", v.stored)); err != nil {
		v.close()
		return nil, fmt.Errorf("read the files of %.12s: %w", v.stored, err)
	}
	return v, nil
}

// storedFile copies a file from the last commit to a temporary file, which is deleted
// when it is closed.
func (t Tree) storedFile(ctx context.Context, clean string, repo int) (*os.File, error) {
	r := t.Repos[repo]
	head, err := t.storedHead(ctx, r)
	if err != nil {
		return nil, err
	}
	name := strings.TrimPrefix(strings.TrimPrefix(clean, r.Name), "/")
	kind, err := git(ctx, r.Path, "cat-file", "-t", head+":"+name)
	if err != nil {
		if f := fault.Of(err); f != nil {
			return nil, f
		}
		return nil, fault.New(NotFound, fmt.Sprintf("there is no file %s", quote(clean)), "name a file of the attempt").WithCase(NoSuchFile)
	}
	if strings.TrimSpace(string(kind)) != "blob" {
		return nil, fault.New(InvalidArgument, fmt.Sprintf("%s is not a file", quote(clean)), "name a file")
	}
	f, err := os.CreateTemp("", "deskhand-file-")
	if err != nil {
		return nil, fmt.Errorf("copy %s: %w", quote(clean), err)
	}
	defer os.Remove(f.Name()) // on systems that cannot delete an open file, the system removes it later
	cmd := command(ctx, r.Path, "cat-file", "blob", head+":"+name)
	cmd.Stdout = f
	err = stream(cmd)
	if err == nil {
		_, err = f.Seek(0, 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", quote(clean), err), f.Close())
	}
	return f, nil
}

// storedSizes records the sizes of files in the last commit, and adds them to
// sum.
func (v *view) storedSizes(ctx context.Context, files []FileChange, sum *Summary) error {
	var there []FileChange
	var at []int
	var objects []string
	for i, f := range files {
		if f.Kind != "deleted" {
			f.Kind = "deleted" // deletedSizes looks up deleted files only
			there, at, objects = append(there, f), append(at, i), append(objects, v.stored+":"+f.name)
		}
	}
	if err := v.deletedSizes(ctx, there, objects); err != nil {
		return err
	}
	for n, i := range at {
		files[i].Bytes = there[n].Bytes
		sum.Bytes += there[n].Bytes
	}
	return nil
}
