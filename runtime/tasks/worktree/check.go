package worktree

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Check says what a text has that nobody should commit, such as a key; empty:
// nothing.
type Check func(text []byte) string

// mostFound is how many findings are named.
const mostFound = 10

// checked refuses to commit what a check finds in the lines that were added.
func (t Tree) checked(ctx context.Context, r Repo, checks []Check) error {
	found, err := t.scan(ctx, r, checks, "--cached")
	if err != nil {
		return fmt.Errorf("check what would be committed in %s: %w", r.Name, err)
	}
	if len(found) == 0 {
		return nil
	}
	return fault.New(CommitHeld, strings.Join(found, "; "), "take it out, or allow it")
}

// Heads are the commits that are checked out, by repository.
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
// made itself, and which of the files that were copied in they have.
func (t Tree) Exposed(ctx context.Context, heads map[string]string, checks ...Check) (found []string, err error) {
	now := t.Heads(ctx)
	for _, r := range t.Repos {
		from := heads[r.Name]
		if from == "" || from == now[r.Name] {
			continue
		}
		if len(r.Copied) > 0 {
			out, err := run(inTree(ctx, t.path(r), append([]string{"diff", "--name-only", "--no-renames", "--diff-filter=A", "--ignore-submodules=all", "-z", from, now[r.Name], "--"}, r.Copied...)...))
			if err != nil {
				return found, err
			}
			for _, name := range fields(out) {
				found = append(found, quote(r.Name+"/"+name)+" was copied from the repository and must not be committed")
			}
		}
		more, err := t.scan(ctx, r, checks, from, now[r.Name])
		if err != nil {
			return found, err
		}
		found = append(found, more...)
	}
	return found, nil
}

// scan gives the lines that a diff adds to the checks.
func (t Tree) scan(ctx context.Context, r Repo, checks []Check, what ...string) ([]string, error) {
	checks = slices.DeleteFunc(slices.Clone(checks), func(c Check) bool { return c == nil })
	if len(checks) == 0 {
		return nil, nil
	}
	args := append([]string{"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "--no-renames", "--text", "--unified=0", "--inter-hunk-context=0",
		"--ignore-submodules=all", "--diff-filter=d", "--src-prefix=a/", "--dst-prefix=b/"}, what...)
	pipe, w := io.Pipe()
	cmd := inTree(ctx, t.path(r), append(args, "--")...)
	cmd.Stdout = w
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.CloseWithError(stream(cmd))
	}()
	s := scanner{repo: r.Name, checks: checks}
	err := s.read(pipe)
	pipe.Close()
	<-done
	return s.found, err
}

// scanner reads a diff line by line, of which it never has more than a part.
type scanner struct {
	repo   string
	checks []Check
	found  []string
	file   string
	line   int
	inHunk int  // added lines of the hunk that are still to come
	added  bool // the line is one of them
}

// A line longer than window is looked at in parts, which have overlap in common.
const (
	window  = 1 << 20
	overlap = 4 << 10
)

func (s *scanner) read(from io.Reader) error {
	r := bufio.NewReaderSize(from, window)
	var before []byte // the end of the part before
	begun := false
	for {
		part, err := r.ReadSlice('\n')
		if len(part) > 0 {
			whole := !errors.Is(err, bufio.ErrBufferFull)
			if begun {
				s.more(append(before, part...), whole)
			} else {
				s.begin(bytes.TrimSuffix(part, []byte("\n")), whole)
			}
			before = append(before[:0], part[max(0, len(part)-overlap):]...)
			begun = !whole
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// begin looks at a line, or at the first part of one.
func (s *scanner) begin(line []byte, whole bool) {
	s.added = s.inHunk > 0 && bytes.HasPrefix(line, []byte("+"))
	switch {
	case s.added:
		s.more(line[1:], whole) // without the mark: a check looks at what is before a key
	case bytes.HasPrefix(line, []byte("@@ ")):
		s.line, s.inHunk = hunk(string(line))
	case s.inHunk <= 0 && bytes.HasPrefix(line, []byte("+++ ")):
		s.file = strings.TrimPrefix(strings.TrimSuffix(string(line[4:]), "\t"), "b/")
	}
}

// more looks at a part of a line that is added.
func (s *scanner) more(part []byte, whole bool) {
	if !s.added {
		return
	}
	for _, check := range s.checks {
		if what := check(part); what != "" {
			s.note(what)
		}
	}
	if whole {
		s.line++
		s.inHunk--
	}
}

func (s *scanner) note(what string) {
	text := fmt.Sprintf("%s/%s:%d has %s", s.repo, s.file, s.line, what)
	switch {
	case len(s.found) < mostFound && !slices.Contains(s.found, text):
		s.found = append(s.found, text)
	case len(s.found) == mostFound:
		s.found = append(s.found, "and more")
	}
}

// hunk reads "@@ -a,b +c,d @@": where the added lines begin, and how many.
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
