package worktree

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of a patch.
const (
	maxPaths          = 100
	defaultPatchBytes = 200 << 10
	maxPatchBytes     = 2 << 20
	maxExactBytes     = 64 << 20 // a patch is in memory as a whole
)

// Patch is the output of git diff for some files.
type Patch struct {
	// Blocked is the reason why there is no text: TooManyPaths, SizeExceeded,
	// OutsideWorkspace, SummaryFailed or ThresholdExceeded. Otherwise it is
	// empty.
	Blocked, Detail string
	// Text is UTF-8, and a binary file is a one-line note, unless the patch is exact.
	Text string
	// Lossy reports whether bytes in Text that are not UTF-8 were replaced.
	// Such a patch cannot be applied.
	Lossy bool
	// Truncated reports whether files were left out of Text. Omitted lists
	// them.
	Truncated bool
	Omitted   []string
}

// Patch returns the changes of paths. A path begins with a repository's name; a
// folder includes everything in it. The patch contains whole files, up to
// maxBytes of text: 0 means 200 KiB, and more than 2 MiB is blocked. Unchanged
// paths add nothing. For a symbolic link, the patch shows the change of the
// link itself. A path that goes through a link stands for the link's
// destination, and is blocked if the destination is outside. guard applies to
// all changes of the attempt.
func (t Tree) Patch(ctx context.Context, paths []string, maxBytes int, guard Guard, force bool) (Patch, error) {
	if maxBytes <= 0 {
		maxBytes = defaultPatchBytes
	}
	if maxBytes > maxPatchBytes {
		return Patch{Blocked: SizeExceeded, Detail: fmt.Sprintf("at most %d bytes", maxPatchBytes)}, nil
	}
	patch, err := t.patchOf(ctx, paths, asPatch, maxBytes, guard, force)
	if !utf8.ValidString(patch.Text) {
		patch.Text, patch.Lossy = strings.ToValidUTF8(patch.Text, "\uFFFD"), true
	}
	return patch, err
}

// ExactPatch returns the changes of paths like [Tree.Patch], up to 64 MiB, in a form that
// git apply accepts for every file: with the bytes of texts that are not UTF-8, and with
// the contents of binary files. It omits a file that git cannot compare in this form, for
// example because it takes too much memory.
func (t Tree) ExactPatch(ctx context.Context, paths []string, guard Guard, force bool) (Patch, error) {
	return t.patchOf(ctx, paths, append([]string{asBinary}, asPatch...), maxExactBytes, guard, force)
}

// asBinary makes git print the contents of binary files, and of others that are large.
const asBinary = "--binary"

// patchOf returns the changes of paths in the form that the diff arguments select.
func (t Tree) patchOf(ctx context.Context, paths, form []string, maxBytes int, guard Guard, force bool) (Patch, error) {
	if len(paths) == 0 || len(paths) > maxPaths {
		return Patch{Blocked: TooManyPaths, Detail: fmt.Sprintf("name 1 to %d paths", maxPaths)}, nil
	}
	wanted := make([]string, len(paths))
	for i, p := range paths {
		clean, _, err := t.inside(p)
		if err != nil {
			return Patch{Blocked: OutsideWorkspace, Detail: err.Error()}, nil
		}
		wanted[i] = clean
	}
	changes, err := t.Changes(ctx, guard, force)
	if err != nil || changes.Blocked != "" {
		return Patch{Blocked: changes.Blocked, Detail: changes.Detail}, err
	}
	within := func(f FileChange, path string) bool {
		full := t.Repos[f.repo].Name + "/" + f.name
		return full == path || strings.HasPrefix(full, path+"/")
	}
	onDisk := !t.Stored || t.Present(ctx)
	for i, w := range wanted {
		if !onDisk || slices.ContainsFunc(changes.Files, func(f FileChange) bool { return within(f, w) }) {
			continue // this also skips files in a folder that a link has replaced
		}
		if wanted[i], err = t.withoutLinks(w); err != nil {
			return Patch{Blocked: OutsideWorkspace, Detail: err.Error()}, nil
		}
	}
	chosen := slices.DeleteFunc(changes.Files, func(f FileChange) bool {
		return !slices.ContainsFunc(wanted, func(w string) bool { return within(f, w) })
	})
	var patch Patch
	var text strings.Builder
	for i := range t.Repos {
		files := slices.DeleteFunc(slices.Clone(chosen), func(f FileChange) bool { return f.repo != i })
		if len(files) == 0 {
			continue
		}
		if patch.Truncated {
			patch.omit(files)
			continue
		}
		if err := t.patch(ctx, i, files, form, maxBytes, &text, &patch); err != nil {
			if ctx.Err() != nil {
				return Patch{}, ctx.Err()
			}
			return Patch{Blocked: SummaryFailed, Detail: fmt.Sprintf("%s: %v", t.Repos[i].Name, hinted(err))}, nil
		}
	}
	patch.Text = text.String()
	return patch, nil
}

func (p *Patch) omit(files []FileChange) {
	p.Truncated = true
	for _, f := range files {
		p.Omitted = append(p.Omitted, f.Path)
	}
}

// Limits for the names passed to one git command. Windows allows 32 KiB of
// arguments. Git is stopped once it has printed enough anyway.
const (
	batchFiles = 200
	batchBytes = 16 << 10
)

// patch appends the differences of one repository's files to text, as long as a
// whole file fits.
func (t Tree) patch(ctx context.Context, repo int, files []FileChange, form []string, maxBytes int, text *strings.Builder, patch *Patch) error {
	v, err := t.view(ctx, t.Repos[repo])
	if err != nil {
		return err
	}
	defer v.close()
	exact, atOnce := slices.Contains(form, asBinary), batchFiles
	for len(files) > 0 {
		n, bytes := 0, 0
		var names []string
		for n < len(files) && n < atOnce && bytes < batchBytes {
			if files[n].oldName != "" {
				names = append(names, files[n].oldName)
			}
			names = append(names, files[n].name)
			bytes += len(files[n].name) + len(files[n].oldName)
			n++
		}
		sections, listed, err := v.sections(ctx, names, form, maxBytes-text.Len())
		switch {
		case err != nil && exact && ctx.Err() == nil && atOnce > 1:
			atOnce = 1 // git may lack the memory for one of the files
			continue
		case err != nil && exact && ctx.Err() == nil:
			patch.omit(rest(files[:1], v.repo.Name))
			files = files[1:]
			continue
		case err != nil:
			return err
		}
		for i, f := range listed {
			if i >= len(sections) || text.Len()+len(sections[i]) > maxBytes {
				f.Path = quote(v.repo.Name + "/" + f.name)
				patch.omit(append([]FileChange{f}, rest(listed[i+1:], v.repo.Name)...))
				patch.omit(files[n:])
				return nil
			}
			text.WriteString(sections[i])
		}
		files = files[n:]
	}
	return nil
}

func rest(files []FileChange, repo string) []FileChange {
	for i := range files {
		files[i].Path = quote(repo + "/" + files[i].name)
	}
	return files
}

// sections returns the differences of names, one for each file that git lists
// for them. It also returns the listed files. It leaves out a difference that
// does not end within limit bytes.
func (v *view) sections(ctx context.Context, names, form []string, limit int) ([]string, []FileChange, error) {
	listed, _, err := v.list(ctx, names...)
	if err != nil {
		return nil, nil, err
	}
	out, cut, err := v.print(ctx, append(v.diff(form...), names...), limit)
	if err != nil {
		return nil, nil, err
	}
	parts := splitSections(out)
	if cut && len(parts) > 0 {
		parts = parts[:len(parts)-1] // the last part, which is truncated
	}
	var sections []string
	for _, f := range listed {
		n := 1
		if f.Kind == "type_changed" {
			n = 2 // one deletion and one addition
		}
		if len(parts) < n {
			break
		}
		sections = append(sections, strings.Join(parts[:n], ""))
		parts = parts[n:]
	}
	return sections, listed, nil
}

// splitSections splits a patch before each file. Only a file's first line
// starts with "diff --git", because each line of a file's content starts with a
// sign.
func splitSections(patch []byte) []string {
	const start = "diff --git "
	var parts []string
	for text := string(patch); text != ""; {
		end := strings.Index(text, "\n"+start)
		if end < 0 {
			return append(parts, text)
		}
		parts = append(parts, text[:end+1])
		text = text[end+1:]
	}
	return parts
}

// print returns git's output. It stops soon after limit bytes.
func (v *view) print(ctx context.Context, args []string, limit int) (out []byte, cut bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := v.git(ctx, args...)
	pipe, w := io.Pipe()
	cmd.Stdout = w
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.CloseWithError(stream(cmd))
	}()
	out, err = io.ReadAll(io.LimitReader(pipe, int64(limit)+1))
	cut = len(out) > limit
	if cut {
		cancel()
		err = nil
	}
	pipe.Close()
	<-done
	if err != nil {
		return nil, false, fmt.Errorf("compare with the base: %w", err)
	}
	return out, cut, nil
}
