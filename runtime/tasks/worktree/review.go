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

// maxReviewed is the maximum size of one side of a file to show. maxHashed is
// the maximum total size of content, over all files, to hash in order to detect
// changes. Both are in bytes.
const (
	maxReviewed = 2 << 20
	maxHashed   = 64 << 20
)

// Diff is the comparison of one changed file.
type Diff struct {
	FileChange
	// Patch is the file's differences as git prints them, with three lines of context.
	// A binary file appears as a one-line note.
	Patch string
	// Old and New hold the whole file on both sides. Each is nil if that file
	// is missing, is not a regular file, or is larger than 2 MiB.
	Old, New []byte
	// Cut reports whether the patch was left out because it is larger than 2 MiB.
	Cut bool
}

// Against returns a copy of t that is compared with other commits. The keys of
// commits are repository names. A repository without an entry is still compared
// with the commit at which its branch diverged from the target.
func (t Tree) Against(commits map[string]string) Tree {
	t.against = commits
	return t
}

// Marks returns a fingerprint for each file, by path. The fingerprint covers
// the file's content and the version that the file is compared with. Once 64
// MiB have been hashed, fingerprints use the files' sizes and times instead of
// their content.
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
			to, _ := os.Readlink(name) // empty if the link has just changed
			fmt.Fprintln(sum, "link", to)
		case info.Mode().IsRegular() && info.Size() <= left:
			left -= info.Size()
			if file, _, err := t.open(t.Repos[f.repo].Name + "/" + f.name); err == nil {
				_, _ = io.Copy(sum, io.LimitReader(file, info.Size())) // on an error, the content read so far is enough
				file.Close()
			}
		default:
			fmt.Fprintln(sum, info.Size(), info.ModTime().UnixNano())
		}
		marks[f.Path] = hex.EncodeToString(sum.Sum(nil)[:16])
	}
	return marks
}

// Diff compares one file. path is as in [Changes]. If space is set, Diff
// ignores changes of white space. ok is false if the file has not changed.
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

// was returns the file's content in the commit that the file is compared with,
// or nil: see [Diff.Old].
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

// is returns the file's current content, or nil: see [Diff.New].
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
