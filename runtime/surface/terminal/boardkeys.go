package terminal

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/deskhand/deskhand/runtime/tasks"
)

// prompt asks the person for a text, a yes or no, or one of some items.
type prompt struct {
	title  string
	editor editor
	items  []string // to choose from; nil for a text
	at     int      // the chosen item
	yesNo  bool
	found  []string                  // what a yes allows; all of it is shown before
	scroll int                       // rows of found above the screen
	live   func(text string)         // called with every change of the text
	do     func(text string) tea.Cmd // called with the text or the item
	cancel func()
}

// confirm asks before an order is carried out. If the person is answering something else,
// it only notes the question, because a y meant for that must not answer this, and open is
// false.
func (b *board) confirm(question string, o Order) (open bool) {
	if b.ask != nil {
		b.note = "nothing was done, because another prompt is open; answer it and press the key again for: " + question
		return false
	}
	b.ask = &prompt{title: question, yesNo: true, do: func(string) tea.Cmd { return b.order(o) }}
	return true
}

// write asks for the text of an order.
func (b *board) write(title string, o Order) {
	b.ask = &prompt{title: title, do: func(text string) tea.Cmd {
		if o.Text = strings.TrimSpace(text); o.Text == "" {
			return nil
		}
		return b.order(o)
	}}
}

// typed reports the prompt's text to whoever follows it.
func (b *board) typed() {
	if b.ask.live != nil {
		b.ask.live(b.ask.editor.text())
	}
}

// press handles a key.
func (b *board) press(k key) tea.Cmd {
	if k.name == "ctrl+c" {
		return tea.Quit
	}
	switch {
	case b.ask != nil:
		return b.answer(k)
	case b.help:
		b.help = false
		return nil
	}
	b.note = ""
	if b.open != nil {
		if cmd, ok := b.pressPane(k); ok {
			return cmd
		}
		return b.act(k, b.open.task, b.open.id())
	}
	if cmd, ok := b.pressBoard(k); ok {
		return cmd
	}
	if c := b.card(); c != nil {
		return b.act(k, *c, c.AttemptID)
	}
	return nil
}

// answer handles a key of a prompt.
func (b *board) answer(k key) tea.Cmd {
	p := b.ask
	finish := func(text string) tea.Cmd {
		b.ask = nil
		return p.do(text)
	}
	switch {
	case k.name == "esc", p.yesNo && (k.name == "n" || k.name == "q" || k.name == "enter"):
		if b.ask = nil; p.cancel != nil {
			p.cancel()
		}
	case p.yesNo:
		if k.name == "y" && b.foundShown() {
			return finish("")
		}
		b.scrollFound(k)
	case p.items != nil:
		switch n, err := strconv.Atoi(k.name); {
		case err == nil && n >= 1 && n <= len(p.items):
			return finish(p.items[n-1])
		case k.name == "enter":
			return finish(p.items[p.at])
		case k.name == "down" || k.name == "j":
			p.at = min(p.at+1, len(p.items)-1)
		case k.name == "up" || k.name == "k":
			p.at = max(p.at-1, 0)
		}
	case k.name == "enter":
		return finish(p.editor.text())
	default:
		p.editor.key(k)
		b.typed()
	}
	return nil
}

// pressBoard handles a key of the list. ok is false if it is none of the list's keys.
func (b *board) pressBoard(k key) (cmd tea.Cmd, ok bool) {
	last := max(len(b.shown)-1, 0)
	switch k.name {
	case "q":
		return tea.Quit, true
	case "esc":
		if b.sieve.On() {
			b.sieve = tasks.Sieve{}
			b.sift()
		}
	case "?", "f1":
		b.help = true
	case "j", "down":
		b.cursor = min(b.cursor+1, last)
	case "k", "up":
		b.cursor = max(b.cursor-1, 0)
	case "pgdown":
		b.cursor = min(b.cursor+scrollBy, last)
	case "pgup":
		b.cursor = max(b.cursor-scrollBy, 0)
	case "home":
		b.cursor = 0
	case "end":
		b.cursor = last
	case "tab":
		b.nextProject()
	case "a":
		b.closed = !b.closed
		b.sift()
	case "/":
		b.search()
	case "f":
		b.filter()
	case "n":
		b.newTask()
	case "c":
		b.note = b.costs.words()
	case "i":
		return b.inbox(), true
	case "enter":
		if c := b.card(); c != nil {
			return b.show(*c), true
		}
	default:
		return nil, false
	}
	return nil, true
}

// pressPane handles a key of an attempt's pane.
func (b *board) pressPane(k key) (cmd tea.Cmd, ok bool) {
	p := b.open
	text := &p.log
	if p.changes {
		text = &p.diff
	}
	room := b.paneHeight()
	switch k.name {
	case "q", "esc", "left", "backspace":
		if p.changes {
			p.changes = false
		} else {
			b.leave()
		}
	case "?", "f1":
		b.help = true
	case "j", "down":
		text.scroll(1, room)
	case "k", "up":
		text.scroll(-1, room)
	case "pgdown", "space":
		text.scroll(room-1, room)
	case "pgup":
		text.scroll(1-room, room)
	case "home":
		text.scroll(-len(text.rows), room)
	case "end":
		text.scroll(len(text.rows), room)
	case "[":
		return p.turn(b, 1), true
	case "]":
		return p.turn(b, -1), true
	case "i":
		return b.inbox(), true
	default:
		return nil, false
	}
	return nil, true
}

// act handles the keys that do something with a task or its attempt.
func (b *board) act(k key, c tasks.Card, attempt string) tea.Cmd {
	o := Order{Project: c.ProjectID, Task: c.ID, Attempt: attempt}
	name := tasks.ShortID(attempt)
	if k.name == "r" {
		return b.agents(c.ID)
	}
	if !slices.Contains([]string{"d", "l", "p", "s", "x", "u", "t"}, k.name) {
		return nil
	}
	if attempt == "" {
		b.note = "this task has no attempt yet; press r to start one"
		return nil
	}
	switch k.name {
	case "d":
		return b.diff(c)
	case "l":
		o.Act = ActLand
		b.confirm("Land attempt "+name+" of “"+flat(c.Title)+"”"+b.open.into()+"?"+b.open.warning(), o)
	case "p":
		o.Act = ActPull
		b.confirm("Push attempt "+name+" and open a pull request?", o)
	case "x":
		o.Act = ActDiscard
		b.confirm("Discard attempt "+name+" with its folder, logs and branch?", o)
	case "u":
		o.Act = ActUndo
		return b.undo(o)
	case "t":
		o.Act = ActStop
		return b.order(o)
	case "s":
		o.Act = ActSay
		b.write("Message to the agent; if it is running, it gets the message afterwards", o)
	}
	return nil
}

// diff shows a task's changes, or hides them.
func (b *board) diff(c tasks.Card) tea.Cmd {
	var opened tea.Cmd
	if b.open == nil {
		opened = b.show(c)
	}
	if b.open.changes = !b.open.changes; !b.open.changes {
		return opened
	}
	b.open.diff = scroller{}
	b.open.diff.add("Reading the changes …\n")
	return tea.Batch(opened, b.open.readDiff(b))
}

// undo asks whether to undo a landing, if it can be undone.
func (b *board) undo(o Order) tea.Cmd {
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		defer cancel()
		return undoChecked{o, b.work.Undoable(ctx, o.Attempt)}
	}
}

// agents asks for the agent to start.
func (b *board) agents(task string) tea.Cmd {
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(b.ctx, patience)
		defer cancel()
		found, err := b.work.Agents(ctx)
		return agentsFound{task, found, err}
	}
}

func (b *board) pickAgent(msg agentsFound) {
	if msg.err != nil {
		b.note = reason(msg.err)
		return
	}
	if b.ask != nil {
		b.note = "no attempt was started, because another prompt is open; answer it and press r again"
		return
	}
	b.ask = &prompt{title: "Start an attempt with", items: msg.agents, do: func(agent string) tea.Cmd {
		return b.order(Order{Act: ActStart, Task: msg.task, Agent: agent})
	}}
}

// search asks for words, and filters while they are typed.
func (b *board) search() {
	before := b.sieve.Words
	look := func(text string) {
		b.sieve.Words = strings.TrimSpace(text)
		b.sift()
	}
	b.ask = &prompt{title: "Search titles, descriptions and labels", editor: edit(before), live: look,
		do: func(text string) tea.Cmd { look(text); return nil }, cancel: func() { look("") }}
}

// filter asks which tasks to show.
func (b *board) filter() {
	items := []string{"all", "ready to start"}
	sieves := map[string]tasks.Sieve{"all": {}, "ready to start": {Ready: true}}
	offer := func(name string, s tasks.Sieve) {
		if _, known := sieves[name]; !known && name != "" {
			items, sieves[name] = append(items, name), s
		}
	}
	for _, s := range tasks.CardStates {
		offer(s, tasks.Sieve{State: s})
	}
	for _, p := range tasks.Priorities {
		name := cmp.Or(string(p), "normal")
		offer("priority "+name, tasks.Sieve{Priority: name})
	}
	for _, column := range b.columns {
		for _, c := range column.Cards {
			if c.Executor != "" {
				offer("agent "+c.Executor, tasks.Sieve{Agent: c.Executor})
			}
			for _, l := range c.Labels {
				offer("label "+flat(l), tasks.Sieve{Label: l})
			}
		}
	}
	b.ask = &prompt{title: "Show", items: items, do: func(name string) tea.Cmd {
		words := b.sieve.Words
		b.sieve = sieves[name]
		b.sieve.Words = words
		b.sift()
		return nil
	}}
}

// newTask asks for a task's title and description.
func (b *board) newTask() {
	project := tasks.Project{}
	c, shown := b.card(), b.shownProject()
	switch {
	case shown != nil:
		project = *shown
	case c != nil:
		project = tasks.Project{ID: c.ProjectID, Name: c.Project}
	case len(b.projects) > 0:
		project = b.projects[0]
	default:
		b.note = "there is no project yet; create one: deskhand tasks project add PATH --name NAME"
		return
	}
	b.write("New task in "+flat(project.Name)+": the first line is its title", Order{Act: ActNew, Project: project.ID})
}
