package worktree

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// messages runs the checks on the messages of commits. The commits are in the
// history of the commit "to", but not in that of the commit "from".
func messages(in gitIn, repo string, checks []Check, from, to string) ([]string, error) {
	checks = slices.DeleteFunc(slices.Clone(checks), func(c Check) bool { return c == nil })
	if len(checks) == 0 {
		return nil, nil
	}
	// A message cannot contain a NUL. --encoding=none, because messages are pushed
	// unconverted.
	cmd := in("log", "--no-show-signature", "--no-color", "--encoding=none", "--format=%x00%n%B", from+".."+to, "--")
	s := messageScanner{repo: repo, checks: checks}
	err := streamed(cmd, s.read)
	return s.found, err
}

// messageScanner reads messages line by line. If a line is long, it holds only
// part of the line.
type messageScanner struct {
	repo    string
	checks  []Check
	found   []string
	subject string // shortened subject, which names the commit
	hidden  bool   // whether the subject itself has a finding
	line    int    // number of the line in the message; the subject is line 1
}

// mostSubject is the maximum length, in bytes, of a subject that names a
// commit.
const mostSubject = 60

func (s *messageScanner) read(from io.Reader) error {
	return linesIn(from, func(part []byte, first, _ bool) {
		if first && bytes.Equal(part, []byte{0}) {
			s.line, s.subject, s.hidden = 0, "", false
			return
		}
		if first {
			s.line++
		}
		what := ""
		for _, check := range s.checks {
			if what = check(part); what != "" {
				break
			}
		}
		switch {
		case what != "":
			s.note(what)
		case first && s.line == 1:
			s.subject = string(part[:min(len(part), mostSubject)])
		}
	})
}

func (s *messageScanner) note(what string) {
	text := fmt.Sprintf("%s: the message of commit %q, line %d, has %s", s.repo, s.subject, s.line, what)
	if s.hidden = s.hidden || s.line == 1; s.hidden {
		text = fmt.Sprintf("%s: the subject of a commit has %s", s.repo, what)
	}
	s.found = noted(s.found, text)
}

// noted adds text to found, unless found already contains it or is full.
func noted(found []string, text string) []string {
	switch {
	case len(found) < maxFound && !slices.Contains(found, text):
		return append(found, text)
	case len(found) == maxFound && !slices.Contains(found, text):
		return append(found, "and more")
	}
	return found
}

// linesIn calls f with each line that it reads, without its line end. It passes
// a line longer than window in pieces; adjacent pieces share overlap bytes.
// first and whole report whether a piece is the first and the last of its line.
func linesIn(from io.Reader, f func(part []byte, first, whole bool)) error {
	r := bufio.NewReaderSize(from, window)
	var before []byte // end of the previous piece
	for first := true; ; {
		part, err := r.ReadSlice('\n')
		if len(part) > 0 {
			whole := !errors.Is(err, bufio.ErrBufferFull)
			if first {
				f(bytes.TrimSuffix(part, []byte("\n")), true, whole)
			} else {
				f(append(before, part...), false, whole)
			}
			before = append(before[:0], part[max(0, len(part)-overlap):]...)
			first = whole
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
