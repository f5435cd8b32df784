package worktree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Guard bounds what is listed without force. A zero field bounds nothing.
type Guard struct {
	Files int
	// Lines are those added and deleted.
	Lines int
	// Bytes are those of [Summary].
	Bytes int64
}

// The guards that have names. They are those of the system that agents know
// these tools from.
var (
	Safe     = Guard{200, 10_000, 20 << 20}
	Balanced = Guard{500, 25_000, 50 << 20}
	Relaxed  = Guard{1000, 60_000, 150 << 20}
)

func (g Guard) exceeded(s Summary) bool {
	return g.Files > 0 && s.Files > g.Files || g.Lines > 0 && s.Added+s.Deleted > g.Lines || g.Bytes > 0 && s.Bytes > g.Bytes
}

// mostFiles is how many changed files are listed whatever the guard says.
const mostFiles = 10_000

// Why something is not shown.
const (
	SummaryFailed     = "summary_failed"
	ThresholdExceeded = "threshold_exceeded"
	OutsideWorkspace  = "path_outside_workspace"
	SizeExceeded      = "size_exceeded"
	TooManyPaths      = "too_many_paths"
)

// Changes are what an attempt has changed, committed or not.
type Changes struct {
	Summary Summary
	// Blocked is empty, SummaryFailed or ThresholdExceeded; then Files is empty.
	Blocked string
	// Detail says more about Blocked, naming the repository.
	Detail string
	// Files are sorted by path.
	Files []FileChange
	// Truncated says that there are more than 10,000.
	Truncated bool
	// Nested are repositories inside of a worktree that are no submodules: what
	// is in them is not listed, and not committed.
	Nested []string
}

// Summary adds up all repositories.
type Summary struct {
	Files, Added, Deleted int
	// Bytes are the sizes of the changed files as they are now; of a deleted
	// file, as it was.
	Bytes int64
}

// FileChange is one changed file.
type FileChange struct {
	// Path begins with the name of the repository, separated by /. A path that
	// is not UTF-8 is quoted as git does it, in double quotes.
	Path string
	// OldPath is where a renamed file was.
	OldPath string
	// Kind is added, modified, deleted, renamed or type_changed.
	Kind string
	// Added and Deleted are lines; 0 for a binary file.
	Added, Deleted int
	Binary         bool
	Bytes          int64

	repo    int
	name    string // in the repository, as git has it
	oldName string
}

// Changes compares each worktree, with what is not committed or not even
// tracked, to where its branch left the target. It changes nothing: no lock is
// taken and no object is written. force lists what guard would block, up to
// 10,000 files.
func (t Tree) Changes(ctx context.Context, guard Guard, force bool) (Changes, error) {
	var all Changes
	for i, r := range t.Repos {
		view, err := t.view(ctx, r)
		if err == nil {
			var files []FileChange
			files, err = view.files(ctx, i)
			view.close()
			all.Files = append(all.Files, files...)
			all.Nested = append(all.Nested, view.nested...)
		}
		if err != nil {
			if ctx.Err() != nil {
				return Changes{}, ctx.Err()
			}
			return Changes{Blocked: SummaryFailed, Detail: fmt.Sprintf("%s: %v", r.Name, hinted(err))}, nil
		}
	}
	slices.SortFunc(all.Files, func(a, b FileChange) int { return strings.Compare(a.Path, b.Path) })
	for _, f := range all.Files {
		all.Summary.Files++
		all.Summary.Added += f.Added
		all.Summary.Deleted += f.Deleted
		all.Summary.Bytes += f.Bytes
	}
	if !force && guard.exceeded(all.Summary) {
		all.Blocked, all.Files = ThresholdExceeded, nil
		all.Detail = fmt.Sprintf("%d files, %d lines added, %d deleted, %d bytes; the guard allows %d files, %d lines, %d bytes",
			all.Summary.Files, all.Summary.Added, all.Summary.Deleted, all.Summary.Bytes, guard.Files, guard.Lines, guard.Bytes)
	}
	if len(all.Files) > mostFiles {
		all.Files, all.Truncated = all.Files[:mostFiles], true
	}
	return all, nil
}

func hinted(err error) string {
	if f := fault.Of(err); f != nil && f.Hint != "" {
		return f.Message + "; " + f.Hint
	}
	return err.Error()
}

// files lists what changed in one repository.
func (v *view) files(ctx context.Context, repo int) ([]FileChange, error) {
	out, err := run(v.git(ctx, v.diff("--raw", "--numstat", "-z", "--no-abbrev")...))
	if err != nil {
		return nil, fmt.Errorf("compare with the base: %w", err)
	}
	files, err := parseRaw(fields(out))
	if err != nil {
		return nil, err
	}
	var deleted []string
	for i := range files {
		f := &files[i]
		f.repo = repo
		f.Path = quote(v.repo.Name + "/" + f.name)
		if f.oldName != "" {
			f.OldPath = quote(v.repo.Name + "/" + f.oldName)
		}
		if f.Kind == "deleted" {
			deleted = append(deleted, v.base+":"+f.name)
			continue
		}
		if info, err := os.Lstat(filepath.Join(v.dir, filepath.FromSlash(f.name))); err == nil && !info.IsDir() {
			f.Bytes = info.Size()
		}
	}
	return files, v.deletedSizes(ctx, files, deleted)
}

// deletedSizes asks for the sizes that files had. A name with a newline cannot
// be asked for and counts 0.
func (v *view) deletedSizes(ctx context.Context, files []FileChange, objects []string) error {
	if len(objects) == 0 {
		return nil
	}
	var ask strings.Builder
	for _, o := range objects {
		if strings.Contains(o, "\n") {
			o = v.base + ":"
		}
		ask.WriteString(o + "\n")
	}
	cmd := v.git(ctx, "cat-file", "--batch-check=%(objecttype) %(objectsize)")
	cmd.Stdin = strings.NewReader(ask.String())
	out, err := run(cmd)
	if err != nil {
		return fmt.Errorf("read sizes of deleted files: %w", err)
	}
	lines := strings.Split(string(out), "\n")
	n := 0
	for i := range files {
		if files[i].Kind != "deleted" || n >= len(lines) {
			continue
		}
		if size, ok := strings.CutPrefix(lines[n], "blob "); ok {
			files[i].Bytes, _ = strconv.ParseInt(size, 10, 64)
		}
		n++
	}
	return nil
}

var kinds = map[byte]string{'A': "added", 'C': "added", 'M': "modified", 'D': "deleted", 'R': "renamed", 'T': "type_changed", 'U': "modified"}

// parseRaw reads what `git diff --raw --numstat -z` prints: first all raw
// entries, then the numbers of all, in the same order.
func parseRaw(parts []string) ([]FileChange, error) {
	var files []FileChange
	i := 0
	next := func() string {
		if i >= len(parts) {
			return ""
		}
		i++
		return parts[i-1]
	}
	for i < len(parts) && strings.HasPrefix(parts[i], ":") {
		meta := strings.Fields(next())
		if len(meta) != 5 || kinds[meta[4][0]] == "" {
			return nil, fmt.Errorf("git diff: cannot read entry %q", meta)
		}
		f := FileChange{Kind: kinds[meta[4][0]], name: next()}
		if meta[4][0] == 'R' || meta[4][0] == 'C' {
			f.oldName, f.name = f.name, next()
		}
		files = append(files, f)
	}
	for n := range files {
		numbers := strings.SplitN(next(), "\t", 3)
		if len(numbers) != 3 {
			return nil, fmt.Errorf("git diff: cannot read numbers %q", numbers)
		}
		if numbers[2] == "" { // a rename: both names follow
			next()
			next()
		}
		f := &files[n]
		f.Binary = numbers[0] == "-"
		f.Added, _ = strconv.Atoi(numbers[0])
		f.Deleted, _ = strconv.Atoi(numbers[1])
	}
	return files, nil
}
