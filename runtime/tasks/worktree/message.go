package worktree

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// messages gives the lines of the messages of the commits that to has and from
// does not to the checks.
func messages(in gitIn, repo string, checks []Check, from, to string) ([]string, error) {
	checks = slices.DeleteFunc(slices.Clone(checks), func(c Check) bool { return c == nil })
	if len(checks) == 0 {
		return nil, nil
	}
	// A NUL is in no message. What is pushed is not in another encoding either.
	cmd := in("log", "--no-show-signature", "--no-color", "--encoding=none", "--format=%x00%n%B", from+".."+to, "--")
	s := messageScanner{repo: repo, checks: checks}
	err := streamed(cmd, s.read)
	return s.found, err
}

// messageScanner reads messages line by line, of which it never has more than a
// part.
type messageScanner struct {
	repo    string
	checks  []Check
	found   []string
	subject string // as it is shown
	hidden  bool   // the subject has something itself
	line    int    // of the message; the subject is 1
}

// mostSubject is how much of a subject names a commit, in bytes.
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

// noted is found with a finding more, if it is not there and not too many are.
func noted(found []string, text string) []string {
	switch {
	case len(found) < maxFound && !slices.Contains(found, text):
		return append(found, text)
	case len(found) == maxFound && !slices.Contains(found, text):
		return append(found, "and more")
	}
	return found
}

// linesIn gives f the lines of a text, without their ends. One that is longer
// than a window comes in parts, which have overlap in common: first and whole say
// whether a part is the first of its line, and the last.
func linesIn(from io.Reader, f func(part []byte, first, whole bool)) error {
	r := bufio.NewReaderSize(from, window)
	var before []byte // the end of the part before
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
