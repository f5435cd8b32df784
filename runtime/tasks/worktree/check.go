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

// Check describes content in text that must not be committed, for example a
// key. It returns "" if there is none.
type Check func(text []byte) string

// maxFound is the maximum number of findings to name.
const maxFound = 10

// Held is the fault commit_held. It holds what a check found in one repository.
type Held struct {
	fault.Fault
	// Prints holds fingerprints of the lines with findings, for [Tree.Allowed].
	// A fingerprint identifies a line of a file without revealing its content.
	// It stays the same if the line moves within the file.
	Prints []string
	// More reports whether there are findings without a fingerprint.
	More bool
}

// Unwrap lets [fault.Of] find the fault.
func (h *Held) Unwrap() error { return &h.Fault }

// maxPrints is the maximum length of Prints.
const maxPrints = 1000

// printOf returns the fingerprint of a line, or of a piece of a long line, in a
// file.
func printOf(repo, file string, line []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d %s %d %s ", len(repo), repo, len(file), file)
	h.Write(line)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// findings collects the results of checks.
type findings struct {
	found   []string // what a person has not allowed
	allowed []string
	prints  []string // fingerprints of found
	others  bool     // whether found has findings without an entry in prints
}

// and adds other findings, without duplicates.
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

// checked returns a fault if a check finds something in the lines that the index
// adds to the commit head.
func (t Tree) checked(in gitIn, r Repo, head string, checks []Check) error {
	f, err := t.scan(in, r.Name, checks, "diff", "--cached", head)
	if err != nil {
		return fmt.Errorf("check what would be committed in %s: %w", r.Name, err)
	}
	if len(f.found) == 0 {
		return nil
	}
	return &Held{*fault.New(CommitHeld, strings.Join(f.found, "; "), "remove it, or allow it"), f.prints, f.others}
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

// Exposed returns what the checks find in the commits that the agent has made
// since heads. It also returns the copied-in files that those commits contain.
// It leaves out findings that are allowed.
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

// Brought returns what the checks find in the changes that the moves bring to
// their targets. For moves from [Tree.Land], it checks each commit like
// [Tree.Exposed], because the commits' history lands too. For moves from
// [Tree.Applying], it checks only the changes. allowed holds the findings that
// a person has already allowed.
func (t Tree) Brought(ctx context.Context, moves []Move, checks ...Check) (found, allowed []string, err error) {
	for _, m := range moves {
		r, ok := t.repo(m.Name)
		if !ok {
			continue
		}
		in := func(args ...string) gitCommand { return command(ctx, m.Path, args...) }
		look := t.exposed
		if m.Branch == "" { // the move brings changes from one tree to another
			look = t.exposedChanges
		}
		more, err := look(in, r, checks, m.Before, m.After)
		if err != nil {
			return found, allowed, fmt.Errorf("check the changes that would land in %s: %w", r.Name, err)
		}
		found, allowed = append(found, more.found...), append(allowed, more.allowed...)
	}
	return found, allowed, nil
}

// exposed checks the commits that are in the history of the commit "to" but not
// in that of the commit "from". It checks their messages, and the lines that
// each commit adds. The lines of a merge are compared with all of its parents.
func (t Tree) exposed(in gitIn, r Repo, checks []Check, from, to string) (f findings, err error) {
	original := func(args ...string) gitCommand { // checks the commits that are pushed, regardless of refs/replace
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
	// For a binary file, only the total diff shows what a merge adds.
	changed, err = t.scan(in, r.Name, checks, "diff", from, to)
	f.and(changed)
	return f, err
}

// exposedChanges checks the changes between two trees.
func (t Tree) exposedChanges(in gitIn, r Repo, checks []Check, from, to string) (f findings, err error) {
	if f.found, err = copiedIn(in, r, "diff", from, to); err != nil {
		return f, err
	}
	changed, err := t.scan(in, r.Name, checks, "diff", from, to)
	f.and(changed)
	return f, err
}

// copiedIn returns a finding for each copied-in file that the git command lists as
// added.
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

// gitIn creates a git command for one folder.
type gitIn func(args ...string) gitCommand

// in returns a gitIn for the repository's worktree.
func (t Tree) in(ctx context.Context, r Repo) gitIn {
	return func(args ...string) gitCommand { return inTree(ctx, t.path(r), args...) }
}

// scan runs the checks on the lines that a diff adds.
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

// streamed passes the output of a git command to read while the command runs.
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

// scanner reads a diff line by line. If a line is long, it holds only part of
// the line.
type scanner struct {
	repo   string
	checks []Check
	may    map[string]bool // fingerprints of allowed lines
	findings
	file   string
	line   int
	marks  int  // number of marks before each line of the hunk: one per parent
	inHunk int  // lines of the new file that are still to come in the hunk
	has    bool // whether the line belongs to the new file
	added  bool // whether the line is in no parent
}

// A line longer than window is checked in pieces. Adjacent pieces share overlap
// bytes.
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

// begin processes a line, or the first piece of a line.
func (s *scanner) begin(line []byte, whole bool) {
	s.has, s.added = false, false
	if s.inHunk > 0 && len(line) >= s.marks {
		marks := string(line[:s.marks])
		s.has, s.added = strings.Trim(marks, "+ ") == "", strings.Trim(marks, "+") == ""
	}
	switch {
	case s.has:
		s.more(line[s.marks:], whole) // without the marks, because a check also reads the text before a key
	case bytes.HasPrefix(line, []byte("@@")):
		s.marks = bytes.IndexByte(line, ' ') - 1
		s.line, s.inHunk = hunk(string(line))
	case s.inHunk <= 0 && bytes.HasPrefix(line, []byte("+++ ")):
		s.file = strings.TrimPrefix(strings.TrimSuffix(string(line[4:]), "\t"), "b/")
	}
}

// more checks a piece of a line, if the line is added.
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

// hunk parses "@@ -a,b +c,d @@", or "@@@ -a,b -a,b +c,d @@@" in a merge. It
// returns the number of the hunk's first line in the new file, and the number
// of lines.
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
