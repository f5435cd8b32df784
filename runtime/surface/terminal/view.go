package terminal

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// screen holds the content of the screen: one string per row, and the cursor's
// position.
type screen struct {
	rows        []string
	row, column int // cursor position; row is -1 if there is no cursor
}

const (
	bold  = "\x1b[1m"
	dim   = "\x1b[2m"
	green = "\x1b[32m"
	amber = "\x1b[33m"
	plain = "\x1b[m"
)

func styled(style, text string) string {
	if text == "" {
		return ""
	}
	return style + text + plain
}

// page collects rows, wrapped to a width.
type page struct {
	width       int
	rows        []string
	focus       int // row that must be visible
	row, column int // cursor position
}

func newPage(width int) *page { return &page{width: max(width, 10), row: -1} }

// add adds text as rows. It puts indent before the first row, and indents the
// following rows by the width of indent.
func (p *page) add(style, indent, text string) {
	room := max(p.width-ansi.StringWidth(indent), 4)
	for i, l := range strings.Split(ansi.Wrap(text, room, " "), "\n") {
		if i > 0 {
			indent = strings.Repeat(" ", ansi.StringWidth(indent))
		}
		p.rows = append(p.rows, indent+styled(style, l))
	}
}

func (p *page) gap() { p.rows = append(p.rows, "") }

// fit reduces the page to a height so that the focus is visible. head and foot
// are always visible, above and below the page. scroll moves the visible part
// by that number of rows.
func (p *page) fit(height int, head string, foot []string, scroll *int) screen {
	room := max(height-len(foot)-1, 1)
	last := max(len(p.rows)-room, 0)
	auto := min(max(p.focus-room*2/3, 0), last)
	from := min(max(auto+*scroll, 0), last)
	*scroll = from - auto
	rows := p.rows[from:min(from+room, len(p.rows))]
	out := screen{rows: append([]string{head}, rows...), row: -1}
	for len(out.rows) < room+1 {
		out.rows = append(out.rows, "")
	}
	if from > 0 && room > 2 {
		out.rows[1] = styled(dim, fmt.Sprintf("  … %d above, PgUp", from+1))
	}
	if below := last - from; below > 0 && room > 2 {
		out.rows[room] = styled(dim, fmt.Sprintf("  … %d more, PgDn", below+1))
	}
	if p.row >= from && p.row < from+room {
		out.row, out.column = p.row-from+1, p.column
	}
	for _, f := range foot {
		out.rows = append(out.rows, styled(dim, ansi.Truncate(f, p.width, "…")))
	}
	return out
}

// headLine returns a row with left at its left end and right at its right end.
func headLine(left, right string, width int) string {
	right = ansi.Truncate(right, width/2, "…")
	left = ansi.Truncate(left, max(width-ansi.StringWidth(right)-2, 0), "…")
	space := max(width-ansi.StringWidth(left)-ansi.StringWidth(right), 1)
	return styled(dim, left+strings.Repeat(" ", space)+right)
}

// lowScreen is the height below which the keys get only one row, so that there
// is room for the question.
const lowScreen = 16

// view draws a form.
func (s *formModel) view(width, height int, now time.Time) screen {
	p := newPage(width)
	r := &s.request
	right := left(r, now)
	if r.Priority == elicit.High || r.Priority == elicit.Urgent {
		right = strings.TrimPrefix(right+" · "+string(r.Priority), " · ")
	}
	head := headLine("asked by "+asker(r), right, p.width)
	switch {
	case s.help:
		s.viewHelp(p)
		return p.fit(height, head, []string{"any key: back"}, &s.scroll)
	case s.saying:
		s.viewNote(p)
		return p.fit(height, head, []string{"Enter done: it is sent with your answer"}, &s.scroll)
	case s.panel != noPanel:
		s.viewPanel(p)
		foot := wrapKeys(s.panelKeys(), p.width)
		if s.note != "" {
			foot = append([]string{plain + amber + s.note + plain}, foot...)
		}
		return p.fit(height, head, foot, &s.scroll)
	case s.menu:
		s.viewMenu(p)
		return p.fit(height, head, []string{"Esc back to the question"}, &s.scroll)
	}
	s.viewTop(p)
	if q := s.question(); q != nil {
		s.viewQuestion(p, q)
	} else {
		s.viewReview(p)
	}
	if note := s.said.text(); note != "" {
		p.gap()
		p.add(dim, "", "Your note: "+flat(note))
	}
	foot := wrapKeys(s.keys(), p.width)
	if height < lowScreen {
		foot = foot[:1]
	}
	if s.note != "" {
		foot = append([]string{plain + amber + s.note + plain}, foot...)
	}
	return p.fit(height, head, foot, &s.scroll)
}

// viewTop shows the part with which all pages begin.
func (s *formModel) viewTop(p *page) {
	r := &s.request
	if s.may.line != "" {
		p.add(dim, "", flat(s.may.line))
	}
	if standing := r.Standing(); standing != "" {
		p.add(amber, "", standing)
	}
	if r.Title != "" {
		p.add(bold, "", flat(r.Title))
	}
	if r.Proposal != nil {
		if warning := r.Proposal.Warning(); warning != "" {
			p.add(amber, "", clean(warning))
		}
		p.add("", "  ", clean(r.Proposal.Text))
	}
	if r.Message != r.Title && (len(r.Questions) == 0 || r.Message != r.Questions[0].Message) {
		p.add("", "", clean(r.Message))
	}
	if r.URL != "" {
		p.gap()
		p.add("", "", "Open this page yourself if you trust the asker:")
		p.add(bold, "  ", clean(r.URL))
	}
	if len(p.rows) > 0 {
		p.gap()
	}
}

func (s *formModel) viewQuestion(p *page, q *elicit.Question) {
	if n := len(s.request.Questions); n > 1 {
		p.add(dim, "", fmt.Sprintf("Question %d of %d", s.page+1, n))
	}
	if header := q.Header(); header != "" {
		p.add(dim, "", flat(header))
	}
	p.add(bold, "", clean(q.Message))
	p.add(dim, "", q.Wants())
	if q.Default != nil {
		p.add(dim, "", "proposed: "+clean(q.Say(q.Default)))
	}
	p.gap()
	if typesIn(q) {
		s.viewEditor(p, "> ", q.Placeholder)
		return
	}
	s.viewOptions(p, q)
}

// viewNote shows the note that is being written.
func (s *formModel) viewNote(p *page) {
	p.add(bold, "", "A note for the asker")
	p.gap()
	viewEditor(p, &s.said, "> ", "")
}

// viewEditor shows the text that is being typed.
func (s *formModel) viewEditor(p *page, indent, placeholder string) {
	viewEditor(p, &s.editor, indent, placeholder)
}

func viewEditor(p *page, e *editor, indent, placeholder string) {
	rows, row, column := e.lines(p.width - ansi.StringWidth(indent) - 1)
	p.row, p.column = len(p.rows)+row, ansi.StringWidth(indent)+column
	p.focus = p.row
	for i, text := range rows {
		if i > 0 {
			indent = strings.Repeat(" ", ansi.StringWidth(indent))
		}
		if len(e.chars) == 0 {
			text = styled(dim, ansi.Truncate(line(placeholder), max(p.width-ansi.StringWidth(indent), 1), "…"))
		}
		p.rows = append(p.rows, indent+text)
	}
}

func (s *formModel) viewOptions(p *page, q *elicit.Question) {
	v := s.answers[q.ID].Value
	if q.Kind == elicit.Boolean {
		for i, name := range []string{"Yes", "No"} {
			s.viewOption(p, i, strings.ToLower(name[:1]), name, v != nil && v.Boolean == (i == 0), false)
		}
		return
	}
	for i, o := range q.Options {
		number := " "
		if i < 9 {
			number = strconv.Itoa(i + 1)
		}
		label := flat(o.Label)
		if o.Recommended {
			label += " [recommended]"
		}
		chosen := v != nil && (v.Text == o.ID || slices.Contains(v.Options, o.ID))
		s.viewOption(p, i, number, label, chosen, q.Kind == elicit.MultiSelect)
		if o.Description != "" {
			p.add(dim, "          ", flat(o.Description))
		}
	}
	if !q.AllowFreeform {
		return
	}
	if s.writing {
		p.focus = len(p.rows)
		s.viewEditor(p, "> /     other: ", "")
		return
	}
	text := s.text(q)
	s.viewOption(p, len(q.Options), "/", strings.TrimSuffix("other: "+line(text), ": "), text != "", q.Kind == elicit.MultiSelect)
}

func (s *formModel) viewOption(p *page, i int, key, label string, chosen, several bool) {
	mark := map[bool]string{false: "( )", true: "(x)"}[chosen]
	if several {
		mark = map[bool]string{false: "[ ]", true: "[x]"}[chosen]
	}
	pointer, style := "  ", ""
	if i == s.cursor {
		pointer, p.focus = "> ", len(p.rows)
	}
	if chosen {
		style = green
	}
	p.add(style, pointer+key+" "+mark+" ", label)
}

func (s *formModel) viewReview(p *page) {
	if len(s.request.Questions) == 0 {
		mark := map[bool]string{false: "( )", true: "(x)"}[s.agreed]
		p.add("", "  y "+mark+" ", "Yes, I agree")
		p.add("", "  n ( ) ", "No")
		return
	}
	p.add(bold, "", "Your answers")
	for i, q := range s.request.Questions {
		p.add(dim, strconv.Itoa(i+1)+" ", line(q.Message))
		text := clean(q.Say(s.answers[q.ID].Value))
		switch {
		case text != "":
			p.add("", "    ", text)
		case q.Required:
			p.add(amber, "    ", "no answer yet")
		default:
			p.add(dim, "    ", "skipped")
		}
	}
}

func (s *formModel) viewMenu(p *page) {
	p.add(bold, "", "Leave this question?")
	p.gap()
	p.add("", "  l  ", "Later: it stays open, and what you typed is kept")
	p.add("", "  d  ", "Decline: you will not answer it")
	p.add("", "  x  ", "Cancel: close it without an answer")
	p.add("", "  n  ", "Add a note to your answer")
	if s.request.Status == elicit.Open && !s.request.Deadline.IsZero() {
		p.add("", "  +  ", "Ten more minutes")
	}
	if s.may.take {
		p.add("", "  t  ", "Take: tell others that you deal with it")
	} else if s.may.release {
		p.add("", "  t  ", "Release: nobody deals with it any more")
	}
	if len(s.may.to) > 0 {
		p.add("", "  h  ", "Hand over to someone else")
	}
	if s.may.rule {
		p.add("", "  a  ", "Always allow calls like this")
	}
}

// keyHelp lists every key, in the order in which people need the keys.
var keyHelp = [][2]string{
	{"Enter", "accept the choice or text and continue; at the end, send"},
	{"1-9", "choose an option"},
	{"j k", "move, also with the arrows; Space chooses"},
	{"y n", "yes, no"},
	{"/", "answer in your own words"},
	{"Ctrl+J", "new line in a text"},
	{"Ctrl+E", "write in your editor, $VISUAL or $EDITOR"},
	{"Tab", "next question; Shift+Tab: previous"},
	{"PgDn", "scroll down; PgUp: up"},
	{"+", "ten more minutes"},
	{"Esc", "leave; what you typed is kept"},
	{"Ctrl+X", "decline or cancel"},
	{"Ctrl+N", "add a note to your answer"},
	{"t", "take the question, or release it; in a text field, press Ctrl+X first"},
	{"h", "hand it over"},
	{"a", "always allow calls like this"},
	{"? F1", "this help"},
}

func (s *formModel) viewHelp(p *page) {
	p.add(bold, "", "Keys")
	for _, k := range keyHelp {
		p.add("", fmt.Sprintf("  %-7s ", k[0]), k[1])
	}
}

// keys returns the keys that currently have an effect.
func (s *formModel) keys() []string {
	q, several := s.question(), len(s.request.Questions) > 1
	var keys []string
	enter := "Enter send"
	if several && q != nil {
		enter = "Enter next"
	}
	switch {
	case q == nil && several:
		keys = []string{enter, "1-9 change"}
	case q == nil:
		keys = []string{enter, "y n"}
	case s.writing:
		if keys = []string{enter}; q.Kind != elicit.Number && q.Kind != elicit.Integer {
			keys = append(keys, "Ctrl+J new line", "Ctrl+E editor")
		}
	case q.Kind == elicit.Boolean:
		keys = []string{enter, "y n"}
	default:
		keys = []string{enter, "1-9 choose", "j k move"}
		if q.Kind == elicit.MultiSelect {
			keys[1] = "1-9 Space choose"
		}
		if q.AllowFreeform {
			keys = append(keys, "/ other answer")
		}
	}
	if several {
		keys = append(keys, "Tab other")
	}
	help := "? help"
	if s.writing {
		help = "F1 help"
	}
	keys = slices.Insert(keys, 1, "Esc leave", help) // the keys that even a low screen must show
	if !s.writing {
		keys = append(keys, s.routeKeys()...)
	}
	if s.inbox {
		keys = append(keys, map[bool]string{false: "Ctrl+X decline", true: "Ctrl+X decline, take"}[s.writing && len(s.routeKeys()) > 0])
	}
	return keys
}

// wrapKeys arranges keys in as few rows as possible.
func wrapKeys(keys []string, width int) (rows []string) {
	for _, k := range keys {
		if n := len(rows); n > 0 && ansi.StringWidth(rows[n-1]+" · "+k) <= width {
			rows[n-1] += " · " + k
		} else {
			rows = append(rows, k)
		}
	}
	return rows
}
