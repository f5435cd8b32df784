package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxReviewed is how much of one side of a file is read to be shown, and
// maxHashed how much of all files is read to know their content again, in bytes.
const (
	maxReviewed = 2 << 20
	maxHashed   = 64 << 20
)

// Diff is how one changed file is compared.
type Diff struct {
	FileChange
	// Patch is its differences as git prints them, with three lines around each.
	// A binary file is one line that says so.
	Patch string
	// Old and New are the whole file on both sides. Nil: it is not there, is no
	// plain file, or is larger than 2 MiB.
	Old, New []byte
	// Cut: the patch is larger than 2 MiB, and left out.
	Cut bool
}

// Against returns t compared with other commits, by the name of a repository. A
// repository that is not in commits is compared with where its branch left the
// target, as ever.
func (t Tree) Against(commits map[string]string) Tree {
	t.against = commits
	return t
}

// Marks are texts that tell the content of files, and of what they are compared
// with, from any other, by path. A file behind the first 64 MiB is told by its
// size and time.
func (t Tree) Marks(files []FileChange) map[string]string {
	marks := make(map[string]string, len(files))
	left := int64(maxHashed)
	for _, f := range files {
		sum := sha256.New()
		fmt.Fprintln(sum, f.Kind, f.old, f.OldPath)
		name := filepath.Join(t.path(t.Repos[f.repo]), filepath.FromSlash(f.name))
		info, err := os.Lstat(name)
		switch {
		case err != nil:
			fmt.Fprintln(sum, "gone")
		case info.Mode()&os.ModeSymlink != 0:
			to, _ := os.Readlink(name) // empty: it has just changed
			fmt.Fprintln(sum, "link", to)
		case info.Mode().IsRegular() && info.Size() <= left:
			left -= info.Size()
			if file, _, err := t.open(t.Repos[f.repo].Name + "/" + f.name); err == nil {
				_, _ = io.Copy(sum, io.LimitReader(file, info.Size())) // a part tells it too
				file.Close()
			}
		default:
			fmt.Fprintln(sum, info.Size(), info.ModTime().UnixNano())
		}
		marks[f.Path] = hex.EncodeToString(sum.Sum(nil)[:16])
	}
	return marks
}

// Diff compares one file, which path names as [Changes] does; space says that
// changes of white space are left out. ok is false if the file has not changed.
func (t Tree) Diff(ctx context.Context, path string, space bool) (d Diff, ok bool, err error) {
	_, repo, err := t.inside(path)
	if err != nil {
		return d, false, nil
	}
	v, err := t.view(ctx, t.Repos[repo])
	if err != nil {
		return d, false, err
	}
	defer v.close()
	files, _, err := v.files(ctx, repo)
	if err != nil {
		return d, false, err
	}
	for _, f := range files {
		if f.Path == path {
			d.FileChange, ok = f, true
		}
	}
	if !ok {
		return d, false, nil
	}
	args, names := asPatch, []string{d.name}
	if space {
		args = append([]string{"--ignore-all-space", "--ignore-blank-lines"}, args...)
	}
	if d.oldName != "" {
		names = append(names, d.oldName)
	}
	out, cut, err := v.print(ctx, append(v.diff(args...), names...), maxPatchBytes)
	if err != nil {
		return d, false, err
	}
	if d.Cut = cut; !cut {
		d.Patch = string(out)
	}
	d.Binary = strings.Contains(d.Patch, "\nBinary files ") && !strings.Contains(d.Patch, "\n@@ ")
	d.Old = v.was(ctx, d.FileChange)
	d.New = t.is(d.FileChange)
	return d, true, nil
}

// was is a file in the commit that it is compared with; nil: see [Diff.Old].
func (v *view) was(ctx context.Context, f FileChange) []byte {
	if strings.Trim(f.old, "0") == "" {
		return nil
	}
	out, cut, err := v.print(ctx, []string{"cat-file", "blob", f.old}, maxReviewed)
	if err != nil || cut {
		return nil
	}
	return append([]byte{}, out...)
}

// is is a file as it stands; nil: see [Diff.New].
func (t Tree) is(f FileChange) []byte {
	if f.Kind == "deleted" {
		return nil
	}
	info, err := os.Lstat(filepath.Join(t.path(t.Repos[f.repo]), filepath.FromSlash(f.name)))
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxReviewed {
		return nil
	}
	file, _, err := t.open(t.Repos[f.repo].Name + "/" + f.name)
	if err != nil {
		return nil
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxReviewed))
	if err != nil {
		return nil
	}
	return data
}
