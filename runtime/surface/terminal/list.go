package terminal

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// list holds the requests that are waiting for a person, in the order in which
// a person should answer them.
type list struct {
	requests []elicit.Request
	more     bool // whether there are more requests than shown
	cursor   int
	help     bool
	note     string
}

// shownAtOnce is the maximum number of requests in the list.
const shownAtOnce = 200

// Inbox shows all open requests, and updates the list, until the person leaves
// or ctx ends.
func Inbox(ctx context.Context, d *Device, h *elicit.Hub, linewise bool) error {
	if linewise {
		return talkInbox(ctx, d, h)
	}
	found, err := h.List(ctx, elicit.Filter{Limit: shownAtOnce})
	if err != nil {
		return err
	}
	f := &form{hub: newHubClient(h), list: &list{}}
	f.list.take(found)
	left, err := f.run(ctx, d, found.Seq, "")
	if err == nil && left == interrupted || ctx.Err() != nil {
		return nil // leaving is not an error
	}
	return err
}

// listed is a message with the list, as read again.
type listed struct {
	found elicit.List
	err   error
}

// reload reads the list.
func (f *form) reload() tea.Msg {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	found, err := f.hub.hub.List(ctx, elicit.Filter{Limit: shownAtOnce})
	return listed{found, err}
}

// take shows the requests in found. It keeps the cursor on the same request.
func (l *list) take(found elicit.List) {
	id := ""
	if l.cursor < len(l.requests) {
		id = l.requests[l.cursor].ID
	}
	l.requests, l.more = found.Requests, found.More
	l.cursor = min(l.cursor, max(len(l.requests)-1, 0))
	for i, r := range l.requests {
		if r.ID == id {
			l.cursor = i
		}
	}
}

// pressList handles a key while the list is shown.
func (f *form) pressList(k key) (tea.Model, tea.Cmd) {
	l := f.list
	l.note = ""
	if l.help {
		l.help = false
		return f, nil
	}
	switch k.name {
	case "ctrl+c", "q", "esc":
		return f.quit(interrupted)
	case "?", "f1":
		l.help = true
	case "j", "down":
		l.cursor = min(l.cursor+1, max(len(l.requests)-1, 0))
	case "k", "up":
		l.cursor = max(l.cursor-1, 0)
	case "pgdown":
		l.cursor = min(l.cursor+scrollBy, max(len(l.requests)-1, 0))
	case "pgup":
		l.cursor = max(l.cursor-scrollBy, 0)
	case "enter", "y", "n", "/", "d", "x", "t":
		return f.enter(k)
	default:
		if n, err := strconv.Atoi(k.name); err == nil && n >= 1 && n <= len(l.requests) {
			l.cursor = n - 1
			return f.enter(key{name: "enter"})
		}
	}
	return f, nil
}

// enter opens the request under the cursor. The request handles the key.
func (f *form) enter(k key) (tea.Model, tea.Cmd) {
	if len(f.list.requests) == 0 {
		return f, nil
	}
	id := f.list.requests[f.list.cursor].ID
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := f.hub.hub.Get(ctx, id)
	if err == nil {
		if err = f.hub.present(id); errors.As(err, new(*elicit.Rejection)) {
			err = nil
		}
	}
	if err != nil {
		f.list.note = line(err.Error())
		return f, f.reload
	}
	f.model = newFormModel(r, true)
	f.look()
	switch k.name {
	case "t":
		return f.perform(f.model.routeKey("t"))
	case "d", "x":
		f.model.menu = true
	case "y", "n", "/":
		if !f.model.writing {
			return f.perform(f.model.press(k))
		}
	}
	return f, nil
}

func (l *list) title() string {
	if len(l.requests) == 0 {
		return "deskhand inbox"
	}
	return fmt.Sprintf("(%d) deskhand inbox", len(l.requests))
}

var listHelp = [][2]string{
	{"j k", "move, also with the arrows"},
	{"Enter", "answer the question"},
	{"1-9", "answer the question of that number"},
	{"y n", "answer yes or no; Enter then sends"},
	{"/", "answer in your own words"},
	{"d x", "decline or cancel"},
	{"t", "take the question, or release it"},
	{"q Esc", "leave"},
}

// view shows the list.
func (l *list) view(width, height int, now time.Time) screen {
	p := newPage(width)
	head := headLine(l.title(), now.Local().Format("15:04"), p.width)
	if l.help {
		p.add(bold, "", "Keys")
		for _, k := range listHelp {
			p.add("", fmt.Sprintf("  %-6s ", k[0]), k[1])
		}
		return p.fit(height, head, []string{"any key: back"}, new(int))
	}
	p.gap()
	for i := range l.requests {
		l.row(p, i, now)
	}
	switch {
	case len(l.requests) == 0:
		p.add("", "  ", "No questions are waiting. New ones appear here automatically.")
	case l.more:
		p.add(dim, "     ", fmt.Sprintf("only the first %d are shown", shownAtOnce))
	}
	foot := wrapKeys([]string{"Enter answer", "q leave", "? help", "j k move", "y n", "/ other answer", "d decline"}, p.width)
	if height < lowScreen {
		foot = foot[:1]
	}
	if l.note != "" {
		foot = append([]string{plain + amber + l.note + plain}, foot...)
	}
	return p.fit(height, head, foot, new(int))
}

// row shows a request in two lines. The first is the question. The second says
// who asks and how much time is left.
func (l *list) row(p *page, i int, now time.Time) {
	r := &l.requests[i]
	number, pointer, style := "  ", "  ", ""
	if i < 9 {
		number = strconv.Itoa(i+1) + " "
	}
	if i == l.cursor {
		pointer, style, p.focus = "> ", bold, len(p.rows)+1
	}
	what := heading(r)
	if r.Priority == elicit.Urgent || r.Priority == elicit.High {
		what = "[" + string(r.Priority) + "] " + what
	}
	room := max(p.width-4, 4)
	p.rows = append(p.rows, pointer+number+styled(style, ansi.Truncate(what, room, "…")))
	about := asker(r)
	if t := left(r, now); t != "" {
		about = t + " · " + about
	}
	if standing := r.Standing(); standing != "" {
		about = standing + " · " + about
	} else if r.AskerGone {
		about = "no longer awaited · " + about
	}
	p.rows = append(p.rows, "    "+styled(dim, ansi.Truncate(about, room, "…")))
}
