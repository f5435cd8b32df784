package worktree

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Check describes what text contains that must not be committed, such as a key.
// Empty: nothing.
type Check func(text []byte) string

// maxFound is how many findings are named.
const maxFound = 10

// Held is the fault commit_held: what a check found in one repository.
type Held struct {
	fault.Fault
	// Prints stand for the lines in which it was found, for [Tree.Allowed]. They
	// tell a line and its file again, wherever it is in the file, and not what it
	// says.
	Prints []string
	// More says that there are lines without a print.
	More bool
}

// Unwrap lets [fault.Of] find the fault.
func (h *Held) Unwrap() error { return &h.Fault }

// maxPrints bounds Prints.
const maxPrints = 1000

// printOf stands for a line, or a part of a long one, of a file.
func printOf(repo, file string, line []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d %s %d %s ", len(repo), repo, len(file), file)
	h.Write(line)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// findings are what checks found.
type findings struct {
	found   []string // that nobody has allowed
	allowed []string
	prints  []string // of found
	others  bool     // there are more of them
}

// and adds what else was found.
func (f *findings) and(more findings) {
	another := func(to, texts []string) []string {
		for _, text := range texts {
			if !slices.Contains(to, text) {
				to = append(to, text)
			}
		}
		return to
	}
	f.found, f.allowed = another(f.found, more.found), another(f.allowed, more.allowed)
}

// checked refuses to commit what a check finds in the lines that were added.
func (t Tree) checked(ctx context.Context, r Repo, checks []Check) error {
	f, err := t.scan(t.in(ctx, r), r.Name, checks, "diff", "--cached")
	if err != nil {
		return fmt.Errorf("check what would be committed in %s: %w", r.Name, err)
	}
	if len(f.found) == 0 {
		return nil
	}
	return &Held{*fault.New(CommitHeld, strings.Join(f.found, "; "), "take it out, or allow it"), f.prints, f.others}
}

// Heads returns the checked-out commit of each repository.
func (t Tree) Heads(ctx context.Context) map[string]string {
	heads := map[string]string{}
	for _, r := range t.Repos {
		if head, err := revision(ctx, t.path(r), "HEAD"); err == nil {
			heads[r.Name] = head
		}
	}
	return heads
}

// Exposed is what a check finds in the commits since heads, which the agent has
// made itself, and which of the files that were copied in they have. What is
// allowed is not in it.
func (t Tree) Exposed(ctx context.Context, heads map[string]string, checks ...Check) (found []string, err error) {
	now := t.Heads(ctx)
	for _, r := range t.Repos {
		from := heads[r.Name]
		if from == "" || from == now[r.Name] {
			continue
		}
		more, err := t.exposed(t.in(ctx, r), r, checks, from, now[r.Name])
		if err != nil {
			return found, err
		}
		found = append(found, more.found...)
	}
	return found, nil
}

// Brought is what a check finds in what moves bring, as [Tree.Exposed] says it:
// in each commit of those of [Tree.Land], as its history lands too, and in the
// changes of those of [Tree.Applying]. allowed is what of that a person has
// allowed before.
func (t Tree) Brought(ctx context.Context, moves []Move, checks ...Check) (found, allowed []string, err error) {
	for _, m := range moves {
		r, ok := t.repo(m.Name)
		if !ok {
			continue
		}
		in := func(args ...string) gitCommand { return command(ctx, m.Path, args...) }
		look := t.exposed
		if m.Branch == "" { // from one tree to another
			look = t.exposedChanges
		}
		more, err := look(in, r, checks, m.Before, m.After)
		if err != nil {
			return found, allowed, fmt.Errorf("check what would be brought into %s: %w", r.Name, err)
		}
		found, allowed = append(found, more.found...), append(allowed, more.allowed...)
	}
	return found, allowed, nil
}

// exposed looks at the commits that to has and from does not: at their messages,
// and at what each of them adds, a merge to all of its parents.
func (t Tree) exposed(in gitIn, r Repo, checks []Check, from, to string) (f findings, err error) {
	original := func(args ...string) gitCommand { // what is pushed, whatever refs/replace says
		cmd := in(args...)
		cmd.Env = append(cmd.Env, "GIT_NO_REPLACE_OBJECTS=1")
		return cmd
	}
	if f.found, err = copiedIn(original, r, "log", "--format=", "-c", "--root", from+".."+to); err != nil {
		return f, err
	}
	said, err := messages(original, r.Name, checks, from, to)
	if err != nil {
		return f, err
	}
	f.and(findings{found: said})
	changed, err := t.scan(original, r.Name, checks, "log", "--format=", "--patch", "-c", "--root", from+".."+to)
	f.and(changed)
	if err != nil || len(changed.found) > 0 {
		return f, err
	}
	// What a merge adds to a binary file is in the changes as a whole alone.
	changed, err = t.scan(in, r.Name, checks, "diff", from, to)
	f.and(changed)
	return f, err
}

// exposedChanges looks at the changes between two trees.
func (t Tree) exposedChanges(in gitIn, r Repo, checks []Check, from, to string) (f findings, err error) {
	if f.found, err = copiedIn(in, r, "diff", from, to); err != nil {
		return f, err
	}
	changed, err := t.scan(in, r.Name, checks, "diff", from, to)
	f.and(changed)
	return f, err
}

// copiedIn says which of the files that were copied in a git names as added.
func copiedIn(in gitIn, r Repo, verb string, what ...string) (found []string, err error) {
	if len(r.Copied) == 0 {
		return nil, nil
	}
	args := append([]string{verb, "--name-only", "--no-renames", "--diff-filter=A", "--ignore-submodules=all", "-z"}, what...)
	err = each(in(append(args, "--")...), func(name string) error {
		text := quote(r.Name+"/"+name) + " was copied from the repository and must not be committed"
		if slices.Contains(r.Copied, name) && !slices.Contains(found, text) {
			found = append(found, text)
		}
		return nil
	})
	return found, err
}

// gitIn makes a git for one place.
type gitIn func(args ...string) gitCommand

// in is git in the worktree of a repository.
func (t Tree) in(ctx context.Context, r Repo) gitIn {
	return func(args ...string) gitCommand { return inTree(ctx, t.path(r), args...) }
}

// scan gives the lines that a diff adds to the checks.
func (t Tree) scan(in gitIn, repo string, checks []Check, verb string, what ...string) (findings, error) {
	checks = slices.DeleteFunc(slices.Clone(checks), func(c Check) bool { return c == nil })
	if len(checks) == 0 {
		return findings{}, nil
	}
	args := append([]string{verb, "--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "--no-renames", "--text", "--unified=0", "--inter-hunk-context=0",
		"--ignore-submodules=all", "--diff-filter=d", "--src-prefix=a/", "--dst-prefix=b/"}, what...)
	s := scanner{repo: repo, checks: checks, may: t.Allowed}
	err := streamed(in(append(args, "--")...), s.read)
	return s.findings, err
}

// streamed gives read what a git prints, while it runs.
func streamed(cmd gitCommand, read func(io.Reader) error) error {
	pipe, w := io.Pipe()
	cmd.Stdout = w
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.CloseWithError(stream(cmd))
	}()
	err := read(pipe)
	pipe.Close()
	<-done
	return err
}

// scanner reads a diff line by line, of which it never has more than a part.
type scanner struct {
	repo   string
	checks []Check
	may    map[string]bool // prints that are allowed
	findings
	file   string
	line   int
	marks  int  // in front of each line of the hunk: one for each parent
	inHunk int  // lines of the new file that are still to come in the hunk
	has    bool // the line is one of them
	added  bool // and no parent has it
}

// A line longer than window is looked at in parts, which have overlap in common.
const (
	window  = 1 << 20
	overlap = 4 << 10
)

func (s *scanner) read(from io.Reader) error {
	return linesIn(from, func(part []byte, first, whole bool) {
		if first {
			s.begin(part, whole)
		} else {
			s.more(part, whole)
		}
	})
}

// begin looks at a line, or at the first part of one.
func (s *scanner) begin(line []byte, whole bool) {
	s.has, s.added = false, false
	if s.inHunk > 0 && len(line) >= s.marks {
		marks := string(line[:s.marks])
		s.has, s.added = strings.Trim(marks, "+ ") == "", strings.Trim(marks, "+") == ""
	}
	switch {
	case s.has:
		s.more(line[s.marks:], whole) // without the marks: a check looks at what is before a key
	case bytes.HasPrefix(line, []byte("@@")):
		s.marks = bytes.IndexByte(line, ' ') - 1
		s.line, s.inHunk = hunk(string(line))
	case s.inHunk <= 0 && bytes.HasPrefix(line, []byte("+++ ")):
		s.file = strings.TrimPrefix(strings.TrimSuffix(string(line[4:]), "\t"), "b/")
	}
}

// more looks at a part of a line, if that is added.
func (s *scanner) more(part []byte, whole bool) {
	if s.added {
		for _, check := range s.checks {
			if what := check(part); what != "" {
				s.note(what, printOf(s.repo, s.file, part))
			}
		}
	}
	if s.has && whole {
		s.line++
		s.inHunk--
	}
}

func (s *scanner) note(what, print string) {
	text := fmt.Sprintf("%s/%s:%d has %s", s.repo, s.file, s.line, what)
	if s.may[print] {
		s.allowed = noted(s.allowed, text)
		return
	}
	s.found = noted(s.found, text)
	switch {
	case slices.Contains(s.prints, print):
	case len(s.prints) < maxPrints:
		s.prints = append(s.prints, print)
	default:
		s.others = true
	}
}

// hunk reads "@@ -a,b +c,d @@", of a merge "@@@ -a,b -a,b +c,d @@@": where its
// lines of the new file begin, and how many.
func hunk(header string) (line, count int) {
	_, rest, _ := strings.Cut(header, " +")
	rest, _, _ = strings.Cut(rest, " ")
	first, number, several := strings.Cut(rest, ",")
	line, _ = strconv.Atoi(first)
	count = 1
	if several {
		count, _ = strconv.Atoi(number)
	}
	return line, count
}
