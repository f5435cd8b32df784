package text

import (
	"regexp"
	"strings"
	"sync"
)

// Complaint reads a program's output and keeps what tells why it failed: its first lines
// that look like an error, because programs often print help after them, and its end. It
// may be used concurrently. The zero value is ready.
type Complaint struct {
	end Tail

	mu    sync.Mutex
	begun []byte   // a line whose end has not come yet
	first []string // the first lines that look like an error
}

const (
	maxComplaint = 3       // lines that are kept as the first errors
	mostOfLine   = 1 << 10 // bytes of a line that are looked at
	tellingWords = 5       // a line with fewer words is likely a heading, such as "npm error code EUSAGE"
)

// complains matches words with which programs report an error.
var complains = regexp.MustCompile(`(?i)error|fatal|fail|cannot|can't|could not|unable|not found|no such|no rule|denied|missing|invalid|refused|panic|exception`)

// Write implements [io.Writer]. It never fails.
func (c *Complaint) Write(p []byte) (int, error) {
	c.end.Write(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range p {
		switch {
		case b == '\n':
			c.line()
		case len(c.begun) < mostOfLine:
			c.begun = append(c.begun, b)
		}
	}
	return len(p), nil
}

// line ends the line that has begun.
func (c *Complaint) line() {
	text := OneLine(Plain(strings.ToValidUTF8(string(c.begun), "\uFFFD")))
	c.begun = c.begun[:0]
	if len(c.first) < maxComplaint && complains.MatchString(text) && len(strings.Fields(text)) > 2 {
		c.first = append(c.first, text)
	}
}

// Reason returns the line that most likely tells why the program failed: the first error
// that is a sentence, or else the first error, or else the last line. It is empty if there
// was no output.
func (c *Complaint) Reason() string {
	first := c.errors()
	for _, line := range first {
		if len(strings.Fields(line)) >= tellingWords {
			return line
		}
	}
	if len(first) > 0 {
		return first[0]
	}
	return OneLine(Plain(c.end.LastLine()))
}

// Text returns the first errors, and after them as many lines of the output's end that do
// not repeat them.
func (c *Complaint) Text(lines int) string {
	all := c.errors()
	var last []string
	for line := range strings.Lines(c.end.String()) {
		if line = OneLine(Plain(line)); line != "" {
			last = append(last, line)
		}
	}
	last = last[max(0, len(last)-lines):]
	said := map[string]bool{}
	for _, line := range all {
		said[line] = true
	}
	skipped := len(all) > 0
	for _, line := range last {
		if said[line] {
			continue
		}
		if skipped {
			all, skipped = append(all, "..."), false
		}
		all = append(all, line)
	}
	return strings.Join(all, "\n")
}

func (c *Complaint) errors() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.begun) > 0 {
		c.line()
	}
	return append([]string(nil), c.first...)
}
