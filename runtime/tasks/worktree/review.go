package worktree

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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
		case err != nil && strings.Trim(f.new, "0") != "":
			fmt.Fprintln(sum, "stored", f.new)
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
	at := slices.IndexFunc(files, func(f FileChange) bool { return f.Path == path })
	if at < 0 {
		return d, false, nil
	}
	found, err := t.diffs(ctx, v, files[at:at+1], space)
	if err != nil {
		return d, false, err
	}
	return found[0], true, nil
}

// diffs compares files of one view. It runs git twice, however many files there
// are.
func (t Tree) diffs(ctx context.Context, v *view, files []FileChange, space bool) ([]Diff, error) {
	args := asPatch
	if space {
		args = append([]string{"--ignore-all-space", "--ignore-blank-lines"}, args...)
	}
	out, cut, err := v.print(ctx, v.named(v.diff(args...), files), maxPatchBytes)
	if err != nil {
		return nil, err
	}
	patches, same := patchesOf(string(out)), map[string]int{}
	for _, f := range files {
		same[header(f)]++
	}
	contents, err := v.contents(ctx, files)
	if err != nil {
		return nil, err
	}
	found := make([]Diff, len(files))
	for i, f := range files {
		d := Diff{FileChange: f, Patch: patches[header(f)], Old: contents[2*i], New: contents[2*i+1]}
		switch {
		case d.Patch != "" && !cut && same[header(f)] == 1:
		case len(files) > 1: // cut off, only white space, a name that git quotes, or renames with the same header
			alone, err := t.diffs(ctx, v, files[i:i+1], space)
			if err != nil {
				return nil, err
			}
			d = alone[0]
		case cut:
			d.Cut, d.Patch = true, ""
		default:
			d.Patch = string(out)
		}
		d.Binary = strings.Contains(d.Patch, "\nBinary files ") && !strings.Contains(d.Patch, "\n@@ ")
		if v.stored == "" {
			d.New = t.is(f)
		}
		found[i] = d
	}
	return found, nil
}

// named returns args with the names of files. A renamed file has both of its names.
func (v *view) named(args []string, files []FileChange) []string {
	for _, f := range files {
		args = append(args, f.name)
		if f.oldName != "" {
			args = append(args, f.oldName)
		}
	}
	return args
}

const patchStart = "diff --git "

// header returns the first line of a file's patch, unless git quotes one of its names.
func header(f FileChange) string {
	old := f.oldName
	if old == "" {
		old = f.name
	}
	return patchStart + "a/" + old + " b/" + f.name
}

// patchesOf splits the output of git diff into the patches of files, by header.
// If git prints two patches for a file, because its type has changed, they stay
// together.
func patchesOf(out string) map[string]string {
	patches := map[string]string{}
	for len(out) > 0 {
		end := len(out)
		if next := strings.Index(out, "\n"+patchStart); next >= 0 {
			end = next + 1
		}
		first, _, _ := strings.Cut(out[:end], "\n")
		patches[first] += out[:end]
		out = out[end:]
	}
	return patches
}

// contents returns two contents for each file: the one that the file is
// compared with, and the one in the stored commit. See [Diff.Old].
func (v *view) contents(ctx context.Context, files []FileChange) ([][]byte, error) {
	found := make([][]byte, 2*len(files))
	var ask strings.Builder
	var at []int
	for i, f := range files {
		if strings.Trim(f.old, "0") != "" {
			ask.WriteString(f.old + "\n")
			at = append(at, 2*i)
		}
		if v.stored != "" && strings.Trim(f.new, "0") != "" { // not by its name, which may end with what ends a line
			ask.WriteString(f.new + "\n")
			at = append(at, 2*i+1)
		}
	}
	if len(at) == 0 {
		return found, nil
	}
	cmd := v.git(ctx, "cat-file", "--batch")
	cmd.Stdin = strings.NewReader(ask.String())
	pipe, w := io.Pipe()
	cmd.Stdout = w
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.CloseWithError(stream(cmd))
	}()
	in := bufio.NewReader(pipe)
	var err error
	for _, i := range at {
		if found[i], err = object(in); err != nil {
			break
		}
	}
	pipe.Close()
	<-done
	if err != nil {
		return nil, fmt.Errorf("read the compared files: %w", err)
	}
	return found, nil
}

// object reads one answer of git cat-file --batch. The content is nil if the
// object is missing, is not a file, or is larger than maxReviewed.
func object(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	parts := strings.Fields(line)
	if len(parts) != 3 { // missing
		return nil, nil
	}
	size, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil || size < 0 {
		return nil, fmt.Errorf("cannot read git's answer %q", line)
	}
	if parts[1] != "blob" || size > maxReviewed {
		_, err = io.CopyN(io.Discard, in, size+1)
		return nil, err
	}
	content := make([]byte, size+1) // a newline follows
	_, err = io.ReadFull(in, content)
	return content[:size:size], err
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
