package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Guard limits how many changes are listed without force. A zero field means no
// limit.
type Guard struct {
	Files int
	// Lines counts added and deleted lines.
	Lines int
	// Bytes is compared with [Summary].Bytes.
	Bytes int64
}

// Safe, Balanced and Relaxed are the named guards. Their limits come from the
// system in which agents already know these tools.
var (
	Safe     = Guard{200, 10_000, 20 << 20}
	Balanced = Guard{500, 25_000, 50 << 20}
	Relaxed  = Guard{1000, 60_000, 150 << 20}
)

func (g Guard) exceeded(s Summary) bool {
	return g.Files > 0 && s.Files > g.Files || g.Lines > 0 && s.Added+s.Deleted > g.Lines || g.Bytes > 0 && s.Bytes > g.Bytes
}

// AtLeast returns the larger of both limits in each field.
func (g Guard) AtLeast(other Guard) Guard {
	larger := func(a, b int64) int64 {
		if a == 0 || b == 0 {
			return 0
		}
		return max(a, b)
	}
	return Guard{int(larger(int64(g.Files), int64(other.Files))), int(larger(int64(g.Lines), int64(other.Lines))), larger(g.Bytes, other.Bytes)}
}

// maxFiles is the maximum number of changed files to list, whatever the guard allows.
const maxFiles = 10_000

// Reasons why something is not shown.
const (
	SummaryFailed     = "summary_failed"
	ThresholdExceeded = "threshold_exceeded"
	OutsideWorkspace  = "path_outside_workspace"
	SizeExceeded      = "size_exceeded"
	TooManyPaths      = "too_many_paths"
)

// Changes describes what an attempt has changed, committed or not.
type Changes struct {
	Summary Summary
	// Blocked is empty, SummaryFailed or ThresholdExceeded. If it is set, Files is
	// empty.
	Blocked string
	// Detail explains Blocked and names the repository.
	Detail string
	// Files are sorted by path.
	Files []FileChange
	// Truncated reports whether there are more than 10,000 files.
	Truncated bool
	// Nested lists repositories inside a worktree that are not submodules. Their
	// content is neither listed nor committed.
	Nested []string
}

// Summary is the total over all repositories.
type Summary struct {
	Files, Added, Deleted int
	// Bytes is the total size of the changed files, in bytes. A deleted file
	// counts with its former size.
	Bytes int64
}

// FileChange is a changed file.
type FileChange struct {
	// Path begins with the repository's name and a slash. A path that is not
	// UTF-8 is in double quotes, the way git quotes it.
	Path string
	// OldPath is the former path of a renamed file.
	OldPath string
	// Kind is added, modified, deleted, renamed or type_changed.
	Kind string
	// Added and Deleted count lines. They are 0 for a binary file.
	Added, Deleted int
	Binary         bool
	Bytes          int64

	repo    int
	name    string // path in the repository, unquoted
	oldName string
	old     string // ID of the object that the file is compared with
	new     string // ID of the object with the file; zeros if git has only the file on the disk
}

// Changes compares each worktree, including uncommitted and untracked files,
// with the commit at which its branch diverged from the target. It takes no
// lock and writes no object. With force, it also lists changes that guard would
// block, up to 10,000 files.
//
// It checks the guard first. It counts lines only if the sizes are within the
// guard, and holds at most 10,000 files in memory. A text file larger than 8
// MiB counts as binary.
func (t Tree) Changes(ctx context.Context, guard Guard, force bool) (Changes, error) {
	all, _, err := t.ChangesWith(ctx, guard, force, false, nil)
	return all, err
}

// ChangesWith is like [Tree.Changes], and also compares the files that choose
// returns, by path. This is much faster than a call of [Tree.Diff] for each. If
// space is set, these comparisons ignore changes of white space.
func (t Tree) ChangesWith(ctx context.Context, guard Guard, force, space bool, choose func([]FileChange) []FileChange) (Changes, map[string]Diff, error) {
	var all Changes
	views := make([]*view, 0, len(t.Repos))
	defer func() {
		for _, v := range views {
			v.close()
		}
	}()
	failed := func(r Repo, err error) (Changes, map[string]Diff, error) {
		if ctx.Err() != nil {
			return Changes{}, nil, ctx.Err()
		}
		return Changes{Blocked: SummaryFailed, Detail: fmt.Sprintf("%s: %v", r.Name, hinted(err))}, nil, nil
	}
	found := make([][]FileChange, len(t.Repos))
	for i, r := range t.Repos {
		v, err := t.view(ctx, r)
		if err != nil {
			return failed(r, err)
		}
		views = append(views, v)
		all.Nested = append(all.Nested, v.nested...)
		files, sum, err := v.files(ctx, i)
		if err != nil {
			return failed(r, err)
		}
		found[i] = files
		all.Summary.Files += sum.Files
		all.Summary.Bytes += sum.Bytes
	}
	counted := force || guard.Bytes == 0 || all.Summary.Bytes <= guard.Bytes
	for i, r := range t.Repos {
		if !counted {
			break
		}
		added, deleted, err := views[i].countLines(ctx, found[i])
		if err != nil {
			return failed(r, err)
		}
		all.Summary.Added += added
		all.Summary.Deleted += deleted
	}
	all.Files = slices.Concat(found...)
	slices.SortFunc(all.Files, func(a, b FileChange) int { return strings.Compare(a.Path, b.Path) })
	if !force && guard.exceeded(all.Summary) {
		all.Blocked, all.Files = ThresholdExceeded, nil
		all.Detail = tooMany(all.Summary, guard, counted)
	}
	if len(all.Files) > maxFiles {
		all.Files = all.Files[:maxFiles]
	}
	all.Truncated = all.Blocked == "" && all.Summary.Files > len(all.Files)
	if choose == nil || len(all.Files) == 0 {
		return all, nil, nil
	}
	byRepo, diffs := map[int][]FileChange{}, map[string]Diff{}
	for _, f := range choose(all.Files) {
		byRepo[f.repo] = append(byRepo[f.repo], f)
	}
	for repo, files := range byRepo {
		compared, err := t.diffs(ctx, views[repo], files, space)
		if err != nil {
			return failed(t.Repos[repo], err)
		}
		for _, d := range compared {
			diffs[d.Path] = d
		}
	}
	return all, diffs, nil
}

// Committed counts what the attempt's branches change since the commits that its work
// starts from, without the changes that are only in the folders. It is faster than
// [Tree.Changes], and leaves out Bytes.
func (t Tree) Committed(ctx context.Context) (sum Summary, err error) {
	for _, r := range t.Repos {
		if r.Base == "" {
			return Summary{}, fmt.Errorf("count lines of %s: no commit to compare with", r.Name)
		}
		v := view{dir: t.path(r), base: r.Base + "...HEAD"}
		var numbers numstatReader
		err := each(inTree(ctx, v.dir, v.diff("--numstat", "-z")...), func(part string) error {
			n, whole, err := numbers.next(part)
			if whole {
				sum.Files++
				sum.Added += n.added
				sum.Deleted += n.deleted
			}
			return err
		})
		if err == nil {
			err = numbers.end()
		}
		if err != nil {
			return Summary{}, fmt.Errorf("count lines of %s: %w", r.Name, err)
		}
	}
	return sum, nil
}

func tooMany(s Summary, guard Guard, counted bool) string {
	lines := fmt.Sprintf("%d lines added, %d deleted", s.Added, s.Deleted)
	if !counted {
		lines = "lines not counted"
	}
	return fmt.Sprintf("%d files, %s, %d bytes; the guard allows %d files, %d lines, %d bytes", s.Files, lines, s.Bytes, guard.Files, guard.Lines, guard.Bytes)
}

func hinted(err error) string {
	if f := fault.Of(err); f != nil && f.Hint != "" {
		return f.Message + "; " + f.Hint
	}
	return err.Error()
}

// files lists the first 10,000 changed files in one repository, sorted by name.
// It returns the number and total size of all changed files.
func (v *view) files(ctx context.Context, repo int) ([]FileChange, Summary, error) {
	files, sum, err := v.list(ctx)
	if err == nil && v.stored != "" {
		err = v.storedSizes(ctx, files, &sum)
	}
	if err != nil {
		return nil, sum, err
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
		}
	}
	if err := v.deletedSizes(ctx, files, deleted); err != nil {
		return nil, sum, err
	}
	for _, f := range files {
		if f.Kind == "deleted" {
			sum.Bytes += f.Bytes
		}
	}
	return files, sum, nil
}

// list compares the files with the given names with the base. Without names, it
// compares all files. It leaves out the sizes of deleted files. After the first
// 10,000 files, it only counts.
func (v *view) list(ctx context.Context, names ...string) (files []FileChange, sum Summary, err error) {
	var raw rawReader
	err = each(v.git(ctx, append(v.diff("--raw", "-z", "--no-abbrev"), names...)...), func(part string) error {
		f, whole, err := raw.next(part)
		if err != nil || !whole {
			return err
		}
		sum.Files++
		if f.Kind != "deleted" && v.stored == "" {
			if info, err := os.Lstat(filepath.Join(v.dir, filepath.FromSlash(f.name))); err == nil && !info.IsDir() {
				f.Bytes = info.Size()
			}
			sum.Bytes += f.Bytes
		}
		if len(files) < maxFiles {
			files = append(files, f)
		}
		return nil
	})
	if err == nil {
		err = raw.end()
	}
	if err != nil {
		return nil, sum, fmt.Errorf("compare with the base: %w", err)
	}
	return files, sum, nil
}

// countLines totals the changed lines, and sets each file's numbers in files.
func (v *view) countLines(ctx context.Context, files []FileChange) (added, deleted int, err error) {
	byName := make(map[string]*FileChange, len(files))
	for i := range files {
		byName[files[i].name] = &files[i]
	}
	var numbers numstatReader
	err = each(v.git(ctx, v.diff("--numstat", "-z")...), func(part string) error {
		n, whole, err := numbers.next(part)
		if err != nil || !whole {
			return err
		}
		added += n.added
		deleted += n.deleted
		if f := byName[n.name]; f != nil { // nil if the file was created in the meantime
			f.Binary, f.Added, f.Deleted = n.binary, n.added, n.deleted
		}
		return nil
	})
	if err == nil {
		err = numbers.end()
	}
	if err != nil {
		return 0, 0, fmt.Errorf("count lines: %w", err)
	}
	return added, deleted, nil
}

// deletedSizes looks up the former sizes of deleted files. A name with a newline cannot
// be looked up and counts as 0.
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

// rawReader reads the parts of `git diff --raw -z`.
type rawReader struct {
	f    FileChange
	want int // number of names still to be read
}

// next reads one part. whole reports whether f is complete.
func (r *rawReader) next(part string) (f FileChange, whole bool, err error) {
	if r.want == 0 {
		meta := strings.Fields(part)
		if !strings.HasPrefix(part, ":") || len(meta) != 5 || kinds[meta[4][0]] == "" {
			return f, false, fmt.Errorf("git diff: cannot read entry %q", part)
		}
		r.f, r.want = FileChange{Kind: kinds[meta[4][0]], old: meta[2], new: meta[3]}, 1
		if meta[4][0] == 'R' || meta[4][0] == 'C' {
			r.want = 2
		}
		return f, false, nil
	}
	if r.want--; r.want == 1 {
		r.f.oldName = part
		return f, false, nil
	}
	r.f.name = part
	return r.f, true, nil
}

func (r *rawReader) end() error {
	if r.want > 0 {
		return errors.New("git diff: the last entry has no name")
	}
	return nil
}

// numstatReader reads the parts of `git diff --numstat -z`.
type numstatReader struct {
	n    lineCount
	want int // number of a rename's names still to be read
}

type lineCount struct {
	name           string
	added, deleted int
	binary         bool
}

func (r *numstatReader) next(part string) (n lineCount, whole bool, err error) {
	if r.want > 0 {
		r.want--
		r.n.name = part // the new name comes last
		return r.n, r.want == 0, nil
	}
	numbers := strings.SplitN(part, "\t", 3)
	if len(numbers) != 3 {
		return n, false, fmt.Errorf("git diff: cannot read numbers %q", part)
	}
	r.n = lineCount{name: numbers[2], binary: numbers[0] == "-"}
	r.n.added, _ = strconv.Atoi(numbers[0])
	r.n.deleted, _ = strconv.Atoi(numbers[1])
	if r.n.name == "" {
		r.want = 2
	}
	return r.n, r.n.name != "", nil
}

func (r *numstatReader) end() error {
	if r.want > 0 {
		return errors.New("git diff: the last numbers have no name")
	}
	return nil
}
