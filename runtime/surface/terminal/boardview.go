package terminal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/deskhand/deskhand/runtime/tasks"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// statusWords names the statuses as headings.
var statusWords = map[tasks.Status]string{
	tasks.InReview: "In review", tasks.InProgress: "In progress", tasks.Todo: "To do", tasks.Done: "Done", tasks.Cancelled: "Cancelled",
}

var boardHelp = [][2]string{
	{"j k", "move, also with the arrows"},
	{"Enter", "open the task's newest attempt and follow its log"},
	{"r", "start an attempt"},
	{"s", "send a message to the agent"},
	{"d", "show what the attempt changed"},
	{"l", "land the work"},
	{"u", "undo the landing"},
	{"p", "push the branch and open a pull request"},
	{"t", "stop the agent"},
	{"x", "discard the attempt"},
	{"n", "new task"},
	{"i", "inbox: answer the agents' questions"},
	{"/", "search; f: filter; Esc: all tasks"},
	{"a", "show or hide done and cancelled tasks"},
	{"c", "show what today's runs have cost, by agent"},
	{"Tab", "next project"},
	{"[ ]", "older, newer attempt of the task"},
	{"q", "leave; agents keep running"},
}

// view draws the board.
func (b *board) view() screen {
	p := newPage(b.width)
	if b.help {
		p.add(bold, "", "Keys")
		for _, k := range boardHelp {
			p.add("", fmt.Sprintf("  %-6s ", k[0]), k[1])
		}
		return p.fit(b.height, b.head(p.width), []string{"any key: back"}, new(int))
	}
	if b.ask != nil && b.ask.found != nil {
		return b.viewFound()
	}
	foot := b.foot(p.width)
	if b.ask != nil && !b.ask.yesNo {
		return b.viewPrompt(p, foot)
	}
	if b.open != nil {
		b.viewPane(p)
	} else {
		b.viewList(p)
	}
	return p.fit(b.height, b.head(p.width), foot, new(int))
}

// head returns the first row: what is shown, and how much needs the person.
func (b *board) head(width int) string {
	running, queued, waiting := 0, 0, 0
	for _, column := range b.columns {
		for i := range column.Cards {
			switch c := &column.Cards[i]; {
			case c.WaitsFor == tasks.ForPerson:
				waiting++
			case c.WaitsFor != "":
				queued++
			case c.InProgress:
				running++
			}
		}
	}
	shown := "deskhand work"
	if p := b.shownProject(); p != nil {
		shown += ": " + flat(p.Name)
	}
	if what := sieveWords(b.sieve); what != "" {
		shown += " (" + flat(what) + ")"
	}
	right := b.now.Local().Format("15:04")
	if b.costs.Total.Runs > 0 && width >= wideList {
		right = b.costs.Total.Short() + " today · " + right
	}
	if queued > 0 {
		right = fmt.Sprintf("%d queued · ", queued) + right
	}
	if running > 0 {
		right = fmt.Sprintf("%d running · ", running) + right
	}
	if waiting > 0 {
		right = fmt.Sprintf("%d waiting for you · ", waiting) + right
	}
	return headLine(shown, right, width)
}

// words says what today's runs have cost, by agent.
func (c Costs) words() string {
	if c.Total.Runs == 0 {
		return "No agent has run today."
	}
	text := "Today: " + c.Total.Words()
	for _, g := range c.Today {
		text += fmt.Sprintf(" · %s %s in %s", flat(g.Key), g.Short(), textutil.Count(g.Runs, "run"))
	}
	return text
}

// sieveWords describes a filter.
func sieveWords(s tasks.Sieve) string {
	var words []string
	for _, w := range []string{s.State, s.Agent, s.Label, s.Priority} {
		if w != "" {
			words = append(words, w)
		}
	}
	if s.Ready {
		words = append(words, "ready to start")
	}
	if s.Words != "" {
		words = append(words, "“"+s.Words+"”")
	}
	return strings.Join(words, ", ")
}

// foot returns the last rows: a note, and the keys.
func (b *board) foot(width int) []string {
	keys := []string{"Enter open", "q leave", "? help", "n new", "r start", "s say", "d diff", "l land", "p pr", "t stop", "x discard", "/ search", "f filter", "i inbox"}
	switch {
	case b.ask != nil && b.ask.yesNo:
		keys = []string{"y yes", "n no"}
	case b.ask != nil && b.ask.items != nil:
		keys = []string{"Enter choose", "Esc back", "j k move", "1-9"}
	case b.ask != nil:
		keys = []string{"Enter done", "Esc back", "Ctrl+J new line"}
	case b.open != nil:
		keys = []string{"q back", "d diff", "? help", "s say", "l land", "p pr", "t stop", "r start", "x discard", "u undo", "[ ] attempts", "i inbox"}
		if b.open.changes {
			keys[1] = "d log"
		}
	}
	foot := wrapKeys(keys, width)
	if b.height < lowScreen {
		foot = foot[:1]
	}
	note := b.note
	switch {
	case b.ask != nil && b.ask.yesNo:
		note = b.ask.title
	case b.busy != "":
		note = b.busy
	}
	if note != "" {
		rows := strings.Split(ansi.Wrap(note, width, " "), "\n")
		rows = rows[:min(len(rows), max(b.height/4, 1), 3)]
		for i, row := range rows {
			rows[i] = plain + amber + row + plain
		}
		foot = append(rows, foot...)
	}
	return foot
}

func (b *board) viewPrompt(p *page, foot []string) screen {
	ask := b.ask
	if ask.live == nil { // a search shows the list while the person types
		p.gap()
	}
	p.add(bold, "", ask.title)
	if ask.items != nil {
		for i, item := range ask.items {
			pointer, style, number := "  ", "", "  "
			if i < 9 {
				number = fmt.Sprintf("%d ", i+1)
			}
			if i == ask.at {
				pointer, style, p.focus = "> ", bold, len(p.rows)
			}
			p.add(style, pointer+number, flat(item))
		}
	} else {
		viewEditor(p, &ask.editor, "> ", "")
	}
	if ask.live != nil {
		focus := p.focus
		b.viewList(p)
		p.focus = focus
	}
	return p.fit(b.height, b.head(p.width), foot, new(int))
}

// viewList shows the tasks under the headings of their statuses.
func (b *board) viewList(p *page) {
	var status tasks.Status
	for i := range b.shown {
		c := &b.shown[i]
		if c.Status != status {
			status = c.Status
			p.gap()
			p.add(bold, "", statusWords[status])
		}
		b.viewCard(p, i, c)
	}
	switch {
	case !b.loaded:
		p.add(dim, "", "Reading the tasks …")
	case len(b.shown) > 0:
	case b.sieve.On():
		p.gap()
		p.add("", "  ", "No task matches. Press Esc to show all.")
	case len(b.projects) == 0:
		p.gap()
		p.add("", "  ", "There is no project yet. Leave with q, and create one: deskhand tasks project add PATH --name NAME")
	default:
		p.gap()
		p.add("", "  ", "Nothing is open. Press n for a new task, or a to show finished ones.")
	}
}

// Widths of the list's columns, and of the screens that show only the title, or also the
// agent.
const (
	stateWidth = 22
	agentWidth = 16
	costWidth  = 9
	narrowList = 40
	wideList   = 76
)

// viewCard shows a task in one row.
func (b *board) viewCard(p *page, i int, c *tasks.Card) {
	pointer, style := "  ", ""
	if i == b.cursor && b.open == nil {
		pointer, style, p.focus = "> ", bold, len(p.rows)
	}
	state, tone := cardState(c)
	right := ""
	if p.width >= wideList {
		right = pad(flat(c.Executor), agentWidth) + pad(b.costs.Tasks[c.ID].Short(), costWidth) + fmt.Sprintf("%4s", ago(b.now.Sub(c.Updated)))
		if b.project == "" && len(b.projects) > 1 && p.width >= 100 {
			right = pad(flat(c.Project), agentWidth) + right
		}
	}
	title := flat(c.Title)
	for _, l := range c.Labels {
		title += " #" + flat(l)
	}
	if n := len(c.Blocked); n > 0 {
		title = fmt.Sprintf("(blocked by %d) ", n) + title
	}
	if c.Priority != tasks.NormalPriority {
		title = "[" + string(c.Priority) + "] " + title
	}
	if p.width < narrowList { // the tone stands for the state
		p.rows = append(p.rows, pointer+styled(tone+style, ansi.Truncate(title, p.width-2, "…")))
		return
	}
	room := max(p.width-2-stateWidth-ansi.StringWidth(right)-1, 4)
	p.rows = append(p.rows, pointer+styled(tone, pad(state, stateWidth))+styled(style, pad(title, room))+" "+styled(dim, right))
}

// cardState returns a task's state, and its style.
func cardState(c *tasks.Card) (state, tone string) {
	state = c.State()
	switch {
	case c.Ready():
		return "ready", ""
	case state == "waiting for you", state == "failed", state == "off its branch":
		return state, amber
	case state == "running", state == "landed":
		return state, green
	case state == "never started":
		return "", dim
	case state == "":
		return "ended", dim
	}
	return state, dim
}

// pad returns text with exactly width columns.
func pad(text string, width int) string {
	text = ansi.Truncate(text, width-1, "…")
	return text + strings.Repeat(" ", max(width-ansi.StringWidth(text), 0))
}

// paneHeight is the number of rows for the text of a pane.
func (b *board) paneHeight() int {
	return max(b.height-1-len(b.foot(newPage(b.width).width))-len(b.open.heading(b.width)), 1)
}

// viewPane shows an attempt.
func (b *board) viewPane(p *page) {
	a := b.open
	room := b.paneHeight()
	p.rows = append(p.rows, a.heading(p.width)...)
	switch {
	case a.id() == "":
		p.add("", "  ", "This task has no attempt yet. Press r to start one.")
		if text := clean(a.task.Description); text != "" {
			p.gap()
			p.add("", "  ", text)
		}
	case a.changes:
		p.rows = append(p.rows, a.diff.window(p.width, room, diffStyle)...)
	default:
		p.rows = append(p.rows, a.log.window(p.width, room, logStyle)...)
	}
	if len(p.rows) > b.height-1 {
		p.rows = p.rows[:max(b.height-1, 1)]
	}
}

// heading returns the rows above an attempt's text.
func (p *attemptPane) heading(width int) []string {
	head := newPage(width)
	head.rows = append(head.rows, styled(bold, ansi.Truncate(flat(p.task.Title), head.width, "…")))
	if p.id() == "" {
		return head.rows
	}
	about := "attempt " + tasks.ShortID(p.id())
	if n := len(p.attempts); n > 1 {
		about += fmt.Sprintf(" (%d of %d)", n-p.at, n)
	}
	if p.known {
		about += " · " + flat(p.status.Executor) + " · " + stateOf(p.status)
		for _, d := range p.status.Distances {
			about += fmt.Sprintf(" · %d ahead, %d behind %s", d.Ahead, d.Behind, flat(d.Target))
			if len(d.Conflicts) > 0 {
				about += ", conflicts in " + flat(strings.Join(d.Conflicts, ", "))
			}
		}
		if used := p.status.Usage; used.Runs > 0 {
			about += " · " + used.Words()
		}
		if d := p.status.Dev; d != nil && d.Ended == "" {
			about += " · " + d.URL()
		}
		for _, pr := range p.status.Pulls {
			if pr.Pull.URL != "" {
				about += " · pull request " + flat(string(pr.Pull.State)+" "+pr.Pull.Checks+" "+pr.Pull.Review+" "+pr.Pull.URL)
			}
		}
	}
	rows := strings.Split(ansi.Wrap(about, head.width, " "), "\n")
	for _, row := range rows[:min(len(rows), 3)] {
		head.rows = append(head.rows, styled(dim, row))
	}
	head.rows = append(head.rows, styled(dim, strings.Repeat("─", head.width)))
	return head.rows
}

// stateOf describes the state of an attempt.
func stateOf(s tasks.AttemptStatus) string {
	switch {
	case s.Questions > 0:
		return "waiting for you: " + textutil.Count(s.Questions, "question") + ", press i"
	case s.Unassigned:
		return tasks.ForMachineState
	case s.Waiting:
		return "waiting for a slot"
	case s.Work.State == tasks.LandedWork:
		return "landed"
	case s.Failure != "":
		return "failed: " + flat(s.Failure)
	}
	return string(s.State)
}

// into names the branches that the attempt lands on, if they are known.
func (p *attemptPane) into() string {
	if p == nil || !p.known {
		return ""
	}
	var targets []string
	for _, d := range p.status.Distances {
		if !slices.Contains(targets, d.Target) {
			targets = append(targets, d.Target)
		}
	}
	if len(targets) == 0 {
		return ""
	}
	return " into " + flat(textutil.Some(targets, 3))
}
