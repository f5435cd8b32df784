package terminal

import (
	"bytes"
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/deskhand/deskhand/runtime/tasks"
)

// attemptPane shows one attempt of a task: its state, and its log or its changes. A nil
// pane shows nothing.
type attemptPane struct {
	task     tasks.Card
	attempts []tasks.AttemptSummary // newest first
	at       int                    // index of the shown attempt
	status   tasks.AttemptStatus
	known    bool // status was read

	log, diff  scroller
	changes    bool // the changes are shown instead of the log
	generation int  // [board.generation] of what is followed, so that late text of something else is ignored
	following  bool
	stop       context.CancelFunc
}

// Messages to the pane. They carry the generation, or the task and attempt, for which
// they were made.
type (
	paneLoaded struct {
		generation    int
		task, attempt string
		attempts      []tasks.AttemptSummary
		status        tasks.AttemptStatus
		err           error
	}
	paneText struct {
		generation int
		text       string
	}
	paneEnded struct {
		generation int
		err        error
	}
	paneDiff struct {
		task, attempt string
		text          string
		err           error
	}
)

// show opens the pane for a task's newest attempt.
func (b *board) show(c tasks.Card) tea.Cmd {
	b.leave()
	b.generation++
	b.open = &attemptPane{task: c, generation: b.generation, stop: func() {}}
	if c.AttemptID == "" {
		return nil
	}
	followed := b.open.follow(b, c.AttemptID) // before reload, because it begins a generation
	return tea.Batch(b.open.reload(b), followed)
}

// warning returns a note for the person who is about to land the shown attempt, or "".
func (p *attemptPane) warning() (note string) {
	if p == nil || !p.known {
		return ""
	}
	for _, d := range p.status.Distances {
		if len(d.Conflicts) > 0 {
			note += " It conflicts with " + flat(d.Target) + "."
		}
	}
	return note
}

func (p *attemptPane) close() { p.stop() }

// id returns the shown attempt's ID, or "" if there is none.
func (p *attemptPane) id() string {
	if p.at < len(p.attempts) {
		return p.attempts[p.at].ID
	}
	return p.task.AttemptID
}

// reload reads the attempts and the shown one's status.
func (p *attemptPane) reload(b *board) tea.Cmd {
	if p == nil {
		return nil
	}
	task, id, generation := p.task.ID, p.id(), p.generation
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		defer cancel()
		msg := paneLoaded{generation: generation, task: task, attempt: id}
		if msg.attempts, msg.err = b.work.Attempts(ctx, task); msg.err != nil || len(msg.attempts) == 0 {
			return msg
		}
		if msg.attempt == "" {
			msg.attempt = msg.attempts[0].ID
		}
		msg.status, msg.err = b.work.Status(ctx, msg.attempt)
		return msg
	}
}

// follow shows an attempt's log from now on.
func (p *attemptPane) follow(b *board, id string) tea.Cmd {
	p.stop()
	ctx, stop := context.WithCancel(b.ctx)
	b.generation++
	p.generation, p.stop, p.following, p.log = b.generation, stop, true, scroller{tail: true}
	generation := p.generation
	return func() tea.Msg {
		err := b.work.Follow(ctx, id, paneWriter(func(text string) { b.send(paneText{generation, text}) }))
		if ctx.Err() != nil {
			err = nil
		}
		return paneEnded{generation, err}
	}
}

// paneWriter passes on what is written to it.
type paneWriter func(text string)

func (w paneWriter) Write(p []byte) (int, error) {
	w(string(p))
	return len(p), nil
}

// readDiff reads the shown attempt's changes.
func (p *attemptPane) readDiff(b *board) tea.Cmd {
	task, id := p.task.ID, p.id()
	return func() tea.Msg {
		var text bytes.Buffer
		err := b.work.Diff(b.ctx, id, &text)
		return paneDiff{task, id, text.String(), err}
	}
}

// turn shows the attempt that is by places older.
func (p *attemptPane) turn(b *board, by int) tea.Cmd {
	next := min(max(p.at+by, 0), max(len(p.attempts)-1, 0))
	if next == p.at {
		return nil
	}
	p.at, p.known, p.changes = next, false, false
	return tea.Batch(p.follow(b, p.id()), p.reload(b))
}

// update handles a message to the pane.
func (p *attemptPane) update(b *board, msg tea.Msg) tea.Cmd {
	if p == nil {
		return nil
	}
	switch msg := msg.(type) {
	case paneLoaded:
		return p.loaded(b, msg)
	case paneText:
		if msg.generation == p.generation {
			p.log.add(msg.text)
		}
	case paneEnded:
		if msg.generation == p.generation {
			p.following = false
			if msg.err != nil {
				b.note = reason(msg.err)
			}
			return p.reload(b)
		}
	case paneDiff:
		if msg.task != p.task.ID || msg.attempt != p.id() {
			break
		}
		if msg.err != nil {
			b.note, p.changes = reason(msg.err), false
			break
		}
		p.diff = scroller{}
		if p.diff.add(msg.text); msg.text == "" {
			p.diff.add("No changes yet.\n")
		}
	}
	return nil
}

// loaded shows the state that was read. If a new run has begun, it follows that.
func (p *attemptPane) loaded(b *board, msg paneLoaded) tea.Cmd {
	shown := p.id()
	if msg.generation != p.generation || msg.task != p.task.ID || shown != "" && msg.attempt != shown {
		return nil
	}
	if msg.err != nil {
		b.note = reason(msg.err)
		return nil
	}
	p.attempts, p.at = msg.attempts, 0
	for i, a := range msg.attempts {
		if a.ID == shown {
			p.at = i
		}
	}
	if len(msg.attempts) == 0 {
		p.task.AttemptID, p.known = "", false
		return nil
	}
	p.status, p.known = msg.status, true
	if msg.status.State == tasks.Running && !p.following {
		return p.follow(b, p.id())
	}
	return nil
}

// scroller is text in a window.
type scroller struct {
	lines []string
	open  bool // the last line is unfinished
	top   int  // first visible row
	tail  bool // the end stays visible when the text grows

	rows  []string // the lines wrapped to a width
	width int      // width of rows; 0: they have to be wrapped again
}

// maxPaneLines is the maximum number of lines that a pane keeps.
const maxPaneLines = 5000

// add appends text. Characters that would control the terminal are replaced.
func (s *scroller) add(text string) {
	for i, part := range strings.Split(strings.ReplaceAll(clean(text), "\t", "    "), "\n") {
		if i == 0 && s.open && len(s.lines) > 0 {
			s.lines[len(s.lines)-1] += part
			continue
		}
		s.lines = append(s.lines, part)
	}
	if s.open = true; s.lines[len(s.lines)-1] == "" { // the text ends with a line break
		s.lines, s.open = s.lines[:len(s.lines)-1], false
	}
	if extra := len(s.lines) - maxPaneLines; extra > 0 {
		s.lines = append([]string{}, s.lines[extra:]...)
	}
	s.width = 0
}

// wrap wraps the lines to a width, styled line by line.
func (s *scroller) wrap(width int, style func(string) string) {
	if s.width == width {
		return
	}
	s.rows, s.width = nil, width
	for _, l := range s.lines {
		for row := range strings.SplitSeq(ansi.Wrap(l, width, " /-"), "\n") {
			s.rows = append(s.rows, styled(style(l), row))
		}
	}
}

// window returns the visible rows.
func (s *scroller) window(width, height int, style func(string) string) []string {
	s.wrap(width, style)
	last := max(len(s.rows)-height, 0)
	if s.top = min(max(s.top, 0), last); s.tail {
		s.top = last
	}
	return s.rows[s.top:min(s.top+height, len(s.rows))]
}

// scroll moves the window by a number of rows.
func (s *scroller) scroll(by, height int) {
	last := max(len(s.rows)-height, 0)
	s.top = min(max(s.top+by, 0), last)
	s.tail = by > 0 && s.top == last
}

// logStyle returns the style of a line of a log.
func logStyle(l string) string {
	switch {
	case strings.HasPrefix(l, "> "):
		return bold
	case strings.HasPrefix(l, "! "):
		return amber
	case strings.HasPrefix(l, "* "), strings.HasPrefix(l, "- "), strings.HasPrefix(l, "  "):
		return dim
	}
	return ""
}

// diffStyle returns the style of a line of a patch.
func diffStyle(l string) string {
	switch {
	case strings.HasPrefix(l, "+++"), strings.HasPrefix(l, "---"), strings.HasPrefix(l, "diff "):
		return bold
	case strings.HasPrefix(l, "+"):
		return green
	case strings.HasPrefix(l, "-"):
		return red
	case strings.HasPrefix(l, "@@"):
		return dim
	}
	return ""
}

const red = "\x1b[31m"
